// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receiver law of a connection, told and asked as the kernel's programs do.

use std::collections::VecDeque;

use ebb_algorithms::{
    Ack, Floor, Policy, ReceiverBundle, ReceiverFlow, Segment as LawSegment, Start,
};
use ebb_link::Nanos;

use super::clock::NEVER;
use super::receiver::Receiver;
use super::watch::{Watch, WatchedRound};
use crate::segment::{SackBlocks, Segment};

/// A window that binds nothing.
const NO_CLAMP_BYTES: u32 = 1 << 30;
/// The kernel takes no smaller clamp.
const LEAST_CLAMP_BYTES: u32 = 1_152;
/// How far a window below a segment may open with the next one.
const ROOM_SEGMENTS: u32 = 4;
/// The law is not asked again before this.
const ASK_AGAIN: Nanos = Nanos::from_micros(50);
/// After so many segments the largest one seen is believed to be the sender's.
const MSS_KNOWN_AFTER: u32 = 10;

/// A law and what its host remembers.
#[derive(Debug)]
pub(super) struct ReceiverLaw {
    flow: ReceiverFlow,
    is_observing: bool,
    /// What it sees while it observes, if it has an eye for it.
    watch: Option<Watch>,
    asked_at: Option<Nanos>,
    /// When it is asked again about a window that is closed.
    wakes_at: Nanos,
    /// What the window may be at the most.
    pub(super) clamp_bytes: u32,
    guessed_mss_bytes: u32,
    seen_mss_bytes: u32,
    segments: u32,
    /// Payload that it was told of.
    arrived_bytes: u64,
    /// Acknowledgements that the law holds back.
    held: VecDeque<HeldAck>,
}

/// An acknowledgement that leaves later; window and timestamps are of that time.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeldAck {
    at: Nanos,
    pub(super) ack: u64,
    pub(super) sack: SackBlocks,
}

/// The timestamp clock at a call.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalTime {
    pub(super) now: Nanos,
    pub(super) ts: u32,
    pub(super) tick_us: u32,
    pub(super) has_timestamps: bool,
}

impl ReceiverLaw {
    fn mss_bytes(&self) -> u32 {
        if self.segments < MSS_KNOWN_AFTER {
            self.seen_mss_bytes.max(self.guessed_mss_bytes)
        } else {
            self.seen_mss_bytes
        }
    }

    /// When the first acknowledgement leaves that is held back.
    #[inline]
    pub(super) fn held_until(&self) -> Nanos {
        self.held.front().map_or(NEVER, |held| held.at)
    }

    /// Whether the window is to be closed.
    #[inline]
    pub(super) fn is_parked(&self) -> bool {
        self.wakes_at < NEVER && !self.is_observing
    }

    /// When to ask about a closed window.
    #[inline]
    pub(super) fn wakes_at(&self) -> Nanos {
        self.wakes_at
    }

    fn note_wait(&mut self, now: Nanos) {
        self.wakes_at = match self.flow.wait_us() {
            0 => NEVER,
            wait_us => now + Nanos::from_micros(u64::from(wait_us)),
        };
    }

    fn wanted_clamp_bytes(&self) -> u32 {
        if self.is_observing {
            return NO_CLAMP_BYTES;
        }
        // A window is not closed by its bound, which would have to grow again.
        if self.is_parked() {
            return self.clamp_bytes;
        }
        self.flow
            .window_bytes()
            .clamp(LEAST_CLAMP_BYTES, NO_CLAMP_BYTES)
    }
}

impl Receiver {
    /// Puts the connection under a law, or under none.
    pub(super) fn set_law(&mut self, time: LocalTime, policy: Option<Policy>, is_observing: bool) {
        let Some(policy) = policy else {
            self.lift_clamp();
            self.law = None;
            return;
        };
        let options = &self.config.options;
        let start = Start {
            now_us: time.now.0 / 1_000,
            mss_bytes: options.payload_bytes(),
            rcv_nxt: self.wire(self.nxt),
            has_timestamps: u32::from(time.has_timestamps),
            tsval: self.recent_ts,
        };
        let watch = Watch::new(policy.clone());
        let mut flow = ReceiverFlow::new_in(self.config.bundle.clone(), policy, &start);
        if let Some(floor) = &self.config.floor {
            flow.set_floor(floor);
        }
        let law = ReceiverLaw {
            watch,
            flow,
            is_observing,
            asked_at: None,
            wakes_at: NEVER,
            clamp_bytes: NO_CLAMP_BYTES,
            guessed_mss_bytes: options.payload_bytes(),
            seen_mss_bytes: 0,
            segments: 0,
            arrived_bytes: 0,
            held: VecDeque::new(),
        };
        let clamp_bytes = law.wanted_clamp_bytes();
        self.law = Some(Box::new(law));
        self.apply_clamp(clamp_bytes);
    }

