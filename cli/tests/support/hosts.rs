// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two hosts with a cable between them, in network namespaces.

use std::fs::File;
use std::net::Ipv4Addr;
use std::os::fd::AsRawFd;
use std::process::Command;

/// Two hosts; gone when dropped.
pub struct Hosts {
    name: String,
    /// Of their addresses the first three numbers.
    network: [u8; 3],
}

impl Hosts {
    /// Makes them: `name` is what no other test calls its own.
    pub fn new(name: &str, network: [u8; 3]) -> Self {
        let name = format!("{name}{}", std::process::id());
        let hosts = Self { name, network };
        let [here, there] = ["a", "b"].map(|side| format!("{}{side}", hosts.name));
        ip(&format!("netns add {here}"));
        ip(&format!("netns add {there}"));
        ip(&format!(
            "-n {here} link add cable type veth peer name cable netns {there}"
        ));
        for side in ["a", "b"] {
            let (host, address) = (format!("{}{side}", hosts.name), hosts.address(side));
            ip(&format!("-n {host} addr add {address}/24 dev cable"));
            ip(&format!("-n {host} link set cable up"));
        }
        hosts
    }

    /// The address of one of them, `a` or `b`.
    pub fn address(&self, side: &str) -> Ipv4Addr {
        let [first, second, third] = self.network;
        Ipv4Addr::new(first, second, third, if side == "a" { 1 } else { 2 })
    }

    /// Moves this thread to one of them.
    pub fn enter(&self, side: &str) {
        let file = File::open(format!("/run/netns/{}{side}", self.name)).unwrap();
        // SAFETY: the descriptor is open; only this thread moves.
        let moved = unsafe { libc::setns(file.as_raw_fd(), libc::CLONE_NEWNET) };
        assert_eq!(moved, 0);
    }
}

impl Drop for Hosts {
    fn drop(&mut self) {
        for side in ["a", "b"] {
            let name = format!("{}{side}", self.name);
            let _ = Command::new("ip").args(["netns", "del", &name]).status();
        }
    }
}

fn ip(words: &str) {
    let status = Command::new("ip").args(words.split(' ')).status().unwrap();
    assert!(status.success(), "ip {words}");
}
