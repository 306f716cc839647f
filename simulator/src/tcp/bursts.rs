// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How much of what may be sent leaves together, and when: segments, chunks, bursts, pace.

use ebb_algorithms::Phase;
use ebb_link::Nanos;

use super::sender::Sender;
use super::transmit::Push;

/// The first segments of a connection are not paced.
const UNPACED_PKTS: u64 = 10;
/// A burst is what is sent in this part of a second at the present pace.
const BURSTS_PER_S: u64 = 1_024;
/// The largest burst; it is halved for each of these of the least round-trip time.
const LARGEST_BURST_BYTES: u64 = 65_536;
const SHORT_RTT_US: u32 = 512;

impl Sender {
    /// Payload of the next new segment; 0: nothing to send, or not enough for a segment
    /// while the send buffer is full.
    #[inline]
    pub(super) fn next_length(&self, push: Push) -> u32 {
        let end = self.sendable_end();
        if push == Push::Fit {
            let room = self.window_end().min(end).saturating_sub(self.nxt);
            return room.min(u64::from(self.segment_bytes)) as u32;
        }
        let ready = end
            .saturating_sub(self.nxt)
            .min(u64::from(self.segment_bytes)) as u32;
        let is_held = ready < self.segment_bytes && end < self.written;
        if is_held && !self.board.is_empty() {
            0
        } else {
            ready
        }
    }

    /// The application writes the next chunk: a third of a send buffer that holds twice
    /// the window in memory, which is a sixteenth more than a window of payload.
    #[inline]
    pub(super) fn renew_chunk(&mut self) {
        if self.nxt >= self.chunk.end {
            let window_pkts = self.cwnd_pkts + (self.cwnd_pkts / 16).max(1);
            let chunk_pkts = window_pkts.max(self.config.options.initial_window_pkts);
            self.chunk.start = self.nxt;
            self.chunk.end = self.nxt + u64::from(chunk_pkts) * u64::from(self.segment_bytes);
        }
    }

    /// What leaves as one: a millisecond's worth, more where the path is short, two
    /// segments at least.
    pub(super) fn burst_goal(&self, most: u32) -> u32 {
        let halvings = self.least_rtt.us() / SHORT_RTT_US;
        let extra = if halvings < 32 {
            LARGEST_BURST_BYTES >> halvings
        } else {
            0
        };
        let bytes = (self.pace_bytes_per_s() / BURSTS_PER_S + extra).min(LARGEST_BURST_BYTES);
        let segments = bytes / u64::from(self.segment_bytes.max(1));
        (segments as u32).max(2).min(most)
    }

    /// Whether to wait for room for a larger burst: only in good order, while
    /// acknowledgements are expected soon.
    pub(super) fn should_defer(&self, now: Nanos, room_pkts: u32, goal: u32) -> bool {
        if matches!(self.phase, Phase::Recovery | Phase::Loss) {
            return false;
        }
        let is_recent = self
            .last_sent_at()
            .is_some_and(|at| now.since(at) <= Nanos::from_millis(1));
        let segment_bytes = u64::from(self.segment_bytes);
        let window_bytes = u64::from(self.cwnd_pkts) * segment_bytes;
        let third = window_bytes.min(u64::from(self.peer_window_bytes)) / 3;
        let room_bytes = u64::from(room_pkts) * segment_bytes;
        if !is_recent || room_pkts >= goal || room_bytes >= third {
            return false;
        }
        // The next acknowledgement may be late if the first segment is young.
        self.front_age_us(now) >= self.rtt.srtt_us() / 2
    }

    /// What Linux would pace at, whether or not it paces.
    pub(super) fn pace_bytes_per_s(&self) -> u64 {
        if self.pacing.is_by_law {
            return self.pacing.bytes_per_s;
        }
        let percent = if self.cwnd_pkts < self.ssthresh_pkts / 2 {
            200
        } else {
            120
        };
        let window = u64::from(self.cwnd_pkts.max(self.board.out_pkts()));
        let bytes = window * u64::from(self.segment_bytes) * percent / 100;
        match self.rtt.srtt_us() {
            0 => 0,
            srtt_us => bytes.saturating_mul(1_000_000) / u64::from(srtt_us),
        }
    }

    /// The host's own pace, unless the law has one.
    #[inline]
    pub(super) fn update_pacing(&mut self) {
        if self.pacing.is_by_law {
            return;
        }
        if self.config.options.pacing == ebb_scenario::Pacing::On {
            self.pacing.bytes_per_s = self.pace_bytes_per_s();
        } else {
            self.pacing.bytes_per_s = 0;
        }
    }

    /// After a burst: when the next may leave. Time that was lost is made up for by half.
    pub(super) fn charge_pace(&mut self, now: Nanos, burst: u32) {
        if self.pacing.bytes_per_s == 0 || self.counters.sent_pkts < UNPACED_PKTS {
            return;
        }
        let bytes = u64::from(burst) * u64::from(self.segment_bytes);
        let length = (bytes * 1_000_000_000).div_ceil(self.pacing.bytes_per_s);
        let late = now.since(self.pacing.next_at).0;
        let length = length - late.min(length / 2);
        self.pacing.next_at = now + Nanos(length);
    }
}