    /// Whether the law only watches.
    pub(super) fn set_observing(&mut self, is_observing: bool) {
        let Some(law) = &mut self.law else {
            return;
        };
        law.is_observing = is_observing;
        law.asked_at = None;
        let clamp_bytes = law.wanted_clamp_bytes();
        self.apply_clamp(clamp_bytes);
    }

    fn lift_clamp(&mut self) {
        self.apply_clamp(NO_CLAMP_BYTES);
    }

    /// A smaller clamp cuts the bound of the window at once; a larger one raises it to
    /// the present window, and the rest is grown into.
    fn apply_clamp(&mut self, clamp_bytes: u32) {
        let window_bytes = self.window_bytes;
        let Some(law) = &mut self.law else {
            return;
        };
        if clamp_bytes < law.clamp_bytes {
            self.window_bound_bytes = self.window_bound_bytes.min(clamp_bytes);
        } else if clamp_bytes > law.clamp_bytes {
            self.window_bound_bytes = self.window_bound_bytes.max(window_bytes.min(clamp_bytes));
        }
        law.clamp_bytes = clamp_bytes;
    }

    /// Tells the law of an arriving data segment.
    #[inline]
    pub(super) fn tell_law(&mut self, time: LocalTime, segment: &Segment, is_ce: bool) {
        let (rcv_nxt, right_edge_seq) = (self.wire(self.nxt), self.wire(self.right_edge()));
        let rtt_us = self.tuning.rtt_us();
        let segment_bytes = segment.payload_bytes.min(self.merged_bytes());
        let segments = segment.payload_bytes.div_ceil(segment_bytes.max(1));
        let Some(law) = &mut self.law else {
            return;
        };
        law.segments = law.segments.saturating_add(segments);
        law.arrived_bytes += u64::from(segment.payload_bytes);
        if let Some(watch) = law.watch.as_mut().filter(|_| law.is_observing) {
            watch.on_segment(time, segment);
        }
        law.seen_mss_bytes = law.seen_mss_bytes.max(segment_bytes);
        let timestamps = segment.timestamps.unwrap_or_default();
        let told = LawSegment {
            now_us: time.now.0 / 1_000,
            seq: segment.seq,
            payload_bytes: segment.payload_bytes,
            segments,
            tsval: timestamps.value,
            tsecr: timestamps.echo,
            local_ts: time.ts,
            local_tick_us: time.tick_us,
            rcv_nxt,
            right_edge_seq,
            mss_bytes: law.mss_bytes(),
            kernel_rtt_us: rtt_us,
            has_timestamps: u8::from(segment.timestamps.is_some()),
            is_ce: u8::from(is_ce),
            is_observing: u8::from(law.is_observing),
            can_delay_acks: 1,
        };
        law.flow.on_segment(&told);
        law.note_wait(time.now);
    }

    /// Asks the law for the window of a segment that is about to leave.
    #[inline]
    pub(super) fn ask_law(&mut self, time: LocalTime, ack: u64) {
        let (ack_seq, right_edge_seq) = (self.wire(ack), self.wire(self.right_edge()));
        let Some(law) = &mut self.law else {
            return;
        };
        let is_settled = law
            .asked_at
            .is_some_and(|asked_at| time.now.since(asked_at) < ASK_AGAIN);
        if is_settled {
            return;
        }
        law.asked_at = Some(time.now);
        law.flow.on_ack(&Ack {
            now_us: time.now.0 / 1_000,
            ack_seq,
            local_ts: time.ts,
            local_tick_us: time.tick_us,
            right_edge_seq,
            mss_bytes: law.mss_bytes(),
            has_timestamps: u8::from(time.has_timestamps),
            is_observing: u8::from(law.is_observing),
            can_park: u8::from(self.config.options.closes_window),
            ..Ack::default()
        });
        law.note_wait(time.now);
        let clamp_bytes = law.wanted_clamp_bytes();
        if clamp_bytes != law.clamp_bytes {
            self.apply_clamp(clamp_bytes);
        }
    }

