// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receiving half of an endpoint: puts data in order and decides when it is
//! acknowledged and how much more may come.

use std::sync::Arc;

use ebb_link::Nanos;
use ebb_scenario::TcpProfile;

use super::LINE_BYTES;
use super::acks::AckState;
use super::clock::{NEVER, is_before32, unwrap32};
use super::config::TcpConfig;
use super::offload::ReceiveOffload;
use super::reassembly::{Range, Reassembly};
use super::receiver_law::ReceiverLaw;
use super::tuning::Tuning;
use crate::segment::{Flags, Segment};

/// The state of the receiving half. Bytes are counted from the peer's SYN, which is 0.
///
/// In the order of use, by lines of the cache: the first is for every segment that leaves,
/// the second for every acknowledgement, the third for arriving data, the last for the rest.
#[derive(Debug)]
#[repr(C)]
pub(super) struct Receiver {
    pub(super) config: Arc<TcpConfig>,
    /// Next byte expected.
    pub(super) nxt: u64,
    /// Next byte that the application reads.
    pub(super) read: u64,
    /// Next byte expected when a window was advertised last, and that window.
    pub(super) advertised_at: u64,
    /// The furthest right edge that was ever advertised: what was sent within it is taken.
    pub(super) furthest_edge: u64,
    pub(super) window_bytes: u32,
    /// Bound of the window that grows with what arrives (`rcv_ssthresh`).
    pub(super) window_bound_bytes: u32,
    /// What the buffer holds now.
    pub(super) buffer_bytes: u32,
    /// The peer's first sequence number.
    pub(super) initial_seq: u32,
    /// The peer's timestamp to echo.
    pub(super) recent_ts: u32,
    pub(super) window_scale: u8,
    /// Whether the application takes everything as it comes.
    pub(super) reads_at_once: bool,
    pub(super) has_sack: bool,
    pub(super) has_ecn: bool,

    pub(super) law: Option<Box<ReceiverLaw>>,
    /// What arrived beyond the next byte expected.
    pub(super) reassembly: Option<Box<Reassembly>>,
    /// Where the peer's stream ends, once its FIN has come; `NO_END` before.
    end: u64,
    /// What came in order since an acknowledgement was decided on last.
    pub(super) undecided_bytes: u32,
    /// A congestion mark has come and the sender has not said that it knows.
    pub(super) echoes_mark: bool,
    /// Whether there is something to be reported as a duplicate.
    has_duplicate: bool,
    pub(super) acks: AckState,
    pub(super) tuning: Tuning,
    duplicate_at: u64,
    duplicate_bytes: u32,
    /// Data segments that brought nothing new.
    pub(super) duplicate_pkts: u32,
    /// Segments that wait for more, if they do so.
    pub(super) offload: Option<Box<ReceiveOffload>>,
}

/// `EBB_FINEST_SCALE` of the kernel's programs: the largest in which 1152 bytes, the least clamp that
/// TCP takes, are a whole number of units.
const FINEST_SCALE: u8 = 7;
/// More than any stream has.
const NO_END: u64 = u64::MAX;

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Receiver, law) == LINE_BYTES);
    assert!(offset_of!(Receiver, acks) == 3 * LINE_BYTES / 2);
    assert!(offset_of!(Receiver, tuning) == 5 * LINE_BYTES / 2);
};

impl Receiver {
    pub(super) fn new(config: Arc<TcpConfig>) -> Self {
        let options = &config.options;
        let buffer_bytes = match options.receive_buffer {
            ebb_scenario::Buffer::Fixed(bytes) => bytes,
            ebb_scenario::Buffer::Autotuned { initial_bytes, .. } => initial_bytes,
        };
        let buffer_bytes = u32::try_from(buffer_bytes).unwrap_or(1 << 30).min(1 << 30);
        let first_window = match options.profile {
            TcpProfile::Linux => buffer_bytes.min(65_535),
            TcpProfile::Paper => buffer_bytes,
        };
        Self {
            initial_seq: 0,
            nxt: 0,
            read: 0,
            advertised_at: 0,
            furthest_edge: 0,
            undecided_bytes: 0,
            window_bytes: first_window.min(65_535),
            window_bound_bytes: first_window,
            buffer_bytes,
            window_scale: 0,
            reads_at_once: true,
            has_sack: false,
            has_ecn: false,
            echoes_mark: false,
            end: NO_END,
            recent_ts: 0,
            reassembly: None,
            has_duplicate: false,
            duplicate_at: 0,
            duplicate_bytes: 0,
            acks: AckState::new(options),
            tuning: Tuning::new(first_window.min(options.initial_window_pkts * options.mss_bytes)),
            law: None,
            duplicate_pkts: 0,
            offload: ReceiveOffload::new(options.receive_offload),
            config,
        }
    }

