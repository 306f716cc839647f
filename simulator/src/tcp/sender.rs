// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sending half of an endpoint: what is out, what is lost, how much may be out.

use std::sync::Arc;

use ebb_algorithms::{Phase, SenderFlow};
use ebb_link::Nanos;
use ebb_scenario::Recovery;

use super::LINE_BYTES;
use super::clock::{NEVER, unwrap32};
use super::config::TcpConfig;
use super::rack::Rack;
use super::rtt::{LeastRtt, RttEstimator};
use super::scoreboard::Scoreboard;

/// A threshold that is none.
pub(super) const NO_SSTHRESH_PKTS: u32 = 0x7fff_ffff;
/// Duplicate acknowledgements that mean a loss.
pub(super) const DUPLICATE_THRESHOLD: u32 = 3;

/// The state of the sending half. Bytes are counted from our SYN, which is 0.
///
/// In the order of use, by lines of the cache: the first is all that data needs which
/// arrives where none is sent, then comes what every acknowledgement of ours needs; what only
/// a repair needs stands last.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Sender {
    /// First byte not acknowledged, first byte not sent.
    pub(super) una: u64,
    pub(super) nxt: u64,
    /// The peer's window, and the peer's sequence number that brought it.
    pub(super) window_from_seq: u64,
    pub(super) peer_window_bytes: u32,
    /// Our first sequence number.
    pub(super) initial_seq: u32,
    pub(super) board: Scoreboard,

    pub(super) config: Arc<TcpConfig>,
    /// End of what was written.
    pub(super) written: u64,
    pub(super) cwnd_pkts: u32,
    pub(super) ssthresh_pkts: u32,
    pub(super) phase: Phase,
    pub(super) backoff: u8,
    pub(super) peer_scale: u8,
    pub(super) has_sack: bool,
    pub(super) has_ecn: bool,
    /// The next new segment says that the window was reduced.
    pub(super) announces_reduction: bool,
    /// The application has nothing more to write: FIN follows the last byte.
    pub(super) is_closing: bool,
    pub(super) is_fin_sent: bool,

    pub(super) law: Option<SenderFlow>,
    /// Payload of a full segment, and what the law wants of it.
    pub(super) mss_bytes: u32,
    pub(super) segment_bytes: u32,

    pub(super) rate: RateState,
    pub(super) rtt: RttEstimator,

    pub(super) rack: Rack,
    pub(super) pacing: Pacer,

    pub(super) least_rtt: LeastRtt,
    /// What the application wrote at one go, as far as it matters: to the last segment
    /// the receiver answers at once.
    pub(super) chunk: Chunk,
    /// When data was sent last; `NEVER` before.
    last_sent_at: Nanos,

    pub(super) usage: WindowUsage,
    /// The time that the last transmission was given.
    pub(super) last_stamp: Nanos,
    pub(super) random: u64,
    pub(super) rtt_samples: u64,
    /// The recovery ends when this byte is acknowledged.
    pub(super) high_seq: u64,

    /// A probe for a tail loss is out: first byte not sent then; 0: none.
    pub(super) probe_end: u64,
    pub(super) last_rtt_us: u32,
    /// Segments by which the path reorders, and whether it was seen to.
    pub(super) reordering_pkts: u32,
    pub(super) has_seen_reordering: bool,
    pub(super) is_probe_resent: bool,
    /// An F-RTO is under way.
    pub(super) is_frto: bool,
    /// Time-outs in a row.
    pub(super) timeouts_in_row: u8,
    pub(super) rtt_sum_us: u64,
    pub(super) counters: SenderCounters,

    pub(super) reduction: Reduction,
    pub(super) undo: Undo,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Sender, config) == 3 * LINE_BYTES / 2);
    assert!(offset_of!(Sender, law) == 2 * LINE_BYTES);
    assert!(offset_of!(Sender, rate) == 3 * LINE_BYTES);
    assert!(offset_of!(Sender, rack) == 4 * LINE_BYTES);
    assert!(offset_of!(Sender, least_rtt) == 5 * LINE_BYTES);
    assert!(offset_of!(Sender, usage) == 6 * LINE_BYTES);
    assert!(offset_of!(Sender, probe_end) == 7 * LINE_BYTES);
};

