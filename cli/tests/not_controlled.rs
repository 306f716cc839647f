// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is left alone works as without Ebb, and the summary says what it was: UDP, QUIC, uTP,
//! multipath TCP, connections within the machine. Both backends.

use std::process::{Child, Command, Stdio};

use ebb_kernel::requires;
use ebb_lab::emulator::{SERVER_IPV4, Testbed};
use support::{Ebb, stderr, stdout};
use transfers::{home_link, path_with, program, words};

mod support;
mod transfers;

/// Answers datagrams at two ports, and what comes over multipath TCP.
const SERVER: &str = "
import socket, sys, threading
def datagrams(port):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    s.bind((sys.argv[1], port))
    while True:
        data, who = s.recvfrom(2000)
        s.sendto(data, who)
for port in (443, 6881):
    threading.Thread(target=datagrams, args=(port,), daemon=True).start()
listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
listener.bind((sys.argv[1], 7000))
listener.listen()
print('ready', flush=True)
while True:
    s, _ = listener.accept()
    while data := s.recv(65536):
        s.sendall(data)
    s.close()
";

/// 0.2 MB each way over QUIC's port, a connection of uTP, one within the machine, one over
/// multipath TCP; says which congestion control the last two have, and that all arrived.
const CLIENT: &str = "
import socket, sys, time
server = sys.argv[1]
def congestion(s):
    return s.getsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, 16).rstrip(b'\\0').decode()
quic = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
quic.settimeout(10)
quic.connect((server, 443))
for _ in range(5):
    for _ in range(40):
        quic.send(bytes(1000))
    for _ in range(40):
        quic.recv(2000)
utp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
utp.settimeout(10)
utp.sendto(b'\\x41\\0' + bytes(18), (server, 6881))
utp.recv(100)
listener = socket.create_server(('127.0.0.1', 0))
near = socket.create_connection(listener.getsockname())
far, _ = listener.accept()
near.sendall(bytes(10000))
print('within', congestion(near), near.getsockopt(socket.IPPROTO_TCP, 10) >= 60000)
multipath = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
multipath.connect((server, 7000))
multipath.sendall(bytes(50000))
multipath.shutdown(socket.SHUT_WR)
received = 0
while data := multipath.recv(65536):
    received += len(data)
is_fallen_back = multipath.getsockopt(284, 1, 64)[8] & 1
print('multipath', is_fallen_back, congestion(multipath), received)
time.sleep(0.3)
";

struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn start(mut command: Command) -> Server {
    use std::io::BufRead;
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    let output = child.stdout.take().unwrap();
    std::io::BufReader::new(output)
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "ready\n");
    Server(child)
}

#[test]
fn what_is_not_controlled_works_and_is_named_by_both_backends() {
    let name = "what_is_not_controlled_works_and_is_named_by_both_backends";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let enabled = std::fs::read_to_string("/proc/sys/net/mptcp/enabled");
    let is_enabled = enabled.is_ok_and(|text| text.trim() == "1");
    if !requires(name, "multipath", "multipath TCP", is_enabled) {
        return;
    }
    let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
    let path = testbed.path(0);
    let address = SERVER_IPV4.to_string();
    let _server = start(program(
        path.server(),
        &words(["python3", "-c", SERVER, &address]),
    ));
    let client = words(["python3", "-c", CLIENT, &address]);
    let plain = program(path.client(), &client).output().unwrap();
    let expected = stdout(&plain);
    assert!(
        expected.contains("multipath 0 ") && expected.contains(" 50000\n"),
        "{plain:?}"
    );
    for backend in ["kernel", "user"] {
        let ebb = Ebb::new();
        let run = ["run", "--backend", backend, "--summary", "--"].map(str::to_owned);
        let start = [env!("CARGO_BIN_EXE_ebb").to_owned()]
            .into_iter()
            .chain(run);
        let all: Vec<String> = start.chain(client.clone()).collect();
        let output = program(path.client(), &all)
            .envs(ebb.environment())
            .output()
            .unwrap();
        let said = stderr(&output);
        assert!(output.status.success(), "{said}");
        assert_eq!(stdout(&output), expected, "{backend}");
        let line = said.trim_end();
        for what in [
            "over 0 connections",
            "2 within this machine left alone",
            "1 over multipath TCP left alone",
            match backend {
                "kernel" => {
                    "2 UDP sockets not controlled (1 QUIC, 1 uTP, 0.2 MB arrived, 0.2 MB sent)"
                }
                _ => "2 UDP sockets not controlled (1 QUIC)",
            },
        ] {
            assert!(line.contains(what), "{backend}: no '{what}' in: {line}");
        }
        assert!(line.ends_with(&format!("{backend} backend")), "{line}");
        assert_eq!(line.lines().count(), 1, "{line}");
    }
    drop(testbed.stop());
}
