// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What others read in a capture: headers, checksums, times, hosts.
use std::collections::BTreeMap;
use std::path::Path;

use ebb_scenario::Scenario;
use etherparse::{Ipv4HeaderSlice, TcpHeaderSlice, UdpHeaderSlice};
use pcap_file::pcapng::{Block, PcapNgReader};

use super::{Capture, Place};
use crate::{Options, run};

const UDP: &str = r#"
title = "a wave beside a stream"
duration = "10s"
[measure]
all = ["0s", "end"]
second-half = ["5s", "end"]
[bottleneck]
rate = "10mbit"
rtt = "100ms"
queue = 40
[[flow]]
name = "steady-with-a-name-that-is-long"
kind = "udp"
rate = "6mbit"
start_spread = "50ms"
[[flow]]
name = "wave"
kind = "udp-square-wave"
rate = "8mbit"
period = "2s"
class = "lbe"
"#;

/// A packet of a capture: interface, time, whole headers.
struct Captured {
    interface: u32,
    at_ns: u128,
    length: u32,
    data: Vec<u8>,
}

fn capture(text: &str, place: Place) -> (Vec<String>, Vec<Captured>) {
    let scenario = Scenario::parse("try.toml", text, Path::new("")).unwrap();
    let mut file = Vec::new();
    let mut capture = Capture::new(&scenario, place, &mut file).unwrap();
    let options = Options {
        observer: Some(&mut capture),
        ..Options::default()
    };
    run(&scenario, options).unwrap();
    let count = capture.finish().unwrap();
    let (names, packets) = read(&file);
    assert_eq!(packets.len() as u64, count);
    (names, packets)
}

fn read(file: &[u8]) -> (Vec<String>, Vec<Captured>) {
    let mut reader = PcapNgReader::new(file).unwrap();
    let (mut names, mut packets) = (Vec::new(), Vec::new());
    while let Some(block) = reader.next_block() {
        match block.unwrap() {
            Block::InterfaceDescription(interface) => names.push(format!("{interface:?}")),
            Block::EnhancedPacket(packet) => packets.push(Captured {
                interface: packet.interface_id,
                at_ns: packet.timestamp.as_nanos(),
                length: packet.original_len,
                data: packet.data.into_owned(),
            }),
            _ => {}
        }
    }
    (names, packets)
}

#[test]
fn captured_packets_have_right_lengths_checksums_and_order() {
    let (interfaces, packets) = capture(UDP, Place::Both);
    assert_eq!(interfaces.len(), 2);
    assert!(interfaces[0].contains("left") && interfaces[1].contains("right"));
    assert!(packets.is_sorted_by_key(|packet| packet.at_ns));
    let mut marks = BTreeMap::new();
    for packet in &packets {
        let ip = Ipv4HeaderSlice::from_slice(&packet.data).unwrap();
        assert_eq!(ip.header_checksum(), ip.to_header().calc_header_checksum());
        assert_eq!(u32::from(ip.total_len()), packet.length);
        let udp = UdpHeaderSlice::from_slice(&packet.data[20..]).unwrap();
        let payload = vec![0; usize::from(udp.length()) - 8];
        let expected = udp
            .to_header()
            .calc_checksum_ipv4_raw(ip.source(), ip.destination(), &payload)
            .unwrap();
        assert_eq!(udp.checksum(), expected);
        *marks
            .entry((udp.source_port(), ip.dcp().value()))
            .or_insert(0) += 1;
    }
    // The class of the wave stands in its packets.
    assert_eq!(
        marks.keys().copied().collect::<Vec<_>>(),
        [(5_001, 0), (5_002, 1)]
    );
}

#[test]
fn a_capture_at_the_receivers_has_only_what_arrived() {
    let sent = capture(UDP, Place::Senders).1;
    let arrived = capture(UDP, Place::Receivers).1;
    assert!(sent.iter().all(|packet| packet.interface == 0));
    assert!(arrived.iter().all(|packet| packet.interface == 1));
    assert!(arrived.len() < sent.len());
    // 1500 bytes at 10 Mbit/s and 50 ms on the way.
    assert_eq!(arrived[0].at_ns - sent[0].at_ns, 51_200_000);
}

const TRANSFER: &str = r#"
duration = "2s"
sender = "reno"
[bottleneck]
rate = "10mbit"
rtt = "20ms"
queue = 20
[[flow]]
name = "file"
kind = "fixed"
size = "100kB"
"#;

#[test]
fn a_handshake_is_captured_with_the_options_of_linux() {
    let (_, packets) = capture(TRANSFER, Place::Senders);
    let mut has_sack = false;
    for packet in &packets {
        let ip = Ipv4HeaderSlice::from_slice(&packet.data).unwrap();
        let tcp = TcpHeaderSlice::from_slice(&packet.data[20..]).unwrap();
        let headers = 20 + tcp.slice().len();
        assert_eq!(packet.data.len(), headers);
        let payload = vec![0; packet.length as usize - headers];
        let expected = tcp
            .to_header()
            .calc_checksum_ipv4_raw(ip.source(), ip.destination(), &payload)
            .unwrap();
        assert_eq!(tcp.checksum(), expected);
        has_sack |= format!("{:?}", tcp.options_iterator()).contains("SelectiveAcknowledgement(");
    }
    let first = TcpHeaderSlice::from_slice(&packets[0].data[20..]).unwrap();
    assert!(first.syn() && !first.ack());
    let options: Vec<String> = first
        .options_iterator()
        .map(|option| format!("{:?}", option.unwrap()))
        .collect();
    assert_eq!(options[0], "MaximumSegmentSize(1460)");
    assert_eq!(options[1], "SelectiveAcknowledgementPermitted");
    assert!(options[2].starts_with("Timestamp("), "{options:?}");
    assert_eq!(options[3], "Noop");
    assert!(options[4].starts_with("WindowScale("), "{options:?}");
    assert!(has_sack, "a queue of 20 packets lost nothing");
}
