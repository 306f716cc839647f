// SPDX-License-Identifier: Apache-2.0 OR MIT
//! When arriving data is acknowledged: delayed, quick and compressed acknowledgements.

use ebb_link::Nanos;
use ebb_scenario::{TcpOptions, TcpProfile};

use super::clock::NEVER;
use super::receiver::Receiver;

/// Bytes that Linux takes for a segment until it has seen one.
const GUESSED_MSS_BYTES: u32 = 536;
/// Duplicate acknowledgements that leave at once before they are compressed.
const UNCOMPRESSED_ACKS: u8 = 3;
/// Acknowledgements that are compressed into one at the most.
const MAX_COMPRESSED_ACKS: u8 = 44;
/// The longest that a compressed acknowledgement waits.
const MAX_COMPRESSION: Nanos = Nanos::from_millis(1);

/// The state of acknowledging; what every acknowledgement needs comes first.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(super) struct AckState {
    /// When a delayed acknowledgement leaves.
    pub(super) at: Nanos,
    /// When a compressed one leaves.
    pub(super) compressed_at: Nanos,
    /// The peer's segments, as far as seen.
    pub(super) mss_bytes: u32,
    /// Full segments that may wait for one more, with which they are acknowledged.
    waiting_segments: u16,
    most_quick: u8,
    /// Segments to be acknowledged each.
    quick: u8,
    /// Data goes both ways: acknowledgements wait for data.
    pub(super) is_interactive: bool,
    pub(super) is_scheduled: bool,
    /// To be sent at once.
    pub(super) is_due: bool,
    /// A segment was smaller than others: the application reads it and answers.
    is_pushed: bool,
    has_data: bool,
    does_compress: bool,
    duplicates: u8,
    compressed: u8,

    last_data_at: Nanos,
    /// How long an acknowledgement is delayed now.
    delay: Nanos,
    shortest_delay: Nanos,
    duplicates_at: u64,
}

impl AckState {
    pub(super) fn new(options: &TcpOptions) -> Self {
        let delayed = options.delayed_acks;
        Self {
            at: NEVER,
            compressed_at: NEVER,
            last_data_at: Nanos::ZERO,
            delay: delayed.timeout,
            shortest_delay: delayed.timeout,
            mss_bytes: GUESSED_MSS_BYTES.min(options.mss_bytes),
            // The configuration allows up to 2^16.
            waiting_segments: u16::try_from(delayed.segments - 1).unwrap_or(u16::MAX),
            most_quick: u8::try_from(delayed.quick_pkts).unwrap_or(u8::MAX),
            quick: 0,
            is_interactive: false,
            is_scheduled: false,
            is_due: false,
            is_pushed: false,
            has_data: false,
            does_compress: options.profile == TcpProfile::Linux,
            duplicates: 0,
            compressed: 0,
            duplicates_at: 0,
        }
    }

    pub(super) fn measure_mss(&mut self, payload_bytes: u32, is_pushed: bool) {
        if payload_bytes >= self.mss_bytes {
            self.mss_bytes = payload_bytes;
            // The end of what the peer's application wrote: it may wait for an answer.
            self.is_pushed |= is_pushed && self.does_compress;
        } else if payload_bytes > 0 {
            self.is_pushed = true;
        }
    }

    /// Adds quick acknowledgements: for half a window, `most` at the most.
    pub(super) fn add_quick(&mut self, window_bytes: u32, most: u32) {
        let wanted = (window_bytes / (2 * self.mss_bytes)).max(2);
        let most = most.min(u32::from(self.most_quick));
        self.quick = self.quick.max(wanted.min(most) as u8);
    }

    /// Linux tells the sender of a larger window at once: while windows grow, each segment
    /// is acknowledged.
    #[inline]
    pub(super) fn on_window_growth(&mut self) {
        self.quick |= u8::from(self.most_quick > 0);
    }

    pub(super) fn enter_quick_mode(&mut self, _now: Nanos, window_bytes: u32, most: u32) {
        self.add_quick(window_bytes, most);
        self.is_interactive = false;
        self.delay = self.shortest_delay;
        self.is_scheduled = true;
        self.is_due = true;
    }

    /// Data in order: the delay follows the gaps between segments.
    #[inline]
    pub(super) fn on_in_order(&mut self, now: Nanos, window_bytes: u32) {
        self.is_scheduled = true;
        let gap = now.since(self.last_data_at);
        let half = self.shortest_delay.0 / 2;
        if !self.has_data {
            self.has_data = true;
            self.add_quick(window_bytes, u32::MAX);
            self.delay = self.shortest_delay;
        } else if gap.0 <= half {
            self.delay = Nanos(self.delay.0 / 2 + half);
        } else if gap < self.delay {
            self.delay = Nanos(self.delay.0 / 2 + gap.0);
        } else if gap > Nanos::from_secs(1) {
            self.add_quick(window_bytes, u32::MAX);
        }
        self.last_data_at = now;
    }

