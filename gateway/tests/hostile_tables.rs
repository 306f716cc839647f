// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A million handshakes that nobody ends: tables are as large as before, and packets of others leave
//! as they came. More connections than laws have room for.

mod support;

use std::fs;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, AsRawFd};
use std::time::{Duration, Instant};

use ebb_gateway::{Gateway, Rule};
use ebb_host::testing::requires_root;
use support::{Segment, everything, gateway, receive, shake_hands, tables, window};

const HANDSHAKES: u32 = 1_000_000;
/// Of one way of a connection each, for which there is room.
const LAWS: u32 = 8_192;
/// What has ended is there for so long.
const ENDED_FOR: Duration = Duration::from_millis(10_100);
/// As `ebb gateway` has it by itself.
const CONNECTIONS: u32 = 65_536;
/// What docs/gateway.md says of the table, and all other tables with it.
const MOST_BYTES: u64 = 12_000_000;
/// Of the source's address, and of its port, in a frame of IPv4.
const SOURCE: std::ops::Range<usize> = 26..30;
const SOURCE_PORT: std::ops::Range<usize> = 34..36;

/// What all tables of a gateway take of the kernel's memory.
fn table_bytes(gateway: &Gateway) -> u64 {
    let sizes = tables(gateway).into_iter().map(|map| {
        let file = format!("/proc/self/fdinfo/{}", map.as_fd().as_raw_fd());
        let told = fs::read_to_string(file).unwrap();
        let size = told.lines().find_map(|line| line.strip_prefix("memlock:"));
        size.unwrap().trim().parse::<u64>().unwrap()
    });
    sizes.sum()
}

/// Each from another address and port.
fn flood(gateway: &Gateway, mut between: impl FnMut(u32)) {
    let syn = Segment {
        is_syn: true,
        is_ack: false,
        ..Segment::of(4000)
    };
    let mut frame = syn.frame();
    for number in 0..HANDSHAKES {
        frame[SOURCE].copy_from_slice(&(0x0a00_0000 + number).to_be_bytes());
        frame[SOURCE_PORT].copy_from_slice(&(number as u16).to_be_bytes());
        let tried = gateway.try_packet(true, &frame, 1).unwrap();
        assert_eq!(tried.answer, -1, "it leaves packets to others");
        assert_eq!(tried.packet, frame);
        if number % 5_000 == 0 {
            gateway.renew();
            between(number);
        }
    }
}

#[test]
fn a_million_handshakes_take_no_memory_and_change_no_packet_of_others() {
    let name = "a_million_handshakes_take_no_memory_and_change_no_packet_of_others";
    if !requires_root(name) {
        return;
    }
    // One client's connections are others', all that floods is for the law.
    let others = Segment {
        client: IpAddr::V4(Ipv4Addr::new(192, 168, 7, 11)),
        payload: 700,
        ..Segment::of(5000)
    };
    let left_alone = Rule {
        is_background: false,
        client: Some("192.168.7.11".parse().unwrap()),
        ..everything()
    };
    let gateway = gateway(&[left_alone, everything()], CONNECTIONS);
    let before_bytes = table_bytes(&gateway);
    shake_hands(&gateway, &others);
    let mut ours = Segment::of(6000);
    shake_hands(&gateway, &ours);

    flood(&gateway, |number| {
        let theirs = Segment {
            seq: others.seq + number,
            ..others.clone()
        };
        assert_eq!(theirs.pass(&gateway), theirs.frame());
        let back = Segment {
            is_from_client: false,
            ..theirs
        };
        assert_eq!(back.pass(&gateway), back.frame());
        ours.ack += 1448;
        assert!(window(&ours.pass(&gateway)) <= ours.window);
    });
    let after_bytes = table_bytes(&gateway);
    let flows = gateway.flows().len();
    eprintln!("{before_bytes} bytes before, {after_bytes} after; {flows} states of laws");
    assert!(before_bytes <= MOST_BYTES, "{before_bytes}");
    assert!(after_bytes <= MOST_BYTES, "{after_bytes}");
    assert!(
        flows <= 2,
        "a state of a law for a handshake alone: {flows}"
    );
}

/// As many connections as laws have room for, each with data: the next ones are left alone and
/// counted, until some of the first have ended.
#[test]
fn without_room_for_another_law_a_connection_is_left_alone_until_there_is_some() {
    let name = "without_room_for_another_law_a_connection_is_left_alone_until_there_is_some";
    if !requires_root(name) {
        return;
    }
    let gateway = gateway(&[everything()], CONNECTIONS);
    let connection = |number: u32| Segment {
        client: IpAddr::V4(Ipv4Addr::from(0x0a00_0000 + number)),
        ..Segment::of(6000)
    };
    let begun = |number| {
        let mut segment = connection(number);
        shake_hands(&gateway, &segment);
        receive(&gateway, &mut segment, 1448);
        segment
    };
    let mut first = begun(0);
    for number in 1..LAWS {
        begun(number);
    }
    assert_eq!(gateway.flows().len(), LAWS as usize);
    let is_held = |segment: &mut Segment| {
        let granted = (0..50).map(|_| receive(&gateway, segment, 1448));
        granted.last() < Some(segment.window)
    };
    for number in LAWS..LAWS + 3 {
        assert!(!is_held(&mut begun(number)), "{number} has a law");
    }
    let counters = gateway.counters();
    assert_eq!((counters.governed, counters.without_room), (LAWS.into(), 3));
    assert!(is_held(&mut first), "who was there is held as before");

    let reset = Segment {
        is_rst: true,
        ..first
    };
    assert_eq!(reset.pass(&gateway), reset.frame());
    // What is under way still, behind a reset, is not another connection's.
    let late = Segment {
        is_rst: false,
        ..reset
    };
    late.pass(&gateway);
    assert_eq!(gateway.flows().len(), LAWS as usize);
    for number in 1..LAWS / 2 {
        let reset = Segment {
            is_rst: true,
            ..connection(number)
        };
        reset.pass(&gateway);
    }
    std::thread::sleep(ENDED_FOR);
    // Nobody renews the lease meanwhile: it goes through the table once, as this does.
    let began = Instant::now();
    assert_eq!(gateway.flows().len(), LAWS as usize);
    let once = began.elapsed();
    let began = Instant::now();
    gateway.forget_silent();
    let took = began.elapsed();
    assert!(took < 20 * once, "{took:?}, and {once:?} to look at all");
    assert_eq!(gateway.flows().len(), LAWS as usize / 2);
    assert!(is_held(&mut begun(LAWS + 3)), "some have ended");
    assert_eq!(gateway.counters().without_room, 3);
}