/// A part of the stream that a greedy application writes at one go: Linux wakes it when a
/// part of the send buffer is free, about once a window.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Chunk {
    pub(super) start: u64,
    pub(super) end: u64,
}

/// A reduction of the window that is spread over a round trip (PRR).
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Reduction {
    pub(super) prior_cwnd_pkts: u32,
    pub(super) delivered_pkts: u32,
    pub(super) sent_pkts: u32,
    /// NewReno: a partial acknowledgement has come.
    pub(super) is_partly_acknowledged: bool,
}

/// What is needed to take a reduction back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// First byte not acknowledged when the repair began; 0: nothing to undo.
    pub(super) marker: u64,
    /// Segments sent again that no duplicate report has excused; none: none was sent.
    pub(super) resent_pkts: Option<u32>,
    /// The threshold before; 0: must not be restored.
    pub(super) prior_ssthresh_pkts: u32,
    /// When the first segment was sent again: time, and our timestamp clock.
    pub(super) first_resent: Option<(Nanos, u32)>,
}

/// Whether the window is used.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WindowUsage {
    pub(super) is_limited: bool,
    pub(super) max_out_pkts: u32,
    /// This round trip ends when this byte is acknowledged.
    pub(super) round_end: u64,
    /// Most that was out since the window was full last, and when that was.
    pub(super) used_pkts: u32,
    pub(super) full_at: Nanos,
}

/// The state of delivery rate samples.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RateState {
    pub(super) delivered_pkts: u64,
    pub(super) delivered_at: Nanos,
    pub(super) flight_from: Nanos,
    /// Samples are bounded by the application until so many are delivered; 0: are not.
    pub(super) app_limited_until_pkts: u64,
}

/// Spreads segments over time.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Pacer {
    /// 0: not paced.
    pub(super) bytes_per_s: u64,
    pub(super) next_at: Nanos,
    /// Whether `bytes_per_s` is the law's own.
    pub(super) is_by_law: bool,
}

/// What is counted; the first three at nearly every call.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(super) struct SenderCounters {
    pub(super) sent_pkts: u64,
    pub(super) sent_bytes: u64,
    pub(super) lost_pkts: u64,
    pub(super) resent_pkts: u64,
    pub(super) resent_bytes: u64,
    pub(super) timeouts: u32,
    pub(super) recoveries: u32,
    pub(super) reductions: u32,
    pub(super) undos: u32,
    pub(super) probes: u32,
    pub(super) duplicates: u64,
}

impl Sender {
    /// A sender before its SYN.
    ///
    /// Long because each field of the state has a line in it.
    pub(super) fn new(config: Arc<TcpConfig>, initial_seq: u32, seed: u64) -> Self {
        let options = &config.options;
        Self {
            board: Scoreboard::default(),
            initial_seq,
            mss_bytes: options.mss_bytes,
            segment_bytes: options.mss_bytes,
            una: 0,
            nxt: 0,
            written: 1,
            chunk: Chunk::default(),
            is_closing: false,
            is_fin_sent: false,
            peer_window_bytes: 0,
            window_from_seq: 0,
            peer_scale: 0,
            phase: Phase::Open,
            cwnd_pkts: options.initial_window_pkts,
            ssthresh_pkts: NO_SSTHRESH_PKTS,
            law: None,
            high_seq: 0,
            reduction: Reduction::default(),
            undo: Undo::default(),
            rack: Rack::default(),
            reordering_pkts: DUPLICATE_THRESHOLD,
            has_seen_reordering: false,
            is_frto: false,
            timeouts_in_row: 0,
            backoff: 0,
            probe_end: 0,
            is_probe_resent: false,
            rtt: RttEstimator::new(options),
            least_rtt: LeastRtt::NONE,
            rtt_samples: 0,
            last_rtt_us: 0,
            rtt_sum_us: 0,
            usage: WindowUsage::default(),
            rate: RateState::default(),
            pacing: Pacer::default(),
            last_sent_at: NEVER,
            last_stamp: Nanos::ZERO,
            has_sack: false,
            has_ecn: false,
            announces_reduction: false,
            random: seed,
            counters: SenderCounters::default(),
            config,
        }
    }

    /// Number of a byte on the wire.
    #[inline]
    pub(super) fn wire(&self, offset: u64) -> u32 {
        self.initial_seq.wrapping_add(offset as u32)
    }

