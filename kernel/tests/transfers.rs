// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real transfers under a policy: which connections it reaches, and which not.

mod support;
#[path = "transfers/trace.rs"]
mod trace;

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{
    AttachOptions, Attachment, Error, Flow, Selection, owner_of, requires_absence,
    requires_feature, requires_root, until,
};
use std::net::IpAddr;
use std::time::Duration;
use support::process::{Actor, Role, role};
use support::transfer::{Receiver, Sender, window_clamp};
use support::{Cable, Side};

/// The feature by which downloads that run already are taken over.
const TAKES_OVER: &str = "callback-flags";
/// A clamp of TCP's own making.
const FREE_CLAMP_BYTES: u32 = 60_000;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn downloads_made_after_attaching_are_governed_over_ipv4_and_ipv6() {
    if !requires_root("downloads_made_after_attaching_are_governed_over_ipv4_and_ipv6") {
        return;
    }
    let cable = cable();
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    for address in [cable.ipv4(Side::Left), cable.ipv6(Side::Left)] {
        let _transfer = download(&cable, Some(&cable.cgroup), address);
        let flow = wait_for_flow(&attachment);
        assert_eq!(flow.peer.ip(), address);
        assert!(flow.is_clamped && flow.segments >= 100, "{flow:?}");
        assert!(flow.window_bytes < 1 << 20, "{flow:?}");
    }
    let counters = attachment.counters().unwrap();
    assert_eq!((counters.adopted_new, counters.adopted_established), (2, 0));
    assert_eq!(counters.skipped_malformed, 0);
}

#[test]
fn downloads_made_before_attaching_are_taken_over_over_ipv4_and_ipv6() {
    if !requires_feature(
        "downloads_made_before_attaching_are_taken_over_over_ipv4_and_ipv6",
        TAKES_OVER,
    ) {
        return;
    }
    let cable = cable();
    for address in [cable.ipv4(Side::Left), cable.ipv6(Side::Left)] {
        let _transfer = download(&cable, Some(&cable.cgroup), address);
        let attachment = attach(&cable.cgroup, AttachOptions::default());
        let flow = wait_for_flow(&attachment);
        assert_eq!(flow.peer.ip(), address);
        assert!(flow.is_clamped, "{flow:?}");
        let counters = attachment.counters().unwrap();
        assert_eq!((counters.adopted_new, counters.adopted_established), (0, 1));
        attachment.detach().unwrap();
    }
}

#[test]
fn where_a_download_that_runs_cannot_be_taken_over_it_is_left_alone_and_that_is_said() {
    let name = "where_a_download_that_runs_cannot_be_taken_over_it_is_left_alone_and_that_is_said";
    if !requires_absence(name, TAKES_OVER) {
        return;
    }
    let cable = cable();
    let (_sender, receiver) = download(&cable, Some(&cable.cgroup), cable.ipv4(Side::Left));
    let options = AttachOptions::default();
    let refused = Attachment::attach(&cable.cgroup, &policy(), options).unwrap_err();
    assert!(
        matches!(refused, Error::LeavesRunning { count: 1 }),
        "{refused}"
    );
    assert!(refused.to_string().contains("6.12"), "{refused}");
    let clamps = receiver.sockets();
    let clamps = clamps.iter().map(window_clamp);
    assert!(clamps.max() > Some(FREE_CLAMP_BYTES));
    assert_eq!(owner_of(&cable.cgroup), None);
}

#[test]
fn a_server_that_receives_uploads_is_governed() {
    if !requires_root("a_server_that_receives_uploads_is_governed") {
        return;
    }
    let cable = cable();
    for address in [cable.ipv4(Side::Right), cable.ipv6(Side::Right)] {
        let mut server = Actor::start(
            &cable,
            Some(&cable.cgroup),
            Role::Upload,
            &address.to_string(),
        );
        let address = server.told("LISTENING").parse().unwrap();
        let attachment = attach(&cable.cgroup, AttachOptions::default());
        let _sender = Sender::connect(&cable, address);
        let flow = wait_for_flow(&attachment);
        assert_eq!(flow.local, address);
        assert_eq!(attachment.counters().unwrap().adopted_new, 1);
    }
}

