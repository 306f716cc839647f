// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sender's timer, which is one of: retransmission, tail loss probe, a second look
//! for losses, zero-window probe. Beside it: delayed acknowledgement and pacing.

use ebb_algorithms::Phase;
use ebb_link::Nanos;

use super::ack::FlagSet;
use super::clock::NEVER;
use super::sender::Sender;
use super::transmit::Push;
use super::{Connection, Failure, Out, State};
use crate::segment::{Flags, Segment};

/// Time-outs in a row after which a connection is given up.
const MOST_TIMEOUTS: u8 = 15;
/// The same for its SYN.
const MOST_SYN_TIMEOUTS: u8 = 6;
/// Linux sets no timer below this.
const LEAST_TIMEOUT: Nanos = Nanos::from_millis(2);

/// What the sender's timer is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum TimerKind {
    #[default]
    None,
    Retransmit,
    /// Tail loss probe.
    Probe,
    /// RACK looks again for losses.
    Look,
    /// Zero-window probe.
    Persist,
}

impl Connection {
    /// Sets the sender's timer; coarse timers go off at whole ticks.
    pub(super) fn set_timer(&mut self, kind: TimerKind, now: Nanos, at: Nanos) {
        self.timer = kind;
        self.timer_at = self.config().coarse(now, at);
    }

    pub(super) fn clear_timer(&mut self) {
        self.timer = TimerKind::None;
        self.timer_at = NEVER;
    }

    /// Sets the timer after an acknowledgement: a probe if that makes sense, or the
    /// retransmission timer.
    pub(super) fn restart_timer(&mut self, now: Nanos) {
        if self.sender.is_idle() {
            self.clear_timer();
        } else if !self.schedule_probe(now, true) {
            self.rearm(now);
        }
    }

    /// Sets the retransmission timer; one that replaces another kind counts from when the
    /// first segment was sent.
    pub(super) fn rearm(&mut self, now: Nanos) {
        let Some(front) = self.sender.board.front() else {
            self.clear_timer();
            return;
        };
        let rto = self.sender.rto();
        let at = match self.timer {
            TimerKind::Look | TimerKind::Probe => (front.sent_at + rto).max(now + Nanos(1)),
            _ => now + rto,
        };
        self.set_timer(TimerKind::Retransmit, now, at);
    }

    /// New data has left: the timer runs already, unless it was for something else.
    pub(super) fn keep_retransmit_timer(&mut self, now: Nanos) {
        if matches!(
            self.timer,
            TimerKind::None | TimerKind::Probe | TimerKind::Persist
        ) {
            self.rearm(now);
        }
    }

    /// Sets the timer for a tail loss probe: two round trips, and what a delayed
    /// acknowledgement takes if one segment is out. *Returns:* whether it is.
    pub(super) fn schedule_probe(&mut self, now: Nanos, is_advancing: bool) -> bool {
        let sender = &self.sender;
        let is_in_order = matches!(sender.phase, Phase::Open | Phase::Cwr);
        let Some(front) = sender.board.front() else {
            return false;
        };
        if !sender.uses_rack() || !is_in_order {
            return false;
        }
        let options = &sender.config.options;
        let wait = match (sender.rtt.srtt_us(), sender.board.out_pkts()) {
            (0, _) => options.initial_rto,
            (srtt_us, 1) => Nanos::from_micros(2 * u64::from(srtt_us)) + options.min_rto,
            (srtt_us, _) => Nanos::from_micros(2 * u64::from(srtt_us)) + LEAST_TIMEOUT,
        };
        let rto_from = if is_advancing { now } else { front.sent_at };
        let rto_at = rto_from + sender.rto();
        let at = if rto_at > now {
            rto_at.min(now + wait)
        } else {
            now + wait
        };
        self.set_timer(TimerKind::Probe, now, at);
        true
    }

    /// RACK waits for segments that may yet arrive.
    pub(super) fn look_again(&mut self, now: Nanos, at: Nanos) {
        self.set_timer(TimerKind::Look, now, at + LEAST_TIMEOUT);
    }

    pub(super) fn on_sender_timer(&mut self, now: Nanos, out: Out<'_>) {
        let kind = self.timer;
        self.timer_at = NEVER;
        match kind {
            TimerKind::None => {}
            TimerKind::Retransmit if !self.state.is_synchronized() => self.resend_syn(now, out),
            TimerKind::Retransmit => self.on_timeout(now, out),
            TimerKind::Probe => self.on_probe_timer(now, out),
            TimerKind::Look => self.on_look_timer(now, out),
            TimerKind::Persist => self.on_persist_timer(now, out),
        }
    }

