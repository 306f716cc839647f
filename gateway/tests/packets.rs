// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The programs, packet by packet: windows never grow, right edges go back by less than a unit of
//! the window's scale, checksums are right, and what is not background leaves as it came.

mod support;

use ebb_gateway::{Gateway, Rule, Way};
use ebb_host::testing::requires_root;
use proptest::prelude::*;
use proptest::test_runner::{Config, TestRunner};
use std::cell::Cell;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::time::{Duration, Instant};
use support::{MSS, SCALE, Segment, everything, gateway, gateway_by, receive, shake_hands, window};

/// What `docs/gateway.md` promises of a gateway that was killed.
const LEASE: Duration = Duration::from_secs(2);

#[test]
fn windows_never_grow_and_no_edge_is_taken_back_over_ipv4_ipv6_and_tags() {
    if !requires_root("windows_never_grow_and_no_edge_is_taken_back_over_ipv4_ipv6_and_tags") {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let v6 = |last| IpAddr::V6(Ipv6Addr::new(0xfd07, 0, 0, 0, 0, 0, 0, last));
    let port = Cell::new(1024);
    let steps = prop::collection::vec((1usize..1448, 100u16..4000), 30..60);
    let case = (
        steps,
        any::<u32>(),
        any::<bool>(),
        [prop::option::of(1u16..4000), prop::option::of(1u16..4000)],
    );
    let mut runner = TestRunner::new(Config {
        failure_persistence: None,
        ..Config::with_cases(60)
    });
    let smaller = Cell::new(0);
    let checked = runner.run(&case, |(steps, first, is_ipv6, tags)| {
        gateway.renew();
        port.set(port.get() + 1);
        let mut segment = Segment {
            ack: first,
            tags,
            ..Segment::of(port.get())
        };
        if is_ipv6 {
            (segment.client, segment.remote) = (v6(1), v6(2));
        }
        shake_hands(&gateway, &segment);
        let mut edge = None;
        for (bytes, own) in steps {
            segment.window = own;
            let granted = receive(&gateway, &mut segment, bytes);
            prop_assert!(granted <= own, "{granted} of {own}");
            smaller.set(smaller.get() + u32::from(granted < own));
            let reached = segment.ack.wrapping_add(u32::from(granted) << SCALE);
            // Only the receiver itself may take back, but for what a window is rounded by.
            if let Some(edge) = edge
                && granted < own
            {
                let forth = reached.wrapping_sub(edge).cast_signed();
                prop_assert!(forth > -(1 << SCALE), "back by {forth}");
            }
            edge = Some(reached);
        }
        Ok(())
    });
    checked.unwrap();
    let smaller = smaller.get();
    assert!(smaller > 1000, "{smaller} windows were made smaller");
    assert!(gateway.counters().rewritten >= u64::from(smaller));
}

/// As Linux opens its own: by two segments for each that comes, from ten on.
#[test]
fn a_window_opens_by_two_segments_for_each_that_comes() {
    if !requires_root("a_window_opens_by_two_segments_for_each_that_comes") {
        return;
    }
    const BYTES: usize = 1448;
    const FIRST_BYTES: usize = 10 * MSS as usize;
    const WANTED_BYTES: usize = 64 * BYTES;
    let policy = "ebb:start_segments=64".parse().unwrap();
    let gateway = gateway_by(policy, &[everything()], 65_536);
    // Whatever room the client has when its law begins, and be that none.
    for (number, first) in [(0, 0), (1, 10)] {
        let mut segment = Segment {
            window: first,
            ..Segment::of(1900 + number)
        };
        shake_hands(&gateway, &segment);
        assert_eq!(receive(&gateway, &mut segment, BYTES), first);
        segment.window = 4000;
        let open = (1..=40).map(|count| {
            let granted = usize::from(receive(&gateway, &mut segment, BYTES)) << SCALE;
            (count, granted)
        });
        for (count, granted) in open {
            let most = FIRST_BYTES + 2 * count * usize::from(MSS);
            assert!(granted < most + (1 << SCALE), "{count}: {granted}");
            let least = FIRST_BYTES.min(WANTED_BYTES - count * BYTES);
            assert!(granted >= least, "{count}: {granted}");
        }
    }
}

#[test]
fn what_is_not_background_leaves_as_it_came() {
    if !requires_root("what_is_not_background_leaves_as_it_came") {
        return;
    }
    let mut gateway = gateway(
        &[Rule {
            client: Some("192.168.7.99".parse().unwrap()),
            ..everything()
        }],
        65_536,
    );
    let mut segment = Segment::of(2000);
    shake_hands(&gateway, &segment);
    for _ in 0..50 {
        assert_eq!(receive(&gateway, &mut segment, 1448), segment.window);
    }
    gateway.set_rules(&[everything()]).unwrap();
    // The same connection, from now on.
    let held = (0..50).any(|_| receive(&gateway, &mut segment, 1448) < segment.window);
    assert!(held, "rules are asked again when they change");
    gateway.release();
    for _ in 0..50 {
        assert_eq!(receive(&gateway, &mut segment, 1448), segment.window);
    }
}

/// The first piece of a packet: between the header of IPv6 and what it brings is another one.
#[test]
fn pieces_of_tcp_packets_are_counted_and_those_of_others_not() {
    const OF_ETHERNET: usize = 14;
    const IPV6_BYTES: usize = 40;
    const FRAGMENT: u8 = 44;
    if !requires_root("pieces_of_tcp_packets_are_counted_and_those_of_others_not") {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let segment = Segment {
        client: "fd07::1".parse().unwrap(),
        remote: "fd51::7".parse().unwrap(),
        payload: 100,
        ..Segment::of(2200)
    };
    for (protocol, counted) in [(17, 0), (58, 0), (6, 1)] {
        let mut frame = segment.frame();
        frame[OF_ETHERNET + 6] = FRAGMENT;
        let at = OF_ETHERNET + IPV6_BYTES;
        frame.splice(at..at, [protocol, 0, 0, 1, 0, 0, 0, 7]);
        let passed = gateway.try_packet(true, &frame, 1).unwrap();
        assert_eq!(passed.packet, frame);
        assert_eq!(gateway.counters().fragments, counted, "{protocol}");
    }
}

/// As after a `kill -9` of the owner.
#[test]
fn without_its_owner_windows_are_free_within_two_seconds() {
    if !requires_root("without_its_owner_windows_are_free_within_two_seconds") {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let mut segment = Segment::of(2100);
    shake_hands(&gateway, &segment);
    let is_held = |segment: &mut Segment| {
        let granted = (0..50).map(|_| receive(&gateway, segment, 1448));
        granted.last() < Some(segment.window)
    };
    assert!(is_held(&mut segment));
    let before = Instant::now();
    gateway.renew();
    let after = Instant::now();
    let (mut held, mut is_over) = (0, false);
    while !is_over {
        is_over = after.elapsed() >= LEASE;
        let is_free = window(&segment.pass(&gateway)) == segment.window;
        if is_over {
            assert!(is_free, "held after {:?}", after.elapsed());
        } else if before.elapsed() < LEASE {
            assert!(!is_free, "free before its time");
            held += 1;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(held > 0, "the machine slept for two seconds");
    // An owner that was stopped alone, and goes on.
    assert!(gateway.has_lapsed());
    gateway.renew();
    assert!(!gateway.has_lapsed());
    assert!(is_held(&mut segment));
}

#[test]
fn without_its_handshake_a_connection_is_left_alone_and_counted() {
    if !requires_root("without_its_handshake_a_connection_is_left_alone_and_counted") {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let mut segment = Segment::of(3000);
    for _ in 0..50 {
        assert_eq!(receive(&gateway, &mut segment, 1448), segment.window);
    }
    assert_eq!(gateway.counters().without_scale, 1);
}

#[test]
fn a_question_that_comes_again_ends_nothing_until_it_is_answered() {
    let name = "a_question_that_comes_again_ends_nothing_until_it_is_answered";
    if !requires_root(name) {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let mut segment = Segment::of(3100);
    shake_hands(&gateway, &segment);
    let is_held = |segment: &mut Segment| {
        let granted = (0..50).map(|_| receive(&gateway, segment, 1448));
        granted.min() < Some(segment.window)
    };
    assert!(is_held(&mut segment));
    let question = Segment {
        is_syn: true,
        is_ack: false,
        ..segment.clone()
    };
    assert_eq!(question.pass(&gateway), question.frame());
    assert!(is_held(&mut segment));
    assert_eq!(gateway.counters().connections, 1);

    // Another connection with the same ends.
    segment.ack = segment.ack.wrapping_add(1 << 30);
    shake_hands(&gateway, &segment);
    assert_eq!(gateway.counters().connections, 2);
    assert!(is_held(&mut segment));
}

#[test]
fn a_flood_of_handshakes_changes_no_packet_and_leaves_room() {
    if !requires_root("a_flood_of_handshakes_changes_no_packet_and_leaves_room") {
        return;
    }
    let gateway = gateway(&[everything()], 4_096);
    for number in 0..100_000u32 {
        let syn = Segment {
            is_syn: true,
            is_ack: false,
            client: IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number)),
            ..Segment::of(4000)
        };
        assert_eq!(syn.pass(&gateway), syn.frame());
        if number % 1_000 == 0 {
            gateway.renew();
        }
    }
    assert!(gateway.flows().is_empty(), "no law for a handshake alone");
    let mut segment = Segment::of(5000);
    shake_hands(&gateway, &segment);
    let held = (0..50).any(|_| receive(&gateway, &mut segment, 1448) < segment.window);
    assert!(held, "who comes after it is governed");
}

const MSS_BYTES: usize = 1448;

/// The client sends data, and it is acknowledged.
fn send(gateway: &Gateway, segment: &mut Segment, bytes: usize) -> u32 {
    let data = Segment {
        payload: bytes,
        ..segment.clone()
    };
    assert_eq!(data.pass(gateway), data.frame(), "data leaves as it came");
    segment.seq = segment.seq.wrapping_add(bytes as u32);
    let acknowledged = Segment {
        is_from_client: false,
        seq: segment.ack,
        ack: segment.seq,
        ..segment.clone()
    };
    u32::from(window(&acknowledged.pass(gateway))) << SCALE
}

#[test]
fn an_upload_begins_with_its_eleventh_segment() {
    if !requires_root("an_upload_begins_with_its_eleventh_segment") {
        return;
    }
    let gateway = gateway(&[everything()], 65_536);
    let mut segment = Segment::of(6900);
    shake_hands(&gateway, &segment);
    let uploads = || {
        let flows = gateway.flows().into_iter();
        flows.filter(|flow| flow.way == Way::Upload).count()
    };
    for number in 1..=12 {
        send(&gateway, &mut segment, MSS_BYTES);
        assert_eq!(uploads(), usize::from(number >= 11), "{number}");
    }
}

#[test]
fn a_client_that_yields_may_send_two_segments() {
    if !requires_root("a_client_that_yields_may_send_two_segments") {
        return;
    }
    let policy = "ebb:start_segments=1";
    let gateway = gateway_by(policy.parse().unwrap(), &[everything()], 65_536);
    let mut segment = Segment::of(7000);
    shake_hands(&gateway, &segment);
    // What was granted before the law came is used up first: that is 45 segments.
    let windows = (0..200).map(|_| send(&gateway, &mut segment, MSS_BYTES));
    let least_bytes = windows.min().unwrap();
    eprintln!("the least window is {least_bytes} bytes");
    assert!(least_bytes >= 2 * MSS_BYTES as u32, "{least_bytes}");
    assert!(least_bytes < 4 * MSS_BYTES as u32, "{least_bytes}");
}
