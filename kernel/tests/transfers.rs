// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real transfers over a cable between two namespaces, with and without a policy.

mod support;

use ebb_kernel::{AttachOptions, Attachment, requires_root};
use std::time::Duration;
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

#[test]
fn play_a_role() {
    role();
}

#[test]
fn a_connection_made_after_attaching_is_governed() {
    if !requires_root("a_connection_made_after_attaching_is_governed") {
        return;
    }
    let cable = Cable::with_bottleneck(50, 100 * 1514);
    for address in [cable.ipv4(Side::Left), cable.ipv6(Side::Left)] {
        let policy = "ebb".parse().unwrap();
        let attachment =
            Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap();
        let (sender, address) = Sender::listen(&cable, address);
        let _receiver = Actor::start(
            &cable,
            Some(&cable.cgroup),
            Role::Download,
            &address.to_string(),
        );
        let rate = sender.measure_mbit_per_s(Duration::from_secs(1));
        let counters = attachment.counters().unwrap();
        let flows = attachment.flows().unwrap();
        eprintln!("{rate:.1} Mbit/s {counters:?} {flows:?}");
        assert_eq!(counters.adopted_new, 1);
        assert!(counters.payload_bytes + 1_000_000 > sender.bytes());
        assert_eq!(flows.len(), 1);
        attachment.detach().unwrap();
    }
}
