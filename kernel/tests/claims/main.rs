// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Claims: what a user's processes and cgroups connect is governed from the first connection on,
//! and nothing of anybody else's.

#[path = "../support/mod.rs"]
mod support;

mod sockets;

use ebb_algorithms::{Policy, Side as End};
use ebb_host::ProcessHandle;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::claims::{Claim, Claims, Crowd};
use ebb_kernel::rules::{Classifier, EXEMPT, Ruling};
use ebb_kernel::{
    AttachOptions, Attachment, Error, Selection, requires_feature, requires_root, until,
};
use std::io::Write;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use support::ruled::none;
use support::{Cable, Side};

const NOBODY: u32 = 65_534;
const ROOT: u32 = 0;

/// Waits for a word, then connects by a grandchild whose parent has ended.
const BY_ORPHAN: &str = "read -r line; ( ( exec 3<>/dev/tcp/$0/$1; read -r -u 3 line ) & ) <&0";
/// Waits for a word, then connects, and waits for the other end to hang up.
const CONNECT: &str = "read -r line; exec 3<>/dev/tcp/$0/$1; read -r -u 3 line";
/// Connects, then waits for a word.
const CONNECTED: &str = "exec 3<>/dev/tcp/$0/$1; read -r line";

/// Claims of sockets below a test's own cgroup, and both ends of connections.
struct Scene {
    claims: Claims,
    classifier: Classifier,
    to: SocketAddr,
    listener: TcpListener,
    cable: Cable,
}

/// A claim, held both ways.
struct Held {
    claim: Claim,
    attachments: [Attachment; 2],
}

/// A process that waits for a word.
struct Waiting(Child);

fn ruling(change: impl FnOnce(&mut Ruling)) -> Ruling {
    let mut ruling = none();
    change(&mut ruling);
    ruling
}

impl Scene {
    fn new() -> Self {
        let cable = Cable::new();
        cable.enter(Side::Left);
        let listener = TcpListener::bind((cable.ipv4(Side::Left), 0)).unwrap();
        cable.enter(Side::Right);
        let mut classifier = Classifier::load(&cable.cgroup).unwrap();
        classifier.set_ruling(&ruling(|_| {})).unwrap();
        Self {
            claims: Claims::load(&classifier).unwrap(),
            classifier,
            to: listener.local_addr().unwrap(),
            listener,
            cable,
        }
    }

    fn claim(&mut self, user: u32) -> Held {
        let claim = self.claims.begin(user).unwrap();
        self.hold(claim)
    }

    fn hold(&self, claim: Claim) -> Held {
        let attach = |end| {
            let options = AttachOptions {
                selection: self.claims.selection(&claim),
                ..AttachOptions::default()
            };
            Attachment::attach(&self.cable.cgroup, &Policy::default_of(end), options).unwrap()
        };
        let attachments = [End::Receiver, End::Sender].map(attach);
        Held { claim, attachments }
    }

    fn start(&self, script: &str, user: u32) -> Waiting {
        let procs = self.cable.cgroup.directory_path().join("cgroup.procs");
        let mut command = Command::new("bash");
        command
            .args(["-c", script, &self.to.ip().to_string()])
            .arg(self.to.port().to_string())
            .stdin(Stdio::piped())
            .stderr(Stdio::null());
        let enter = move || std::fs::write(&procs, "0");
        let become_user = move || match user {
            ROOT => Ok(()),
            // SAFETY: plain numbers, in a child that has not executed anything yet.
            user => match unsafe { libc::syscall(libc::SYS_setresuid, user, user, user) } {
                0 => Ok(()),
                _ => Err(std::io::Error::last_os_error()),
            },
        };
        // SAFETY: there is a single thread in the child, which makes system calls.
        unsafe { command.pre_exec(move || enter().and_then(|()| become_user())) };
        Waiting(command.spawn().unwrap())
    }

    fn add(&self, held: &Held, waiting: &Waiting) {
        let pid = waiting.0.id();
        let process = ProcessHandle::open(pid).unwrap();
        assert!(self.claims.add_process(&held.claim, pid, &process).unwrap());
        assert_eq!(self.claims.of_process(pid), Some(held.claim.number()));
    }

    /// The connection that it makes once it is told.
    fn go(&self, waiting: &mut Waiting) -> TcpStream {
        waiting.say();
        self.listener.accept().unwrap().0
    }
}

impl Held {
    /// Connections that were taken at their handshake, by the end.
    fn taken(&self) -> [u64; 2] {
        [0, 1].map(|end| self.attachments[end].counters().unwrap().adopted_new)
    }

    fn processes(&self) -> Vec<Option<u32>> {
        let flows = self.attachments[0].flows().unwrap();
        flows.iter().map(|flow| flow.process).collect()
    }
}

impl Waiting {
    fn say(&mut self) {
        self.0.stdin.as_mut().unwrap().write_all(b"go\n").unwrap();
    }

