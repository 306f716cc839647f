// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A server with thousands of connections, and an `ebb` that may have a few descriptors open.

#[path = "../../kernel/tests/support/mod.rs"]
mod cable;
mod support;

use std::os::unix::process::CommandExt;
use std::process::{Command, Output, Stdio};
use std::time::Duration;

use cable::Cable;
use cable::many::Many;
use cable::process::role;
use ebb_kernel::until;
use ebb_sockets::{CopiedSocket, Kind, sockets_of};
use nix::sys::resource::{Resource, setrlimit};
use serde_json::Value;
use support::{Ebb, stderr, stdout};

const CONNECTIONS: usize = 5_000;
/// What RLIMIT_NOFILE may be.
const FEW: [u64; 2] = [256, 1_024];
const PAUSE: Duration = Duration::from_millis(500);
/// What TCP has as its clamp by itself; a law's is less after a few kilobytes.
const FREE_CLAMP_BYTES: u32 = 60_000;
/// SO_MAX_PACING_RATE of a socket that nobody has limited.
const NO_PACE: u64 = u64::MAX;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn all_of_5000_connections_yield_with_few_descriptors_under_the_kernel_backend() {
    let name = "all_of_5000_connections_yield_with_few_descriptors_under_the_kernel_backend";
    if ebb_kernel::requires_root(name) {
        expect_all_governed("--backend=kernel");
    }
}

#[test]
fn all_of_5000_connections_yield_with_few_descriptors_under_the_user_backend() {
    let name = "all_of_5000_connections_yield_with_few_descriptors_under_the_user_backend";
    // The two hosts that there are connections between.
    if ebb_kernel::requires_root(name) {
        expect_all_governed("--backend=user");
    }
}

/// Attaches, counts, detaches, each with few descriptors.
fn expect_all_governed(backend: &str) {
    let (ebb, cable) = (Ebb::new(), Cable::new());
    let many = Many::lay(&cable, CONNECTIONS, PAUSE);
    let pid = many.server.id();
    let process = pid.to_string();
    for descriptors in FEW {
        let says = |mut command: Command| {
            let output = with_descriptors(&mut command, descriptors);
            assert!(output.status.success(), "{command:?}: {}", stderr(&output));
            stdout(&output)
        };
        says(ebb.command(["attach", backend, "--pid", &process]));
        until("all are governed and none is left out", || {
            let seen = says(ebb.command(["status", "--flows", "--json"]));
            let seen: Value = serde_json::from_str(&seen).unwrap();
            assert_eq!(seen[0]["ungoverned_connections"], 0);
            let flows = seen[0]["flows"].as_array().unwrap();
            let is_governed =
                |flow: &&Value| flow["direction"] == "down" && flow["is_acting"] == true;
            flows.iter().filter(is_governed).count() == CONNECTIONS
        });
        until("all are limited", || {
            connections_of(pid).all(|socket| socket.window_clamp().unwrap() < FREE_CLAMP_BYTES)
        });
        says(ebb.command(["detach", "--pid", &process]));
        let mut left = 0;
        for socket in connections_of(pid) {
            assert!(socket.window_clamp().unwrap() >= FREE_CLAMP_BYTES);
            assert_eq!(socket.max_pace().unwrap(), NO_PACE);
            assert!(!socket.congestion_control().unwrap().starts_with("ebb"));
            left += 1;
        }
        assert_eq!(left, CONNECTIONS);
    }
}

fn with_descriptors(command: &mut Command, most: u64) -> Output {
    // SAFETY: it only makes system calls.
    unsafe { command.pre_exec(move || Ok(setrlimit(Resource::RLIMIT_NOFILE, most, most)?)) };
    command.stdin(Stdio::null()).output().unwrap()
}

fn connections_of(pid: u32) -> impl Iterator<Item = CopiedSocket> {
    let sockets = sockets_of(pid).unwrap();
    sockets.filter(|socket| socket.kind() == Kind::Tcp && socket.ends().is_some())
}