#[test]
fn processes_in_groups_below_are_governed_and_others_are_not() {
    if !requires_feature(
        "processes_in_groups_below_are_governed_and_others_are_not",
        TAKES_OVER,
    ) {
        return;
    }
    let cable = cable();
    let below = cable.cgroup.create_child("below").unwrap();
    let _early = download(&cable, Some(&below), cable.ipv4(Side::Left));
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    let _late = download(&cable, Some(&below), cable.ipv4(Side::Left));
    let _other = download(&cable, None, cable.ipv4(Side::Left));
    until("two connections", || attachment.flows().unwrap().len() == 2);
    let counters = attachment.counters().unwrap();
    assert_eq!((counters.adopted_new, counters.adopted_established), (1, 1));
}

#[test]
fn only_chosen_processes_are_governed_with_all_their_connections() {
    if !requires_feature(
        "only_chosen_processes_are_governed_with_all_their_connections",
        TAKES_OVER,
    ) {
        return;
    }
    let cable = cable();
    let left = cable.ipv4(Side::Left);
    let (_other_sender, other) = download(&cable, Some(&cable.cgroup), left);
    let (_early_sender, early) = download(&cable, Some(&cable.cgroup), left);
    let (late_sender, late_address) = Sender::listen(&cable, left);
    let late = Actor::start_held(&cable, Some(&cable.cgroup), Role::Download, late_address);
    let right = cable.ipv4(Side::Right).to_string();
    let mut server = Actor::start(&cable, Some(&cable.cgroup), Role::Upload, &right);
    let server_address = server.told("LISTENING").parse().unwrap();
    let pids = vec![early.id(), late.id(), server.id()];
    let options = AttachOptions {
        selection: Selection::Processes(pids),
        ..Default::default()
    };
    let attachment = attach(&cable.cgroup, options);
    let mut late = late;
    late.go();
    let _upload = Sender::connect(&cable, server_address);
    until("three connections", || {
        attachment.flows().unwrap().len() == 3
    });
    until("the late one receives", || late_sender.bytes() > 0);
    let counters = attachment.counters().unwrap();
    assert_eq!((counters.adopted_new, counters.adopted_established), (2, 1));
    assert!(
        counters.skipped_unmarked >= 1,
        "{} is not chosen",
        other.id()
    );
}

#[test]
fn children_of_chosen_processes_are_governed() {
    if !requires_root("children_of_chosen_processes_are_governed") {
        return;
    }
    let cable = cable();
    let (_sender, address) = Sender::listen(&cable, cable.ipv4(Side::Left));
    let mut parent = Actor::start_held(&cable, Some(&cable.cgroup), Role::DownloadByChild, address);
    let options = AttachOptions {
        selection: Selection::Processes(vec![parent.id()]),
        ..Default::default()
    };
    let attachment = attach(&cable.cgroup, options);
    parent.go();
    wait_for_flow(&attachment);
    assert_eq!(attachment.counters().unwrap().adopted_new, 1);
}

#[test]
fn what_a_governed_connection_sends_is_counted_to_its_end() {
    if !requires_root("what_a_governed_connection_sends_is_counted_to_its_end") {
        return;
    }
    let cable = cable();
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    let receiver = Receiver::listen(&cable);
    let address = receiver.address.to_string();
    let mut sender = Actor::start_on(
        &cable,
        Side::Left,
        Some(&cable.cgroup),
        Role::SendMegabyte,
        &address,
    );
    sender.told("SENT");
    drop(sender);
    until("all has arrived", || receiver.bytes() == 1 << 20);
    // TCP acknowledges the end of a connection as if it were a byte.
    until("all is counted", || {
        attachment.counters().unwrap().sent_bytes > 1 << 20
    });
    assert_eq!(attachment.counters().unwrap().sent_bytes, (1 << 20) + 1);
}

#[test]
fn multipath_connections_are_left_alone() {
    if !requires_root("multipath_connections_are_left_alone") {
        return;
    }
    let cable = cable();
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    let (sender, address) = Sender::listen_multipath(&cable);
    let address = address.to_string();
    let _early = Actor::start(
        &cable,
        Some(&cable.cgroup),
        Role::DownloadMultipath,
        &address,
    );
    until("a megabyte", || sender.bytes() > 1 << 20);
    let counters = attachment.counters().unwrap();
    assert_eq!((counters.skipped_mptcp, counters.adopted_new), (1, 0));
    attachment.detach().unwrap();
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    let counters = attachment.counters().unwrap();
    assert_eq!(
        (counters.skipped_mptcp, counters.adopted_established),
        (1, 0)
    );
}

