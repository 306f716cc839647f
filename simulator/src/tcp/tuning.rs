// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The window that is advertised, and the buffer behind it (dynamic right-sizing).

use ebb_link::Nanos;
use ebb_scenario::Buffer;

use super::receiver::Receiver;
use crate::segment::Segment;

/// What a receiver measures in order to size its buffer; what data without timestamps needs
/// comes last.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct Tuning {
    /// Round-trip time as the receiver sees it, times 8; 0: none. *Units:* µs.
    rtt_us_x8: u32,
    last_echo: u32,
    /// The application's appetite: what it read in a round trip.
    pub(super) appetite_bytes: u32,
    round_from: Nanos,
    round_start: u64,
    /// Without timestamps: a window's worth is measured from here to that byte.
    window_from: Nanos,
    window_end: u64,
}

impl Tuning {
    pub(super) fn new(appetite_bytes: u32) -> Self {
        Self {
            rtt_us_x8: 0,
            window_from: Nanos::ZERO,
            window_end: 0,
            last_echo: 0,
            appetite_bytes: appetite_bytes.max(1),
            round_from: Nanos::ZERO,
            round_start: 1,
        }
    }

    /// The receiver's estimate of the round-trip time; 0: none. *Units:* µs.
    pub(super) fn rtt_us(&self) -> u32 {
        self.rtt_us_x8 >> 3
    }

    /// By windows, where timestamps do not tell.
    #[inline]
    pub(super) fn measure_rtt(
        &mut self,
        now: Nanos,
        segment: &Segment,
        nxt: u64,
        window_bytes: u32,
        _mss_bytes: u32,
    ) {
        if segment.timestamps.is_some() || nxt < self.window_end {
            return;
        }
        if self.window_end > 0 {
            let sample = micros(now.since(self.window_from)).max(1);
            if self.rtt_us_x8 == 0 || sample < self.rtt_us_x8 >> 3 {
                self.rtt_us_x8 = sample << 3;
            }
        }
        self.window_end = nxt + u64::from(window_bytes);
        self.window_from = now;
    }

    /// By the echo of our own clock in a full segment, once for each echo.
    #[inline]
    pub(super) fn measure_echo(&mut self, echo: u32, local_ts: u32, tick_us: u32) {
        if echo == self.last_echo {
            return;
        }
        self.last_echo = echo;
        let ticks = local_ts.wrapping_sub(echo);
        if ticks.cast_signed() < 0 {
            return;
        }
        let sample = ticks.max(1).saturating_mul(tick_us).min(u32::MAX >> 4);
        // Down at once, up slowly: what waited in a queue is no round trip.
        self.rtt_us_x8 = match self.rtt_us_x8 {
            old if old == 0 || sample << 3 < old => sample << 3,
            old => old - (old >> 3) + sample,
        };
    }
}

fn micros(time: Nanos) -> u32 {
    u32::try_from(time.0 / 1_000)
        .unwrap_or(u32::MAX >> 4)
        .min(u32::MAX >> 4)
}

impl Receiver {
    /// The bound of the window grows by two segments for each that arrives.
    #[inline]
    pub(super) fn grow_bound(&mut self, payload_bytes: u32) {
        let clamp = self.window_clamp_bytes().min(self.free_bytes());
        if self.window_bound_bytes < clamp {
            let more = (2 * self.config.options.mss_bytes).max(2 * payload_bytes);
            self.window_bound_bytes = self.window_bound_bytes.saturating_add(more).min(clamp);
            self.acks.on_window_growth();
        }
    }

    /// The most that the window may be: the buffer or what the law says.
    #[inline]
    pub(super) fn window_clamp_bytes(&self) -> u32 {
        match &self.law {
            Some(law) => self.buffer_bytes.min(law.clamp_bytes),
            None => self.buffer_bytes,
        }
    }

    /// What the buffer can still take, beyond the next byte expected.
    #[inline]
    fn free_bytes(&self) -> u32 {
        let unread = self.nxt - self.read;
        u64::from(self.buffer_bytes).saturating_sub(unread) as u32
    }

    /// The window that the receiver would like to advertise, before its right edge is
    /// held where it was.
    #[inline]
    pub(super) fn wanted_window(&self) -> u32 {
        if self.law.as_ref().is_some_and(|law| law.is_parked()) {
            return 0;
        }
        let full = self.window_clamp_bytes();
        let mss_bytes = self.acks.mss_bytes.min(full);
        let mut free = self.free_bytes();
        let granule = 1_u32 << self.window_scale;
        if free < full / 2 {
            free &= !(granule - 1);
            // Rather nothing than a silly window.
            if free < full / 16 || free < mss_bytes {
                return 0;
            }
        }
        let free = free.min(self.window_bound_bytes);
        if self.window_scale > 0 {
            return free.next_multiple_of(granule);
        }
        let old = self.window_bytes;
        if old + mss_bytes <= free || old > free {
            return free / mss_bytes.max(1) * mss_bytes;
        }
        if mss_bytes == full && free > old + full / 2 {
            return free;
        }
        old
    }

    /// Chooses the window of an outgoing segment that acknowledges up to `ack`.
    /// *Returns:* the field of the header.
    #[inline]
    pub(super) fn advertise(&mut self, ack: u64) -> u16 {
        let left = self.right_edge().saturating_sub(ack) as u32;
        let granule = 1_u32 << self.window_scale;
        let most = 65_535_u32 << self.window_scale;
        let least = match self.config.options.shrinks_window {
            true => 0,
            // Never back: what is left of the old window, rounded up to what can be said.
            false => left.next_multiple_of(granule),
        };
        let window = self.wanted_window().max(least).min(most);
        self.window_bytes = window;
        self.advertised_at = ack;
        self.furthest_edge = self.furthest_edge.max(self.right_edge());
        (window >> self.window_scale) as u16
    }

    /// The application has read: if it read more in a round trip than before, the buffer
    /// follows.
    #[inline]
    pub(super) fn adjust_buffer(&mut self, now: Nanos) {
        let Buffer::Autotuned { max_bytes, .. } = self.config.options.receive_buffer else {
            return;
        };
        let rtt_us = self.tuning.rtt_us();
        if rtt_us == 0 || micros(now.since(self.tuning.round_from)) < rtt_us {
            return;
        }
        let read = (self.read - self.tuning.round_start).min(1 << 30) as u32;
        if read > self.tuning.appetite_bytes {
            self.grow_buffer(read, max_bytes);
        }
        self.tuning.round_start = self.read;
        self.tuning.round_from = now;
    }

    /// Twice what was read, for this is a round trip late, and room for the sender to
    /// grow as it did.
    fn grow_buffer(&mut self, read: u32, max_bytes: u64) {
        let old = u64::from(self.tuning.appetite_bytes);
        let read = u64::from(read);
        let mut window = 2 * read;
        window += 2 * (window * (read - old) / old);
        if let Some(reassembly) = &self.reassembly {
            window += reassembly.end().unwrap_or(self.nxt) - self.nxt;
        }
        self.tuning.appetite_bytes = read as u32;
        let bytes = window.min(max_bytes).min(1 << 30) as u32;
        self.buffer_bytes = self.buffer_bytes.max(bytes);
    }
}
