// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What moves over the links: boxes that are used again and again.

use crate::application::{Datagram, End};
use crate::endpoints::Endpoints;
use crate::segment::Segment;

/// A box on its way. What routers read stands beside it: they never look into it, which
/// would mean to wait for memory.
#[derive(Clone, Debug)]
pub(crate) struct Parcel {
    /// Where its next link stands in the list of all routes.
    pub(crate) hop: u32,
    pub(crate) body: Box<Body>,
}

/// What a packet carries.
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

impl Body {
    /// Whether it goes from the flow's source to its sink.
    pub(crate) fn is_on_the_way_of_the_data(&self) -> bool {
        match self {
            Self::Segment { endpoint, .. } => Endpoints::end_of(*endpoint) == End::Sink,
            Self::Datagram(datagram) => datagram.from == End::Source,
        }
    }
}

/// Boxes that are free. The links move pointers; what they double, the allocator sees to.
#[derive(Default)]
pub(crate) struct Pool {
    // Boxed, for they move over the links as such.
    #[allow(clippy::vec_box)]
    free: Vec<Box<Body>>,
}

impl Pool {
    /// A box with this in it.
    #[inline]
    pub(crate) fn pack(&mut self, body: Body) -> Box<Body> {
        match self.free.pop() {
            Some(mut used) => {
                *used = body;
                used
            }
            None => Box::new(body),
        }
    }

    /// A box that has arrived, or is lost.
    #[inline]
    pub(crate) fn free(&mut self, body: Box<Body>) {
        self.free.push(body);
    }
}
