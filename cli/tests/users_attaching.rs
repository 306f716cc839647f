// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an ordinary user has running already yields by the kernel backend, where the service runs.

mod support;

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::process::{Child, Stdio};

use ebb_kernel::{requires_feature, requires_root, until};
use ebb_sockets::{Kind, sockets_of};
use nix::sys::signal::Signal;
use support::stderr;
use support::users::{ADA, BOB, Users};

/// Below it is Ebb's first window only.
const LIMITED_BYTES: u32 = 1 << 15;
/// Connects once it is told, and once more with a child when it is told again.
const TWICE: &str = "read -r line; exec 3<>/dev/tcp/10.78.0.2/7000; read -r line; \
    bash -c 'exec 4<>/dev/tcp/10.78.0.2/7000; read -r line'; exit";

/// A program of a user's.
struct Program {
    child: Child,
    streams: Vec<TcpStream>,
}

impl Program {
    fn start(users: &Users, user: u32) -> Self {
        let mut command = users.command(user, "bash");
        command.args(["-c", TWICE]).stdin(Stdio::piped());
        let child = command.spawn().unwrap();
        let streams = Vec::new();
        let program = Self { child, streams };
        until("it is the user's", || {
            let status = fs::read_to_string(format!("/proc/{}/status", program.child.id()));
            let words = format!("Uid:\t{user}\t{user}\t{user}\t{user}");
            status.unwrap().contains(&words)
        });
        program
    }

    /// Has it connect.
    fn connect(&mut self, users: &Users) {
        let stdin = self.child.stdin.as_mut().unwrap();
        stdin.write_all(b"go\n").unwrap();
        self.streams.push(users.scene.listener.accept().unwrap().0);
    }

    fn pid(&self) -> String {
        self.child.id().to_string()
    }

    fn is_limited(&self) -> bool {
        let sockets = sockets_of(self.child.id()).into_iter().flatten();
        let mut tcp =
            sockets.filter(|socket| socket.kind() == Kind::Tcp && socket.ends().is_some());
        tcp.any(|socket| {
            socket
                .window_clamp()
                .is_ok_and(|clamp| clamp < LIMITED_BYTES)
        })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// How many flows a user sees in all, both ways.
fn flows(users: &Users, user: u32) -> usize {
    let seen = users.sees(user);
    let flows = seen.iter().map(|it| it["flows"].as_array().unwrap().len());
    flows.sum()
}

#[test]
fn a_process_that_runs_yields_with_what_it_starts_is_changed_and_is_let_go() {
    let name = "a_process_that_runs_yields_with_what_it_starts_is_changed_and_is_let_go";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("l");
    let service = users.serve();
    let mut program = Program::start(&users, ADA);
    program.connect(&users);
    assert!(!program.is_limited());
    let pid = program.pid();
    let said = users.says(ADA, ["attach", "--pid", &pid]);
    assert!(
        said.contains("yields by ebb, sending by ebb-sender;"),
        "{said}"
    );
    until("limited", || program.is_limited());
    assert_eq!((flows(&users, ADA), flows(&users, BOB)), (2, 0));
    let again = [
        "attach",
        "--pid",
        &pid,
        "--policy",
        "vulture",
        "--minimum",
        "2mbit",
    ];
    let said = users.says(ADA, again);
    assert!(said.contains("yields by vulture"), "{said}");
    program.connect(&users);
    until("its child's connection is seen", || flows(&users, ADA) == 4);
    let seen = users.sees(ADA);
    assert_eq!(
        (&seen[0]["policy"], &seen[0]["minimum"], &seen[0]["backend"]),
        (&"vulture".into(), &"2mbit".into(), &"kernel".into())
    );
    let top = ["top", "--json", "--count", "1", "--interval", "0.2"];
    let told = users.says(ADA, top);
    assert!(
        told.contains("10.78.0.2:7000") && told.contains("vulture"),
        "{told}"
    );
    assert!(!users.says(BOB, top).contains("10.78.0.2:7000"));
    let said = users.says(ADA, ["detach", "--pid", &pid]);
    assert!(said.ends_with(": detached\n"), "{said}");
    until("let go", || !program.is_limited());
    assert!(users.sees(ADA).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn in_a_cgroup_of_a_users_own_what_is_the_users_yields_and_nothing_else() {
    let name = "in_a_cgroup_of_a_users_own_what_is_the_users_yields_and_nothing_else";
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let users = Users::new("m");
    let service = users.serve();
    let mut program = Program::start(&users, ADA);
    program.connect(&users);
    let group = users.own_cgroup(ADA);
    let path = group.directory_path().display().to_string();
    users.says(ADA, ["attach", "--cgroup", &path]);
    until("limited", || program.is_limited());
    let mut later = Program::start(&users, ADA);
    later.connect(&users);
    assert_eq!(flows(&users, ADA), 4);
    let mut guest = Program::start(&users, BOB);
    fs::write(group.directory_path().join("cgroup.procs"), guest.pid()).unwrap();
    guest.connect(&users);
    assert!(!guest.is_limited());
    assert_eq!(flows(&users, ADA), 4);
    // A command there is part of it already.
    let ran = users.output(
        ADA,
        ["run", "--backend", "kernel", "--summary", "--", "true"],
    );
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert_eq!(users.sees(ADA).len(), 1);
    users.says(ADA, ["detach", "--cgroup", &path]);
    until("let go", || !program.is_limited());
    assert!(users.sees(ADA).is_empty());
    service.end(Signal::SIGTERM);
}

#[test]
fn where_a_rule_holds_for_all_of_a_users_the_user_is_told_its_name() {
    if !requires_root("where_a_rule_holds_for_all_of_a_users_the_user_is_told_its_name") {
        return;
    }
    let users = Users::new("n");
    let group = users.own_cgroup(ADA).path().display().to_string();
    let rule = format!("[[rule]]\nname = \"night\"\ncgroup = \"{group}\"\nuser = \"{ADA}\"\n");
    users.scene.write("a.toml", &rule);
    let service = users.serve();
    let program = Program::start(&users, ADA);
    let arguments = ["attach", "--backend", "kernel", "--pid", &program.pid()];
    let refused = users.output(ADA, arguments);
    assert_eq!(refused.status.code(), Some(1));
    let told = stderr(&refused);
    assert!(told.contains("the rule night of this machine"), "{told}");
    // A command runs, under the rule.
    let ran = users.output(ADA, ["run", "--", "true"]);
    assert!(ran.status.success(), "{}", stderr(&ran));
    assert!(users.sees(ADA).is_empty());
    service.end(Signal::SIGTERM);
}