    /// The peer's SYN.
    pub(super) fn synchronize(&mut self, segment: &Segment) {
        self.initial_seq = segment.seq;
        self.nxt = 1;
        self.read = 1;
        self.advertised_at = 1;
        self.undecided_bytes = 0;
        if let Some(timestamps) = segment.timestamps {
            self.recent_ts = timestamps.value;
        }
    }

    /// Scale that makes the largest buffer fit into 16 bits; under a law that has a bundle it is
    /// finer if need be, as the kernel's programs ask for it (`ebb_before_handshake`).
    pub(super) fn wanted_scale(&self) -> u8 {
        let mut space = self.config.options.receive_buffer.max_bytes().min(1 << 30);
        let most = match self.config.bundle {
            Some(_) => FINEST_SCALE,
            None => 14,
        };
        let mut scale = 0;
        while space > 65_535 && scale < most {
            space >>= 1;
            scale += 1;
        }
        scale
    }

    /// First byte that the peer must not send.
    #[inline]
    pub(super) fn right_edge(&self) -> u64 {
        self.advertised_at + u64::from(self.window_bytes)
    }

    #[inline]
    pub(super) fn has_gap(&self) -> bool {
        self.reassembly
            .as_ref()
            .is_some_and(|ranges| !ranges.is_empty())
    }

    /// Number of a byte on the wire.
    #[inline]
    pub(super) fn wire(&self, offset: u64) -> u32 {
        self.initial_seq.wrapping_add(offset as u32)
    }

    #[inline]
    pub(super) fn offset(&self, seq: u32) -> u64 {
        unwrap32(seq.wrapping_sub(self.initial_seq), self.nxt)
    }

    /// Keeps the timestamp that is to be echoed (RFC 7323 §4.3).
    #[inline]
    pub(super) fn note_timestamp(&mut self, segment: &Segment) {
        if let Some(timestamps) = segment.timestamps {
            let is_due = self.offset(segment.seq) <= self.advertised_at;
            if is_due && !is_before32(timestamps.value, self.recent_ts) {
                self.recent_ts = timestamps.value;
            }
        }
    }

    /// Takes a segment with data or FIN. *Returns:* whether to acknowledge at once.
    pub(super) fn on_data(&mut self, now: Nanos, segment: &Segment, is_ce: bool) -> bool {
        let start = self.offset(segment.seq);
        let data_end = start + u64::from(segment.payload_bytes);
        let end = data_end + u64::from(segment.flags.has(Flags::FIN));
        if end <= self.nxt || end > self.furthest_edge.max(self.right_edge()).max(self.nxt) + 1 {
            return self.refuse(now, (start, end));
        }
        let segment_bytes = segment.payload_bytes.min(self.merged_bytes());
        self.acks
            .measure_mss(segment_bytes, segment.flags.has(Flags::PSH));
        self.note_marks(segment, is_ce);
        if segment.flags.has(Flags::FIN) {
            self.end = end;
        }
        if start > self.nxt {
            return self.on_gap(now, (start, end));
        }
        if start < self.nxt {
            self.note_duplicate((start, self.nxt));
        }
        self.in_order(now, segment, end)
    }

    /// Nothing new, or beyond the window.
    fn refuse(&mut self, now: Nanos, range: Range) -> bool {
        self.duplicate_pkts += 1;
        if range.1 <= self.nxt && range.0 < range.1 {
            self.note_duplicate(range);
        }
        let window_bytes = self.window_bytes;
        self.acks.enter_quick_mode(now, window_bytes, u32::MAX);
        true
    }

