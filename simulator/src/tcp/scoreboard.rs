// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What was sent and is not acknowledged: a ring of segments, each with its number.
//!
//! Segments are numbered in the order of their bytes. Whoever looks for one by its bytes
//! guesses its number from the size of a segment, which is right nearly always. Losses
//! are found in queues beside the ring, which are empty as long as nothing is missing; so
//! the cost of an acknowledgement does not depend on the window.

use std::collections::VecDeque;

use ebb_link::Nanos;

/// A segment that was sent.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Sent {
    /// First byte, counted from the SYN.
    pub(super) start: u64,
    /// When it was sent last.
    pub(super) sent_at: Nanos,
    /// Rate sample: when the flight began that it belongs to.
    pub(super) flight_from: Nanos,
    /// Rate sample: when the latest delivery before it was; `NEVER`: sampled.
    pub(super) delivered_at: Nanos,
    /// Rate sample: segments delivered before it, lower 32 bits.
    pub(super) delivered_pkts: u32,
    /// Sequence numbers that it takes.
    pub(super) length: u16,
    pub(super) marks: u8,
}

/// What is known of a segment: bits of [`Sent::marks`].
pub(super) mod mark {
    /// The receiver has it.
    pub(in crate::tcp) const SACKED: u8 = 0x01;
    /// It is taken for lost.
    pub(in crate::tcp) const LOST: u8 = 0x02;
    /// It was sent again, and that is on its way.
    pub(in crate::tcp) const RESENT: u8 = 0x04;
    /// It was sent again some time.
    pub(in crate::tcp) const EVER_RESENT: u8 = 0x08;
    /// It ends the stream.
    pub(in crate::tcp) const FIN: u8 = 0x10;
    /// Rate sample: the application had nothing more to send.
    pub(in crate::tcp) const APP_LIMITED: u8 = 0x20;
    /// It opens the connection.
    pub(in crate::tcp) const SYN: u8 = 0x40;
}

impl Sent {
    /// First byte after it.
    #[inline]
    pub(super) fn end(&self) -> u64 {
        self.start + u64::from(self.length)
    }

    #[inline]
    pub(super) fn is(&self, marks: u8) -> bool {
        self.marks & marks != 0
    }
}

/// The ring and its queues; what data needs which arrives where none is sent comes first.
#[derive(Debug, Default)]
#[repr(C)]
pub(super) struct Scoreboard {
    /// Number of the first segment that is not acknowledged.
    first: u64,
    /// Number that the next segment will have.
    next: u64,
    /// Segments that the receiver has beyond the first; without SACK, duplicate
    /// acknowledgements.
    pub(super) sacked_pkts: u32,
    pub(super) lost_pkts: u32,
    pub(super) resent_pkts: u32,
    /// Whether there may be something in the queues to be forgotten.
    is_unsettled: bool,
    /// Number after the highest one that was SACKed.
    pub(super) highest_sacked: u64,
    /// Empty, or a power of two long.
    ring: Box<[Sent]>,
    pub(super) queues: Option<Box<LossQueues>>,
}

/// Where lost segments are looked for, and kept until they are sent again. Entries that
/// are out of date are dropped when their turn comes.
#[derive(Debug, Default)]
pub(super) struct LossQueues {
    /// Sent once, before another one that has arrived; by the time of sending.
    pub(super) suspects: VecDeque<u64>,
    /// All segments below this number that were sent once have been looked at.
    pub(super) suspected_up_to: u64,
    /// Sent again, and when; by that time.
    pub(super) resent: VecDeque<(u64, Nanos)>,
    /// To be sent again; by number.
    pub(super) lost: VecDeque<u64>,
    /// RFC 6675: all segments below this number have been judged.
    pub(super) judged_up_to: u64,
    /// SACK blocks as they came last.
    pub(super) known_blocks: [(u64, u64); 4],
}

impl Scoreboard {
    /// Segments that are not acknowledged.
    #[inline]
    pub(super) fn out_pkts(&self) -> u32 {
        (self.next - self.first) as u32
    }

    /// Segments that are on their way, as far as is known.
    #[inline]
    pub(super) fn inflight_pkts(&self) -> u32 {
        (self.out_pkts() + self.resent_pkts).saturating_sub(self.sacked_pkts + self.lost_pkts)
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.first == self.next
    }

    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    #[inline]
    pub(super) fn next(&self) -> u64 {
        self.next
    }

    #[inline]
    fn slot(&self, number: u64) -> usize {
        number as usize & (self.ring.len() - 1)
    }

    /// The segment of a number that is outstanding.
    #[inline]
    pub(super) fn at(&self, number: u64) -> &Sent {
        debug_assert!((self.first..self.next).contains(&number));
        &self.ring[self.slot(number)]
    }

    #[inline]
    pub(super) fn at_mut(&mut self, number: u64) -> &mut Sent {
        debug_assert!((self.first..self.next).contains(&number));
        let slot = self.slot(number);
        &mut self.ring[slot]
    }

    /// The segment of a number, if it is outstanding still.
    #[inline]
    pub(super) fn outstanding(&self, number: u64) -> Option<&Sent> {
        (self.first..self.next)
            .contains(&number)
            .then(|| self.at(number))
    }

    /// The first segment that is not acknowledged.
    #[inline]
    pub(super) fn front(&self) -> Option<&Sent> {
        (!self.is_empty()).then(|| self.at(self.first))
    }

