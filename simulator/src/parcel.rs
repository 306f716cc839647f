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

/// What a packet carries. Of a segment without SACK, all is in the first line of the cache.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(64))]
pub(crate) enum Body {
    /// To a TCP endpoint, if the connection is still the same one.
    Segment {
        generation: u64,
        endpoint: u32,
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

    /// A box with a segment in it: copies no more than there is.
    #[inline]
    pub(crate) fn pack_segment(
        &mut self,
        to_endpoint: u32,
        connection: u64,
        content: &Segment,
    ) -> Box<Body> {
        if let Some(mut used) = self.free.pop() {
            if let Body::Segment {
                endpoint,
                generation,
                segment,
            } = &mut *used
            {
                *endpoint = to_endpoint;
                *generation = connection;
                segment.assign(content);
                return used;
            }
            self.free.push(used);
        }
        self.pack(Body::Segment {
            endpoint: to_endpoint,
            generation: connection,
            segment: *content,
        })
    }

    /// A box that has arrived, or is lost.
    #[inline]
    pub(crate) fn free(&mut self, body: Box<Body>) {
        self.free.push(body);
    }
}
