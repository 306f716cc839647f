// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A greedy transfer by quinn over real UDP, each end on a thread of its own.

use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_host::testing::prefer_to_other_work;
use ebb_lab::emulator::{CLIENT_IPV4, Path, SERVER_IPV4};
use ebb_lab::namespace::NamespaceHandle;
use ebb_quic::{Credit, LawConfig, Seen};
use nix::sys::socket::{setsockopt, sockopt::TcpCongestion};
use quinn::{
    ClientConfig, Connection, Endpoint, EndpointConfig, RecvStream, SendStream, ServerConfig,
    TokioRuntime, TransportConfig,
};

use super::{OURS, greedy, keys};

/// From the emulated server to its client, for so long; begins at once.
pub struct Transfer(Vec<JoinHandle<()>>);

impl Transfer {
    /// What these threads do.
    pub fn of(threads: Vec<JoinHandle<()>>) -> Self {
        Self(threads)
    }

    /// An upload by quinn under a policy.
    pub fn upload_under(path: &Path, lasts: Duration, policy: &str) -> Self {
        let law = LawConfig::new(policy).unwrap();
        let mut transport = TransportConfig::default();
        transport.congestion_controller_factory(Arc::new(law));
        Self::upload(path, lasts, transport)
    }

    /// An upload by the kernel's TCP, under a congestion control that it has.
    pub fn upload_by_tcp(path: &Path, lasts: Duration, congestion: &str) -> Self {
        greedy::serve(path.client(), (CLIENT_IPV4, OURS), greedy::receive);
        let connect = || TcpStream::connect((CLIENT_IPV4, OURS));
        let stream = path.server().run_in(connect).unwrap().unwrap();
        setsockopt(&stream, TcpCongestion, &congestion.into()).unwrap();
        let sending = stream.try_clone().unwrap();
        Self(vec![
            std::thread::spawn(move || greedy::send(&sending)),
            std::thread::spawn(move || {
                std::thread::sleep(lasts);
                let _ = stream.shutdown(Shutdown::Both);
            }),
        ])
    }

    /// The server's end connects and sends, as an upload does.
    pub fn upload(path: &Path, lasts: Duration, sender: TransportConfig) -> Self {
        let (server_keys, client_keys) = keys::pair();
        let receiver = ServerConfig::with_crypto(Arc::new(server_keys));
        let receiver = Place::new(path.client(), (CLIENT_IPV4, OURS)).server(receiver);
        let mut config = ClientConfig::new(Arc::new(client_keys));
        config.transport_config(Arc::new(sender));
        let sender = Place::new(path.server(), (SERVER_IPV4, 0));
        Self(vec![
            receiver.run(lasts, async |endpoint| {
                let connection = accept(&endpoint).await;
                let stream = connection.accept_uni().await;
                receive(stream.expect("the sender opens one")).await;
            }),
            sender.run(lasts, async move |endpoint| {
                let connection = connect(&endpoint, config, CLIENT_IPV4).await;
                let stream = connection.open_uni().await;
                send(stream.expect("streams are allowed")).await;
            }),
        ])
    }

    /// The client's end connects, and bounds what it receives by credit under the policy.
    pub fn download(path: &Path, lasts: Duration, policy: &'static str) -> Self {
        let (server_keys, client_keys) = keys::pair();
        let sender = ServerConfig::with_crypto(Arc::new(server_keys));
        let sender = Place::new(path.server(), (SERVER_IPV4, OURS)).server(sender);
        let receiver = Place::new(path.client(), (CLIENT_IPV4, 0));
        Self(vec![
            sender.run(lasts, async |endpoint| {
                let connection = accept(&endpoint).await;
                let stream = connection.open_uni().await;
                send(stream.expect("streams are allowed")).await;
            }),
            receiver.run(lasts, async move |endpoint| {
                let credit = Credit::new(policy, Instant::now()).unwrap();
                let mut transport = TransportConfig::default();
                transport.receive_window(credit.window());
                let mut config = ClientConfig::new(Arc::new(client_keys));
                config.transport_config(Arc::new(transport));
                let connection = connect(&endpoint, config, SERVER_IPV4).await;
                let stream = connection.accept_uni().await;
                receive_by(credit, &connection, stream.expect("the sender opens one")).await;
            }),
        ])
    }

    /// Waits for its end.
    pub fn join(self) {
        for thread in self.0 {
            thread.join().expect("an end of the transfer failed");
        }
    }
}

/// A socket in a namespace, and what it is for.
pub struct Place {
    socket: UdpSocket,
    server: Option<ServerConfig>,
}

impl Place {
    pub fn new(namespace: &NamespaceHandle, at: (Ipv4Addr, u16)) -> Self {
        let socket = namespace.run_in(|| UdpSocket::bind(at)).unwrap().unwrap();
        Self {
            socket,
            server: None,
        }
    }

    pub fn server(mut self, config: ServerConfig) -> Self {
        self.server = Some(config);
        self
    }

    pub fn run<F>(self, lasts: Duration, work: F) -> JoinHandle<()>
    where
        F: AsyncFnOnce(Endpoint) + Send + 'static,
    {
        std::thread::spawn(move || {
            // A stopped end is no queue, but looks like one.
            prefer_to_other_work();
            let mut runtime = tokio::runtime::Builder::new_current_thread();
            let runtime = runtime.enable_all().build().unwrap();
            runtime.block_on(async {
                let config = EndpointConfig::default();
                let runtime = Arc::new(TokioRuntime);
                let endpoint = Endpoint::new(config, self.server, self.socket, runtime);
                // Greedy: it has no other end.
                let _ = tokio::time::timeout(lasts, work(endpoint.unwrap())).await;
            });
        })
    }
}

pub async fn accept(endpoint: &Endpoint) -> Connection {
    let incoming = endpoint.accept().await.expect("it is open");
    incoming.await.expect("a handshake succeeds")
}

pub async fn connect(endpoint: &Endpoint, config: ClientConfig, to: Ipv4Addr) -> Connection {
    let to = SocketAddr::from((to, OURS));
    let connecting = endpoint.connect_with(config, to, "peer").unwrap();
    connecting.await.expect("a handshake succeeds")
}

pub async fn send(mut stream: SendStream) {
    while stream.write_all(&[1; 16_384]).await.is_ok() {}
}

async fn receive(mut stream: RecvStream) {
    while let Ok(Some(_)) = stream.read_chunk(usize::MAX, true).await {}
}

async fn receive_by(mut credit: Credit, connection: &Connection, mut stream: RecvStream) {
    let mut looked = Instant::now();
    loop {
        let piece = stream.read_chunk(usize::MAX, true);
        if let Ok(Err(_) | Ok(None)) = tokio::time::timeout(Credit::LOOK_EVERY, piece).await {
            return;
        }
        let now = Instant::now();
        if now - looked < Credit::LOOK_EVERY {
            continue;
        }
        looked = now;
        if let Some(window) = credit.look(now, Seen::from(&connection.stats())) {
            connection.set_receive_window(window);
        }
    }
}
