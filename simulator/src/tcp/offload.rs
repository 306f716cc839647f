// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receive offload: consecutive segments wait for one another, and arrive as one, as from a device
//! of virtio. What may be merged is what Linux's GRO merges, as in the lab's emulated link.

use ebb_link::Nanos;

use super::clock::NEVER;
use super::receiver::Receiver;
use super::{Connection, Out};
use crate::segment::{Flags, Segment};

/// An IP packet's length is 16 bits.
const MOST_BYTES: u32 = 65_535;

/// What waits for more.
#[derive(Debug)]
pub(super) struct ReceiveOffload {
    wait: Nanos,
    held: Option<Aggregate>,
    /// Payload of each segment, but the last, of what is handed over: no segment has more.
    merged_bytes: u32,
}

/// Segments that are handed over together.
#[derive(Clone, Copy, Debug)]
struct Aggregate {
    /// The first one, with the payload of all.
    segment: Segment,
    /// Payload of each but the last. *Units:* bytes.
    segment_bytes: u32,
    is_ce: bool,
    until: Nanos,
}

impl ReceiveOffload {
    /// None if segments are handed over as they come.
    pub(super) fn new(wait: Nanos) -> Option<Box<Self>> {
        let none = Self {
            wait,
            held: None,
            merged_bytes: u32::MAX,
        };
        (wait > Nanos::ZERO).then(|| Box::new(none))
    }
}

impl Aggregate {
    fn begin(segment: &Segment, is_ce: bool, until: Nanos) -> Self {
        let (segment, segment_bytes) = (*segment, segment.payload_bytes);
        Self {
            segment,
            segment_bytes,
            is_ce,
            until,
        }
    }

    /// The next byte, of the same flags, options and traffic class.
    fn fits(&self, segment: &Segment, is_ce: bool) -> bool {
        let first = &self.segment;
        segment.seq == first.end_seq()
            && segment.payload_bytes <= self.segment_bytes
            && first.size_bytes + segment.payload_bytes <= MOST_BYTES
            && is_plain(segment)
            && (segment.ack, segment.timestamps) == (first.ack, first.timestamps)
            && segment.sack == first.sack
            && (segment.ecn, is_ce) == (first.ecn, self.is_ce)
    }

    fn append(&mut self, segment: &Segment) {
        self.segment.payload_bytes += segment.payload_bytes;
        self.segment.size_bytes += segment.payload_bytes;
        self.segment.flags |= segment.flags;
    }

    /// Nothing may come after a segment with PSH, or a short one.
    fn is_complete(&self) -> bool {
        self.segment.flags.has(Flags::PSH)
            || !self
                .segment
                .payload_bytes
                .is_multiple_of(self.segment_bytes)
            || self.segment.size_bytes + self.segment_bytes > MOST_BYTES
    }
}

/// Data and an acknowledgement, and nothing else but PSH.
fn is_plain(segment: &Segment) -> bool {
    let flags = segment.flags.bits() & !Flags::PSH.bits();
    flags == Flags::ACK.bits() && segment.payload_bytes > 0
}

impl Receiver {
    /// No segment of what is handed over has more payload. *Units:* bytes.
    #[inline]
    pub(super) fn merged_bytes(&self) -> u32 {
        let offload = self.offload.as_ref();
        offload.map_or(u32::MAX, |offload| offload.merged_bytes)
    }

    /// When what waits is handed over.
    #[inline]
    pub(super) fn waits_until(&self) -> Nanos {
        let held = self.offload.as_ref().and_then(|it| it.held.as_ref());
        held.map_or(NEVER, |held| held.until)
    }

    fn take_held(&mut self) -> Option<Aggregate> {
        self.offload.as_mut().and_then(|it| it.held.take())
    }

    fn set_merged(&mut self, merged_bytes: u32) {
        if let Some(offload) = &mut self.offload {
            offload.merged_bytes = merged_bytes;
        }
    }
}

impl Connection {
    /// Takes a segment that has arrived; `is_ce` says that a router marked its packet.
    #[inline]
    pub fn on_segment(&mut self, now: Nanos, segment: &Segment, is_ce: bool, out: Out<'_>) {
        if self.receiver.offload.is_none() {
            self.take_segment(now, segment, is_ce, out);
        } else {
            self.wait_for_more(now, segment, is_ce, out);
        }
    }

    fn wait_for_more(&mut self, now: Nanos, segment: &Segment, is_ce: bool, out: Out<'_>) {
        let offload = &mut self.receiver.offload;
        if let Some(held) = offload.as_mut().and_then(|it| it.held.as_mut())
            && held.fits(segment, is_ce)
        {
            held.append(segment);
            if held.is_complete() {
                self.hand_over(now, out);
            }
            return;
        }
        self.hand_over(now, out);
        if let Some(offload) = &mut self.receiver.offload
            && is_plain(segment)
            && !segment.flags.has(Flags::PSH)
        {
            let until = now + offload.wait;
            offload.held = Some(Aggregate::begin(segment, is_ce, until));
        } else {
            self.take_segment(now, segment, is_ce, out);
        }
    }

    /// What waits is handed over if its time has come.
    #[inline]
    pub(super) fn end_wait(&mut self, now: Nanos, out: Out<'_>) {
        if self.receiver.waits_until() <= now {
            self.hand_over(now, out);
        }
    }

    fn hand_over(&mut self, now: Nanos, out: Out<'_>) {
        if let Some(held) = self.receiver.take_held() {
            self.receiver.set_merged(held.segment_bytes);
            self.take_segment(now, &held.segment, held.is_ce, out);
            self.receiver.set_merged(u32::MAX);
        }
    }
}