#[test]
fn connections_within_the_machine_are_left_alone() {
    if !requires_root("connections_within_the_machine_are_left_alone") {
        return;
    }
    let cable = cable();
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    for address in ["127.0.0.1", "::1", "10.77.2.1"] {
        let mut server = Actor::start(&cable, Some(&cable.cgroup), Role::Upload, address);
        let listening = server.told("LISTENING");
        let mut client = Actor::start(&cable, Some(&cable.cgroup), Role::SendMegabyte, &listening);
        client.told("SENT");
        assert_eq!(server.told("RECEIVED"), "1048576");
    }
    let counters = attachment.counters().unwrap();
    assert_eq!((counters.adopted_new, counters.clamps), (0, 0));
    assert_eq!(counters.skipped_loopback, 6);
}

#[test]
fn observing_sets_no_window_and_can_be_switched_at_any_time() {
    if !requires_root("observing_sets_no_window_and_can_be_switched_at_any_time") {
        return;
    }
    let cable = cable();
    let options = AttachOptions {
        observing: true,
        ..Default::default()
    };
    let mut attachment = attach(&cable.cgroup, options);
    let _transfer = download(&cable, Some(&cable.cgroup), cable.ipv4(Side::Left));
    assert!(!wait_for_flow(&attachment).is_clamped);
    assert_eq!(attachment.counters().unwrap().clamps, 0);
    attachment.set_observing(false).unwrap();
    until("clamped", || attachment.flows().unwrap()[0].is_clamped);
    attachment.set_observing(true).unwrap();
    until("free", || !attachment.flows().unwrap()[0].is_clamped);
}

#[test]
fn the_policy_can_be_changed_while_a_transfer_runs() {
    if !requires_root("the_policy_can_be_changed_while_a_transfer_runs") {
        return;
    }
    let cable = cable();
    let mut attachment = attach(&cable.cgroup, AttachOptions::default());
    let _transfer = download(&cable, Some(&cable.cgroup), cable.ipv4(Side::Left));
    let before = wait_for_flow(&attachment);
    attachment
        .set_policy(&"ebb:target_us=9000".parse().unwrap())
        .unwrap();
    let after = wait_for_flow(&attachment);
    assert_eq!(after.adopted_ns, before.adopted_ns, "the same law goes on");
    attachment.set_policy(&"vulture".parse().unwrap()).unwrap();
    until("the new law has data", || {
        attachment
            .flows()
            .unwrap()
            .iter()
            .any(|flow| flow.segments >= 100)
    });
    let flow = wait_for_flow(&attachment);
    assert_eq!((flow.law, flow.cookie), ("vulture", before.cookie));
    assert!(
        flow.adopted_ns > before.adopted_ns,
        "another law starts afresh"
    );
    assert_eq!(attachment.policy().law().name, "vulture");
}

#[test]
fn a_second_policy_on_the_same_connections_is_refused() {
    if !requires_root("a_second_policy_on_the_same_connections_is_refused") {
        return;
    }
    let cable = cable();
    let below = cable.cgroup.create_child("below").unwrap();
    let attachment = attach(&cable.cgroup, AttachOptions::default());
    for cgroup in [&cable.cgroup, &below] {
        let refused = Attachment::attach(cgroup, &policy(), AttachOptions::default());
        let error = refused.unwrap_err();
        assert!(matches!(error, Error::AlreadyAttached { .. }), "{error}");
        assert!(
            error.to_string().contains(&std::process::id().to_string()),
            "{error}"
        );
    }
    drop(attachment);
    attach(&below, AttachOptions::default());
}

fn cable() -> Cable {
    Cable::with_bottleneck(20, 60 * 1514)
}

fn policy() -> ebb_algorithms::Policy {
    "ebb".parse().unwrap()
}

fn attach(cgroup: &Cgroup, options: AttachOptions) -> Attachment {
    Attachment::attach(cgroup, &policy(), options).unwrap()
}

fn download(cable: &Cable, cgroup: Option<&Cgroup>, address: IpAddr) -> (Sender, Actor) {
    let (sender, address) = Sender::listen(cable, address);
    let mut receiver = Actor::start(cable, cgroup, Role::Download, &address.to_string());
    receiver.told("CONNECTED");
    (sender, receiver)
}

/// The only connection, after some hundred segments.
fn wait_for_flow(attachment: &Attachment) -> Flow {
    until(
        "one connection with data",
        || matches!(&attachment.flows().unwrap()[..], [flow] if flow.segments >= 100),
    );
    attachment.flows().unwrap().remove(0)
}
