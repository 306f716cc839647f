// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A cgroup that allows few processes, little memory or little processor time, and `ebb` with its
//! command in it: the command runs, or is refused by a line, and nothing stays clamped.

#[path = "../../kernel/tests/support/mod.rs"]
mod cable;
#[path = "support/limited.rs"]
mod limited;
mod support;

use std::fs;
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use cable::process::{Actor, Role, role};
use cable::transfer::{Sender, window_clamp};
use cable::{Cable, Side, holds};
use ebb_kernel::until;
use limited::Limited;
use support::{Ebb, stderr, stdout};

const BACKENDS: [&str; 2] = ["--backend=kernel", "--backend=user"];
/// What TCP has as its clamp by itself; a law begins with less.
const FREE_CLAMP_BYTES: u32 = 60_000;
/// The clamp of what was let go. No law sets one of this size, even while it finds the link's rate.
const UNLIMITED_BYTES: u32 = 1 << 30;
/// Enough for `ebb`, what it forks, its threads and a command.
const ENOUGH_PROCESSES: u32 = 12;
const BOTTLENECK_MBIT_PER_S: u32 = 10;
const BOTTLENECK_QUEUE_BYTES: u32 = 30 * 1514;
/// How many more may be there in a fork storm, which takes them all.
const STORM: usize = 8;
/// A keeper that has not run for this long may have lost what it holds: its guardian waits 1.5 s.
const STARVED: Duration = Duration::from_millis(1_400);
/// As long as a lease holds, twice.
const LOOKS: usize = 80;
const LOOK_EVERY: Duration = Duration::from_millis(50);

#[test]
fn play_a_role() {
    role();
}

fn run_in(limited: &Limited, backend: &str, words: &[&str]) -> Output {
    let ebb = Ebb::new();
    let mut command = ebb.command(["run", backend, "--"]);
    command.args(words).stdin(Stdio::null());
    limited.start_in(&mut command);
    command.output().unwrap()
}

#[test]
fn a_command_among_few_processes_runs_or_is_refused_with_what_bounds_them() {
    let name = "a_command_among_few_processes_runs_or_is_refused_with_what_bounds_them";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    for backend in BACKENDS {
        let mut outcomes = Vec::new();
        for most in 1..=ENOUGH_PROCESSES {
            let limited = Limited::processes(most);
            let output = run_in(&limited, backend, &["echo", "it ran"]);
            let (status, said) = (output.status.code(), stderr(&output));
            let has_run = stdout(&output) == "it ran\n";
            match status {
                Some(0) => assert!(has_run, "{backend} {most}: {said}"),
                // Its own fork, as any shell would have it.
                Some(126) => assert!(said.contains("Resource temporarily unavailable")),
                Some(125) => assert!(said.contains("pids.max"), "{backend} {most}: {said}"),
                _ => panic!("{backend} {most}: {status:?} {said}"),
            }
            assert_eq!(has_run, status == Some(0), "{backend} {most}: {said}");
            assert!(!said.contains("panicked"), "{said}");
            until("nobody is left in it", || limited.pids().is_empty());
            outcomes.push(status);
        }
        assert_eq!(outcomes[0], Some(125), "{outcomes:?}");
        assert_eq!(outcomes.last(), Some(&Some(0)), "{outcomes:?}");
    }
}

#[test]
fn a_command_with_little_memory_runs_or_is_refused_or_is_killed_and_nobody_is_left() {
    let name = "a_command_with_little_memory_runs_or_is_refused_or_is_killed_and_nobody_is_left";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    for backend in BACKENDS {
        let mut last = None;
        for megabytes in [1, 2, 4, 8, 16, 64] {
            let limited = Limited::memory(megabytes << 20);
            let output = run_in(&limited, backend, &["echo", "it ran"]);
            let (status, said) = (output.status.code(), stderr(&output));
            // Who is killed is the kernel's choice; nothing else may happen.
            let is_killed = status.is_none() || status == Some(137);
            let has_run = stdout(&output) == "it ran\n";
            assert!(
                has_run || is_killed || status == Some(125),
                "{megabytes}: {said}"
            );
            assert!(!said.contains("panicked"), "{megabytes}: {said}");
            until("nobody is left in it", || limited.pids().is_empty());
            last = status;
        }
        assert_eq!(last, Some(0), "{backend}");
    }
}

#[test]
fn a_command_that_takes_all_memory_is_killed_alone() {
    if !ebb_kernel::requires_root("a_command_that_takes_all_memory_is_killed_alone") {
        return;
    }
    for backend in BACKENDS {
        let limited = Limited::memory(96 << 20);
        // It keeps the line for whose end it waits.
        let output = run_in(&limited, backend, &["tail", "/dev/zero"]);
        assert_eq!(
            output.status.code(),
            Some(137),
            "{backend}: {}",
            stderr(&output)
        );
        assert_eq!(stderr(&output), "", "{backend}");
        until("nobody is left in it", || limited.pids().is_empty());
    }
}