    fn in_order(&mut self, now: Nanos, segment: &Segment, end: u64) -> bool {
        let had_gap = self.has_gap();
        let expected = self.nxt;
        self.nxt = end;
        if let Some(reassembly) = self.reassembly.as_mut().filter(|_| had_gap) {
            self.nxt = reassembly.advance(end);
            if reassembly.is_empty() {
                // RFC 5681 §4.2: at once when a gap is filled.
                self.acks.is_due = true;
                self.reassembly = None;
            }
        }
        let new_bytes = u32::try_from(self.nxt - expected).unwrap_or(u32::MAX);
        self.undecided_bytes = self.undecided_bytes.saturating_add(new_bytes);
        self.acks.on_in_order(now, self.window_bytes);
        self.tuning.measure_rtt(
            now,
            segment,
            self.nxt,
            self.window_bytes,
            self.acks.mss_bytes,
        );
        self.grow_bound(segment.payload_bytes);
        if self.is_finished() {
            self.acks.is_due = true;
        }
        (self.reads_at_once && self.consume(now, u64::MAX)) || self.wants_ack(now)
    }

    fn on_gap(&mut self, now: Nanos, range: Range) -> bool {
        let inserted = self.reassembly.get_or_insert_default().insert(range);
        if let Some(duplicate) = inserted.duplicate {
            self.note_duplicate(duplicate);
        }
        self.duplicate_pkts += u32::from(inserted.new_bytes == 0);
        // Without SACK a larger window would hide that this is a duplicate.
        if inserted.new_bytes > 0 && self.has_sack {
            self.grow_bound(u32::try_from(range.1 - range.0).unwrap_or(0));
        }
        self.acks.is_scheduled = true;
        // No more than three ranges fit: what waits to be said must not be pushed out.
        self.acks.is_due |= !inserted.is_of_latest && self.acks.is_compressing();
        self.wants_ack(now)
    }

    /// RFC 3168 §6.1.3: echoes a mark until the sender says that it has reduced.
    fn note_marks(&mut self, segment: &Segment, is_ce: bool) {
        if !self.has_ecn {
            return;
        }
        if segment.flags.has(Flags::CWR) {
            self.echoes_mark = false;
            self.acks.is_due = true;
        }
        if is_ce && !self.echoes_mark {
            self.echoes_mark = true;
            let window_bytes = self.window_bytes;
            self.acks.add_quick(window_bytes, 2);
        }
    }

    /// Whether the peer's stream has come to its end.
    #[inline]
    pub(super) fn is_finished(&self) -> bool {
        self.nxt >= self.end
    }

    /// A range that came twice, to be reported by the next acknowledgement.
    pub(super) fn duplicate(&self) -> Option<Range> {
        let end = self.duplicate_at + u64::from(self.duplicate_bytes);
        self.has_duplicate.then_some((self.duplicate_at, end))
    }

    fn note_duplicate(&mut self, range: Range) {
        self.has_duplicate = true;
        self.duplicate_at = range.0;
        self.duplicate_bytes = u32::try_from(range.1 - range.0).unwrap_or(u32::MAX);
    }

    /// Payload that has arrived in order. *Units:* bytes.
    pub(super) fn received_bytes(&self) -> u64 {
        let controls = 1 + u64::from(self.is_finished());
        self.nxt.saturating_sub(controls)
    }

    pub(super) fn next_timer(&self) -> Nanos {
        let law = self.law.as_ref();
        let law_at = law.map_or(NEVER, |law| law.held_until().min(law.wakes_at()));
        let at = self.acks.at.min(self.acks.compressed_at);
        at.min(law_at).min(self.waits_until())
    }

    /// A segment with an acknowledgement leaves: nothing waits any more.
    pub(super) fn sent_ack(&mut self) {
        self.undecided_bytes = 0;
        self.acks.sent();
        self.has_duplicate = false;
        debug_assert!(self.acks.at == NEVER);
    }
}
