// SPDX-License-Identifier: Apache-2.0 OR MIT
//! RACK (RFC 8985): a segment is lost when one that was sent sufficiently later arrived.

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::Recovery;

use super::scoreboard::{Scoreboard, Sent, mark};
use super::sender::{DUPLICATE_THRESHOLD, Sender, micros_between};

/// Recoveries for which a wider reordering window is kept.
const WINDOW_KEPT_RECOVERIES: u8 = 16;

/// What RACK knows.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// When the segment was sent that arrived and was sent last, and its end.
    pub(super) sent_at: Nanos,
    pub(super) end: u64,
    /// Its round-trip time.
    rtt: Nanos,
    /// It has changed since losses were looked for.
    pub(super) has_advanced: bool,
    /// Reordering window in quarters of the least round-trip time.
    window_steps: u8,
    pub(super) kept_recoveries: u8,
    /// A duplicate was reported, and not for a probe.
    pub(super) has_seen_duplicate: bool,
    widened_at_pkts: u64,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent_at: Nanos::ZERO,
            end: 0,
            rtt: Nanos::ZERO,
            has_advanced: false,
            window_steps: 1,
            kept_recoveries: 0,
            has_seen_duplicate: false,
            widened_at_pkts: 0,
        }
    }
}

impl Rack {
    /// Whether a segment was sent before the one that arrived.
    #[inline]
    fn is_after(&self, sent: &Sent) -> bool {
        (self.sent_at, self.end) > (sent.sent_at, sent.end())
    }

    pub(super) fn keep_window(&mut self) {
        self.kept_recoveries = (self.kept_recoveries + 1).min(WINDOW_KEPT_RECOVERIES);
    }
}

impl Sender {
    /// A segment has arrived.
    #[inline]
    pub(super) fn rack_advance(&mut self, now: Nanos, sent: &Sent) {
        let rtt = now.since(sent.sent_at);
        let is_resent = sent.is(mark::EVER_RESENT);
        if is_resent && rtt.0 / 1_000 < u64::from(self.least_rtt.us()) {
            // Faster than possible: it is the first transmission that arrived.
            return;
        }
        let rack = &mut self.rack;
        rack.has_advanced = true;
        rack.rtt = rtt;
        if (sent.sent_at, sent.end()) > (rack.sent_at, rack.end) {
            rack.sent_at = sent.sent_at;
            rack.end = sent.end();
        }
    }

    /// Widens the reordering window by a quarter of the least round-trip time in a round
    /// trip that reported duplicates; forgets that after 16 recoveries.
    #[inline]
    pub(super) fn rack_adapt_window(&mut self, prior_delivered_pkts: Option<u64>) {
        let rack = &mut self.rack;
        let Some(prior_delivered_pkts) = prior_delivered_pkts else {
            return;
        };
        if prior_delivered_pkts < rack.widened_at_pkts {
            rack.has_seen_duplicate = false;
        }
        if rack.has_seen_duplicate {
            rack.window_steps = rack.window_steps.saturating_add(1);
            rack.has_seen_duplicate = false;
            rack.widened_at_pkts = self.rate.delivered_pkts;
            rack.kept_recoveries = WINDOW_KEPT_RECOVERIES;
        } else if rack.kept_recoveries == 0 {
            rack.window_steps = 1;
        }
    }

    fn rack_window(&self) -> Nanos {
        if !self.has_seen_reordering {
            let is_repairing = matches!(self.phase, Phase::Recovery | Phase::Loss);
            if is_repairing || self.board.sacked_pkts >= self.reordering_pkts {
                return Nanos::ZERO;
            }
        }
        let quarter_us = u64::from(self.least_rtt.us() / 4) * u64::from(self.rack.window_steps);
        Nanos::from_micros(quarter_us.min(u64::from(self.rtt.srtt_us())))
    }

    /// How long a segment may still take; none: it is lost.
    fn rack_remaining(&self, now: Nanos, sent: &Sent, window: Nanos) -> Option<Nanos> {
        let deadline = sent.sent_at + self.rack.rtt + window;
        (deadline > now).then(|| deadline.since(now))
    }

    /// Marks what is lost. *Returns:* when to look again, if segments may yet arrive.
    pub(super) fn rack_detect(&mut self, now: Nanos) -> Option<Nanos> {
        self.collect_suspects();
        let window = self.rack_window();
        let first = self.rack_detect_suspects(now, window);
        let second = self.rack_detect_resent(now, window);
        first.max(second).map(|remaining| now + remaining)
    }

