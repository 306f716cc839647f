// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer that goes both ways at once yields both ways, on one connection and on two, under
//! both backends: what a fetch beside a push, a backup with its checks, or a mirror does. Also one
//! that has the kernel pace what it sends, so that its acknowledgements bear times to come.

use beside_others::{OURS, Run, expect_yielding};
use ebb_lab::emulator::SERVER_IPV4;
use greedy::talk_both_ways;
use support::Ebb;
use transfers::words;

mod support;
mod transfers;

#[path = "transfers/beside_others.rs"]
mod beside_others;
#[path = "transfers/greedy.rs"]
mod greedy;

/// Sends and receives as fast as it may, on one connection or on one for each way; or sends one
/// segment in 58 ms. 47: `SO_MAX_PACING_RATE`.
const BOTH_WAYS: &str = "
import socket, sys, threading
where = (sys.argv[1], int(sys.argv[2]))
def send(s):
    while True:
        s.sendall(bytes(65536))
def receive(s):
    while s.recv(65536):
        pass
sending = socket.create_connection(where)
receiving = socket.create_connection(where) if sys.argv[3] == 'two' else sending
if sys.argv[3] == 'paced':
    sending.setsockopt(socket.SOL_SOCKET, 47, 25000)
print('ready', flush=True)
threading.Thread(target=send, args=(sending,), daemon=True).start()
threading.Thread(target=receive, args=(receiving,), daemon=True).start()
sys.stdin.read()
";

const RUNS: [(&str, &str); 6] = [
    ("kernel", "one"),
    ("kernel", "two"),
    ("kernel", "paced"),
    ("user", "one"),
    ("user", "two"),
    ("user", "paced"),
];

fn run((backend, connections): (&str, &str)) -> Run {
    let words = words([
        env!("CARGO_BIN_EXE_ebb"),
        "run",
        "--backend",
        backend,
        "--",
        "python3",
        "-c",
        BOTH_WAYS,
        &SERVER_IPV4.to_string(),
        &OURS.to_string(),
        connections,
    ]);
    Run {
        name: format!("{backend} backend, {connections}"),
        words,
        known_by: None,
    }
}

#[test]
fn what_goes_both_ways_at_once_yields_both_ways() {
    let name = "what_goes_both_ways_at_once_yields_both_ways";
    if ebb_kernel::requires_root(name) {
        expect_yielding(name, &Ebb::new(), &RUNS.map(run), talk_both_ways);
    }
}
