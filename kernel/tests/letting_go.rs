// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whoever cannot let every connection go leaves the programs that will.

mod support;

use ebb_kernel::{AttachOptions, Attachment, owner_of, requires_root, sweep, until};
use std::io::Write;
use std::net::TcpStream;
use std::sync::{Mutex, MutexGuard, PoisonError};
use support::process::{Actor, Role, role};
use support::transfer::{self, Sender};
use support::{Cable, Side};

/// What the programs lift a clamp to: more than TCP can advertise.
const UNLIMITED_BYTES: u32 = 1 << 30;
/// A clamp of TCP's own making; a law's is less on these links.
const FREE_CLAMP_BYTES: u32 = 60_000;
/// Those of an attachment for receiving: ingress, egress, sockops.
const PROGRAMS: usize = 3;

/// Who walks through all namespaces is in each for a moment, where another walk finds it: one scene
/// after the other.
fn alone() -> MutexGuard<'static, ()> {
    static SCENE: Mutex<()> = Mutex::new(());
    SCENE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[test]
fn play_a_role() {
    role();
}

#[test]
fn an_owner_that_cannot_reach_a_connection_leaves_the_programs_that_let_it_go() {
    let name = "an_owner_that_cannot_reach_a_connection_leaves_the_programs_that_let_it_go";
    if !requires_root(name) {
        return;
    }
    let _alone = alone();
    for role in [Role::OwnerWithoutDescriptors, Role::OwnerWithoutThreads] {
        let cable = Cable::with_bottleneck(10, 30 * 1514);
        let path = cable.cgroup.path().display().to_string();
        let mut owner = Actor::start(&cable, None, role, &format!("{path} ebb"));
        owner.told("ATTACHED");
        let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
        let address = address.to_string();
        let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
        receiver.told("CONNECTED");
        until("limited", || window_clamp(&receiver) < FREE_CLAMP_BYTES);
        owner.go();
        assert_eq!(owner.told("DETACHED"), "false", "{role:?}");
        assert_eq!(owner_of(&cable.cgroup), None);
        // Nothing is sent, so that nothing could let it go yet; the next Ebb does.
        assert_eq!(sweep(&cable.cgroup).unwrap(), PROGRAMS, "{role:?}");
        assert!(window_clamp(&receiver) >= UNLIMITED_BYTES, "{role:?}");
        assert_eq!(sweep(&cable.cgroup).unwrap(), 0);
    }
}

#[test]
fn a_connection_in_a_namespace_without_processes_is_let_go_at_its_next_segment() {
    let name = "a_connection_in_a_namespace_without_processes_is_let_go_at_its_next_segment";
    if !requires_root(name) {
        return;
    }
    let _alone = alone();
    let cable = Cable::with_bottleneck(10, 30 * 1514);
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap();
    let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
    let role = Role::DownloadFromElsewhere;
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), role, &address.to_string());
    receiver.told("CONNECTED");
    until("limited", || window_clamp(&receiver) < FREE_CLAMP_BYTES);
    cable.unname(Side::Right);
    attachment.detach().unwrap();
    assert_eq!(sweep(&cable.cgroup).unwrap(), 0, "the programs stay");
    assert!(
        window_clamp(&receiver) < FREE_CLAMP_BYTES,
        "nothing was sent"
    );

    let mut stream = TcpStream::from(receiver.sockets().remove(0));
    stream.write_all(b"a segment").unwrap();
    until("let go", || window_clamp(&receiver) >= UNLIMITED_BYTES);
    assert_eq!(sweep(&cable.cgroup).unwrap(), PROGRAMS);
}

#[test]
fn a_connection_in_a_namespace_that_is_only_mounted_is_let_go_at_once() {
    if !requires_root("a_connection_in_a_namespace_that_is_only_mounted_is_let_go_at_once") {
        return;
    }
    let _alone = alone();
    let cable = Cable::with_bottleneck(10, 30 * 1514);
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap();
    let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
    let role = Role::DownloadFromElsewhere;
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), role, &address.to_string());
    receiver.told("CONNECTED");
    until("limited", || window_clamp(&receiver) < FREE_CLAMP_BYTES);
    attachment.detach().unwrap();
    assert!(window_clamp(&receiver) >= UNLIMITED_BYTES);
    assert_eq!(sweep(&cable.cgroup).unwrap(), 0);
}

#[test]
fn connections_of_a_bundle_have_a_fine_scale() {
    let name = "connections_of_a_bundle_have_a_fine_scale";
    if !requires_root(name) {
        return;
    }
    let _alone = alone();
    let cable = Cable::with_bottleneck(10, 30 * 1514);
    let buffers = "4096 131072 33554432";
    cable.set(Side::Right, "net/ipv4/tcp_rmem", buffers);
    for (policy, scale) in [("ebb", 7), ("vulture", 10)] {
        let policy = policy.parse().unwrap();
        let attached = Attachment::attach(&cable.cgroup, &policy, AttachOptions::default());
        let attachment = attached.unwrap();
        for address in [cable.ipv4(Side::Left), cable.ipv6(Side::Left)] {
            let (_sender, address) = Sender::listen_idle(&cable, address);
            let address = address.to_string();
            let cgroup = Some(&cable.cgroup);
            let mut receiver = Actor::start(&cable, cgroup, Role::Download, &address);
            receiver.told("CONNECTED");
            until("limited", || window_clamp(&receiver) < FREE_CLAMP_BYTES);
            let sockets = receiver.sockets();
            assert_eq!(transfer::window_scale(&sockets[0]), scale, "{policy}");
        }
        attachment.detach().unwrap();
    }
}

/// The clamp of the receiver's only connection.
fn window_clamp(receiver: &Actor) -> u32 {
    let sockets = receiver.sockets();
    assert_eq!(sockets.len(), 1);
    transfer::window_clamp(&sockets[0])
}
