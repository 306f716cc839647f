// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is done about a time-out: the phase of `tcp_ca_state` that is called Loss.

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::TcpProfile;

use super::ack::{AckTime, Progress, Resend, flag};
use super::recovery::IsDone;
use super::sender::{DUPLICATE_THRESHOLD, Sender};

impl Sender {
    /// The retransmission timer has expired.
    pub(super) fn enter_loss(&mut self, now: Nanos) {
        let is_new = !matches!(self.phase, Phase::Recovery | Phase::Loss);
        let is_first = matches!(self.phase, Phase::Open | Phase::Disorder)
            || self.high_seq <= self.una
            || (self.phase == Phase::Loss && self.timeouts_in_row == 0);
        let had_sacked_pkts = self.board.sacked_pkts;
        self.mark_after_timeout(now);
        if is_first {
            self.undo.prior_ssthresh_pkts = self.current_ssthresh_pkts();
            self.reduction.prior_cwnd_pkts = self.cwnd_pkts;
            self.tell_timeout(now);
            self.begin_undo();
        }
        if !self.config.has_full_control {
            self.cwnd_pkts = self.board.inflight_pkts() + 1;
        }
        if is_new && self.phase != Phase::Cwr && had_sacked_pkts >= DUPLICATE_THRESHOLD {
            self.reordering_pkts = self.reordering_pkts.min(DUPLICATE_THRESHOLD);
        }
        let options = &self.config.options;
        self.is_frto = options.has_frto
            && options.profile == TcpProfile::Linux
            && (is_new || self.timeouts_in_row > 0);
        self.phase = Phase::Loss;
        self.high_seq = self.nxt;
        self.probe_end = 0;
        self.announces_reduction = self.has_ecn;
        self.counters.timeouts += 1;
    }

    /// After a time-out: was it spurious (F-RTO, RFC 5682)? Is everything repaired?
    pub(super) fn continue_loss(
        &mut self,
        time: AckTime,
        has_advanced: bool,
        is_duplicate: bool,
        progress: &mut Progress,
    ) {
        let is_recovered = self.una >= self.high_seq;
        if has_advanced && self.try_undo_loss(time, false) {
            return;
        }
        if self.is_frto && self.judge_frto(time, has_advanced, is_duplicate, is_recovered, progress)
        {
            return;
        }
        if is_recovered {
            self.try_undo_recovery(time);
            return;
        }
        if !self.uses_sack() {
            if self.nxt > self.high_seq {
                self.count_duplicate(is_duplicate);
            } else if has_advanced {
                self.board.sacked_pkts = 0;
            }
        }
        progress.resend = Resend::Lost;
    }

    /// Tells by what arrives after a time-out whether it was spurious.
    fn judge_frto(
        &mut self,
        time: AckTime,
        has_advanced: bool,
        is_duplicate: bool,
        is_recovered: bool,
        progress: &mut Progress,
    ) -> IsDone {
        let is_original = progress.flags.has(flag::ORIGINAL_ARRIVED);
        if is_original && self.try_undo_loss(time, true) {
            return true;
        }
        if self.nxt > self.high_seq {
            if progress.flags.has(flag::SACKED) || is_duplicate {
                self.is_frto = false;
            }
        } else if has_advanced && !is_recovered {
            self.high_seq = self.nxt;
            if self.has_unsent() && self.window_end() > self.nxt {
                progress.resend = Resend::NewFirst;
                return true;
            }
            self.is_frto = false;
        }
        false
    }
}