    /// Adds a segment that is sent for the first time.
    #[inline]
    pub(super) fn push(&mut self, sent: Sent) {
        if self.out_pkts() as usize == self.ring.len() {
            self.grow();
        }
        let slot = self.slot(self.next);
        self.ring[slot] = sent;
        self.next += 1;
    }

    fn grow(&mut self) {
        let old = self.ring.len();
        let mut ring = vec![Sent::default(); (old * 2).max(8)].into_boxed_slice();
        let mask = ring.len() - 1;
        for number in self.first..self.next {
            ring[number as usize & mask] = self.ring[number as usize & (old - 1)];
        }
        self.ring = ring;
    }

    /// Takes the first segment out and its marks from the counts.
    #[inline]
    pub(super) fn pop(&mut self) -> Sent {
        let sent = *self.at(self.first);
        self.first += 1;
        if sent.is(mark::SACKED | mark::LOST | mark::RESENT) {
            self.sacked_pkts -= u32::from(sent.is(mark::SACKED));
            self.lost_pkts -= u32::from(sent.is(mark::LOST));
            self.resent_pkts -= u32::from(sent.is(mark::RESENT));
        }
        sent
    }

    /// Cuts the bytes before `offset` off the first segment.
    pub(super) fn trim(&mut self, offset: u64) {
        let sent = self.at_mut(self.first);
        let cut = offset - sent.start;
        sent.length -= u16::try_from(cut).expect("less than the segment");
        sent.start = offset;
    }

    /// Number of the first segment that starts at `offset` or after it.
    pub(super) fn number_from(&self, offset: u64, segment_bytes: u32) -> u64 {
        let Some(front) = self.front() else {
            return self.first;
        };
        let ahead = offset
            .saturating_sub(front.start)
            .div_ceil(u64::from(segment_bytes));
        let guess = (self.first + ahead).min(self.next);
        if self.is_first_from(guess, offset) {
            return guess;
        }
        let (mut low, mut high) = (self.first, self.next);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.at(middle).start < offset {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }

    fn is_first_from(&self, number: u64, offset: u64) -> bool {
        let is_from = number == self.next || self.at(number).start >= offset;
        is_from && (number == self.first || self.at(number - 1).start < offset)
    }

    /// First byte that was SACKed last of all: one after the highest SACKed byte, or the
    /// first outstanding one.
    pub(super) fn highest_sacked_end(&self, una: u64) -> u64 {
        match self.highest_sacked {
            number if number > self.first && self.sacked_pkts > 0 => self.at(number - 1).end(),
            _ => una,
        }
    }

    pub(super) fn queues_mut(&mut self) -> &mut LossQueues {
        self.is_unsettled = true;
        self.queues.get_or_insert_default()
    }

    /// Takes a segment for lost. *Returns:* whether that is news.
    pub(super) fn mark_lost(&mut self, number: u64) -> bool {
        let sent = self.at_mut(number);
        if sent.is(mark::SACKED) || (sent.is(mark::LOST) && !sent.is(mark::RESENT)) {
            return false;
        }
        let was_resent = sent.is(mark::RESENT);
        let was_lost = sent.is(mark::LOST);
        sent.marks = (sent.marks | mark::LOST) & !mark::RESENT;
        self.resent_pkts -= u32::from(was_resent);
        self.lost_pkts += u32::from(!was_lost);
        let lost = &mut self.queues_mut().lost;
        if lost.back().is_none_or(|last| *last < number) {
            lost.push_back(number);
        } else if let Err(place) = lost.binary_search(&number) {
            lost.insert(place, number);
        }
        true
    }

    /// The lost segment that is to be sent again next.
    pub(super) fn next_lost(&mut self) -> Option<u64> {
        if self.lost_pkts == 0 {
            return None;
        }
        loop {
            let number = *self.queues.as_ref()?.lost.front()?;
            let is_due = self
                .outstanding(number)
                .is_some_and(|sent| sent.is(mark::LOST) && !sent.is(mark::RESENT | mark::SACKED));
            if is_due {
                return Some(number);
            }
            self.queues_mut().lost.pop_front();
        }
    }

    /// Notes that a segment was sent again.
    pub(super) fn resend(&mut self, number: u64, now: Nanos) {
        let sent = self.at_mut(number);
        let was_resent = sent.is(mark::RESENT);
        sent.marks |= mark::RESENT | mark::EVER_RESENT;
        sent.sent_at = now;
        self.resent_pkts += u32::from(!was_resent);
        let queues = self.queues_mut();
        queues.resent.push_back((number, now));
        if queues.lost.front() == Some(&number) {
            queues.lost.pop_front();
        }
    }

    /// Takes no segment for lost any more.
    pub(super) fn forget_losses(&mut self) {
        for number in self.first..self.next {
            self.at_mut(number).marks &= !mark::LOST;
        }
        self.lost_pkts = 0;
        let first = self.first;
        let queues = self.queues_mut();
        queues.lost.clear();
        queues.suspects.clear();
        queues.suspected_up_to = first;
        queues.judged_up_to = first;
    }

    /// Forgets what was missing, once nothing is.
    #[inline]
    pub(super) fn settle(&mut self) {
        let is_missing = (self.sacked_pkts | self.lost_pkts | self.resent_pkts) > 0;
        if self.is_unsettled && (self.is_empty() || !is_missing) {
            self.empty_queues();
        }
    }

    #[inline(never)]
    fn empty_queues(&mut self) {
        let first = self.first;
        if let Some(queues) = &mut self.queues {
            queues.lost.clear();
            queues.resent.clear();
            queues.suspects.retain(|number| *number >= first);
            self.is_unsettled = !queues.suspects.is_empty();
        }
    }
}
