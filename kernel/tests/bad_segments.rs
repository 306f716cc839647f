// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs see a packet before TCP asks whether it is the connection's: what anybody injects, or
//! what is damaged on the way, must change nothing.

mod support;

use ebb_kernel::{AttachOptions, Attachment, requires_root};
use std::net::IpAddr;
use std::time::{Duration, Instant};
use support::packets::Packet;
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

const PATIENCE: Duration = Duration::from_secs(5);
/// How often each bad segment comes.
const TIMES: u64 = 20;
/// Beyond each window, and before it.
const FAR_BYTES: u32 = 1 << 30;
const LATER_TICKS: u32 = 3000;
const LONG_AGO_TICKS: u32 = 0u32.wrapping_sub(100_000);
/// Lengths that end anywhere in a step of the sum, and in a pair of bytes.
const LENGTHS: [usize; 5] = [1, 31, 64, 999, 1400];

#[test]
fn play_a_role() {
    role();
}

#[test]
fn segments_that_tcp_will_not_take_change_no_state_over_ipv4_and_ipv6() {
    let name = "segments_that_tcp_will_not_take_change_no_state_over_ipv4_and_ipv6";
    if !requires_root(name) {
        return;
    }
    let cable = Cable::with_bottleneck(10, 30 * 1514);
    for (from, to) in [
        (cable.ipv4(Side::Left), cable.ipv4(Side::Right)),
        (cable.ipv6(Side::Left), cable.ipv6(Side::Right)),
    ] {
        let policy = "ebb".parse().unwrap();
        let options = AttachOptions::default();
        let attachment = Attachment::attach(&cable.cgroup, &policy, options).unwrap();
        let _transfer = download(&cable, from);
        wait_until(|| attachment.counters().unwrap().segments > 300);
        let refused = || attachment.counters().unwrap().skipped_unacceptable;
        assert_eq!(refused(), 0, "of an honest sender's");

        // Later than all that comes meanwhile, or its timestamp would be refused.
        let caught = Packet::catch(&cable).with_tsval(LATER_TICKS);
        let lengths = LENGTHS.map(|length| caught.with_payload(length));
        let mut bad = vec![
            caught.with_seq(FAR_BYTES),
            caught.with_seq(0u32.wrapping_sub(FAR_BYTES)),
            caught.with_tsval(LONG_AGO_TICKS),
            caught.damaged(),
        ];
        // Up to 76 bytes TCP itself looks at the checksum before any program does.
        bad.extend(lengths[2..].iter().map(Packet::damaged));
        for (kind, bad) in bad.iter().enumerate() {
            let before = refused();
            for _ in 0..TIMES {
                bad.send(&cable, to);
            }
            wait_until(|| refused() >= before + TIMES);
            assert_eq!(refused(), before + TIMES, "kind {kind}");
        }

        // What came once more is TCP's business, and the law's; the checksum of a copy is right.
        let before = refused();
        for copy in &lengths {
            copy.send(&cable, to);
        }
        std::thread::sleep(Duration::from_millis(300));
        assert_eq!(refused(), before, "a copy");
        attachment.detach().unwrap();
    }
}

fn download(cable: &Cable, from: IpAddr) -> (Sender, Actor) {
    let (sender, address) = Sender::listen(cable, from);
    let cgroup = Some(&cable.cgroup);
    let mut receiver = Actor::start(cable, cgroup, Role::Download, &address.to_string());
    receiver.told("CONNECTED");
    (sender, receiver)
}

fn wait_until(mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "not within {PATIENCE:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}
