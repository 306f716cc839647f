// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two hosts of network namespaces with a cable between them, and real transfers.
//!
//! The left host sends from threads of the test. Whatever must be in a cgroup or die is
//! a process of its own: the test binary once more, with a role (see [`role`]).

#![allow(dead_code, reason = "each test file uses a part")]

pub mod giving_back;
pub mod many;
pub mod packets;
pub mod process;
pub mod ruled;
pub mod transfer;

use ebb_kernel::cgroup::Cgroup;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Whether what real time shows is so: at the first look, or at the next two. One look may fall on
/// a moment in which the machine was busy; two of three may not.
pub fn holds(mut looks_so: impl FnMut() -> bool) -> bool {
    looks_so() || (looks_so() && looks_so())
}

/// Two hosts joined by a veth pair, or by a router between two, and a cgroup; all are
/// removed on drop.
pub struct Cable {
    name: String,
    pub cgroup: Cgroup,
}

/// An end of the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Router,
    Right,
}

impl Cable {
    /// Lays a cable without limits.
    pub fn new() -> Self {
        let cable = Self::bare(&[Side::Left, Side::Right]);
        cable.join(Side::Left, Side::Right);
        for side in [Side::Left, Side::Right] {
            cable.address(side, "cable", &[format!("{}/16", cable.ipv4(side))]);
            cable.address(side, "cable", &[format!("{}/32", cable.ipv6(side))]);
        }
        cable
    }

    /// Lays a cable with a router that carries `mbit` Mbit/s from left to right.
    ///
    /// The queue is the router's: in the sender's own host, TCP would keep it short.
    pub fn with_bottleneck(mbit: u32, queue_bytes: u32) -> Self {
        let cable = Self::bare(&[Side::Left, Side::Router, Side::Right]);
        cable.join(Side::Left, Side::Router);
        cable.join(Side::Right, Side::Router);
        for side in [Side::Left, Side::Right] {
            let (ipv4, ipv6) = (cable.ipv4(side), cable.ipv6(side));
            cable.address(side, "cable", &[format!("{ipv4}/24"), format!("{ipv6}/64")]);
            let (gateway4, gateway6) = (gateway(ipv4), gateway(ipv6));
            let device = format!("to{}", side.letter());
            cable.address(
                Side::Router,
                &device,
                &[format!("{gateway4}/24"), format!("{gateway6}/64")],
            );
            let namespace = cable.namespace(side);
            for address in [gateway4, gateway6] {
                let gateway = address.to_string();
                ip(&["-n", &namespace, "route", "add", "default", "via", &gateway]);
            }
        }
        let router = cable.namespace(Side::Router);
        for switch in ["net/ipv4/ip_forward", "net/ipv6/conf/all/forwarding"] {
            cable.set(Side::Router, switch, "1");
        }
        // Packets arrive at the bottleneck one by one, as on a real link.
        let left = cable.namespace(Side::Left);
        ip(&[&["-n", &left], &words("link set cable gso_max_segs 1")[..]].concat());
        let queue = format!("root tbf rate {mbit}mbit burst 3100 limit {queue_bytes}");
        let at = ["-n", &router, "qdisc", "add", "dev", "tor"];
        run("tc", &[&at, &words(&queue)[..]].concat());
        cable
    }

    pub fn ipv4(&self, side: Side) -> IpAddr {
        IpAddr::from([10, 77, side.number(), 1])
    }

    pub fn ipv6(&self, side: Side) -> IpAddr {
        IpAddr::from([0xfd77, 0, 0, side.number().into(), 0, 0, 0, 1])
    }

    pub fn namespace(&self, side: Side) -> String {
        format!("{}{}", self.name, side.letter())
    }

    /// Moves the calling thread to a side of the cable.
    pub fn enter(&self, side: Side) {
        enter_namespace(&self.namespace(side));
    }

