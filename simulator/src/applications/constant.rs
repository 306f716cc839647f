// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Nanos, Rate};

use super::time_of;
use crate::{Application, ConnectOptions, ConnectionEvent, ConnectionId, End, Host};

/// One connection whose application writes at a constant rate.
pub struct Constant {
    rate: Rate,
    write_bytes: u32,
    backlog_bytes: Option<u64>,
    connection: Option<ConnectionId>,
    started_at: Nanos,
    writes: u64,
}

impl Constant {
    /// Writes of this size, at least a byte, at this rate of data; none while more than the
    /// backlog waits to be sent.
    pub fn new(rate: Rate, write_bytes: u32, backlog_bytes: Option<u64>) -> Self {
        Self {
            rate,
            write_bytes: write_bytes.max(1),
            backlog_bytes,
            connection: None,
            started_at: Nanos::ZERO,
            writes: 0,
        }
    }
}

impl Application for Constant {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.started_at = host.now();
        self.connection = Some(host.connect_as_said(ConnectOptions::default()));
        self.on_timer(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        host.clear_timer();
        if let Some(connection) = self.connection.take() {
            host.close(connection, End::Source);
        }
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        let Some(connection) = self.connection else {
            return;
        };
        let waiting = host.unsent_bytes(connection, End::Source);
        let has_room = self
            .backlog_bytes
            .is_none_or(|most| waiting.is_none_or(|waiting| waiting <= most));
        if has_room {
            host.write(connection, End::Source, u64::from(self.write_bytes));
        }
        self.writes += 1;
        let offset = time_of(self.writes, self.write_bytes, self.rate);
        host.set_timer(self.started_at + offset);
    }

    fn on_connection(
        &mut self,
        connection: ConnectionId,
        end: End,
        event: ConnectionEvent,
        host: &mut Host<'_>,
    ) {
        match event {
            ConnectionEvent::PeerClosed => host.close(connection, end),
            ConnectionEvent::Closed if end == End::Source => {
                self.connection = None;
                host.clear_timer();
            }
            _ => {}
        }
    }
}
