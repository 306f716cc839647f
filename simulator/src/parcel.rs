// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What moves over the links.

use crate::application::{Datagram, End};
use crate::endpoints::Endpoints;
use crate::segment::Segment;

/// What a packet carries. What routers read stands beside what links look at; only the ends
/// look at the body, which has a line of the cache of its own.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Parcel {
    /// The connection that it belongs to, which may be over: another one is at its place then.
    pub(crate) generation: u64,
    /// The TCP endpoint that it goes to; of a datagram nothing.
    pub(crate) endpoint: u32,
    /// Where its next link stands in the list of all routes.
    pub(crate) hop: u32,
    pub(crate) body: Body,
}

/// What a packet brings.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Segment(Segment),
    Datagram(Datagram),
}

const _: () = assert!(size_of::<Parcel>() == 16 + 64);

impl Default for Body {
    fn default() -> Self {
        Self::Segment(Segment::default())
    }
}

impl Body {
    /// Becomes this segment: copies no more than there is.
    #[inline]
    pub(crate) fn assign_segment(&mut self, segment: &Segment) {
        match self {
            Self::Segment(used) => used.assign(segment),
            Self::Datagram(_) => *self = Self::Segment(*segment),
        }
    }
}

impl Parcel {
    /// Which end sent it.
    pub(crate) fn sent_from(&self) -> End {
        match &self.body {
            Body::Segment(_) => Endpoints::end_of(self.endpoint).other(),
            Body::Datagram(datagram) => datagram.from,
        }
    }
}
