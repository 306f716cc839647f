// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Ecn, Nanos};

use crate::application::{Datagram, End};
use crate::segment::Segment;

/// Sees every packet, for traces; a run without one does not pay for it.
pub trait Observer {
    /// A packet was sent, arrived or was lost.
    fn on_packet(&mut self, record: &PacketRecord);
}

/// Where a packet is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Point {
    /// It leaves its host.
    Sent,
    /// It has reached its host.
    Arrived,
    /// A queue dropped it or a wire lost it.
    Lost,
}

/// A packet at one point of its way.
#[derive(Clone, Copy, Debug)]
pub struct PacketRecord {
    /// The time.
    pub at: Nanos,
    /// The point.
    pub point: Point,
    /// Place of its flow in [`Scenario::flows`](ebb_scenario::Scenario::flows).
    pub flow: usize,
    /// Where it was sent from.
    pub from: End,
    /// Size on the links, IP header counted. *Units:* bytes.
    pub size_bytes: u32,
    /// Congestion notification, as far as it is known at this point.
    pub ecn: Ecn,
    /// What it carries.
    pub body: PacketBody,
}

/// What a packet carries.
#[derive(Clone, Copy, Debug)]
pub enum PacketBody {
    /// A TCP segment.
    Tcp {
        /// A number for each connection of a run, in the order in which they began.
        connection: u64,
        /// The segment.
        segment: Segment,
    },
    /// A UDP packet.
    Udp(Datagram),
}