    /// Segments sent before the one that arrived are suspects.
    fn collect_suspects(&mut self) {
        let (first, next) = (self.board.first(), self.board.next());
        let start = self
            .board
            .queues
            .as_ref()
            .map_or(0, |queues| queues.suspected_up_to);
        let mut number = start.max(first);
        while number < next {
            let sent = self.board.at(number);
            let is_resent = sent.is(mark::RESENT);
            if !is_resent && !self.rack.is_after(sent) {
                break;
            }
            if !is_resent && !sent.is(mark::SACKED | mark::LOST) {
                self.board.queues_mut().suspects.push_back(number);
            }
            number += 1;
        }
        if number > start && (self.board.queues.is_some() || number > first) {
            self.board.queues_mut().suspected_up_to = number;
        }
    }

    fn rack_detect_suspects(&mut self, now: Nanos, window: Nanos) -> Option<Nanos> {
        loop {
            let queues = self.board.queues.as_ref()?;
            let (number, last) = (*queues.suspects.front()?, *queues.suspects.back()?);
            let sent = self
                .board
                .outstanding(number)
                .filter(|sent| !sent.is(mark::SACKED | mark::LOST | mark::RESENT));
            if let Some(sent) = sent
                && let Some(remaining) = self.rack_remaining(now, sent, window)
            {
                // All of them are due when the last is.
                let last = self.board.outstanding(last);
                let last = last.and_then(|sent| self.rack_remaining(now, sent, window));
                return Some(remaining.max(last.unwrap_or_default()));
            }
            let is_lost = sent.is_some();
            self.board.queues_mut().suspects.pop_front();
            if is_lost {
                self.mark_lost(number);
            }
        }
    }

    fn rack_detect_resent(&mut self, now: Nanos, window: Nanos) -> Option<Nanos> {
        loop {
            let queues = self.board.queues.as_ref()?;
            let (number, sent_at) = *queues.resent.front()?;
            let sent = self
                .board
                .outstanding(number)
                .filter(|sent| sent.sent_at == sent_at && sent.is(mark::RESENT))
                .filter(|sent| !sent.is(mark::SACKED));
            if let Some(sent) = sent {
                if !self.rack.is_after(sent) {
                    return None;
                }
                if let Some(remaining) = self.rack_remaining(now, sent, window) {
                    return Some(remaining);
                }
            }
            let is_lost = sent.is_some();
            self.board.queues_mut().resent.pop_front();
            if is_lost {
                self.mark_lost(number);
            }
        }
    }

    #[inline(never)]
    pub(super) fn mark_lost(&mut self, number: u64) {
        if self.board.mark_lost(number) {
            self.counters.lost_pkts += 1;
        }
    }

    /// Marks losses by RFC 6675 or RFC 6582, which know of no time.
    pub(super) fn mark_by_count(&mut self, has_advanced: bool) {
        if self.recovery() == Recovery::Sack {
            return self.mark_by_sack();
        }
        let is_first = !matches!(self.phase, Phase::Recovery | Phase::Loss)
            && self.board.sacked_pkts >= self.reordering_pkts;
        let is_partial = self.phase == Phase::Recovery && has_advanced;
        if (is_first || is_partial) && !self.board.is_empty() {
            let first = self.board.first();
            if !self.board.at(first).is(mark::LOST) {
                self.mark_lost(first);
            }
        }
    }

    /// RFC 6675: lost is what has three SACKed segments above it.
    fn mark_by_sack(&mut self) {
        if self.board.sacked_pkts < DUPLICATE_THRESHOLD {
            return;
        }
        let first = self.board.first();
        let mut limit = self.board.highest_sacked;
        let mut above = 0;
        while limit > first && above < DUPLICATE_THRESHOLD {
            limit -= 1;
            above += u32::from(self.board.at(limit).is(mark::SACKED));
        }
        if above < DUPLICATE_THRESHOLD {
            return;
        }
        let start = self.board.queues_mut().judged_up_to.max(first);
        for number in start..limit {
            if !self.board.at(number).is(mark::SACKED | mark::LOST) {
                self.mark_lost(number);
            }
        }
        self.board.queues_mut().judged_up_to = limit.max(start);
    }

    /// After a time-out: everything is lost that was not sent just now.
    pub(super) fn mark_after_timeout(&mut self, now: Nanos) {
        let (first, next) = (self.board.first(), self.board.next());
        let has_rack = self.uses_rack();
        if !self.uses_sack() {
            self.board.sacked_pkts = 0;
        }
        for number in first..next {
            let sent = self.board.at(number);
            let is_recent = has_rack
                && number != first
                && self.rack_remaining(now, sent, Nanos::ZERO).is_some();
            if !is_recent {
                self.mark_lost(number);
            }
        }
    }

    /// When the first outstanding segment was sent, and how long ago. *Units:* µs.
    pub(super) fn front_age_us(&self, now: Nanos) -> u32 {
        self.board
            .front()
            .map_or(0, |sent| micros_between(now, sent.sent_at))
    }
}

/// Kept small: one for each endpoint.
const _: () = assert!(size_of::<Scoreboard>() <= 96);
