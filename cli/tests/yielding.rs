// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run` makes a transfer yield each way, on a link of the kernel's own (tbf): so it can be
//! shown on any kernel, and in an emulated machine, which is too slow for an emulated link
//! (`make test-kernels`).

#[path = "../../kernel/tests/support/mod.rs"]
mod cable;
mod support;

use std::process::{Command, Stdio};
use std::time::Duration;

use cable::process::{Actor, Role, role};
use cable::transfer::{Receiver, Sender};
use cable::{Cable, Side, holds};
use ebb_kernel::requires;
use ebb_kernel::until;
use support::Ebb;

const OPTION_MEMORY: &str = "net/core/optmem_max";
const LINK_MBIT_PER_S: u32 = 10;
const QUEUE_BYTES: u32 = 40 * 1514;
/// Less of the link than this while somebody else wants it.
const YIELDING_SHARE: f64 = 0.25;
/// More than this while nobody does.
const ALONE_SHARE: f64 = 0.6;
const SETTLING: Duration = Duration::from_secs(3);
const MEASURING: Duration = Duration::from_secs(3);
/// Looks at a link that has just become free.
const LOOKS: usize = 6;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn a_download_under_ebb_run_leaves_the_link_to_another_and_has_it_alone() {
    if !ebb_kernel::requires_root("a_download_under_ebb_run_leaves_the_link_to_another") {
        return;
    }
    let (ebb, cable) = (Ebb::new(), bottleneck());
    let ordinary = download(&cable, Command::new("env"));
    let (sender, governed) = download(&cable, ebb_run(&ebb));
    expect_yielding(|| sender.measure_mbit_per_s(MEASURING), || drop(ordinary));
    let said = governed.end();
    assert!(said.contains("over 1 connection, policy ebb;"), "{said}");
    assert!(said.contains("kernel backend"), "{said}");
}

#[test]
fn an_upload_under_ebb_run_leaves_the_link_to_another_and_has_it_alone() {
    if !ebb_kernel::requires_root("an_upload_under_ebb_run_leaves_the_link_to_another") {
        return;
    }
    let (ebb, cable) = (Ebb::new(), bottleneck());
    let upload = |launcher| {
        let receiver = Receiver::listen(&cable);
        let arguments = format!("{} cubic", receiver.address);
        let mut actor = Actor::start_by(launcher, &cable, Side::Left, Role::Send, &arguments);
        actor.told("CONNECTED");
        (receiver, actor)
    };
    let ordinary = upload(Command::new("env"));
    let (receiver, governed) = upload(ebb_run(&ebb));
    expect_yielding(|| receiver.measure_mbit_per_s(MEASURING), || drop(ordinary));
    let said = governed.end();
    assert!(said.contains(" sent, policy ebb-sender"), "{said}");
    assert!(said.contains("kernel backend"), "{said}");
}

#[test]
fn a_download_that_runs_already_yields_once_ebb_is_attached_to_it() {
    if !ebb_kernel::requires_root("a_download_that_runs_already_yields_once_ebb_is_attached_to_it")
    {
        return;
    }
    let (ebb, cable) = (Ebb::new(), bottleneck());
    let (_sender, _ordinary) = download(&cable, Command::new("env"));
    let (sender, governed) = download(&cable, Command::new("env"));
    let pid = governed.id().to_string();
    let said = ebb.says(["attach", "--pid", &pid]);
    // By the backend that can take it over.
    let is_by_user = !ebb_kernel::features::takes_over_downloads();
    assert_eq!(said.contains("(user backend)"), is_by_user, "{said}");
    std::thread::sleep(SETTLING);
    let yields = || share(sender.measure_mbit_per_s(MEASURING)) < YIELDING_SHARE;
    assert!(holds(yields), "it does not yield");
    ebb.says(["detach", "--pid", &pid]);
}

#[test]
fn a_connection_for_whose_state_there_is_no_memory_is_told() {
    let name = "a_connection_for_whose_state_there_is_no_memory_is_told";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let (ebb, cable) = (Ebb::new(), Cable::new());
    let what = "a limit of sockets' option memory by namespace (Linux 6.9)";
    if !requires(
        name,
        "option-memory",
        what,
        cable.has(Side::Right, OPTION_MEMORY),
    ) {
        return;
    }
    let (_sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let mut actor = Actor::start_held(&cable, Some(&cable.cgroup), Role::Download, address);
    let directory = cable.cgroup.path().to_str().unwrap();
    ebb.says(["attach", "--backend=kernel", "--cgroup", directory]);
    // What a socket keeps of a connection counts against this limit.
    cable.set(Side::Right, OPTION_MEMORY, "1");
    actor.go();
    actor.told("CONNECTED");
    until("it is told", || {
        ebb.says(["status"]).contains("1 connection not governed")
    });
    ebb.says(["detach", "--cgroup", directory]);
}

/// Looks at the governed transfer beside another one, and when that has ended.
fn expect_yielding(measure_mbit_per_s: impl Fn() -> f64, end_the_other: impl FnOnce()) {
    std::thread::sleep(SETTLING);
    let yields = || share(measure_mbit_per_s()) < YIELDING_SHARE;
    assert!(holds(yields), "it does not yield");
    end_the_other();
    let has_all = (0..LOOKS).any(|_| share(measure_mbit_per_s()) > ALONE_SHARE);
    assert!(has_all, "alone, yet it never had {ALONE_SHARE} of the link");
}

fn share(mbit_per_s: f64) -> f64 {
    let share = mbit_per_s / f64::from(LINK_MBIT_PER_S);
    eprintln!("share of the governed transfer: {share:.3}");
    share
}

fn download(cable: &Cable, launcher: Command) -> (Sender, Actor) {
    let (sender, address) = Sender::listen(cable, cable.ipv4(Side::Left));
    let address = address.to_string();
    let mut actor = Actor::start_by(launcher, cable, Side::Right, Role::Download, &address);
    actor.told("CONNECTED");
    (sender, actor)
}

fn bottleneck() -> Cable {
    Cable::with_bottleneck(LINK_MBIT_PER_S, QUEUE_BYTES)
}

fn ebb_run(ebb: &Ebb) -> Command {
    let mut command = ebb.command(["run", "--summary", "--backend=kernel", "--"]);
    command.stderr(Stdio::piped());
    command
}
