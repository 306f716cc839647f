// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;

use crate::{Application, ConnectOptions, ConnectionEvent, ConnectionId, End, Host};

/// What is written at once, and kept waiting to be sent while it sends: enough that TCP
/// never lacks data, little enough that a pause begins soon. *Units:* bytes.
const WRITE_BYTES: u64 = 32 << 10;

/// A connection that is greedy for a while, then silent, and so on; or a new one each
/// time.
pub struct OnOff {
    on: Nanos,
    off: Nanos,
    reconnect: bool,
    connection: Option<ConnectionId>,
    is_on: bool,
    is_over: bool,
    /// When it goes on or off next.
    next_change: Nanos,
}

impl OnOff {
    /// Greedy for `on`, silent for `off`.
    pub const fn new(on: Nanos, off: Nanos, reconnect: bool) -> Self {
        Self {
            on,
            off,
            reconnect,
            connection: None,
            is_on: false,
            is_over: false,
            next_change: Nanos::ZERO,
        }
    }

    fn begin(&mut self, host: &mut Host<'_>) {
        self.is_on = true;
        let connection = match self.connection {
            Some(connection) => connection,
            None => {
                let options = ConnectOptions {
                    low_water_bytes: [Some(WRITE_BYTES), None],
                    ..ConnectOptions::default()
                };
                host.connect_as_said(options)
            }
        };
        self.connection = Some(connection);
        host.write(connection, End::Source, 2 * WRITE_BYTES);
    }

    fn pause(&mut self, host: &mut Host<'_>) {
        self.is_on = false;
        if self.reconnect {
            self.hang_up(host);
        }
    }

    fn hang_up(&mut self, host: &mut Host<'_>) {
        if let Some(connection) = self.connection.take() {
            host.stop(connection, End::Source);
        }
    }
}

impl Application for OnOff {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.next_change = host.now();
        self.on_timer(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        self.is_on = false;
        self.is_over = true;
        host.clear_timer();
        self.hang_up(host);
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        if self.is_over {
            return;
        }
        let length = if self.is_on { self.off } else { self.on };
        if self.is_on {
            self.pause(host);
        } else {
            self.begin(host);
        }
        // A scenario has lengths above zero; with others time would stand still.
        self.next_change += length.max(Nanos(1));
        host.set_timer(self.next_change);
    }

    fn on_connection(
        &mut self,
        connection: ConnectionId,
        end: End,
        event: ConnectionEvent,
        host: &mut Host<'_>,
    ) {
        match event {
            ConnectionEvent::Writable if self.is_on => {
                host.write(connection, end, WRITE_BYTES);
            }
            ConnectionEvent::PeerClosed => host.close(connection, end),
            // Broken by the network: the next time begins with a new one.
            ConnectionEvent::Closed if self.connection == Some(connection) => {
                self.connection = None;
            }
            _ => {}
        }
    }
}