    /// The least window is told. A larger clamp from now on lets its bound grow with the next
    /// segment, so that the answer to that can be a larger window.
    #[inline]
    pub(super) fn leave_room(&mut self) {
        if self.config.bundle.is_none() {
            return;
        }
        if let Some(law) = &mut self.law
            && law.clamp_bytes == LEAST_CLAMP_BYTES
        {
            law.clamp_bytes += ROOM_SEGMENTS * self.config.options.mss_bytes;
        }
    }

    /// Asks the law about a closed window. *Returns:* whether it is to be opened.
    pub(super) fn opens_window(&mut self, time: LocalTime) -> bool {
        let is_due = |law: &mut Box<ReceiverLaw>| law.wakes_at <= time.now;
        if !self.law.as_mut().is_some_and(is_due) {
            return false;
        }
        self.ask_law(time, self.nxt);
        self.law.as_ref().is_some_and(|law| !law.is_parked())
    }

    /// Holds an acknowledgement back if the law wants that. *Returns:* whether it does.
    pub(super) fn hold_ack(&mut self, now: Nanos, sack: SackBlocks) -> bool {
        let ack = self.nxt;
        let Some(law) = &mut self.law else {
            return false;
        };
        let delay_us = if law.is_observing {
            0
        } else {
            law.flow.ack_delay_us()
        };
        if delay_us == 0 && law.held.is_empty() {
            return false;
        }
        let last = law.held.back().map_or(Nanos::ZERO, |held| held.at);
        let at = (now + Nanos::from_micros(u64::from(delay_us))).max(last);
        law.held.push_back(HeldAck { at, ack, sack });
        self.sent_ack();
        true
    }

    /// The next acknowledgement that has been held back for long enough.
    pub(super) fn release_ack(&mut self, now: Nanos) -> Option<HeldAck> {
        let law = self.law.as_mut()?;
        law.held.pop_front_if(|held| held.at <= now)
    }

    /// What may be acknowledged now: nothing overtakes what is held back.
    #[inline]
    pub(super) fn ackable(&self) -> u64 {
        match &self.law {
            Some(law) if !law.held.is_empty() => self.advertised_at,
            _ => self.nxt,
        }
    }

    /// What the law takes the sender's window for; none without a law that does.
    pub(super) fn estimate_bytes(&self) -> Option<u32> {
        self.law.as_ref()?.flow.estimate_bytes()
    }

    /// Round trips that a law watched.
    pub(super) fn watched_rounds(&self) -> &[WatchedRound] {
        let watch = self.law.as_ref().and_then(|law| law.watch.as_ref());
        watch.map_or(&[], |watch| &watch.rounds)
    }

    /// The window that the law wants; none without a law. *Units:* bytes.
    pub(super) fn law_window_bytes(&self) -> Option<u32> {
        self.law.as_ref().map(|law| law.flow.window_bytes())
    }
}

impl super::Connection {
    /// Other parameters for the law of this end; nothing if it is under another law, or under
    /// none.
    pub fn set_receiver_policy(&mut self, policy: &Policy) {
        if let Some(law) = &mut self.receiver.law
            && law.flow.policy().law().number == policy.law().number
            && law.flow.policy() != policy
        {
            law.flow.set_policy(policy.clone());
        }
    }

    /// Payload that the receiver law was told of: all that arrived, in order or not.
    pub(crate) fn arrived_bytes(&self) -> u64 {
        self.receiver
            .law
            .as_ref()
            .map_or(0, |law| law.arrived_bytes)
    }

    /// Whether the receiver law only watches.
    pub fn is_observing(&self) -> bool {
        self.is_observing
    }
}

impl super::TcpConfig {
    /// The policy of the receiving end.
    pub(crate) fn receiver_policy(&self) -> Option<&Policy> {
        self.receiver.as_ref()
    }

    /// What the receiving end of connections to come has in common with others.
    pub(crate) fn set_bundle(&mut self, bundle: Option<ReceiverBundle>) {
        self.bundle = bundle;
    }

    /// What connections to come have together at the least.
    pub(crate) fn set_floor(&mut self, floor: Floor) {
        self.floor = Some(floor);
    }

    /// Another policy for the receiving end of connections to come.
    pub(crate) fn set_receiver_policy(&mut self, policy: &Policy) {
        self.receiver = Some(policy.clone());
    }
}