    fn end(mut self, stream: TcpStream) {
        drop(stream);
        drop(self.0.stdin.take());
        self.0.wait().unwrap();
    }
}

#[test]
fn what_a_member_forks_is_governed_from_its_first_connection_on_also_as_an_orphan() {
    if !requires_root(
        "what_a_member_forks_is_governed_from_its_first_connection_on_also_as_an_orphan",
    ) {
        return;
    }
    let mut scene = Scene::new();
    let held = scene.claim(ROOT);
    let mut other = scene.start(CONNECT, ROOT);
    let of_other = scene.go(&mut other);
    let mut member = scene.start(BY_ORPHAN, ROOT);
    let number = member.0.id();
    scene.add(&held, &member);
    assert_eq!(held.taken(), [0; 2]);
    let stream = scene.go(&mut member);
    member.0.wait().unwrap();
    assert_eq!(held.taken(), [1; 2]);
    let orphan = held.processes()[0].unwrap();
    assert_ne!(orphan, number);
    let members = scene.claims.members();
    let of_claim = &members[&held.claim.number()];
    assert_eq!(
        (members.len(), of_claim.len(), of_claim[0].0),
        (1, 1, orphan)
    );
    assert_eq!(scene.claims.of_process(orphan), Some(held.claim.number()));
    assert_eq!(scene.claims.crowd(&held.claim).members, 1);
    member.end(stream);
    until("nobody is left", || {
        scene.claims.crowd(&held.claim) == Crowd::default()
    });
    assert!(scene.claims.members().is_empty());
    other.end(of_other);
}

#[test]
fn a_claim_concerns_no_socket_of_another_user_whoever_made_its_process_a_member() {
    if !requires_root(
        "a_claim_concerns_no_socket_of_another_user_whoever_made_its_process_a_member",
    ) {
        return;
    }
    let mut scene = Scene::new();
    let held = scene.claim(NOBODY);
    // As a program that is setuid, or one that has the number of an ended member.
    let mut foreign = scene.start(CONNECT, ROOT);
    scene.add(&held, &foreign);
    let first = scene.go(&mut foreign);
    assert_eq!((held.taken(), held.processes().len()), ([0; 2], 0));
    let mut own = scene.start(CONNECT, NOBODY);
    scene.add(&held, &own);
    let second = scene.go(&mut own);
    assert_eq!(held.taken(), [1; 2]);
    assert_eq!(held.processes(), [Some(own.0.id())]);
    foreign.end(first);
    own.end(second);
}

#[test]
fn the_number_of_an_ended_claim_says_nothing_of_what_had_it() {
    if !requires_root("the_number_of_an_ended_claim_says_nothing_of_what_had_it") {
        return;
    }
    let mut scene = Scene::new();
    let held = scene.claim(ROOT);
    let mut member = scene.start(CONNECT, ROOT);
    scene.add(&held, &member);
    let stream = scene.go(&mut member);
    assert_eq!(held.taken(), [1; 2]);
    let selection = scene.claims.selection(&held.claim);
    scene.claims.end(held.claim);
    assert_eq!(scene.claims.of_process(member.0.id()), None);
    scene.claims.forget_left().unwrap();
    assert_eq!(held.attachments[0].flows().unwrap().len(), 0);
    drop(held.attachments);
    let again = loop {
        let claim = scene.claims.begin(ROOT).unwrap();
        if scene.claims.selection(&claim) == selection {
            break scene.hold(claim);
        }
        scene.claims.end(claim);
    };
    scene.classifier.take_over().unwrap();
    assert_eq!(again.processes(), []);
    member.end(stream);
}

#[test]
fn where_a_rule_holds_or_nothing_may_act_a_claim_does_not() {
    if !requires_root("where_a_rule_holds_or_nothing_may_act_a_claim_does_not") {
        return;
    }
    let mut scene = Scene::new();
    let held = scene.claim(ROOT);
    let rule = ruling(|ruling| {
        ruling.any_group = 1;
        ruling.any_port = 0;
        ruling.ports = [(scene.to.port(), 1)].into();
    });
    scene.classifier.set_ruling(&rule).unwrap();
    let mut ruled = scene.start(CONNECT, ROOT);
    scene.add(&held, &ruled);
    let first = scene.go(&mut ruled);
    assert_eq!(held.taken(), [0; 2]);
    scene.classifier.set_ruling(&ruling(|_| {})).unwrap();
    let group = scene.cable.cgroup.id();
    scene.classifier.set_group(group, EXEMPT).unwrap();
    let mut exempt = scene.start(CONNECT, ROOT);
    scene.add(&held, &exempt);
    let second = scene.go(&mut exempt);
    assert_eq!(held.taken(), [0; 2]);
    scene.classifier.set_group(group, 0).unwrap();
    let mut free = scene.start(CONNECT, ROOT);
    scene.add(&held, &free);
    let third = scene.go(&mut free);
    assert_eq!(held.taken(), [1; 2]);
    for (waiting, stream) in [(ruled, first), (exempt, second), (free, third)] {
        waiting.end(stream);
    }
}

