// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Chosen processes and what descends from them, however far down, and nobody else.

mod support;

use ebb_host::Family;
use ebb_kernel::{AttachOptions, Attachment, Selection, requires_root, until};
use std::process::Command;
use std::time::Duration;
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

/// Starts the one whose words follow as its grandchild.
const BY_GRANDCHILD: &str = "exec 3<&0; sh -c '\"$@\" <&3 & wait' sh \"$@\" & wait";

#[test]
fn play_a_role() {
    role();
}

fn attach(cable: &Cable, pid: u32) -> Attachment {
    let options = AttachOptions {
        selection: Selection::Processes(vec![pid]),
        ..Default::default()
    };
    Attachment::attach(&cable.cgroup, &"ebb".parse().unwrap(), options).unwrap()
}

fn adopted(attachment: &Attachment) -> u64 {
    attachment.counters().unwrap().adopted_new
}

#[test]
fn a_descendant_forty_levels_down_is_governed() {
    if !requires_root("a_descendant_forty_levels_down_is_governed") {
        return;
    }
    let cable = Cable::new();
    let (_sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let arguments = format!("40 {address}");
    let role = Role::DownloadByDescendant;
    let mut first = Actor::start_held(&cable, Some(&cable.cgroup), role, arguments);
    let attachment = attach(&cable, first.id());
    first.go();
    until("governed", || adopted(&attachment) == 1);
}

#[test]
fn a_process_that_has_the_number_of_a_chosen_one_is_not_taken_for_it() {
    if !requires_root("a_process_that_has_the_number_of_a_chosen_one_is_not_taken_for_it") {
        return;
    }
    let cable = Cable::new();
    let mut chosen = Command::new("sleep").arg("60").spawn().unwrap();
    cable.cgroup.add_process(chosen.id()).unwrap();
    let attachment = attach(&cable, chosen.id());
    // What starts within the tick of another one is the same for /proc.
    std::thread::sleep(Duration::from_millis(100));
    chosen.kill().unwrap();
    chosen.wait().unwrap();
    let (sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let arguments = format!("{} {address}", chosen.id());
    let role = Role::DownloadByNumber;
    let mut other = Actor::start_held(&cable, Some(&cable.cgroup), role, arguments);
    other.go();
    other.told("CONNECTED");
    until("some megabytes", || sender.bytes() > 1 << 22);
    let counters = attachment.counters().unwrap();
    assert_eq!((counters.adopted_new, counters.skipped_unmarked), (0, 1));
    assert_eq!(attachment.flows().unwrap().len(), 0);
}

#[test]
fn a_descendant_whose_parent_has_ended_is_governed_if_it_was_followed() {
    if !requires_root("a_descendant_whose_parent_has_ended_is_governed_if_it_was_followed") {
        return;
    }
    let cable = Cable::new();
    let (_sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let mut launcher = Command::new("sh");
    launcher.args(["-c", BY_GRANDCHILD, "sh"]);
    let mut first = Actor::spawn(launcher, &cable, Side::Right, Role::Download, address);
    let mut family = Family::of(first.id()).unwrap();
    until("a grandchild", || {
        family.update();
        family.pids().len() == 3
    });
    let pids = family.pids();
    for pid in &pids {
        cable.cgroup.add_process(*pid).unwrap();
    }
    let mut attachment = attach(&cable, first.id());
    attachment.follow(&family).unwrap();
    let parent = pids[1].cast_signed();
    // SAFETY: plain numbers; the shell waits for it no sooner than it has ended.
    assert_eq!(unsafe { libc::kill(parent, libc::SIGKILL) }, 0);
    until("an orphan", || {
        family.update();
        family.pids().len() <= 2
    });
    first.go();
    until("governed", || adopted(&attachment) == 1);
}