    fn resend_syn(&mut self, now: Nanos, out: Out<'_>) {
        let sender = &mut self.sender;
        if sender.timeouts_in_row >= MOST_SYN_TIMEOUTS {
            return self.fail(Failure::TimedOut);
        }
        sender.timeouts_in_row += 1;
        sender.backoff += 1;
        sender.counters.timeouts += 1;
        self.emit_syn(now, out);
    }

    fn on_timeout(&mut self, now: Nanos, out: Out<'_>) {
        if self.sender.is_idle() {
            return self.clear_timer();
        }
        if self.sender.timeouts_in_row >= MOST_TIMEOUTS {
            return self.fail(Failure::TimedOut);
        }
        self.sender.enter_loss(now);
        self.sender.timeouts_in_row += 1;
        self.sender.backoff = (self.sender.backoff + 1).min(30);
        self.timer = TimerKind::Retransmit;
        let first = self.sender.board.first();
        self.resend(now, first, out);
        self.set_timer(TimerKind::Retransmit, now, now + self.sender.rto());
    }

    /// A tail loss probe (RFC 8985 §7): new data if there is any, or the last segment.
    fn on_probe_timer(&mut self, now: Nanos, out: Out<'_>) {
        if self.sender.is_idle() {
            return self.clear_timer();
        }
        if self.sender.probe_end == 0 && self.send_probe(now, out) {
            self.sender.probe_end = self.sender.nxt;
            self.sender.counters.probes += 1;
            // The retransmission timer counts from now.
            self.timer = TimerKind::None;
        }
        self.rearm(now);
    }

    fn send_probe(&mut self, now: Nanos, out: Out<'_>) -> bool {
        self.sender.is_probe_resent = false;
        let has_room = self.sender.window_end() > self.sender.nxt;
        if self.sender.has_unsent() && has_room && self.send_new(now, Push::Probe, out) > 0 {
            return true;
        }
        self.resend_as_probe(now, out);
        self.sender.is_probe_resent = true;
        true
    }

    fn on_look_timer(&mut self, now: Nanos, out: Out<'_>) {
        let sender = &mut self.sender;
        let prior_inflight_pkts = sender.board.inflight_pkts();
        let prior_lost_pkts = sender.counters.lost_pkts;
        sender.rack_detect(now);
        if sender.board.inflight_pkts() != prior_inflight_pkts {
            if sender.phase != Phase::Recovery {
                sender.enter_recovery(now, false);
                let lost_pkts = (sender.counters.lost_pkts - prior_lost_pkts) as u32;
                if !sender.config.has_full_control {
                    sender.reduce(1, lost_pkts, false);
                }
            }
            self.timer = TimerKind::Look;
            self.resend_lost(now, out);
        }
        if self.timer != TimerKind::Retransmit {
            self.rearm(now);
        }
    }

    /// The peer's window is closed, or too small for a segment: asks for it, by what fits.
    fn on_persist_timer(&mut self, now: Nanos, out: Out<'_>) {
        if !self.sender.is_idle() || !self.sender.has_unsent() {
            return self.clear_timer();
        }
        self.sender.counters.probes += 1;
        self.sender.backoff = (self.sender.backoff + 1).min(30);
        self.clear_timer();
        if self.send_new(now, Push::Fit, out) > 0 {
            return;
        }
        let segment = Segment {
            seq: self.sender.wire(self.sender.una).wrapping_sub(1),
            flags: Flags::ACK,
            ..Segment::default()
        };
        let segment = self.stamp(now, segment);
        out.push(segment);
        let wait = self.sender.rto().max(self.config().options.min_rto);
        self.set_timer(TimerKind::Persist, now, now + wait);
    }

    pub(super) fn fail(&mut self, failure: Failure) {
        self.state = State::Failed(failure);
        self.clear_timer();
        self.pace_at = NEVER;
        self.receiver.acks.at = NEVER;
        self.receiver.acks.compressed_at = NEVER;
    }
}

impl Sender {
    /// What became of a tail loss probe (RFC 8985 §7.4): if it repaired a loss, the window
    /// is reduced once.
    #[inline(never)]
    pub(super) fn judge_probe(&mut self, now: Nanos, ack: u64, flags: FlagSet) {
        use super::ack::flag;

        if ack < self.probe_end {
            return;
        }
        let has_arrived_twice = flags.has(flag::PROBE_DUPLICATE);
        let is_bare = !flags.has(flag::WITH_DATA | flag::WINDOW | flag::ACKED | flag::SACKED);
        if !self.is_probe_resent || has_arrived_twice {
            self.probe_end = 0;
        } else if ack > self.probe_end {
            self.begin_reduction(now, false);
            self.phase = Phase::Cwr;
            self.end_reduction();
            self.keep_open();
        } else if is_bare {
            self.probe_end = 0;
        }
    }
}
