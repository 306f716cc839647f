// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A download by quinn over real UDP of which one stream is read under a law.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use ebb_lab::emulator::{CLIENT_IPV4, Path, SERVER_IPV4};
use ebb_quic::{Seen, StreamCredit};
use quinn::{
    ClientConfig, Connection, RecvStream, SendStream, ServerConfig, TransportConfig, VarInt,
};
use tokio::time::MissedTickBehavior;

use super::cases::{COMES_SECOND, COUNTS_UNTIL, SETTLED};
use super::transfer::{Place, Transfer, accept, connect, send};
use super::{OURS, keys};

/// Holds nobody back.
const CONNECTION_WINDOW: VarInt = VarInt::from_u32(8 << 20);
/// The link's share of a round trip is 125 kB: more than that, for there to be a queue.
const STREAM_WINDOW: VarInt = VarInt::from_u32(160_000);

/// What was read of a stream since another one is there, and since both are settled.
#[derive(Debug, Default)]
pub struct Read {
    together: AtomicU64,
    settled: AtomicU64,
}

impl Read {
    fn add(&self, passed: Duration, bytes: usize) {
        for (count, from) in [(&self.together, COMES_SECOND), (&self.settled, SETTLED)] {
            if (from..COUNTS_UNTIL).contains(&passed) {
                count.fetch_add(bytes as u64, Ordering::Relaxed);
            }
        }
    }
}

/// The stream that yields, and the connection's other one.
#[derive(Debug, Default)]
pub struct Streams {
    yielding: Read,
    other: Read,
}

impl Streams {
    /// What the other one had of what both had: since both are there, and once settled.
    pub fn others(&self) -> [f64; 2] {
        let parts: [fn(&Read) -> &AtomicU64; 2] = [|it| &it.together, |it| &it.settled];
        parts.map(|part| {
            let [ours, theirs] =
                [&self.yielding, &self.other].map(|read| part(read).load(Ordering::Relaxed) as f64);
            theirs / (theirs + ours)
        })
    }
}

/// A stream that is read under the policy, and if somebody counts both, another one of the same
/// connection that comes second.
pub fn download(
    path: &Path,
    lasts: Duration,
    policy: &'static str,
    both: Option<Arc<Streams>>,
) -> Transfer {
    let (server_keys, client_keys) = keys::pair();
    let sender = ServerConfig::with_crypto(Arc::new(server_keys));
    let sender = Place::new(path.server(), (SERVER_IPV4, OURS)).server(sender);
    let receiver = Place::new(path.client(), (CLIENT_IPV4, 0));
    let (has_other, began) = (both.is_some(), Instant::now());
    Transfer::of(vec![
        sender.run(lasts, async move |endpoint| {
            let connection = accept(&endpoint).await;
            let yielding = open(&connection).await;
            tokio::spawn(async move {
                tokio::time::sleep(COMES_SECOND).await;
                if has_other {
                    send(open(&connection).await).await;
                }
            });
            send(yielding).await;
        }),
        receiver.run(lasts, async move |endpoint| {
            let config = ClientConfig::new(Arc::new(client_keys));
            let connection = connect(&endpoint, with_windows(config), SERVER_IPV4).await;
            let streams = both.unwrap_or_default();
            let yielding = connection.accept_uni().await.expect("the sender opens one");
            tokio::spawn(read_all(connection.clone(), Arc::clone(&streams), began));
            let credit = StreamCredit::new(policy, CONNECTION_WINDOW, Instant::now()).unwrap();
            let count = |bytes| streams.yielding.add(began.elapsed(), bytes);
            read_by(credit, &connection, yielding, count).await;
        }),
    ])
}

fn with_windows(mut config: ClientConfig) -> ClientConfig {
    let mut transport = TransportConfig::default();
    transport.receive_window(CONNECTION_WINDOW);
    transport.stream_receive_window(STREAM_WINDOW);
    config.transport_config(Arc::new(transport));
    config
}

async fn open(connection: &Connection) -> SendStream {
    connection.open_uni().await.expect("streams are allowed")
}

/// The connection's other stream.
async fn read_all(connection: Connection, streams: Arc<Streams>, began: Instant) {
    let Ok(mut stream) = connection.accept_uni().await else {
        return;
    };
    while let Ok(Some(piece)) = stream.read_chunk(usize::MAX, true).await {
        streams.other.add(began.elapsed(), piece.bytes.len());
    }
}

async fn read_by(
    mut credit: StreamCredit,
    connection: &Connection,
    mut stream: RecvStream,
    count: impl Fn(usize),
) {
    let mut looks = tokio::time::interval(StreamCredit::LOOK_EVERY);
    looks.set_missed_tick_behavior(MissedTickBehavior::Skip);
    loop {
        looks.tick().await;
        let now = Instant::now();
        if let Some(window) = credit.look(now, Seen::from(&connection.stats())) {
            connection.set_receive_window(window);
        }
        loop {
            let most = credit.may_read(now);
            if most == 0 {
                break;
            }
            // What has arrived, and no more.
            let piece = tokio::time::timeout(Duration::ZERO, stream.read_chunk(most, true));
            match piece.await {
                Err(_) => break,
                Ok(Err(_) | Ok(None)) => return,
                Ok(Ok(Some(piece))) => {
                    credit.on_read(piece.bytes.len());
                    count(piece.bytes.len());
                }
            }
        }
    }
}
