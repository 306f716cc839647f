// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connections that stay on this machine by another address, as a redirected port: there is no
//! link to share.

mod support;

use ebb_kernel::{AttachOptions, Attachment, requires_root, until};
use std::net::IpAddr;
use std::process::Command;
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

/// So much that all would be taken anew many times.
const BYTES: u64 = 100 << 20;

#[test]
fn play_a_role() {
    role();
}

#[test]
fn a_connection_through_lo_by_another_address_is_taken_once_and_left_alone() {
    let name = "a_connection_through_lo_by_another_address_is_taken_once_and_left_alone";
    if !requires_root(name) {
        return;
    }
    let cable = Cable::new();
    // A second address, whose packets come from the first: both ends differ, and lo carries them.
    let near = cable.ipv4(Side::Left);
    let other: IpAddr = [10, 77, 1, 9].into();
    for command in [
        format!("addr add {other}/32 dev cable"),
        format!("route replace local {other} dev lo table local src {near}"),
    ] {
        let mut ip = Command::new("ip");
        ip.args(["-n", &cable.namespace(Side::Left)]);
        let status = ip.args(command.split(' ')).status();
        assert!(status.unwrap().success(), "{command}");
    }
    let options = AttachOptions::default();
    let attachment = Attachment::attach(&cable.cgroup, &"ebb".parse().unwrap(), options).unwrap();
    let (sender, address) = Sender::listen(&cable, other);
    let cgroup = Some(&cable.cgroup);
    let address = address.to_string();
    let mut receiver = Actor::start_on(&cable, Side::Left, cgroup, Role::Download, &address);
    receiver.told("CONNECTED");
    until("seen to come through lo", || {
        attachment.counters().unwrap().skipped_loopback > 0
    });
    let more = |bytes| {
        let before = sender.bytes();
        until("more bytes", || sender.bytes() > before + bytes);
        attachment.counters().unwrap()
    };
    let asked = more(BYTES / 100).acks;
    let counters = more(BYTES);
    assert_eq!(counters.acks, asked, "its law is asked still");
    assert_eq!(counters.adopted_new, 1, "{counters:?}");
    assert_eq!(counters.adopted_established, 0, "{counters:?}");
    assert_eq!(counters.skipped_loopback, 1, "{counters:?}");
    assert!(attachment.flows().unwrap().is_empty());
    attachment.detach().unwrap();
}
