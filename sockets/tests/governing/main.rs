// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A governor and the processes that it looks after, over the loopback device.
//!
//! The test program is its own helper: `EBB_TEST_ROLE` says what it is to do.

mod peer;
mod privileges;

use std::io::Read;
use std::process::Child;
use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_sockets::{Change, Direction, Governor, Kind, Note, Options, Root, Whose, sockets_of};
use peer::Peer;

const NO_CLAMP_BYTES: u32 = 1 << 30;
/// Below it is Ebb's first window only: by itself a connection begins with nearly 64 KiB.
const LIMITED_BYTES: u32 = 1 << 15;
const PATIENCE: Duration = Duration::from_secs(15);
const NOBODY: u32 = 65_534;

/// Not a test: what the helper processes do.
#[test]
fn play_a_role() {
    peer::role();
}

/// Tests run side by side: each governs the connections to its own peer.
fn governor(root: Root, peer: &Peer) -> Governor {
    let port = peer.listener.local_addr().unwrap().port();
    let options = Options {
        download: Some(Policy::receiver("sampled").unwrap()),
        upload: Some(Policy::sender("paced").unwrap()),
        filter: Some(Box::new(move |(_, peer, _)| peer.1 == port)),
        includes_loopback: true,
        ..Options::default()
    };
    Governor::new(root, options).unwrap()
}

/// Lets a governor work until it is so.
fn until(governor: &mut Governor, what: &str, mut is_so: impl FnMut(&Governor) -> bool) {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let next = governor.tick();
        if is_so(governor) {
            return;
        }
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}: {what}");
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
}

/// The clamps of the TCP sockets of a process.
fn clamps(pid: u32) -> Vec<u32> {
    let sockets = sockets_of(pid).into_iter().flatten();
    let tcp = sockets.filter(|socket| socket.kind() == Kind::Tcp);
    tcp.map(|socket| socket.window_clamp().unwrap()).collect()
}

fn end(mut child: Child) {
    let _ = child.kill();
    let _ = child.wait();
}

#[test]
fn a_connection_is_limited_and_let_go_again() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let mut governor = governor(Root::Process(child.id()), &peer);
    let _stream = peer.accept();
    until(&mut governor, "limited", |_| {
        clamps(child.id())
            .iter()
            .any(|clamp| *clamp < LIMITED_BYTES)
    });
    assert_eq!(governor.counters().connections, 1);
    governor.release();
    assert_eq!(clamps(child.id()), [NO_CLAMP_BYTES]);
    end(child);
}

fn is_limited(child: &Child) -> bool {
    clamps(child.id())
        .iter()
        .any(|clamp| *clamp < LIMITED_BYTES)
}

#[test]
fn a_connection_can_be_switched_off_and_on_and_to_other_parameters() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let mut governor = governor(Root::Process(child.id()), &peer);
    let _stream = peer.accept();
    until(&mut governor, "limited", |_| is_limited(&child));
    let flows = governor.flows();
    let directions: Vec<Direction> = flows.iter().map(|flow| flow.direction).collect();
    assert_eq!(directions, [Direction::Down, Direction::Up]);
    assert_eq!((flows[0].law, flows[0].pid), ("sampled", child.id()));
    assert!(flows[0].is_limited && flows[0].insight.is_some());
    let one = Whose::Connection(flows[0].cookie, Direction::Down);
    assert_eq!(governor.switch(one, &Change::Free(true)), 1);
    until(&mut governor, "free", |_| !is_limited(&child));
    let free = governor.flows().into_iter().map(|flow| flow.is_free);
    assert_eq!(free.collect::<Vec<_>>(), [true, false]);
    assert!(governor.flows().iter().all(|flow| !flow.is_limited));
    let process = Whose::Process(child.id());
    assert_eq!(governor.switch(process, &Change::Free(false)), 1);
    until(&mut governor, "limited again", |_| is_limited(&child));
    let policy = Policy::receiver("sampled:start_segments=2").unwrap();
    assert_eq!(governor.switch(Whose::All, &Change::Law(policy)), 1);
    governor.tick();
    assert!(is_limited(&child), "it stays limited");
    end(child);
}