/// A download on a slow link, which a keeper in a limited cgroup holds.
struct Held {
    ebb: Ebb,
    limited: Limited,
    receiver: Actor,
    _sender: Sender,
    _cable: Cable,
}

impl Held {
    fn by(backend: &str, limited: Limited) -> Self {
        let ebb = Ebb::new();
        let cable = Cable::with_bottleneck(BOTTLENECK_MBIT_PER_S, BOTTLENECK_QUEUE_BYTES);
        let (sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
        let address = address.to_string();
        let mut receiver = Actor::start(&cable, Some(&cable.cgroup), Role::Download, &address);
        receiver.told("CONNECTED");
        let mut attach = ebb.command(["attach", backend, "--pid", &receiver.id().to_string()]);
        limited.start_in(&mut attach);
        let attached = attach.stdin(Stdio::null()).output().unwrap();
        assert!(
            attached.status.success(),
            "{backend}: {}",
            stderr(&attached)
        );
        let held = Self {
            ebb,
            limited,
            receiver,
            _sender: sender,
            _cable: cable,
        };
        until("it is limited", || held.clamp_bytes() < FREE_CLAMP_BYTES);
        held
    }

    fn clamp_bytes(&self) -> u32 {
        let sockets = self.receiver.sockets();
        assert_eq!(sockets.len(), 1);
        window_clamp(&sockets[0])
    }

    fn is_let_go(&self) -> bool {
        self.clamp_bytes() >= UNLIMITED_BYTES
    }

    /// For longer than a lease that nobody renews. Whoever shares the limit, or the machine, may
    /// keep a keeper from running at all for as long as its lease: then it is to be let go, and
    /// taken up again.
    fn stays_limited(&self) -> bool {
        let mut ran = (self.keeper_ran_ns(), Instant::now());
        let mut longest_pause = Duration::ZERO;
        (0..LOOKS).all(|_| {
            std::thread::sleep(LOOK_EVERY);
            longest_pause = longest_pause.max(ran.1.elapsed());
            let ran_ns = self.keeper_ran_ns();
            if ran_ns != ran.0 {
                ran = (ran_ns, Instant::now());
            }
            if !self.is_let_go() {
                return true;
            }
            if longest_pause < STARVED {
                return false;
            }
            until("it is taken up again", || !self.is_let_go());
            true
        })
    }

    /// For how long a processor has worked for the keeper.
    fn keeper_ran_ns(&self) -> u64 {
        // Others in it come and go.
        let of =
            |pid: &i32, file| fs::read_to_string(format!("/proc/{pid}/{file}")).unwrap_or_default();
        let pids = self.limited.pids();
        let mut keepers = pids.iter().filter(|pid| of(pid, "comm") == "ebb-keeper\n");
        let keeper = keepers.next().expect("a keeper");
        let schedstat = of(keeper, "schedstat");
        schedstat.split(' ').next().unwrap().parse().unwrap()
    }

    fn start_beside(&self, script: &str) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]).stderr(Stdio::null());
        self.limited.start_in(&mut command);
        command.spawn().unwrap()
    }

    /// Holds the transfer while a shell in the keeper's limits does this, and lets it go.
    fn expect_held_and_let_go_beside(&self, script: &str, backend: &str) {
        let mut beside = self.start_beside(script);
        assert!(holds(|| self.stays_limited()), "{backend} beside {script}");
        self.detach();
        beside.kill().unwrap();
        beside.wait().unwrap();
    }

    /// Whatever comes of it, nothing stays clamped.
    fn detach(&self) -> Output {
        let pid = self.receiver.id().to_string();
        let detached = self.ebb.output(["detach", "--pid", &pid]);
        until("it is let go", || self.is_let_go());
        detached
    }
}

#[test]
fn a_keeper_in_a_fork_storm_holds_what_it_has_and_lets_it_go() {
    let name = "a_keeper_in_a_fork_storm_holds_what_it_has_and_lets_it_go";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    for backend in BACKENDS {
        let held = Held::by(backend, Limited::processes(1_000));
        held.limited.set_processes(held.limited.tasks() + STORM);
        held.expect_held_and_let_go_beside("while :; do sleep 0.1 & done", backend);
    }
}

#[test]
fn a_keeper_with_a_twentieth_of_a_processor_holds_what_it_has_and_lets_it_go() {
    let name = "a_keeper_with_a_twentieth_of_a_processor_holds_what_it_has_and_lets_it_go";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    for backend in BACKENDS {
        let held = Held::by(backend, Limited::processor(5));
        held.expect_held_and_let_go_beside("while :; do :; done", backend);
    }
}
