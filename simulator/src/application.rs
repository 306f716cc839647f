// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an application is: something that is told what happened and answers by acting on
//! its host.

use ebb_link::Nanos;
use ebb_scenario::ApplicationMeasure;

use crate::Host;
use crate::host::UDP_HEADER_BYTES;

/// One of the two hosts of a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum End {
    /// [`Flow::from`](ebb_scenario::Flow::from): data goes from here.
    Source,
    /// [`Flow::to`](ebb_scenario::Flow::to): data goes here.
    Sink,
}

impl End {
    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Source => Self::Sink,
            Self::Sink => Self::Source,
        }
    }

    /// Its place in arrays by end.
    pub const fn index(self) -> usize {
        self as usize
    }
}

/// A TCP connection of a flow, both ends of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ConnectionId {
    pub(crate) place: u32,
    /// Tells connections apart that had the same place one after the other.
    pub(crate) generation: u64,
}

impl ConnectionId {
    /// A connection that does not exist: nothing happens to it.
    pub(crate) const NONE: Self = Self {
        place: u32::MAX >> 1,
        generation: 0,
    };
}

/// What happened to one end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConnectionEvent {
    /// The handshake is done at this end.
    Connected,
    /// So many new bytes arrived in order, and were read at once.
    Received(u64),
    /// Fewer bytes than [`ConnectOptions::low_water_bytes`] wait to be sent for the
    /// first time.
    Writable,
    /// The other end has closed, and all that it sent has been read.
    PeerClosed,
    /// It is over at this end, in order or not; after this event of both ends the
    /// connection does not exist any more.
    Closed,
}

/// How a connection is made. The default is a greedy one's: nothing is told but the
/// handshake and the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectOptions {
    /// Whether the application hears of [`ConnectionEvent::Received`]. *Shape:* by
    /// [`End::index`].
    pub tells_received: [bool; 2],
    /// If set, the application hears of [`ConnectionEvent::Writable`] each time that the
    /// bytes that wait to be sent for the first time come below this, and after each write
    /// that leaves them below it. *Shape:* by
    /// [`End::index`].
    pub low_water_bytes: [Option<u64>; 2],
}

/// A UDP packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Datagram {
    /// The application's own number.
    pub number: u64,
    /// Size, IP and UDP headers counted. *Units:* bytes.
    pub packet_bytes: u32,
    /// Where it was sent from.
    pub from: End,
    /// When it was sent.
    pub sent_at: Nanos,
}

impl Datagram {
    /// What it carries. *Units:* bytes.
    pub fn payload_bytes(&self) -> u64 {
        u64::from(self.packet_bytes.saturating_sub(UDP_HEADER_BYTES))
    }
}

/// A source of traffic, both ends of it: client and server know each other's mind, only
/// their packets have to cross the network.
///
/// Everything happens in calls; between them the application does not exist. It acts on
/// the [`Host`] that it is given and draws random numbers only from its streams.
pub trait Application {
    /// The flow's start has come.
    fn on_start(&mut self, host: &mut Host<'_>);

    /// The flow's stop has come: nothing new is to be sent.
    fn on_stop(&mut self, host: &mut Host<'_>);

    /// The time of [`Host::set_timer`] has come.
    fn on_timer(&mut self, _host: &mut Host<'_>) {}

    /// Something happened to a connection of this flow.
    fn on_connection(
        &mut self,
        _connection: ConnectionId,
        _end: End,
        _event: ConnectionEvent,
        _host: &mut Host<'_>,
    ) {
    }

    /// A UDP packet arrived, at the other end than it was sent from.
    fn on_datagram(&mut self, _datagram: &Datagram, _host: &mut Host<'_>) {}

    /// A UDP packet was lost just now: no host would know, but it helps to measure.
    fn on_datagram_lost(&mut self, _datagram: &Datagram, _host: &mut Host<'_>) {}

    /// What it saw in the interval with this place in
    /// [`Scenario::intervals`](ebb_scenario::Scenario::intervals); asked at the end.
    fn measure(&self, _interval: usize) -> Option<ApplicationMeasure> {
        None
    }
}
