// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The opening of a connection, and what its ends agree on.

use ebb_link::Nanos;

use super::clock::NEVER;
use super::scoreboard::{Sent, mark};
use super::{Connection, Out, State, TimerKind};
use crate::segment::{Flags, Segment, SynOptions};

/// What timestamps take of each segment. *Units:* bytes.
const TIMESTAMP_BYTES: u32 = 12;

impl Connection {
    /// Sends the SYN, or the SYN that answers one.
    pub(super) fn start_syn(&mut self, now: Nanos, out: Out<'_>) {
        let sender = &mut self.sender;
        sender.board.push(Sent {
            start: 0,
            sent_at: now,
            flight_from: now,
            delivered_at: NEVER,
            length: 1,
            marks: mark::SYN,
            ..Sent::default()
        });
        sender.nxt = 1;
        self.emit_syn(now, out);
    }

    /// Sends the SYN for the first time or once more.
    pub(super) fn emit_syn(&mut self, now: Nanos, out: Out<'_>) {
        let is_answer = self.state == State::Accepting;
        let options = self.config().options;
        let mut flags = Flags::SYN;
        let mut syn = SynOptions {
            mss_bytes: u16::try_from(options.mss_bytes).unwrap_or(u16::MAX),
            window_scale: options
                .has_window_scaling
                .then(|| self.receiver.wanted_scale()),
            has_sack: options.has_sack,
        };
        if is_answer {
            flags |= Flags::ACK;
            syn.has_sack = self.sender.has_sack;
            syn.window_scale = syn.window_scale.filter(|_| self.has_window_scale);
            if self.sender.has_ecn {
                flags |= Flags::ECE;
            }
        } else if self.config().wants_ecn {
            flags |= Flags::ECE | Flags::CWR;
        }
        if self.sender.timeouts_in_row > 0 {
            let first = self.sender.board.first();
            let sent = self.sender.board.at_mut(first);
            sent.marks |= mark::EVER_RESENT;
            sent.sent_at = now;
        }
        let segment = Segment {
            seq: self.sender.wire(0),
            window: self.receiver.window_bytes.min(65_535) as u16,
            flags,
            syn,
            ..Segment::default()
        };
        let segment = self.stamp_syn(now, segment);
        out.push(segment);
        let at = now + self.sender.rto();
        self.set_timer(TimerKind::Retransmit, now, at);
    }

    /// The window of a SYN is not scaled.
    fn stamp_syn(&mut self, now: Nanos, segment: Segment) -> Segment {
        let window = segment.window;
        let scale = std::mem::take(&mut self.receiver.window_scale);
        let mut segment = self.stamp(now, segment);
        self.receiver.window_scale = scale;
        if !segment.flags.has(Flags::ACK) {
            segment.window = window;
        }
        segment
    }

    /// A segment for a listening endpoint: only a SYN is of use.
    #[inline(never)]
    pub(super) fn on_listening(&mut self, now: Nanos, segment: &Segment, out: Out<'_>) {
        if !segment.flags.has(Flags::SYN) || segment.flags.has(Flags::ACK) {
            return;
        }
        self.agree(segment, segment.flags.has(Flags::ECE | Flags::CWR));
        self.state = State::Accepting;
        self.start_syn(now, out);
    }

    /// The answer to our SYN.
    pub(super) fn on_connecting(&mut self, now: Nanos, segment: &Segment, out: Out<'_>) {
        let is_answer = segment.flags.has(Flags::SYN | Flags::ACK);
        if !is_answer || segment.ack != self.sender.wire(1) {
            return;
        }
        let answers_ecn = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::CWR);
        self.agree(segment, answers_ecn);
        self.take_ack(now, segment);
        self.establish(now);
        if self.sender.has_unsent() {
            self.send_all(now, out);
        }
        if out.is_empty() {
            self.send_ack(now, out);
        }
    }

    /// The answer to our answer, or the SYN once more.
    pub(super) fn on_accepting(
        &mut self,
        now: Nanos,
        segment: &Segment,
        is_ce: bool,
        out: Out<'_>,
    ) {
        if segment.flags.has(Flags::SYN) {
            // Our answer was lost.
            self.sender.timeouts_in_row = self.sender.timeouts_in_row.max(1);
            return self.emit_syn(now, out);
        }
        if segment.flags.has(Flags::ACK) && segment.ack == self.sender.wire(1) {
            self.establish_by(now, segment);
            self.on_open(now, segment, is_ce, out);
        }
    }

    fn establish_by(&mut self, now: Nanos, segment: &Segment) {
        self.take_ack(now, segment);
        self.establish(now);
    }

    /// Takes what both ends want.
    fn agree(&mut self, segment: &Segment, peer_has_ecn: bool) {
        let options = self.config().options;
        self.receiver.synchronize(segment);
        self.has_timestamps = options.timestamps.is_some() && segment.timestamps.is_some();
        self.has_window_scale = options.has_window_scaling && segment.syn.window_scale.is_some();
        if self.has_window_scale {
            self.receiver.window_scale = self.receiver.wanted_scale();
            self.sender.peer_scale = segment.syn.window_scale.unwrap_or(0).min(14);
        }
        let has_sack = options.has_sack && segment.syn.has_sack;
        self.sender.has_sack = has_sack;
        self.receiver.has_sack = has_sack;
        let has_ecn = self.config().wants_ecn && peer_has_ecn;
        self.sender.has_ecn = has_ecn;
        self.receiver.has_ecn = has_ecn;
        let mss_bytes = options.mss_bytes.min(u32::from(segment.syn.mss_bytes));
        let taken_bytes = if self.has_timestamps {
            TIMESTAMP_BYTES
        } else {
            0
        };
        self.sender.mss_bytes = mss_bytes.saturating_sub(taken_bytes).max(1);
        self.sender.segment_bytes = self.sender.mss_bytes;
        self.sender.peer_window_bytes = u32::from(segment.window);
        self.sender.window_from_seq = 0;
    }

    /// Both SYNs are acknowledged.
    pub(super) fn establish(&mut self, now: Nanos) {
        self.state = State::Established;
        self.sender.backoff = 0;
        if self.sender.counters.timeouts > 1 {
            // RFC 5681 §3.1: a SYN that was lost more than once leaves one segment.
            self.sender.cwnd_pkts = 1;
        }
        self.sender.timeouts_in_row = 0;
        self.sender.high_seq = self.sender.nxt;
        self.sender.usage.full_at = now;
        self.sender.rate.delivered_at = now;
        let time = self.local_time(now);
        let policy = self.config().receiver.clone();
        if policy.is_some() {
            let is_observing = self.is_observing;
            self.receiver.set_law(time, policy, is_observing);
        }
    }
}
