// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs see a packet before TCP asks whether it is the connection's: what anybody injects, or
//! what is damaged on the way, must change nothing. Nor do marks that no queue made.

mod support;

use ebb_kernel::trace::{Input, Trace};
use ebb_kernel::{AttachOptions, Attachment, requires_root, until};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::Duration;
use support::packets::Packet;
use support::process::{Actor, Role, role};
use support::transfer::Sender;
use support::{Cable, Side};

/// How often each bad segment comes.
const TIMES: u64 = 20;
/// At the bottleneck there is room for them beside a download: one that is lost there is seen by
/// nobody. The download's window is less than 60 000 bytes by `ebb`, from its first segment on.
const QUEUE_BYTES: u32 = 100 * 1514;
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
    let cable = Cable::with_bottleneck(10, QUEUE_BYTES);
    for (from, to) in [
        (cable.ipv4(Side::Left), cable.ipv4(Side::Right)),
        (cable.ipv6(Side::Left), cable.ipv6(Side::Right)),
    ] {
        let attachment = attach(&cable, None);
        let _transfer = download(&cable, from);
        until("data", || attachment.counters().unwrap().segments > 300);
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
            until("the bad segments are refused", || {
                refused() >= before + TIMES
            });
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

#[test]
fn marks_count_where_ecn_was_negotiated_and_nowhere_else() {
    if !requires_root("marks_count_where_ecn_was_negotiated_and_nowhere_else") {
        return;
    }
    for uses_ecn in [false, true] {
        let cable = Cable::with_bottleneck(10, QUEUE_BYTES);
        for side in [Side::Left, Side::Right] {
            let value = u8::from(uses_ecn).to_string();
            cable.set(side, "net/ipv4/tcp_ecn", &value);
        }
        let path = std::env::temp_dir().join(format!("ebb-marks-{}", std::process::id()));
        let attachment = attach(&cable, Some(path.clone()));
        let transfer = download(&cable, cable.ipv4(Side::Left));
        until("data", || attachment.counters().unwrap().segments > 100);
        let before = attachment.counters().unwrap().aggregates;
        let marked = Packet::catch(&cable).with_tsval(LATER_TICKS).with_mark();
        for _ in 0..TIMES {
            marked.send(&cable, cable.ipv4(Side::Right));
        }
        until("the aggregates are counted", || {
            attachment.counters().unwrap().aggregates > before + 10 * TIMES
        });
        drop(transfer);
        attachment.detach().unwrap();
        let trace = Trace::read(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let is_marked = |input: &Input| matches!(input, Input::Segment(it) if it.is_ce > 0);
        let marks = trace.records.iter().filter(|it| is_marked(&it.input));
        assert_eq!(marks.count() as u64, if uses_ecn { TIMES } else { 0 });
    }
}

fn attach(cable: &Cable, trace: Option<PathBuf>) -> Attachment {
    let options = AttachOptions {
        trace,
        ..AttachOptions::default()
    };
    Attachment::attach(&cable.cgroup, &"ebb".parse().unwrap(), options).unwrap()
}

fn download(cable: &Cable, from: IpAddr) -> (Sender, Actor) {
    let (sender, address) = Sender::listen(cable, from);
    let cgroup = Some(&cable.cgroup);
    let mut receiver = Actor::start(cable, cgroup, Role::Download, &address.to_string());
    receiver.told("CONNECTED");
    (sender, receiver)
}
