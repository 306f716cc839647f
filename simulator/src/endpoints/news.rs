// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is new at an end of a connection, for the application.

use super::{Endpoint, Endpoints};
use crate::application::{ConnectionEvent, ConnectionId, End};
use crate::simulation::Simulation;
use crate::tcp::State;

/// What the application has heard of.
#[derive(Clone, Copy, Default)]
pub(super) struct Told {
    pub(super) is_connected: bool,
    pub(super) is_writable: bool,
    pub(super) is_peer_closed: bool,
    pub(super) is_closed: bool,
}

impl Simulation<'_> {
    /// Tells applications what followed from what they did.
    pub(crate) fn tell_consequences(&mut self) {
        while let Some(endpoint) = self.network.endpoints.touched.pop() {
            self.tell_events(endpoint);
        }
    }

    /// Tells the application what is new at one end of a connection.
    #[inline]
    pub(super) fn tell_events(&mut self, place: u32) {
        let endpoint = &mut self.network.endpoints.list[place as usize];
        if endpoint.has_news() {
            self.tell_news(place);
        }
    }

    #[cold]
    fn tell_news(&mut self, place: u32) {
        loop {
            let endpoint = &mut self.network.endpoints.list[place as usize];
            let Some(event) = endpoint.next_event() else {
                break;
            };
            let flow = endpoint.origin.flow;
            let id = ConnectionId {
                place: place / 2,
                generation: endpoint.generation,
            };
            self.tell(flow, |application, host| {
                application.on_connection(id, Endpoints::end_of(place), event, host);
            });
            if event == ConnectionEvent::Closed {
                self.network.remove_if_over(place);
                break;
            }
        }
    }
}

impl Endpoints {
    /// Whoever writes hears that there is room even if all of it left at once: nothing
    /// else would ever tell.
    pub(crate) fn wrote(&mut self, id: ConnectionId, end: End) {
        if let Some(endpoint) = self.find(id, end) {
            self.list[endpoint as usize].told.is_writable = false;
        }
    }
}

impl State {
    #[inline]
    fn is_over(self) -> bool {
        matches!(self, Self::Finished | Self::Failed(_))
    }
}

impl Endpoint {
    /// Whether there is an event that the application has not heard of.
    #[inline]
    fn has_news(&self) -> bool {
        let told = &self.told;
        let connection = &self.connection;
        let state = connection.state();
        (state == State::Established && !told.is_connected)
            || (state.is_over() && !told.is_closed)
            || connection.is_peer_closed() != told.is_peer_closed
            || (self.tells_received && connection.received_bytes() != self.told_bytes)
            || (self.low_water_bytes > 0 && self.is_writable() != told.is_writable)
    }

    /// The next event that the application has not heard of, which it has then.
    fn next_event(&mut self) -> Option<ConnectionEvent> {
        let connection = &self.connection;
        let told = &mut self.told;
        if told.is_closed {
            return None;
        }
        let state = connection.state();
        let was_open = matches!(state, State::Established | State::Finished);
        if was_open && !std::mem::replace(&mut told.is_connected, true) {
            return Some(ConnectionEvent::Connected);
        }
        let received_bytes = connection.received_bytes();
        if self.tells_received && received_bytes > self.told_bytes {
            let new = received_bytes - self.told_bytes;
            self.told_bytes = received_bytes;
            return Some(ConnectionEvent::Received(new));
        }
        if connection.is_peer_closed() && !std::mem::replace(&mut told.is_peer_closed, true) {
            return Some(ConnectionEvent::PeerClosed);
        }
        if state.is_over() {
            told.is_closed = true;
            return Some(ConnectionEvent::Closed);
        }
        let is_writable = self.low_water_bytes > 0 && self.is_writable();
        let was_writable = std::mem::replace(&mut self.told.is_writable, is_writable);
        (is_writable && !was_writable).then_some(ConnectionEvent::Writable)
    }

    /// A connection that is being closed takes nothing: to say that it has room would have
    /// its application write for ever.
    fn is_writable(&self) -> bool {
        self.connection.state() == State::Established
            && !self.connection.is_closing()
            && self.connection.unsent_bytes() < self.low_water_bytes
    }
}