    /// A segment that acknowledges leaves.
    #[inline]
    pub(super) fn sent(&mut self) {
        if self.quick > 0 {
            self.quick -= 1;
            if self.quick == 0 {
                self.delay = self.shortest_delay;
            }
        }
        self.at = NEVER;
        self.compressed_at = NEVER;
        self.compressed = 0;
        self.is_scheduled = false;
        self.is_due = false;
        self.is_pushed = false;
    }

    /// The delayed acknowledgement's time has come: the next may wait longer.
    pub(super) fn missed(&mut self) {
        if self.is_interactive {
            self.is_interactive = false;
            self.delay = self.shortest_delay;
        } else {
            self.delay = Nanos(self.delay.0 * 2)
                .min(Nanos::from_millis(200))
                .max(self.shortest_delay);
        }
    }

    /// Data leaves shortly after data came: this is a dialogue.
    #[inline]
    pub(super) fn on_data_sent(&mut self, now: Nanos) {
        if self.has_data && now.since(self.last_data_at) < self.delay {
            self.is_interactive = true;
        }
    }

    /// Something waits to be said about a gap.
    pub(super) fn is_compressing(&self) -> bool {
        self.compressed > 0
    }

    fn is_quick(&self) -> bool {
        self.quick > 0 && !self.is_interactive
    }
}

impl Receiver {
    /// Whether what arrived is to be acknowledged at once; if not, a timer is set.
    pub(super) fn wants_ack(&mut self, now: Nanos) -> bool {
        let is_read = self.read == self.nxt;
        let is_enough = self.has_enough() && (is_read || self.wanted_window() >= self.window_bytes);
        if is_enough || self.acks.is_due || self.acks.is_quick() {
            return true;
        }
        if !self.has_gap() {
            self.delay_ack(now);
            return false;
        }
        self.answers_gap(now)
    }

    /// Whether as many segments wait as are acknowledged together.
    fn has_enough(&self) -> bool {
        let acks = &self.acks;
        let enough_bytes = u64::from(acks.waiting_segments) * u64::from(acks.mss_bytes);
        u64::from(self.undecided_bytes) > enough_bytes
    }

    fn delay_ack(&mut self, now: Nanos) {
        if self.acks.is_scheduled {
            let longest = match self.tuning.rtt_us() {
                0 => Nanos::from_millis(500),
                rtt_us => Nanos::from_micros(u64::from(rtt_us)),
            };
            let delay = self.acks.delay.min(longest.max(self.acks.shortest_delay));
            let at = self.config.coarse(now, now + delay);
            self.acks.at = self.acks.at.min(at);
        }
    }

    /// Something is missing: the first three acknowledgements leave at once, then they
    /// are compressed into one each millisecond or twentieth of the round trip.
    fn answers_gap(&mut self, now: Nanos) -> bool {
        let acks = &mut self.acks;
        if !acks.does_compress || !self.has_sack || acks.compressed >= MAX_COMPRESSED_ACKS {
            return true;
        }
        if acks.duplicates_at != self.nxt {
            acks.duplicates_at = self.nxt;
            acks.duplicates = 0;
        }
        if acks.duplicates < UNCOMPRESSED_ACKS {
            acks.duplicates += 1;
            return true;
        }
        acks.compressed += 1;
        if acks.compressed_at == NEVER {
            let rtt = Nanos::from_micros(u64::from(self.tuning.rtt_us()));
            acks.compressed_at = now + MAX_COMPRESSION.min(Nanos(rtt.0 / 20));
        }
        false
    }

    /// The application reads. *Returns:* whether that is to be acknowledged at once.
    pub(super) fn consume(&mut self, now: Nanos, bytes: u64) -> bool {
        let end = self.nxt - u64::from(self.is_finished());
        let read = self.read.saturating_add(bytes).min(end).max(self.read);
        if read == self.read {
            return false;
        }
        self.read = read;
        self.adjust_buffer(now);
        let acks = &self.acks;
        let is_all = read == end && !self.has_gap();
        let is_small = acks.is_pushed && is_all && !acks.is_interactive;
        (acks.is_scheduled && (is_small || self.has_enough())) || self.can_open_window()
    }

    /// Linux tells at once of a window that reading has made at least twice as large, where no
    /// more than half of it is left: with a window of one segment, each time.
    fn can_open_window(&self) -> bool {
        // Nobody sends into it any more.
        if self.is_finished() {
            return false;
        }
        let left_bytes = self.right_edge().saturating_sub(self.nxt);
        if 2 * left_bytes > u64::from(self.window_clamp_bytes()) {
            return false;
        }
        let wanted_bytes = u64::from(self.wanted_window());
        wanted_bytes > 0 && wanted_bytes >= 2 * left_bytes
    }
}
