// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_scenario::{Flow, Interval, Stream};

use crate::application::{ConnectOptions, ConnectionId, Datagram, End};
use crate::network::Network;
use crate::tcp::Connection;

/// Headers of a UDP packet, the least that it can have. *Units:* bytes.
pub const UDP_HEADER_BYTES: u32 = 28;

/// What an application can do: both hosts of its flow, for the length of a call.
pub struct Host<'a> {
    pub(crate) network: &'a mut Network,
    pub(crate) flow: u32,
}

impl<'a> Host<'a> {
    pub(crate) fn new(network: &'a mut Network, flow: u32) -> Self {
        Self { network, flow }
    }

    /// The time.
    pub fn now(&self) -> Nanos {
        self.network.now
    }

    /// The flow as the scenario has it.
    pub fn flow(&self) -> &Flow {
        &self.network.flows[self.flow as usize].spec
    }

    /// The parts of the run that are reported.
    pub fn intervals(&self) -> &[Interval] {
        self.network.clock.intervals()
    }

    /// This flow's random numbers for one purpose; from their beginning at each call, so
    /// keep them.
    pub fn stream(&self, purpose: &str) -> Stream {
        self.network.seeds.stream(purpose, &self.flow().name)
    }

    /// Calls [`Application::on_timer`](crate::Application::on_timer) at this time, and
    /// not at the one that was set before.
    pub fn set_timer(&mut self, at: Nanos) {
        let flow = &mut self.network.flows[self.flow as usize];
        flow.set_timer(Some(at));
        flow.arm(self.flow, &mut self.network.schedule);
    }

    /// Forgets the timer.
    pub fn clear_timer(&mut self) {
        self.network.flows[self.flow as usize].set_timer(None);
    }

    /// Opens a connection from one end to the other, which listens.
    pub fn connect(&mut self, opener: End, options: ConnectOptions) -> ConnectionId {
        self.network.connect(self.flow, opener, options)
    }

    /// As [`connect`](Self::connect), from the end that the flow says.
    pub fn connect_as_said(&mut self, options: ConnectOptions) -> ConnectionId {
        let opener = match self.flow().receiver_connects {
            true => End::Sink,
            false => End::Source,
        };
        self.connect(opener, options)
    }

    /// Writes so many bytes more at one end; any number of them is held until they can be
    /// sent. Like all that follows, does nothing to a connection that is over.
    pub fn write(&mut self, connection: ConnectionId, end: End, bytes: u64) {
        self.network.act(connection, end, |endpoint, now, out| {
            endpoint.write(now, bytes, out)
        });
        self.network.endpoints.wrote(connection, end);
    }

    /// Bytes written at one end that have not been sent yet; none if it is over there.
    pub fn unsent_bytes(&self, connection: ConnectionId, end: End) -> Option<u64> {
        let endpoint = self.network.connection(connection, end)?;
        Some(endpoint.unsent_bytes())
    }

    /// Nothing more will be written at one end: it closes when all is sent.
    pub fn close(&mut self, connection: ConnectionId, end: End) {
        self.network.act(connection, end, Connection::close);
    }

    /// Forgets what was written at one end and not sent, and closes it.
    pub fn stop(&mut self, connection: ConnectionId, end: End) {
        self.network.act(connection, end, Connection::stop);
    }

    /// Ends a connection at once, with a reset.
    pub fn abort(&mut self, connection: ConnectionId, end: End) {
        self.network.act(connection, end, Connection::abort);
    }

    /// Sends a UDP packet of this size, headers counted, to the other end; one that is
    /// too small for its headers is sent with them alone.
    pub fn send_datagram(&mut self, from: End, number: u64, packet_bytes: u32) {
        let datagram = Datagram {
            number,
            packet_bytes: packet_bytes.max(UDP_HEADER_BYTES),
            from,
            sent_at: self.now(),
        };
        let flow = &mut self.network.flows[self.flow as usize];
        if from == End::Source {
            let counters = &mut flow.meter.counters;
            counters.sent_pkts += 1;
            counters.sent_bytes += datagram.payload_bytes();
        }
        let state = &self.network.flows[self.flow as usize];
        let origin = state.origin(self.flow, from);
        self.network.send_datagram(origin, datagram);
    }

    /// Says that everything the flow was to bring has arrived now.
    pub fn complete(&mut self) {
        let now = self.now();
        let flow = &mut self.network.flows[self.flow as usize];
        flow.completed_at.get_or_insert(now);
    }
}