    /// Whether one side has a value below /proc/sys of its own.
    pub fn has(&self, side: Side, name: &str) -> bool {
        let path = format!("/proc/sys/{name}");
        let mut ip = Command::new("ip");
        ip.args(["netns", "exec", &self.namespace(side), "test", "-e", &path]);
        ip.status().is_ok_and(|status| status.success())
    }

    /// Sets a value below /proc/sys on one side.
    pub fn set(&self, side: Side, name: &str, value: &str) {
        let command = format!("echo {value} > /proc/sys/{name}");
        ip(&["netns", "exec", &self.namespace(side), "sh", "-c", &command]);
    }

    /// Takes the name of a side's namespace away: it lives only as long as somebody uses it.
    pub fn unname(&self, side: Side) {
        ip(&["netns", "del", &self.namespace(side)]);
    }

    /// Loses everything for a while, between the router and the right.
    pub fn cut(&self, time: std::time::Duration) {
        let router = self.namespace(Side::Router);
        ip(&["-n", &router, "link", "set", "tor", "down"]);
        std::thread::sleep(time);
        ip(&["-n", &router, "link", "set", "tor", "up"]);
    }

    fn bare(sides: &[Side]) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ebbk{}-{number}", std::process::id());
        let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
        let cable = Self { name, cgroup };
        for side in sides {
            ip(&["netns", "add", &cable.namespace(*side)]);
            ip(&["-n", &cable.namespace(*side), "link", "set", "lo", "up"]);
        }
        cable
    }

    /// Joins two namespaces; a router's devices are named after the other end.
    fn join(&self, near: Side, far: Side) {
        let device = match far {
            Side::Router => format!("to{}", near.letter()),
            _ => "cable".to_owned(),
        };
        let (near, far) = (self.namespace(near), self.namespace(far));
        let pair = format!("link add cable type veth peer name {device} netns {far}");
        ip(&[&["-n", &near], &words(&pair)[..]].concat());
        ip(&["-n", &near, "link", "set", "cable", "up"]);
        ip(&["-n", &far, "link", "set", &device, "up"]);
    }

    fn address(&self, side: Side, device: &str, addresses: &[String]) {
        let namespace = self.namespace(side);
        for address in addresses {
            ip(&[
                "-n", &namespace, "addr", "add", address, "dev", device, "nodad",
            ]);
        }
    }
}

impl Side {
    fn letter(self) -> &'static str {
        match self {
            Self::Left => "l",
            Self::Router => "m",
            Self::Right => "r",
        }
    }

    fn number(self) -> u8 {
        if self == Self::Left { 1 } else { 2 }
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for side in [Side::Left, Side::Router, Side::Right] {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.namespace(side)])
                .output();
        }
        if let Err(error) = self.cgroup.remove() {
            eprintln!("{error}");
        }
    }
}

/// Moves the calling thread into a named network namespace.
pub fn enter_namespace(name: &str) {
    let file = File::open(format!("/run/netns/{name}")).unwrap();
    // SAFETY: the descriptor is open; only this thread moves.
    let result = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
    assert_eq!(result, 0, "{}", std::io::Error::last_os_error());
}

/// The router's address in the same network.
fn gateway(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(address) => {
            let [a, b, c, _] = address.octets();
            IpAddr::from([a, b, c, 254])
        }
        IpAddr::V6(address) => {
            let [a, b, c, d, ..] = address.segments();
            IpAddr::from([a, b, c, d, 0, 0, 0, 254])
        }
    }
}

fn words(text: &str) -> Vec<&str> {
    text.split(' ').collect()
}

fn ip(arguments: &[&str]) {
    run("ip", arguments);
}

fn run(program: &str, arguments: &[&str]) {
    let output = Command::new(program)
        .args(arguments)
        .output()
        .unwrap_or_else(|error| panic!("{program}: {error}; see scripts/packages.txt"));
    assert!(
        output.status.success(),
        "{program} {}: {}",
        arguments.join(" "),
        String::from_utf8_lossy(&output.stderr)
    );
}
