// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is done about losses and marks: the phases of Linux's `tcp_ca_state`.

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::Recovery;

use super::ack::{AckTime, Progress, Resend, flag};
use super::scoreboard::mark;
use super::sender::{Reduction, Sender, Undo};

/// Whether the acknowledgement was taken care of whole.
pub(super) type IsDone = bool;

impl Sender {
    /// Reacts to an acknowledgement that is not news in good order.
    #[inline(never)]
    pub(super) fn react(&mut self, time: AckTime, progress: &mut Progress) {
        let has_advanced = self.una > progress.prior_una;
        let is_duplicate = !has_advanced
            && !progress
                .flags
                .has(flag::WITH_DATA | flag::WINDOW | flag::ACKED | flag::DUPLICATE);
        if progress.flags.has(flag::MARKED) {
            self.undo.prior_ssthresh_pkts = 0;
        }
        if self.leave_phase(time, has_advanced) {
            return;
        }
        match self.phase {
            Phase::Recovery => {
                if self.continue_recovery(time, has_advanced, is_duplicate, progress) {
                    return;
                }
            }
            Phase::Loss => {
                self.continue_loss(time, has_advanced, is_duplicate, progress);
                self.find_losses(time, has_advanced, progress);
                if !(self.phase == Phase::Open || progress.flags.has(flag::LOST_AGAIN)) {
                    return;
                }
                self.watch(time, has_advanced, false, progress);
            }
            _ => self.watch(time, has_advanced, is_duplicate, progress),
        }
        if progress.resend == Resend::Nothing {
            progress.resend = Resend::Lost;
        }
    }

    /// A phase ends when everything is acknowledged that was sent before it.
    fn leave_phase(&mut self, time: AckTime, has_advanced: bool) -> IsDone {
        if self.phase == Phase::Open {
            self.undo.first_resent = None;
            return false;
        }
        let is_first_ack_enough = self.recovery() == Recovery::Reno;
        let is_over = self.una >= self.high_seq
            || (is_first_ack_enough && has_advanced && self.phase == Phase::Recovery);
        match self.phase {
            Phase::Cwr if is_over && self.una != self.high_seq => {
                self.end_reduction();
                self.phase = Phase::Open;
            }
            Phase::Recovery if is_over => {
                if !self.uses_sack() {
                    self.board.sacked_pkts = 0;
                }
                if self.try_undo_recovery(time) {
                    return true;
                }
                self.end_reduction();
            }
            _ => {}
        }
        false
    }

    fn continue_recovery(
        &mut self,
        time: AckTime,
        has_advanced: bool,
        is_duplicate: bool,
        progress: &mut Progress,
    ) -> IsDone {
        if !has_advanced {
            self.count_duplicate(is_duplicate);
        } else if self.try_undo_partial(time, progress) {
            return true;
        }
        if self.try_undo_by_duplicates(time.now) {
            self.try_to_open(time.now, progress);
        }
        self.find_losses(time, has_advanced, progress);
        if self.phase != Phase::Recovery {
            if self.board.lost_pkts == 0 {
                return true;
            }
            self.enter_recovery(time.now, progress.flags.has(flag::MARKED));
        }
        false
    }