#[test]
fn a_process_that_was_switched_off_stays_so_for_connections_to_come() {
    let (peer, child, mut governor) = loop {
        let peer = Peer::new();
        let child = peer.helper("read").spawn().unwrap();
        let mut governor = governor(Root::Process(child.id()), &peer);
        governor.tick();
        if governor.connections() == 0 {
            break (peer, child, governor);
        }
        // On a busy machine it has connected before it was looked at for the first time.
        drop(governor);
        end(child);
    };
    governor.switch(Whose::Process(child.id()), &Change::Free(true));
    let _stream = peer.accept();
    until(&mut governor, "met", |governor| governor.connections() > 0);
    for _ in 0..5 {
        let next = governor.tick();
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    assert!(governor.flows().iter().all(|flow| !flow.is_limited));
    assert_eq!(governor.counters().settings, 0);
    end(child);
}

#[test]
fn of_two_ebbs_one_governs_a_connection_and_the_other_follows() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let mut first = governor(Root::Process(child.id()), &peer);
    let _stream = peer.accept();
    until(&mut first, "limited", |_| is_limited(&child));
    let mut second = governor(Root::Process(child.id()), &peer);
    for _ in 0..5 {
        second.tick();
        std::thread::sleep(Duration::from_millis(30));
    }
    assert_eq!((first.connections(), second.connections()), (1, 0));
    drop(first);
    assert!(!is_limited(&child));
    until(&mut second, "taken over", |_| is_limited(&child));
    end(child);
}

#[test]
fn the_connections_of_a_port_are_governed_whoever_has_them() {
    let (peer, other) = (Peer::new(), Peer::new());
    let port = peer.listener.local_addr().unwrap().port();
    let options = Options {
        download: Some(Policy::receiver("sampled").unwrap()),
        includes_loopback: true,
        ..Options::default()
    };
    let mut governor = Governor::new(Root::Port(port), options).unwrap();
    governor.tick();
    let children = [&peer, &other].map(|peer| peer.helper("read").spawn().unwrap());
    let _streams = [&peer, &other].map(Peer::accept);
    // Both ends are on this machine: the server's is this test's own.
    until(&mut governor, "both ends", |governor| {
        governor.connections() == 2
    });
    until(&mut governor, "limited", |_| is_limited(&children[0]));
    let has_port = |port_of: std::net::SocketAddr| port_of.port() == port;
    let flows = governor.flows();
    assert!(
        flows
            .iter()
            .all(|flow| has_port(flow.local) || has_port(flow.peer)),
        "{flows:?}"
    );
    children.into_iter().for_each(end);
}

#[test]
fn the_processes_of_a_cgroup_are_governed_and_who_leaves_it_is_let_go() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    // What matters of a cgroup is who is listed in its files.
    let cgroup = tempfile::tempdir().unwrap();
    let inner = cgroup.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    std::fs::write(cgroup.path().join("cgroup.procs"), "").unwrap();
    let list = |text: &str| std::fs::write(inner.join("cgroup.procs"), text).unwrap();
    list(&format!("0\n{}\n", child.id()));
    let mut governor = governor(Root::Cgroup(cgroup.path().into()), &peer);
    let _stream = peer.accept();
    until(&mut governor, "limited", |_| is_limited(&child));
    list("");
    until(&mut governor, "let go", |_| !is_limited(&child));
    assert_eq!(governor.connections(), 0);
    let nowhere = Governor::new(Root::Cgroup("/no/such".into()), Options::default());
    assert!(
        nowhere
            .unwrap_err()
            .to_string()
            .starts_with("/no/such: No such file")
    );
    end(child);
}

/// What a guardian needs is told before it happens.
#[test]
fn the_journal_tells_what_is_held_and_what_is_free() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let port = peer.listener.local_addr().unwrap().port();
    let (said, heard) = std::sync::mpsc::channel();
    let options = Options {
        download: Some(Policy::receiver("sampled").unwrap()),
        filter: Some(Box::new(move |(_, peer, _)| peer.1 == port)),
        journal: Some(Box::new(move |note| said.send(note).unwrap())),
        includes_loopback: true,
        ..Options::default()
    };
    let mut governor = Governor::new(Root::Process(child.id()), options).unwrap();
    let _stream = peer.accept();
    until(&mut governor, "limited", |_| is_limited(&child));
    let mut holds = ebb_sockets::Holds::default();
    let note = heard.try_recv().unwrap();
    assert!(matches!(&note, Note::Held(hold) if hold.pid == child.id()));
    holds.hear(note);
    assert_eq!(holds.lift(), 1);
    assert!(!is_limited(&child));
    governor.release();
    assert!(matches!(heard.try_recv().unwrap(), Note::Free(_)));
    end(child);
}

