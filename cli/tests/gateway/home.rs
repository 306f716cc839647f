// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A home behind a router and the emulated home link, and what its devices transfer.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, Command, Stdio};

use ebb_lab::demo::Gateway;
use ebb_lab::emulator::{EmulatorReport, Path, Testbed};
use ebb_lab::home;
use ebb_lab::namespace::NamespaceHandle;
use ebb_link::LinkSpec;

use crate::support::Ebb;
use crate::transfers::{home_link, path_with};

/// Sends the same block again and again at two ports, and takes at the next two; then it sends 6
/// Mbit/s, two segments whenever they are due, and in bursts of 3 s.
const SERVER: &str = "
import random, socket, sys, threading, time
block = random.Random(7).randbytes(65536)
twice = block * 2
def give(s):
    while True:
        s.sendall(block)
def take(s):
    # A segment that comes alone is acknowledged by a timer, as where a program is slow.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVLOWAT, 1 << 15)
    while s.recv(1 << 18):
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 0)
def constant(s):
    at, due = 0, time.monotonic()
    while True:
        s.sendall(twice[at:at + 2896])
        at, due = (at + 2896) % len(block), due + 2896 * 8 / 6e6
        time.sleep(max(0, due - time.monotonic()))
def bursts(s):
    # What waits in the socket is sent in the pause.
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NOTSENT_LOWAT, 16384)
    at = 0
    while True:
        until = time.monotonic() + 3
        while time.monotonic() < until:
            s.sendall(twice[at:at + 4096])
            at = (at + 4096) % len(block)
        time.sleep(3)
def serve(port, how):
    listener = socket.create_server(('::', port), family=socket.AF_INET6, dualstack_ipv6=True)
    def one(s):
        try:
            how(s)
        except OSError:
            pass
    def accept():
        while True:
            s, _ = listener.accept()
            threading.Thread(target=one, args=(s,), daemon=True).start()
    threading.Thread(target=accept, daemon=True).start()
serve(9000, give)
serve(9001, give)
serve(9002, take)
serve(9003, take)
serve(9004, constant)
serve(9005, bursts)
print('ready', flush=True)
sys.stdin.read()
";

/// Receives or sends for so many seconds, says Mbit/s of each, and whether a byte was wrong.
const CLIENT: &str = "
import random, socket, sys, time
block = random.Random(7).randbytes(65536)
expected = block * 6
where = (sys.argv[1], int(sys.argv[2]))
s = socket.create_connection(where)
is_giving = where[1] in (9002, 9003)
if is_giving:
    s.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b'cubic')
    # What waits in the socket is sent after this has ended.
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 300000)
s.settimeout(20)
begin = time.monotonic()
at, of_second, seconds, wrong = 0, 0, [], 0
while len(seconds) < int(sys.argv[3]):
    if is_giving:
        count = s.send(block[:16384])
    else:
        data = s.recv(1 << 18)
        count = len(data)
        wrong += data != expected[at:at + count]
        at = (at + count) % len(block)
        if not count:
            break
    of_second += count
    if time.monotonic() - begin >= len(seconds) + 1:
        seconds.append(of_second * 8e-6)
        of_second = 0
print(wrong, *seconds)
";

