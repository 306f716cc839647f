// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network namespaces and processes that come and go while `ebb` watches: nothing of them is left.

mod support;

use std::io::{Read, Write};
use std::process::{Child, Stdio};

use ebb_kernel::until;
use serde_json::Value;
use support::{Ebb, Running};

/// A tenth of what was tried by hand (`EBB_NAMESPACES=1000`), to take seconds.
const NAMESPACES: u32 = 100;
/// More descriptors than this a keeper or `ebb top` needs for nothing.
const SPARE_DESCRIPTORS: usize = 8;

/// Makes namespaces, one after the other: in each a process downloads through a pair of devices of
/// which one end stays here, and goes while `ebb` may be looking. The end here goes with the
/// namespace, so what is left of them is what is held. Says how many there are before it ends.
const CHURN: &str = r#"
import ctypes, os, socket, subprocess, sys
libc = ctypes.CDLL(None, use_errno=True)
def ip(lines):
    subprocess.run(["ip", "-batch", "-"], input="\n".join(lines).encode(), check=True)
assert libc.unshare(0x40000000) == 0
ip(["link set lo up"])
listener = socket.create_server(("", 0))
port = listener.getsockname()[1]
print("ready", flush=True)
sys.stdin.readline()
for n in range(int(sys.argv[1])):
    here, there = f"10.{n >> 8}.{n & 255}.1", f"10.{n >> 8}.{n & 255}.2"
    (moved, has_moved), (laid, is_laid) = os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        assert libc.unshare(0x40000000) == 0
        os.write(has_moved, b"m")
        os.read(laid, 1)
        ip([f"addr add {there}/24 dev e", "link set e up"])
        stream = socket.create_connection((here, port), timeout=20)
        received = 0
        while piece := stream.recv(65536):
            received += len(piece)
        os._exit(received != 300_000)
    os.read(moved, 1)
    ip([f"link add e{n} type veth peer name e netns {child}", f"addr add {here}/24 dev e{n}",
        f"link set e{n} up"])
    os.write(is_laid, b"l")
    stream, _ = listener.accept()
    stream.sendall(bytes(300_000))
    stream.close()
    for end in (moved, has_moved, laid, is_laid): os.close(end)
    assert os.waitpid(child, 0)[1] == 0
print("done", flush=True)
while sys.stdin.readline():
    print(len(socket.if_nameindex()) - 1, flush=True)
"#;

/// `ebb top`, which looks ten times a second until the end of the test.
struct Watching(Child);

impl Watching {
    fn start(ebb: &Ebb) -> Self {
        let mut command = ebb.command(["top", "--json", "--interval", "0.1"]);
        command.stdin(Stdio::null()).stdout(Stdio::null());
        Self(command.spawn().unwrap())
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn descriptors_of(pid: u32) -> usize {
    std::fs::read_dir(format!("/proc/{pid}/fd"))
        .unwrap()
        .count()
}

fn keeper_of(ebb: &Ebb) -> u32 {
    let seen: Value = serde_json::from_str(&ebb.says(["status", "--json"])).unwrap();
    seen[0]["keeper_pid"].as_u64().unwrap() as u32
}

fn expect_nothing_left(backend: &str) {
    let count = std::env::var("EBB_NAMESPACES");
    let count: u32 = count.map_or(NAMESPACES, |count| count.parse().unwrap());
    let ebb = Ebb::new();
    let mut command = ebb.command(["run", backend, "--summary", "--", "python3", "-c", CHURN]);
    command.arg(count.to_string()).stderr(Stdio::piped());
    let mut running = Running::start(&mut command);
    let top = Watching::start(&ebb);
    let held_by = [keeper_of(&ebb), top.0.id()];
    let before = held_by.map(descriptors_of);

    let mut input = running.child.stdin.take().unwrap();
    input.write_all(b"go\n").unwrap();
    assert_eq!(running.line(), "done");
    until("every namespace has gone, with its devices", || {
        input.write_all(b"count\n").unwrap();
        running.line() == "0"
    });
    let after = held_by.map(descriptors_of);
    let is_as_before = |(before, after): (&usize, &usize)| *after <= before + SPARE_DESCRIPTORS;
    assert!(
        before.iter().zip(&after).all(is_as_before),
        "{before:?} {after:?}"
    );

    drop((top, input));
    assert_eq!(running.status(), Some(0));
    let mut said = String::new();
    running
        .child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut said)
        .unwrap();
    // Both ends are the command's. One that was over before it was found is nobody's.
    let summary = format!("over {} connections", 2 * count);
    assert!(
        said.contains(&summary) || backend == "--backend=user",
        "{said}"
    );
}

#[test]
fn namespaces_that_come_and_go_under_the_kernel_backend_leave_nothing() {
    let name = "namespaces_that_come_and_go_under_the_kernel_backend_leave_nothing";
    if ebb_kernel::requires_root(name) {
        expect_nothing_left("--backend=kernel");
    }
}

#[test]
fn namespaces_that_come_and_go_under_the_user_backend_leave_nothing() {
    let name = "namespaces_that_come_and_go_under_the_user_backend_leave_nothing";
    // Whoever makes namespaces and devices.
    if ebb_kernel::requires_root(name) {
        expect_nothing_left("--backend=user");
    }
}
