// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network namespaces without names, as the lab has them, which is above this package; and a router.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd};
use std::process::{Command, Stdio};

use nix::sched::{CloneFlags, setns, unshare};

/// Kept alive by this, and by who is in it.
pub struct Namespace(File);

impl Namespace {
    /// A new one; the calling thread stays where it is.
    pub fn create() -> Self {
        let made = in_thread(|| {
            unshare(CloneFlags::CLONE_NEWNET).unwrap();
            File::open("/proc/thread-self/ns/net").unwrap()
        });
        Self(made)
    }

    /// Moves the calling thread, and only it, into it.
    pub fn enter(&self) {
        setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET).unwrap();
    }

    /// What other programs can open it by.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.0.as_raw_fd())
    }

    /// Runs the function in a thread inside of it.
    pub fn run_in<R: Send>(&self, function: impl FnOnce() -> R + Send) -> R {
        in_thread(|| {
            self.enter();
            function()
        })
    }

    /// Sets a sysctl, by dotted name.
    pub fn set_sysctl(&self, name: &str, value: &str) {
        let path = format!("/proc/sys/{}", name.replace('.', "/"));
        self.run_in(|| fs::write(path, value).unwrap());
    }

    /// Runs lines of `ip` (iproute2).
    pub fn ip(&self, lines: &str) {
        assert!(self.can_ip(lines), "{lines}");
    }

    /// The same; answers whether all of them were done.
    pub fn can_ip(&self, lines: &str) -> bool {
        let status = self.run_in(|| {
            let mut ip = Command::new("ip");
            let ip = ip.args(["-batch", "-"]).stdin(Stdio::piped());
            let mut child = ip.spawn().unwrap();
            let mut input = child.stdin.take().unwrap();
            input.write_all(lines.as_bytes()).unwrap();
            drop(input);
            child.wait().unwrap()
        });
        status.success()
    }
}

/// A namespace is a thread's property, and the caller's must not change.
fn in_thread<R: Send>(function: impl FnOnce() -> R + Send) -> R {
    std::thread::scope(|scope| scope.spawn(function).join().unwrap())
}

/// Moves the calling thread to a router between a client, 192.168.7.7 behind `lan0`, and a server,
/// 198.51.100.7 behind `wan0`; answers the router and these two.
pub fn enter_router() -> (Namespace, [Namespace; 2]) {
    /// Addresses of links are tried for a second else, and neighbours are not asked for meanwhile.
    const TRIES_ADDRESSES: &str = "net.ipv6.conf.default.accept_dad";
    let router = Namespace::create();
    router.enter();
    router.set_sysctl(TRIES_ADDRESSES, "0");
    router.set_sysctl("net.ipv4.ip_forward", "1");
    let ends = [("lan0", "192.168.7"), ("wan0", "198.51.100")].map(|(interface, prefix)| {
        let end = Namespace::create();
        end.set_sysctl(TRIES_ADDRESSES, "0");
        router.ip(&format!(
            "link add {interface} type veth peer name eth0 netns {}\n\
             addr add {prefix}.1/24 dev {interface}\n\
             link set {interface} up\n",
            end.path()
        ));
        end.ip(&format!(
            "link set lo up\n\
             addr add {prefix}.7/24 dev eth0\n\
             link set eth0 up\n\
             route add default via {prefix}.1\n"
        ));
        end
    });
    (router, ends)
}
