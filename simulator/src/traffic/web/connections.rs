// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::HashMap;

use super::Object;
use crate::ConnectionId;

/// What a connection is there for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Use {
    /// A request and its answer are on their way.
    Exchange(Exchange),
    /// Nothing at the moment; it is this person's, by number.
    Idle(u32),
}

/// A request and its answer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Exchange {
    /// Whose it is, by number.
    pub(super) person: u32,
    pub(super) object: Object,
    /// Of the request, what the server has not read yet. *Units:* bytes.
    missing_request_bytes: u64,
    /// Of the object, what the client has not read yet. *Units:* bytes.
    missing_object_bytes: u64,
}

impl Exchange {
    pub(super) fn new(person: u32, object: Object, request_bytes: u64) -> Self {
        Self {
            person,
            object,
            missing_request_bytes: request_bytes,
            missing_object_bytes: object.bytes,
        }
    }
}

/// The connections of all people, without those that have done what they were for.
#[derive(Default)]
pub(super) struct Uses {
    // Never walked through: its order means nothing.
    by_connection: HashMap<ConnectionId, Use>,
}

impl Uses {
    pub(super) fn set(&mut self, connection: ConnectionId, purpose: Use) {
        self.by_connection.insert(connection, purpose);
    }

    pub(super) fn remove(&mut self, connection: ConnectionId) -> Option<Use> {
        self.by_connection.remove(&connection)
    }

    /// The server has read so much: answers the size of the object if that was all of the
    /// request.
    pub(super) fn asked(&mut self, connection: ConnectionId, bytes: u64) -> Option<u64> {
        let exchange = self.exchange(connection)?;
        exchange.missing_request_bytes = exchange.missing_request_bytes.saturating_sub(bytes);
        (exchange.missing_request_bytes == 0).then_some(exchange.object.bytes)
    }

    /// The client has read so much: answers the exchange if that was all of the object.
    pub(super) fn answered(&mut self, connection: ConnectionId, bytes: u64) -> Option<Exchange> {
        let exchange = self.exchange(connection)?;
        exchange.missing_object_bytes = exchange.missing_object_bytes.saturating_sub(bytes);
        (exchange.missing_object_bytes == 0).then_some(*exchange)
    }

    fn exchange(&mut self, connection: ConnectionId) -> Option<&mut Exchange> {
        match self.by_connection.get_mut(&connection)? {
            Use::Exchange(exchange) => Some(exchange),
            Use::Idle(_) => None,
        }
    }
}
