// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::{Application, ConnectOptions, ConnectionEvent, ConnectionId, End, Host};

/// One connection with always more to send.
#[derive(Default)]
pub struct Greedy {
    connection: Option<ConnectionId>,
}

/// More than any run sends: 2^50 bytes are a petabyte.
const WITHOUT_END_BYTES: u64 = 1 << 50;

impl Application for Greedy {
    fn on_start(&mut self, host: &mut Host<'_>) {
        let connection = host.connect_as_said(ConnectOptions::default());
        host.write(connection, End::Source, WITHOUT_END_BYTES);
        self.connection = Some(connection);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        if let Some(connection) = self.connection.take() {
            host.stop(connection, End::Source);
        }
    }

    fn on_connection(
        &mut self,
        connection: ConnectionId,
        end: End,
        event: ConnectionEvent,
        host: &mut Host<'_>,
    ) {
        if event == ConnectionEvent::PeerClosed {
            host.close(connection, end);
        }
    }
}

/// One connection that sends so much, closes, and tells how long it took.
pub struct Fixed {
    bytes: u64,
    received_bytes: u64,
    connection: Option<ConnectionId>,
}

impl Fixed {
    /// So many bytes.
    pub const fn new(bytes: u64) -> Self {
        Self {
            bytes,
            received_bytes: 0,
            connection: None,
        }
    }
}

impl Application for Fixed {
    fn on_start(&mut self, host: &mut Host<'_>) {
        let options = ConnectOptions {
            tells_received: [false, true],
            ..ConnectOptions::default()
        };
        let connection = host.connect_as_said(options);
        host.write(connection, End::Source, self.bytes);
        host.close(connection, End::Source);
        self.connection = Some(connection);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        if let Some(connection) = self.connection {
            host.stop(connection, End::Source);
        }
    }

    fn on_connection(
        &mut self,
        connection: ConnectionId,
        end: End,
        event: ConnectionEvent,
        host: &mut Host<'_>,
    ) {
        match event {
            ConnectionEvent::Received(bytes) => {
                self.received_bytes += bytes;
                if self.received_bytes >= self.bytes {
                    host.complete();
                }
            }
            ConnectionEvent::PeerClosed => {
                // Nothing to receive is received when there will be nothing.
                if end == End::Sink && self.bytes == 0 {
                    host.complete();
                }
                host.close(connection, end);
            }
            ConnectionEvent::Closed => self.connection = None,
            ConnectionEvent::Connected | ConnectionEvent::Writable => {}
        }
    }
}
