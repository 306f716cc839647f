// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What moves over the links: boxes that are used again and again.

use ebb_link::{Ecn, Nanos};

use crate::application::{Datagram, End};
use crate::endpoints::Endpoints;
use crate::segment::Segment;

/// What a packet carries, and where it goes.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// Where its next link stands in the list of all routes.
    pub(crate) hop: u32,
    /// Whose it is: place of the flow.
    pub(crate) flow: u32,
    /// Time spent in queues so far.
    pub(crate) waited: Nanos,
    pub(crate) body: Body,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    /// To a TCP endpoint, if the connection is still the same one.
    Segment {
        endpoint: u32,
        generation: u64,
        segment: Segment,
    },
    Datagram(Datagram),
}

impl Parcel {
    /// Congestion notification and size with which it was sent.
    pub(crate) fn sent_as(&self) -> (Ecn, u32) {
        match &self.body {
            Body::Segment { segment, .. } => (segment.ecn, segment.size_bytes),
            Body::Datagram(datagram) => (Ecn::NotCapable, datagram.packet_bytes),
        }
    }
}

impl Body {
    /// Whether it goes from the flow's source to its sink.
    pub(crate) fn is_on_the_way_of_the_data(&self) -> bool {
        match self {
            Self::Segment { endpoint, .. } => Endpoints::end_of(*endpoint) == End::Sink,
            Self::Datagram(datagram) => datagram.from == End::Source,
        }
    }
}

/// Boxes that are free. The links move pointers; what they lose without being asked,
/// and what they double, the allocator sees to.
#[derive(Default)]
pub(crate) struct Pool {
    // Boxed, for they move over the links as such.
    #[allow(clippy::vec_box)]
    free: Vec<Box<Parcel>>,
}

impl Pool {
    /// A box with this in it.
    pub(crate) fn pack(&mut self, parcel: Parcel) -> Box<Parcel> {
        match self.free.pop() {
            Some(mut used) => {
                *used = parcel;
                used
            }
            None => Box::new(parcel),
        }
    }

    /// A parcel has arrived, or is lost.
    pub(crate) fn free(&mut self, parcel: Box<Parcel>) {
        self.free.push(parcel);
    }
}