    #[inline]
    pub(super) fn offset(&self, seq: u32) -> u64 {
        unwrap32(seq.wrapping_sub(self.initial_seq), self.una)
    }

    /// First byte that the peer does not want yet.
    #[inline]
    pub(super) fn window_end(&self) -> u64 {
        self.una + u64::from(self.peer_window_bytes)
    }

    /// End of what may be sent as far as the application and the send buffer go.
    #[inline]
    pub(super) fn sendable_end(&self) -> u64 {
        let held_bytes = self.config.options.send_buffer.max_bytes();
        self.written.min(self.una.saturating_add(held_bytes))
    }

    /// Whether there is anything that was not sent, FIN included.
    #[inline]
    pub(super) fn has_unsent(&self) -> bool {
        self.nxt < self.written || (self.is_closing && !self.is_fin_sent)
    }

    #[inline]
    pub(super) fn recovery(&self) -> Recovery {
        match self.config.options.recovery {
            Recovery::Rack | Recovery::Sack if !self.has_sack => Recovery::NewReno,
            recovery => recovery,
        }
    }

    #[inline]
    pub(super) fn uses_rack(&self) -> bool {
        self.has_sack && self.config.options.recovery == Recovery::Rack
    }

    #[inline]
    pub(super) fn uses_sack(&self) -> bool {
        matches!(self.recovery(), Recovery::Rack | Recovery::Sack)
    }

    /// In a reduction that PRR spreads.
    #[inline]
    pub(super) fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Cwr | Phase::Recovery)
    }

    #[inline]
    pub(super) fn is_in_slow_start(&self) -> bool {
        self.cwnd_pkts < self.ssthresh_pkts
    }

    /// What counts against the window: without limited transmit, segments that left the
    /// network make room only in a recovery.
    #[inline]
    pub(super) fn inflight_pkts(&self) -> u32 {
        let inflight = self.board.inflight_pkts();
        if self.phase == Phase::Disorder && !self.config.options.has_limited_transmit {
            return inflight + self.board.sacked_pkts;
        }
        inflight
    }

    /// The retransmission time-out with its backoff.
    pub(super) fn rto(&self) -> Nanos {
        let rto = self
            .rtt
            .rto()
            .0
            .saturating_mul(1_u64 << self.backoff.min(30));
        Nanos(rto).min(self.config.options.max_rto)
    }

    /// Threshold that a window grown so far would have (three quarters of it at least).
    pub(super) fn current_ssthresh_pkts(&self) -> u32 {
        if self.is_reducing() {
            return self.ssthresh_pkts;
        }
        self.ssthresh_pkts
            .max(self.cwnd_pkts / 2 + self.cwnd_pkts / 4)
    }

    /// Time that is never or later, for a paced sender: when the next segment may leave.
    #[inline]
    pub(super) fn paced_until(&self, now: Nanos) -> Option<Nanos> {
        (self.pacing.bytes_per_s > 0 && self.pacing.next_at > now).then_some(self.pacing.next_at)
    }

    /// When data was sent last.
    #[inline]
    pub(super) fn last_sent_at(&self) -> Option<Nanos> {
        (self.last_sent_at < NEVER).then_some(self.last_sent_at)
    }

    #[inline]
    pub(super) fn note_sent(&mut self, now: Nanos) {
        self.last_sent_at = now;
    }

    /// A time for a transmission: each has its own, so that RACK knows which of two came
    /// first that left in one instant.
    #[inline]
    pub(super) fn stamp(&mut self, now: Nanos) -> Nanos {
        self.last_stamp = now.max(self.last_stamp + Nanos(1));
        self.last_stamp
    }

    /// SplitMix64.
    #[inline]
    pub(super) fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value >> 32) as u32
    }

    /// Nothing is out: what was missing is settled.
    pub(super) fn is_idle(&self) -> bool {
        self.board.is_empty()
    }
}

/// Microseconds between two times, rounded, within 32 bits.
#[inline]
pub(super) fn micros_between(later: Nanos, earlier: Nanos) -> u32 {
    debug_assert!(earlier != NEVER);
    ((later.since(earlier).0 + 500) / 1_000).min(u64::from(u32::MAX >> 2)) as u32
}