#[test]
fn what_is_claimed_is_refused_to_others_by_name() {
    if !requires_root("what_is_claimed_is_refused_to_others_by_name") {
        return;
    }
    let mut scene = Scene::new();
    let held = scene.claim(ROOT);
    let member = scene.start(CONNECT, ROOT);
    let other = scene.start(CONNECT, ROOT);
    let attach = |selection| {
        let options = AttachOptions {
            selection,
            ..AttachOptions::default()
        };
        Attachment::attach(&scene.cable.cgroup, &Policy::default(), options)
    };
    let pid = member.0.id();
    let [chosen, not_chosen] = [pid, other.0.id()].map(|pid| Selection::Processes(vec![pid]));
    attach(chosen.clone()).unwrap().detach().unwrap();
    scene.add(&held, &member);
    for selection in [Selection::WholeCgroup, chosen] {
        let refused = attach(selection);
        assert!(matches!(refused, Err(Error::Claimed { .. })), "{refused:?}");
    }
    attach(not_chosen).unwrap().detach().unwrap();
}

#[test]
fn what_a_process_has_already_is_taken_over_but_for_what_is_somebody_elses() {
    let name = "what_a_process_has_already_is_taken_over_but_for_what_is_somebody_elses";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut scene = Scene::new();
    let running = [NOBODY, ROOT].map(|user| {
        let process = scene.start(CONNECTED, user);
        (process, scene.listener.accept().unwrap().0)
    });
    let held = scene.claim(NOBODY);
    for (process, _) in &running {
        scene.add(&held, process);
        scene.claims.note_sockets(process.0.id()).unwrap();
    }
    scene.classifier.take_over().unwrap();
    assert_eq!(held.processes(), [Some(running[0].0.0.id())]);
    for (process, stream) in running {
        process.end(stream);
    }
}

#[test]
fn a_cgroup_is_claimed_with_what_is_made_below_it_later() {
    if !requires_root("a_cgroup_is_claimed_with_what_is_made_below_it_later") {
        return;
    }
    let mut scene = Scene::new();
    let held = scene.claim(ROOT);
    let group = scene.cable.cgroup.create_child("claimed").unwrap();
    let early = group.create_child("early").unwrap();
    scene.claims.add_cgroup(&held.claim, &group).unwrap();
    let late = group.create_child("late").unwrap();
    let mut streams = Vec::new();
    let mut connect_in = |group: &Cgroup| {
        let mut process = scene.start(CONNECT, ROOT);
        group.add_process(process.0.id()).unwrap();
        let stream = scene.go(&mut process);
        streams.push((process, stream));
        held.taken()
    };
    assert_eq!(connect_in(&group), [1; 2]);
    assert_eq!(connect_in(&early), [2; 2]);
    assert_eq!(connect_in(&late), [3; 2]);
    let beside = scene.cable.cgroup.create_child("beside").unwrap();
    assert_eq!(connect_in(&beside), [3; 2]);
    scene.claims.end(held.claim);
    let after = held.attachments[0].counters().unwrap();
    let mut last = scene.start(CONNECT, ROOT);
    group.add_process(last.0.id()).unwrap();
    let stream = scene.go(&mut last);
    assert_eq!(
        held.attachments[0].counters().unwrap().adopted_new,
        after.adopted_new
    );
    streams.push((last, stream));
    for (process, stream) in streams {
        process.end(stream);
    }
}

#[test]
fn who_holds_a_claim_frees_nothing_of_others_now_or_for_later() {
    let name = "who_holds_a_claim_frees_nothing_of_others_now_or_for_later";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut scene = Scene::new();
    let mut foreign = scene.claim(NOBODY);
    let first = scene.claim(ROOT);
    let mut member = scene.start(CONNECT, ROOT);
    scene.add(&first, &member);
    let stream = scene.go(&mut member);
    let cookie = first.attachments[0].flows().unwrap()[0].cookie;
    let free_it = |foreign: &mut Held| {
        for attachment in &mut foreign.attachments {
            assert_eq!(attachment.set_free(&[cookie], true).unwrap(), 0);
        }
    };
    let acts = |held: &Held| {
        let flows = held.attachments.each_ref().map(|it| it.flows().unwrap());
        flows.map(|flows| flows.len() == 1 && flows[0].is_clamped)
    };
    free_it(&mut foreign);
    assert_eq!(acts(&first), [true; 2]);
    scene.claims.end(first.claim);
    drop(first.attachments);
    // Nobody has it: nothing is noted for whoever will.
    free_it(&mut foreign);
    let second = scene.claim(ROOT);
    scene.add(&second, &member);
    scene.claims.note_sockets(member.0.id()).unwrap();
    scene.classifier.take_over().unwrap();
    assert_eq!(acts(&second), [true; 2]);
    member.end(stream);
}
