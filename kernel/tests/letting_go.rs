// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whoever cannot let every connection go leaves the programs that will, and namespaces are held
//! no longer than anything of ours is in them.

mod support;

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, owner_of, requires_root, sweep};
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Command};
use std::time::{Duration, Instant};
use support::process::{Actor, Role, role};
use support::transfer::{self, Sender};
use support::{Cable, Side};

/// What the programs lift a clamp to: more than TCP can advertise.
const UNLIMITED_BYTES: u32 = 1 << 30;
/// A clamp of TCP's own making; a law's is less on these links.
const FREE_CLAMP_BYTES: u32 = 60_000;
/// Those of an attachment for receiving: ingress, egress, sockops.
const PROGRAMS: usize = 3;
const PATIENCE: Duration = Duration::from_secs(10);

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
    for role in [Role::OwnerWithoutDescriptors, Role::OwnerWithoutThreads] {
        let cable = Cable::with_bottleneck(10, 30 * 1514);
        let path = cable.cgroup.path().display().to_string();
        let mut owner = Actor::start(&cable, None, role, &format!("{path} ebb"));
        owner.told("ATTACHED");
        let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
        let address = address.to_string();
        let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
        receiver.told("CONNECTED");
        wait_until(|| window_clamp(&receiver) < FREE_CLAMP_BYTES);
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
    let cable = Cable::with_bottleneck(10, 30 * 1514);
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap();
    let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
    let role = Role::DownloadFromElsewhere;
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), role, &address.to_string());
    receiver.told("CONNECTED");
    wait_until(|| window_clamp(&receiver) < FREE_CLAMP_BYTES);
    cable.unname(Side::Right);
    attachment.detach().unwrap();
    assert_eq!(sweep(&cable.cgroup).unwrap(), 0, "the programs stay");
    assert!(
        window_clamp(&receiver) < FREE_CLAMP_BYTES,
        "nothing was sent"
    );

    let mut stream = TcpStream::from(receiver.sockets().remove(0));
    stream.write_all(b"a segment").unwrap();
    wait_until(|| window_clamp(&receiver) >= UNLIMITED_BYTES);
    assert_eq!(sweep(&cable.cgroup).unwrap(), PROGRAMS);
}

#[test]
fn a_connection_in_a_namespace_that_is_only_mounted_is_let_go_at_once() {
    if !requires_root("a_connection_in_a_namespace_that_is_only_mounted_is_let_go_at_once") {
        return;
    }
    let cable = Cable::with_bottleneck(10, 30 * 1514);
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap();
    let (_sender, address) = Sender::listen_idle(&cable, cable.ipv4(Side::Left));
    let role = Role::DownloadFromElsewhere;
    let mut receiver = Actor::start(&cable, Some(&cable.cgroup), role, &address.to_string());
    receiver.told("CONNECTED");
    wait_until(|| window_clamp(&receiver) < FREE_CLAMP_BYTES);
    attachment.detach().unwrap();
    assert!(window_clamp(&receiver) >= UNLIMITED_BYTES);
    assert_eq!(sweep(&cable.cgroup).unwrap(), 0);
}

#[test]
fn namespaces_that_come_and_go_are_not_held() {
    if !requires_root("namespaces_that_come_and_go_are_not_held") {
        return;
    }
    let name = format!("ebbk-churn-{}", std::process::id());
    let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cgroup, &policy, AttachOptions::default()).unwrap();
    let before = held_namespaces();
    for _ in 0..20 {
        let mut container = container_in(&cgroup);
        attachment.flows().unwrap();
        container.kill().unwrap();
        container.wait().unwrap();
    }
    // The last may still be there: it was seen last.
    attachment.flows().unwrap();
    assert!(held_namespaces() <= before + 1, "{}", held_namespaces());
    attachment.detach().unwrap();
    cgroup.remove().unwrap();
}

/// A process in a network namespace of its own.
fn container_in(cgroup: &Cgroup) -> Child {
    let mut command = Command::new("unshare");
    let child = command.args(["--net", "sleep", "60"]).spawn().unwrap();
    cgroup.add_process(child.id()).unwrap();
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    let own = namespace("self");
    wait_until(|| namespace(&child.id().to_string()) != own);
    child
}

/// How many network namespaces this process holds open.
fn held_namespaces() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let is_namespace = |name: &std::path::PathBuf| name.to_string_lossy().starts_with("net:[");
    names.filter(is_namespace).count()
}

/// The clamp of the receiver's only connection.
fn window_clamp(receiver: &Actor) -> u32 {
    let sockets = receiver.sockets();
    assert_eq!(sockets.len(), 1);
    transfer::window_clamp(&sockets[0])
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