/// A guardian has lifted its limits meanwhile.
#[test]
fn a_governor_that_was_stopped_sets_its_limits_again() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let mut governor = governor(Root::Process(child.id()), &peer);
    let _stream = peer.accept();
    until(&mut governor, "limited", |_| is_limited(&child));
    for socket in sockets_of(child.id()).unwrap() {
        if socket.kind() == Kind::Tcp {
            socket.set_window_clamp(NO_CLAMP_BYTES).unwrap();
        }
    }
    std::thread::sleep(Duration::from_millis(1_100));
    until(&mut governor, "limited again", |_| is_limited(&child));
    end(child);
}

#[test]
fn what_is_sent_is_marked_as_lower_effort_and_gets_its_own_mark_back() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let mut governor = governor(Root::Process(child.id()), &peer);
    let _stream = peer.accept();
    let field = |pid| {
        let sockets = sockets_of(pid).into_iter().flatten();
        let mut tcp = sockets.filter(|socket| socket.kind() == Kind::Tcp);
        tcp.next().map(|socket| socket.traffic_class().unwrap())
    };
    until(&mut governor, "marked", |_| field(child.id()) == Some(4));
    governor.release();
    assert_eq!(field(child.id()), Some(0));
    // What a program chose itself stays.
    let mut tcp = sockets_of(child.id())
        .unwrap()
        .filter(|socket| socket.kind() == Kind::Tcp);
    tcp.next().unwrap().set_traffic_class(0x20).unwrap();
    drop(tcp);
    until(&mut governor, "limited", |_| is_limited(&child));
    assert_eq!(field(child.id()), Some(0x20));
    governor.release();
    assert_eq!(field(child.id()), Some(0x20));
    end(child);
}

#[test]
fn threads_and_daemons_are_found_as_well() {
    for role in ["thread", "daemon"] {
        let peer = Peer::new();
        // As `ebb run` does: orphans become its children.
        nix::sys::prctl::set_child_subreaper(true).unwrap();
        let child = peer.helper(role).spawn().unwrap();
        let mut governor = governor(Root::DescendantsOf(std::process::id()), &peer);
        let stream = peer.accept();
        until(&mut governor, role, |governor| governor.connections() > 0);
        drop(stream);
        end(child);
    }
}

#[test]
fn a_connection_is_found_soon_after_it_was_established() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let mut governor = governor(Root::Process(child.id()), &peer);
    let mut delays = Vec::new();
    let _stream = peer.accept();
    let established = Instant::now();
    until(&mut governor, "found", |governor| {
        governor.connections() > 0
    });
    delays.push(established.elapsed());
    // A search every 25 ms, and a busy machine.
    assert!(delays[0] < Duration::from_secs(1), "{delays:?}");
    end(child);
}

#[test]
fn a_program_that_closes_its_connection_closes_it() {
    let peer = Peer::new();
    let child = peer.helper("close").spawn().unwrap();
    let mut governor = governor(Root::Process(child.id()), &peer);
    let mut stream = peer.accept();
    stream.set_nonblocking(true).unwrap();
    let mut ended = false;
    until(&mut governor, "the end arrives", |_| {
        // Unread data turn the end into a reset.
        ended |= match stream.read(&mut [0; 16]) {
            Ok(length) => length == 0,
            Err(error) => error.kind() != std::io::ErrorKind::WouldBlock,
        };
        ended
    });
    end(child);
}

#[test]
fn loopback_is_left_alone_unless_asked_for() {
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let options = Options {
        download: Some(Policy::receiver("sampled").unwrap()),
        ..Options::default()
    };
    let mut governor = Governor::new(Root::Process(child.id()), options).unwrap();
    let _stream = peer.accept();
    until(&mut governor, "seen", |governor| {
        governor.counters().loopback > 0
    });
    assert_eq!(governor.counters().connections, 0);
    assert!(clamps(child.id()).iter().all(|clamp| *clamp > 1 << 15));
    end(child);
}