/// Receives so often so many bytes, each time by a connection of its own; says how many were wrong
/// or did not come.
const FETCHES: &str = "
import random, socket, sys
block = random.Random(7).randbytes(65536)
where, size, wrong = (sys.argv[1], int(sys.argv[2])), int(sys.argv[3]), 0
for _ in range(int(sys.argv[4])):
    try:
        s = socket.create_connection(where, timeout=60)
        received = bytearray()
        while len(received) < size:
            data = s.recv(1 << 18)
            if not data:
                break
            received += data
        s.close()
        wrong += received[:size] != (block * (size // len(block) + 1))[:size]
    except OSError as error:
        print(error, file=sys.stderr)
        wrong += 1
print(wrong)
";

/// A router and what is behind it.
pub struct Home {
    /// None once it was stopped.
    testbed: Option<Testbed>,
    pub devices: Vec<Device>,
    server: Child,
    pub folder: tempfile::TempDir,
}

/// Behind the router.
pub struct Device {
    namespace: NamespaceHandle,
}

/// One that receives or sends.
pub struct Transfer(Child);

impl Home {
    pub fn start(device_count: u8) -> Self {
        Self::start_on(home_link(), device_count)
    }

    /// With this link from the server.
    pub fn start_on(forward: LinkSpec, device_count: u8) -> Self {
        let testbed = Testbed::start(vec![path_with(forward)]).unwrap();
        let home = home::Home::behind(testbed.path(0), device_count).unwrap();
        let devices = home.devices().iter().cloned();
        let devices = devices.map(|namespace| Device { namespace }).collect();
        let mut server = testbed.path(0).server().command("python3");
        let mut server = server
            .args(["-c", SERVER])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(server.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
        Self {
            testbed: Some(testbed),
            devices,
            server,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn testbed(&self) -> &Testbed {
        self.testbed.as_ref().expect("it was not stopped")
    }

    pub fn path(&self) -> &Path {
        self.testbed().path(0)
    }

    /// What the emulator says at the end.
    pub fn stop(mut self) -> EmulatorReport {
        let testbed = self.testbed.take().expect("it is stopped once");
        testbed.stop().unwrap()
    }

    /// `ebb gateway` on the bridge, once it acts.
    pub fn gateway(&self, ebb: &Ebb, arguments: &[&str], rules: &str) -> Gateway {
        self.gateway_on(home::LAN, ebb, arguments, rules)
    }

    /// `ebb gateway` on another interface of the router.
    pub fn gateway_on(&self, lan: &str, ebb: &Ebb, arguments: &[&str], rules: &str) -> Gateway {
        let mut command = ebb.command(["gateway", "--lan", lan]);
        self.path().client().move_child(&mut command);
        command.args(arguments);
        Gateway::start(command, rules, self.folder.path()).unwrap()
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

impl Drop for Transfer {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Device {
    pub fn namespace(&self) -> &NamespaceHandle {
        &self.namespace
    }

    /// Fetches one after the other; answers how many were wrong.
    pub fn fetches(&self, host: &str, port: u16, bytes: u32, count: u32) -> u32 {
        let mut command = self.namespace.command("python3");
        command.args(["-c", FETCHES, host]);
        command.args([port.to_string(), bytes.to_string(), count.to_string()]);
        let output = command.stderr(Stdio::inherit()).output().unwrap();
        assert!(output.status.success(), "{output:?}");
        String::from_utf8_lossy(&output.stdout)
            .trim()
            .parse()
            .unwrap()
    }

    pub fn transfer(&self, host: &str, port: u16, seconds: u32) -> Transfer {
        Transfer::start(self.namespace.command("python3"), host, port, seconds)
    }

    /// The same under `ebb run` on the device itself.
    pub fn transfer_under(&self, ebb: &Ebb, host: &str, port: u16, seconds: u32) -> Transfer {
        let mut command = ebb.command(["run", "--backend", "kernel", "--", "python3"]);
        self.namespace.move_child(&mut command);
        Transfer::start(command, host, port, seconds)
    }
}

impl Transfer {
    fn start(mut python: Command, host: &str, port: u16, seconds: u32) -> Self {
        python.args(["-c", CLIENT, host, &port.to_string(), &seconds.to_string()]);
        Self(python.stdout(Stdio::piped()).spawn().unwrap())
    }

    /// Mbit/s of each second, once it has ended. Not a byte of it may be wrong.
    pub fn seconds(mut self) -> Vec<f64> {
        let mut text = String::new();
        let output = self.0.stdout.as_mut().unwrap();
        output.read_to_string(&mut text).unwrap();
        assert!(self.0.wait().unwrap().success(), "{text}");
        let mut words = text.split_whitespace();
        assert_eq!(words.next(), Some("0"), "wrong bytes");
        words.map(|word| word.parse().unwrap()).collect()
    }
}
