// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Takes a reduction back that turns out to have been wrong.

use ebb_algorithms::Phase;
use ebb_link::Nanos;

use super::ack::{AckTime, Progress};
use super::sender::Sender;

impl Sender {
    /// All that was sent again arrived twice, or a retransmission was not needed since
    /// the first transmission had arrived already.
    fn may_undo(&self, is_delayed_original: bool) -> bool {
        self.undo.marker > 0 && (self.undo.resent_pkts == Some(0) || is_delayed_original)
    }

    fn undo_reduction(&mut self, now: Nanos, forgets_losses: bool) {
        if forgets_losses {
            self.board.forget_losses();
        }
        if self.undo.prior_ssthresh_pkts > 0 {
            let ssthresh_pkts = self.ssthresh_pkts.max(self.undo.prior_ssthresh_pkts);
            if self.undo.prior_ssthresh_pkts > self.ssthresh_pkts {
                self.announces_reduction = false;
            }
            self.ssthresh_pkts = ssthresh_pkts;
            self.tell_undo(now);
        }
        self.usage.full_at = now;
        self.undo.marker = 0;
        self.rack.has_advanced = true;
        self.counters.undos += 1;
    }

    /// At the end of a recovery. *Returns:* whether the phase is kept until something
    /// above it is acknowledged, which keeps a sender without SACK from a second
    /// recovery by the same duplicates (RFC 6582).
    pub(super) fn try_undo_recovery(&mut self, time: AckTime) -> bool {
        if self.may_undo(self.is_delayed_original(time)) {
            self.undo_reduction(time.now, false);
        } else {
            self.rack.kept_recoveries = self.rack.kept_recoveries.saturating_sub(1);
        }
        if self.una == self.high_seq && !self.uses_sack() {
            if !self.has_resent() {
                self.undo.first_resent = None;
            }
            return true;
        }
        self.phase = Phase::Open;
        false
    }

    /// In a recovery: the hole was filled by a segment that was only late. *Returns:*
    /// whether to wait, since what was sent again is still on its way.
    pub(super) fn try_undo_partial(&mut self, time: AckTime, progress: &Progress) -> bool {
        if self.undo.marker == 0 || !self.is_delayed_original(time) {
            return false;
        }
        if self.uses_sack() {
            let highest_end = self.board.highest_sacked_end(self.una);
            self.note_reordering(progress.prior_una, highest_end);
        }
        if self.board.resent_pkts > 0 {
            return true;
        }
        if !self.has_resent() {
            self.undo.first_resent = None;
        }
        self.undo_reduction(time.now, true);
        self.keep_open();
        false
    }

    /// Each segment that was sent again was reported as a duplicate.
    pub(super) fn try_undo_by_duplicates(&mut self, now: Nanos) -> bool {
        if self.undo.marker == 0 || self.undo.resent_pkts != Some(0) {
            return false;
        }
        self.rack.keep_window();
        self.undo_reduction(now, false);
        true
    }

    /// After a time-out: it was spurious.
    pub(super) fn try_undo_loss(&mut self, time: AckTime, is_frto: bool) -> bool {
        if !is_frto && !self.may_undo(self.is_delayed_original(time)) {
            return false;
        }
        self.undo_reduction(time.now, true);
        self.timeouts_in_row = 0;
        if self.una == self.high_seq && !self.uses_sack() {
            return true;
        }
        if is_frto || self.uses_sack() {
            self.phase = Phase::Open;
        }
        true
    }
}
