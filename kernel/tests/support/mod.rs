// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two hosts of network namespaces with a cable between them, and real transfers.
//!
//! The left host sends from threads of the test. Whatever must be in a cgroup or die is
//! a process of its own: the test binary once more, with a role (see [`role`]).

#![allow(dead_code, reason = "each test file uses a part")]

pub mod process;
pub mod transfer;

use ebb_kernel::cgroup::Cgroup;
use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Two namespaces joined by a veth pair, and a cgroup; all are removed on drop.
pub struct Cable {
    name: String,
    pub cgroup: Cgroup,
}

/// An end of the cable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Left,
    Right,
}

impl Cable {
    /// Lays a cable without limits.
    pub fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ebbk{}-{number}", std::process::id());
        let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
        let cable = Self { name, cgroup };
        for side in [Side::Left, Side::Right] {
            ip(&["netns", "add", &cable.namespace(side)]);
            ip(&["-n", &cable.namespace(side), "link", "set", "lo", "up"]);
        }
        let (left, right) = (cable.namespace(Side::Left), cable.namespace(Side::Right));
        ip(&[
            "-n", &left, "link", "add", "cable", "type", "veth", "peer", "name", "cable", "netns",
            &right,
        ]);
        for side in [Side::Left, Side::Right] {
            let namespace = cable.namespace(side);
            for (address, length) in [(cable.ipv4(side), 24), (cable.ipv6(side), 64)] {
                let address = format!("{address}/{length}");
                ip(&[
                    "-n", &namespace, "addr", "add", &address, "dev", "cable", "nodad",
                ]);
            }
            ip(&["-n", &namespace, "link", "set", "cable", "up"]);
        }
        cable
    }

    /// Lays a cable that carries `mbit` Mbit/s from left to right, with a queue.
    pub fn with_bottleneck(mbit: u32, queue_bytes: u32) -> Self {
        let cable = Self::new();
        let left = cable.namespace(Side::Left);
        // One packet at a time through the bottleneck, as on a real link.
        run(
            "ip",
            &[
                "netns", "exec", &left, "ethtool", "-K", "cable", "tso", "off", "gso", "off",
            ],
        );
        run(
            "tc",
            &[
                "-n",
                &left,
                "qdisc",
                "add",
                "dev",
                "cable",
                "root",
                "tbf",
                "rate",
                &format!("{mbit}mbit"),
                "burst",
                "3100",
                "limit",
                &queue_bytes.to_string(),
            ],
        );
        cable
    }

    pub fn ipv4(&self, side: Side) -> IpAddr {
        IpAddr::from([10, 77, 0, host(side)])
    }

    pub fn ipv6(&self, side: Side) -> IpAddr {
        IpAddr::from([0xfd77, 0, 0, 0, 0, 0, 0, u16::from(host(side))])
    }

    pub fn namespace(&self, side: Side) -> String {
        format!(
            "{}{}",
            self.name,
            if side == Side::Left { "l" } else { "r" }
        )
    }

    /// Moves the calling thread to a side of the cable.
    pub fn enter(&self, side: Side) {
        enter_namespace(&self.namespace(side));
    }
}

impl Drop for Cable {
    fn drop(&mut self) {
        for side in [Side::Left, Side::Right] {
            let _ = Command::new("ip")
                .args(["netns", "del", &self.namespace(side)])
                .status();
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

fn host(side: Side) -> u8 {
    if side == Side::Left { 1 } else { 2 }
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