    /// In the phases Open, Disorder and CWR: is there a loss?
    fn watch(
        &mut self,
        time: AckTime,
        has_advanced: bool,
        is_duplicate: bool,
        progress: &mut Progress,
    ) {
        if !self.uses_sack() {
            if has_advanced {
                self.board.sacked_pkts = 0;
            }
            self.count_duplicate(is_duplicate);
        }
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.try_undo_by_duplicates(time.now);
        }
        self.find_losses(time, has_advanced, progress);
        if self.board.lost_pkts == 0 {
            self.try_to_open(time.now, progress);
            return;
        }
        self.enter_recovery(time.now, progress.flags.has(flag::MARKED));
    }

    /// Without SACK each duplicate acknowledgement stands for a segment that arrived.
    pub(super) fn count_duplicate(&mut self, is_duplicate: bool) {
        if self.uses_sack() || !is_duplicate {
            return;
        }
        // The missing segment has not arrived, whatever comes in.
        let most = self
            .board
            .out_pkts()
            .saturating_sub(self.board.lost_pkts.max(1));
        if self.board.sacked_pkts < most {
            self.board.sacked_pkts += 1;
            self.rate.delivered_pkts += 1;
        }
    }

    /// Looks for losses in the way that is set.
    fn find_losses(&mut self, time: AckTime, has_advanced: bool, progress: &mut Progress) {
        if self.board.is_empty() {
            return;
        }
        if !self.uses_rack() {
            self.mark_by_count(has_advanced);
            return;
        }
        if !self.rack.has_advanced {
            return;
        }
        self.rack.has_advanced = false;
        let resent_pkts = self.board.resent_pkts;
        progress.look_again_at = self.rack_detect(time.now);
        if progress.look_again_at.is_some() {
            progress.flags.clear(flag::SET_TIMER);
        }
        if self.board.resent_pkts < resent_pkts {
            progress.flags.set(flag::LOST_AGAIN);
        }
    }

    /// No loss: Open if all is in order, Disorder if not, CWR if a mark is echoed.
    pub(super) fn try_to_open(&mut self, now: Nanos, progress: &Progress) {
        if !self.has_resent() {
            self.undo.first_resent = None;
        }
        if progress.flags.has(flag::MARKED) {
            self.enter_cwr(now);
        }
        if self.phase != Phase::Cwr {
            self.keep_open();
        }
    }

    pub(super) fn keep_open(&mut self) {
        let is_disordered = self.board.sacked_pkts + self.board.lost_pkts > 0 || self.has_resent();
        let phase = if is_disordered {
            Phase::Disorder
        } else {
            Phase::Open
        };
        if self.phase != phase {
            self.phase = phase;
            self.high_seq = self.nxt;
        }
    }

    /// Whether something that was sent again may still be on its way.
    pub(super) fn has_resent(&self) -> bool {
        self.board.resent_pkts > 0
            || self
                .board
                .front()
                .is_some_and(|sent| sent.is(mark::EVER_RESENT))
    }

    /// Answers a congestion mark, once a round trip.
    fn enter_cwr(&mut self, now: Nanos) {
        self.undo.prior_ssthresh_pkts = 0;
        if matches!(self.phase, Phase::Open | Phase::Disorder) {
            self.undo.marker = 0;
            self.begin_reduction(now, true);
            self.phase = Phase::Cwr;
        }
    }

    pub(super) fn enter_recovery(&mut self, now: Nanos, is_marked: bool) {
        self.undo.prior_ssthresh_pkts = 0;
        self.begin_undo();
        self.counters.recoveries += 1;
        if !self.is_reducing() {
            if !is_marked {
                self.undo.prior_ssthresh_pkts = self.current_ssthresh_pkts();
            }
            self.begin_reduction(now, false);
        }
        self.phase = Phase::Recovery;
    }

    pub(super) fn begin_undo(&mut self) {
        let probes = u32::from(self.probe_end > 0 && self.is_probe_resent);
        let resent_pkts = self.board.resent_pkts + probes;
        self.undo = Undo {
            marker: self.una,
            resent_pkts: (resent_pkts > 0).then_some(resent_pkts),
            ..self.undo
        };
    }

    /// The law is told, and the window is led to its threshold.
    pub(super) fn begin_reduction(&mut self, now: Nanos, is_ecn: bool) {
        self.high_seq = self.nxt;
        self.probe_end = 0;
        self.reduction = Reduction {
            prior_cwnd_pkts: self.cwnd_pkts,
            ..Reduction::default()
        };
        self.counters.reductions += 1;
        self.tell_loss(now, is_ecn);
        self.announces_reduction = self.has_ecn;
        if !self.config.has_prr() && !self.config.has_full_control {
            self.cwnd_pkts = self.ssthresh_pkts.max(1);
        }
    }

    /// Whether a lost segment is sent again whatever the window says: the first one in Reno
    /// and NewReno (RFC 6582 §3.2). PRR lets it through by itself.
    pub(super) fn is_due(&self, number: u64) -> bool {
        let is_first = number == self.board.first();
        is_first && self.phase == Phase::Recovery && !self.config.has_prr()
    }

    /// An acknowledgement of new data came. *Returns:* whether the retransmission timer
    /// begins anew: see [`Self::is_impatient`].
    pub(super) fn restarts_timer(&mut self) -> bool {
        let restarts = !self.is_impatient();
        self.reduction.is_partly_acknowledged |= self.phase == Phase::Recovery;
        restarts
    }

    /// In NewReno's recovery the timer runs on from the first partial acknowledgement, so
    /// that many losses end in a time-out and not in one round trip each (RFC 6582 §3.2,
    /// step 3, and §4).
    pub(super) fn is_impatient(&self) -> bool {
        self.config.options.recovery == Recovery::NewReno
            && self.phase == Phase::Recovery
            && self.reduction.is_partly_acknowledged
    }

    /// The window is what it was led to.
    pub(super) fn end_reduction(&mut self) {
        if self.config.has_full_control {
            return;
        }
        let is_known = self.ssthresh_pkts < super::sender::NO_SSTHRESH_PKTS;
        if is_known && (self.phase == Phase::Cwr || self.undo.marker > 0) {
            self.cwnd_pkts = self.ssthresh_pkts.max(1);
            self.usage.full_at = self.last_sent_at().unwrap_or_default();
        }
    }

    /// Proportional rate reduction (RFC 6937): as long as more is out than the threshold,
    /// what leaves is to what arrives as the threshold to the old window; below it what
    /// arrives leaves, and one more with each advance that shows no new loss.
    #[inline(never)]
    pub(super) fn reduce(&mut self, delivered_pkts: u32, lost_pkts: u32, has_advanced: bool) {
        if delivered_pkts == 0 || !self.config.has_prr() {
            return;
        }
        let reduction = &mut self.reduction;
        reduction.delivered_pkts += delivered_pkts;
        let inflight = self.board.inflight_pkts();
        let delivered = u64::from(reduction.delivered_pkts);
        let sent = u64::from(reduction.sent_pkts);
        let mut more = if inflight > self.ssthresh_pkts {
            let prior = u64::from(reduction.prior_cwnd_pkts.max(1));
            let share = (u64::from(self.ssthresh_pkts) * delivered).div_ceil(prior);
            share.saturating_sub(sent)
        } else {
            let bound = delivered
                .saturating_sub(sent)
                .max(u64::from(delivered_pkts));
            let bound = bound + u64::from(has_advanced && lost_pkts == 0);
            bound.min(u64::from(self.ssthresh_pkts - inflight))
        };
        if sent == 0 {
            more = more.max(1);
        }
        self.cwnd_pkts = (inflight + more as u32).max(1);
    }
}
