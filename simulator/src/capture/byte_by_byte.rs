// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A capture of a run, taken apart byte by byte, as others would read it: the blocks of
//! pcapng, the headers of IPv4, TCP and UDP, their lengths and checksums, and the stream.

use std::collections::HashMap;
use std::path::Path;

use ebb_scenario::Scenario;

use super::{Capture, Place};
use crate::{Options, run};

const BYTES: u32 = 300_000;
const SCENARIO: &str = r#"
title = "a transfer over a wire that loses, beside a stream"
duration = "20s"
seed = 3
[bottleneck]
rate = "5mbit"
rtt = "60ms"
queue = 30
loss = "1%"
[[flow]]
name = "transfer"
kind = "fixed"
size = "300kB"
sender = "cubic"
[[flow]]
name = "stream"
kind = "udp"
rate = "500kbit"
stop = "10s"
"#;

fn captured() -> Vec<u8> {
    let scenario = Scenario::parse("trace.toml", SCENARIO, Path::new("")).unwrap();
    let mut bytes = Vec::new();
    let mut capture = Capture::new(&scenario, Place::Both, &mut bytes).unwrap();
    let options = Options {
        observer: Some(&mut capture),
        ..Options::default()
    };
    run(&scenario, options).unwrap();
    assert!(capture.finish().unwrap() > 500);
    bytes
}

fn le32(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap())
}

fn be16(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes(bytes[at..at + 2].try_into().unwrap())
}

fn be32(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap())
}

/// One packet of the file.
struct Captured {
    interface: u32,
    at_ns: u64,
    length: u32,
    data: Vec<u8>,
}

/// Blocks, each with its type and length in front and its length behind.
fn packets(file: &[u8]) -> (usize, Vec<Captured>) {
    assert_eq!(le32(file, 0), 0x0a0d_0d0a, "a section header");
    assert_eq!(le32(file, 8), 0x1a2b_3c4d, "little-endian");
    let (mut interfaces, mut packets) = (0, Vec::new());
    let mut at = 0;
    while at < file.len() {
        let length = le32(file, at + 4) as usize;
        let block = &file[at..at + length];
        assert_eq!(length % 4, 0);
        assert_eq!(le32(block, length - 4) as usize, length);
        match le32(block, 0) {
            1 => {
                assert_eq!(block[8..10], [228, 0], "IPv4 without a link layer");
                // Option 9, one byte: powers of ten of a second.
                let has_ns = block[16..].windows(5).any(|it| it == [9, 0, 1, 0, 9]);
                assert!(has_ns, "times in nanoseconds");
                interfaces += 1;
            }
            6 => packets.push(Captured {
                interface: le32(block, 8),
                at_ns: u64::from(le32(block, 12)) << 32 | u64::from(le32(block, 16)),
                length: le32(block, 24),
                data: block[28..28 + le32(block, 20) as usize].to_vec(),
            }),
            _ => {}
        }
        at += length;
    }
    (interfaces, packets)
}

/// RFC 1071.
fn sum_of(bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks(2);
    pairs
        .map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)))
        .sum()
}

fn folded(mut sum: u32) -> u32 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum
}

/// The IPv4 header, the checksum of what it carries, and all lengths.
fn check_headers(packet: &Captured) {
    let data = &packet.data;
    assert_eq!(data[0], 0x45, "version 4, five words");
    assert_eq!(u32::from(be16(data, 2)), packet.length, "total length");
    assert_eq!(folded(sum_of(&data[..20])), 0xffff, "header checksum");
    let (protocol, carried) = (u32::from(data[9]), &data[20..]);
    let carried_bytes = packet.length - 20;
    let header_bytes = match protocol {
        6 => usize::from(carried[12] >> 4) * 4,
        17 => {
            assert_eq!(u32::from(be16(carried, 4)), carried_bytes);
            8
        }
        other => panic!("protocol {other}"),
    };
    assert_eq!(carried.len(), header_bytes, "headers, no payload");
    // The payload is zeros, which add nothing.
    let pseudo = sum_of(&data[12..20]) + protocol + carried_bytes;
    assert_eq!(folded(pseudo + sum_of(carried)), 0xffff, "checksum");
}

/// What one end of the transfer has sent.
#[derive(Default)]
struct Stream {
    initial_seq: Option<u32>,
    end: u32,
    acked: u32,
    sent: u64,
    arrived: u64,
    is_closed: bool,
}

fn follow(stream: &mut Stream, data: &[u8], length: u32, is_sent: bool) {
    let tcp = &data[20..];
    let (seq, ack, flags) = (be32(tcp, 4), be32(tcp, 8), tcp[13]);
    let (is_fin, is_syn, is_ack) = (flags & 1 != 0, flags & 2 != 0, flags & 16 != 0);
    assert!(is_ack || ack == 0, "no acknowledgement without its flag");
    if !is_sent {
        stream.arrived += 1;
        return;
    }
    stream.sent += 1;
    let start = seq.wrapping_sub(*stream.initial_seq.get_or_insert(seq));
    let payload_bytes = length - data.len() as u32;
    assert!(start <= stream.end, "nothing is left out");
    let end = start + payload_bytes + u32::from(is_fin) + u32::from(is_syn);
    stream.end = stream.end.max(end);
    stream.is_closed |= is_fin;
    if is_ack {
        let is_later = ack.wrapping_sub(stream.acked) < 1 << 31;
        assert!(is_later || stream.acked == 0, "acknowledgements only grow");
        stream.acked = ack;
    }
}

#[test]
fn a_capture_is_read_as_the_packets_that_were_sent() {
    let file = captured();
    let (interfaces, packets) = packets(&file);
    assert!(interfaces >= 2, "{interfaces} hosts");
    let times: Vec<u64> = packets.iter().map(|packet| packet.at_ns).collect();
    assert!(times.is_sorted(), "in the order of time");
    assert!(
        times
            .last()
            .is_some_and(|last| (1..20_000_000_000).contains(last))
    );
    // Whoever sent a packet sees it first: by source address and port.
    let mut streams: HashMap<(u32, u16), Stream> = HashMap::new();
    let mut senders: HashMap<(u32, u16), u32> = HashMap::new();
    let mut datagrams = 0;
    for packet in &packets {
        check_headers(packet);
        let data = &packet.data;
        let source = (be32(data, 12), be16(data, 20));
        let sender = *senders.entry(source).or_insert(packet.interface);
        if data[9] == 17 {
            datagrams += 1;
            continue;
        }
        let stream = streams.entry(source).or_default();
        follow(stream, data, packet.length, packet.interface == sender);
    }
    assert!(datagrams > 500, "{datagrams}");
    assert_eq!(streams.len(), 2, "both directions of one connection");
    let mut ends: Vec<u32> = streams.values().map(|stream| stream.end).collect();
    ends.sort_unstable();
    assert_eq!(ends, [2, BYTES + 2], "SYN, the payload and FIN");
    for stream in streams.values() {
        assert!(stream.is_closed);
        assert!(stream.arrived > 0 && stream.arrived <= stream.sent);
    }
    let lost: u64 = streams.values().map(|it| it.sent - it.arrived).sum();
    assert!(lost > 0, "one in a hundred is lost");
}
