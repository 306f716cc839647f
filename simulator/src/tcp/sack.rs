// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Takes in the SACK blocks of an acknowledgement: only what is new in them costs time.

use ebb_link::Nanos;

use super::ack::{Progress, flag};
use super::clock::unwrap32;
use super::scoreboard::mark;
use super::sender::{Sender, micros_between};
use crate::segment::Segment;

type Range = (u64, u64);

impl Sender {
    /// Marks what the receiver has beyond the acknowledgement at `ack`.
    #[inline(never)]
    pub(super) fn take_sack(
        &mut self,
        now: Nanos,
        segment: &Segment,
        ack: u64,
        progress: &mut Progress,
    ) {
        let mut blocks = [(0, 0); 4];
        let mut count = 0;
        for &(start_seq, end_seq) in segment.sack.as_slice() {
            let start = unwrap32(start_seq.wrapping_sub(self.initial_seq), ack);
            let end = unwrap32(end_seq.wrapping_sub(self.initial_seq), ack);
            if start < end && end <= self.nxt {
                blocks[count] = (start, end);
                count += 1;
            }
        }
        let mut blocks = &blocks[..count];
        if let Some((&first, rest)) = blocks.split_first()
            && is_duplicate(first, rest, ack)
        {
            self.take_duplicate(first, progress);
            blocks = rest;
        }
        for &block in blocks {
            self.take_block(now, block, progress);
        }
        self.remember_blocks(blocks);
    }

    /// Compares a block with those of the last acknowledgement: mostly it has only grown.
    fn take_block(&mut self, now: Nanos, block: Range, progress: &mut Progress) {
        let known = match &self.board.queues {
            Some(queues) => queues.known_blocks,
            None => [(0, 0); 4],
        };
        let (mut start, mut end) = (block.0.max(self.una), block.1);
        for (known_start, known_end) in known {
            if known_start <= start && start < known_end {
                start = known_end;
            }
            if known_start < end && end <= known_end {
                end = known_start;
            }
        }
        if start < end {
            self.mark_sacked(now, (start, end), progress);
        }
    }

    fn remember_blocks(&mut self, blocks: &[Range]) {
        if blocks.is_empty() {
            return;
        }
        let known = &mut self.board.queues_mut().known_blocks;
        *known = [(0, 0); 4];
        known[..blocks.len()].copy_from_slice(blocks);
    }

    fn mark_sacked(&mut self, now: Nanos, range: Range, progress: &mut Progress) {
        let mut number = self.board.number_from(range.0, self.segment_bytes);
        while number < self.board.next() {
            let sent = *self.board.at(number);
            if sent.end() > range.1 {
                break;
            }
            if !sent.is(mark::SACKED) {
                self.sack_one(now, number, progress);
            }
            number += 1;
        }
        self.board.highest_sacked = self.board.highest_sacked.max(number);
    }

    fn sack_one(&mut self, now: Nanos, number: u64, progress: &mut Progress) {
        let sent = *self.board.at(number);
        self.rate_on_delivered(&sent, &mut progress.rate);
        self.rack_advance(now, &sent);
        if !sent.is(mark::RESENT | mark::EVER_RESENT) {
            self.note_original(number, sent.start, sent.end(), progress);
            let rtt_us = micros_between(now, sent.sent_at);
            progress.sack_rtt_us.get_or_insert(rtt_us);
            progress.last_sack_rtt_us = Some(rtt_us);
        }
        let cleared = if sent.is(mark::LOST) {
            mark::LOST | mark::RESENT
        } else {
            0
        };
        let entry = self.board.at_mut(number);
        entry.marks = (entry.marks & !cleared) | mark::SACKED;
        entry.delivered_at = super::clock::NEVER;
        if sent.is(mark::LOST) {
            self.board.lost_pkts -= 1;
            self.board.resent_pkts -= u32::from(sent.is(mark::RESENT));
        }
        self.board.sacked_pkts += 1;
        self.rate.delivered_pkts += 1;
        progress.flags.set(flag::SACKED);
    }

    /// A segment that was sent once arrived: it may have been overtaken, and a time-out
    /// was spurious if it had been sent before it.
    fn note_original(&mut self, number: u64, start: u64, end: u64, progress: &mut Progress) {
        if number < progress.prior_highest_sacked {
            progress.overtaken_from = progress.overtaken_from.min(start);
        }
        if end <= self.high_seq {
            progress.flags.set(flag::ORIGINAL_ARRIVED);
        }
    }

    /// RFC 2883: the receiver got something twice.
    fn take_duplicate(&mut self, block: Range, progress: &mut Progress) {
        let length = block.1 - block.0;
        let segments = length.div_ceil(u64::from(self.segment_bytes)).max(1) as u32;
        if segments == 1 && self.probe_end > 0 && block.1 == self.probe_end {
            progress.flags.set(flag::PROBE_DUPLICATE);
        }
        self.counters.duplicates += u64::from(segments);
        if self.counters.duplicates > self.counters.resent_pkts {
            // Not ours: the network doubled it.
            return;
        }
        if self.has_seen_reordering && !progress.flags.has(flag::PROBE_DUPLICATE) {
            self.rack.has_seen_duplicate = true;
        }
        progress.flags.set(flag::DUPLICATE);
        if block.1 > self.undo.marker
            && self.undo.marker > 0
            && let Some(resent_pkts) = &mut self.undo.resent_pkts
        {
            *resent_pkts = resent_pkts.saturating_sub(segments);
        }
    }

    /// A segment arrived after others that were sent later: the path reorders by at least
    /// this much.
    #[inline(never)]
    pub(super) fn note_reordering(&mut self, from: u64, highest_end: u64) {
        if from >= highest_end {
            return;
        }
        let segments = (highest_end - from).div_ceil(u64::from(self.segment_bytes));
        if segments > u64::from(self.reordering_pkts) {
            self.reordering_pkts = segments.min(300) as u32;
        }
        self.has_seen_reordering = true;
    }
}

/// The first block reports a duplicate if it is acknowledged or lies in the second.
fn is_duplicate(first: Range, rest: &[Range], ack: u64) -> bool {
    first.0 < ack
        || rest
            .first()
            .is_some_and(|second| second.0 <= first.0 && first.1 <= second.1)
}
