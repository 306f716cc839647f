// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The example `yielding_child` in a network of its own: what was set on its child's connection,
//! and that all of a transfer arrives.

#[path = "../../kernel/tests/support/mod.rs"]
mod support;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_keeper::registry::{Record, Registry, Target};
use ebb_keeper::{Backend, Direction, FlowView};
use ebb_kernel::requires_root;
use ebb_sockets::{Kind, sockets_of};
use support::{Cable, Side};

/// At 10 Mbit/s some two seconds.
const TRANSFER_BYTES: usize = 2_500_000;
const PATIENCE: Duration = Duration::from_secs(20);

/// Says who it is, receives everything, says how much that was.
const RECEIVER: &str = "
import os, socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print(os.getpid(), flush=True)
count = 0
while True:
    piece = s.recv(65536)
    if not piece:
        break
    count += len(piece)
print(count, flush=True)
";

/// A transfer over a link of 10 Mbit/s.
struct Scene {
    cable: Cable,
    registry: tempfile::TempDir,
}

/// A program that receives, under the example or not.
struct Receiver {
    child: Child,
    output: BufReader<std::process::ChildStdout>,
    pid: u32,
    sender: JoinHandle<()>,
}

impl Scene {
    fn new() -> Self {
        Self {
            cable: Cable::with_bottleneck(10, 60_000),
            registry: tempfile::tempdir().unwrap(),
        }
    }

    /// Sends the bounded transfer to whoever connects.
    fn listen(&self) -> (SocketAddr, JoinHandle<()>) {
        let address = self.cable.ipv4(Side::Left);
        let listener = std::thread::scope(|scope| {
            let bind = || {
                self.cable.enter(Side::Left);
                TcpListener::bind((address, 0)).unwrap()
            };
            scope.spawn(bind).join().unwrap()
        });
        let bound = listener.local_addr().unwrap();
        let send = move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.write_all(&vec![1; TRANSFER_BYTES]).unwrap();
        };
        (bound, std::thread::spawn(send))
    }

    fn receive(&self, before: &[&str]) -> Receiver {
        let (address, sender) = self.listen();
        let (ip, port) = (address.ip().to_string(), address.port().to_string());
        let words = [before, &["python3", "-c", RECEIVER, &ip, &port]].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .env("EBB_RUNTIME_DIR", self.registry.path())
            .stdin(Stdio::null())
            .stdout(Stdio::piped());
        let spawn = || {
            self.cable.enter(Side::Right);
            command.spawn().unwrap()
        };
        let mut child = std::thread::scope(|scope| scope.spawn(spawn).join().unwrap());
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        output.read_line(&mut line).unwrap();
        let pid = line.trim().parse().unwrap();
        Receiver {
            child,
            output,
            pid,
            sender,
        }
    }
}

impl Receiver {
    /// The window clamps of its connection, from its first second on to its end.
    fn clamps(&self) -> Vec<u32> {
        std::thread::sleep(Duration::from_secs(1));
        let mut clamps = Vec::new();
        while let Some(clamp) = self.clamp() {
            clamps.push(clamp);
            std::thread::sleep(Duration::from_millis(20));
        }
        clamps
    }

    fn clamp(&self) -> Option<u32> {
        let sockets = sockets_of(self.pid).ok()?;
        let mut sockets = sockets.into_iter();
        let socket = sockets.find(|socket| matches!(socket.kind(), Kind::Tcp))?;
        socket.window_clamp().ok()
    }

    /// All of it must have arrived.
    fn finish(mut self) {
        let mut rest = String::new();
        self.output.read_to_string(&mut rest).unwrap();
        assert_eq!(rest.trim(), TRANSFER_BYTES.to_string());
        assert!(self.child.wait().unwrap().success());
        self.sender.join().unwrap();
    }
}

/// The example as `cargo test` builds it with all targets of the package.
fn example() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().parent().unwrap();
    let example = built.join("examples/yielding_child");
    assert!(
        example.exists(),
        "{}: 'cargo test --test' does not build it: cargo build -p ebb-keeper --examples",
        example.display()
    );
    example
}

/// What the example says of itself and of its child's connection, one way.
fn seen(scene: &Scene, direction: Direction) -> (Record, FlowView) {
    let registry = Registry::at(scene.registry.path());
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let [record] = &registry.records().unwrap()[..]
            && let flows = registry.flows(record).unwrap()
            && let Some(flow) = flows.into_iter().find(|flow| flow.direction == direction)
            && flow.payload_bytes > 0
        {
            return (record.clone(), flow);
        }
        assert!(Instant::now() < deadline, "nothing is held");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn makes_its_child_yield(backend: Backend, law: &str) {
    let scene = Scene::new();
    let alone = scene.receive(&[]);
    let free = alone.clamps();
    alone.finish();

    let (example, backend) = (example(), backend.to_string());
    let held = scene.receive(&[example.to_str().unwrap(), &backend]);
    let (record, flow) = seen(&scene, Direction::Down);
    assert_eq!(record.target, Target::Process { pid: held.pid });
    assert_eq!((record.backend.to_string(), &flow.law[..]), (backend, law));
    assert!(flow.is_acting, "{flow:?}");
    let clamps = held.clamps();
    held.finish();
    // Whoever receives alone is granted more and more.
    let (free, held) = (free.iter().max().unwrap(), clamps.iter().max().unwrap());
    assert!(held * 3 < *free, "{held} under Ebb, {free} without");
    let registry = Registry::at(scene.registry.path());
    assert_eq!(registry.records().unwrap(), []);
}

#[test]
fn with_the_kernel_backend_the_childs_connection_is_clamped_and_all_arrives() {
    if requires_root("with_the_kernel_backend_the_childs_connection_is_clamped_and_all_arrives") {
        makes_its_child_yield(Backend::Kernel, "ebb");
    }
}

#[test]
fn with_the_user_backend_the_childs_connection_is_clamped_and_all_arrives() {
    if requires_root("with_the_user_backend_the_childs_connection_is_clamped_and_all_arrives") {
        makes_its_child_yield(Backend::User, "sampled");
    }
}
