// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receive offload, as a device of virtio or xen does it for the machine behind it: consecutive
//! segments of a TCP connection over IPv4 are handed over as one packet with a header that tells
//! the length of its segments, and not how many they are.
//!
//! What may be merged is what Linux's GRO merges: the same flags, options and traffic class, the
//! next byte. A segment with PSH and one that is shorter are the last.
use std::collections::VecDeque;

use ebb_link::Nanos;

use super::checksum::ones_complement_sum;
use super::packet::{IPV4_BYTES, TCP};
use crate::tun::VirtioHeader;

/// Of TCP without options.
const TCP_BYTES: usize = 20;
/// An IP packet's length is 16 bits.
const MOST_BYTES: usize = 65_535;
const ACK: u8 = 0x10;
const PSH: u8 = 0x08;

/// Packets that wait for what may come after them.
pub(super) struct ReceiveOffload {
    wait: Nanos,
    /// One for each connection at the most, the oldest first.
    held: VecDeque<Aggregate>,
}

struct Aggregate {
    bytes: Vec<u8>,
    header_bytes: usize,
    /// Of each segment but the last. *Units:* bytes of payload.
    segment_bytes: usize,
    next_seq: u32,
    until: Nanos,
}

impl ReceiveOffload {
    pub(super) fn new(wait: Nanos) -> Self {
        let held = VecDeque::new();
        Self { wait, held }
    }

    pub(super) fn next_deadline(&self) -> Option<Nanos> {
        self.held.front().map(|aggregate| aggregate.until)
    }

    /// Takes a packet; what need not wait goes to `out`, in order.
    pub(super) fn take(
        &mut self,
        now: Nanos,
        packet: &[u8],
        mut out: impl FnMut(VirtioHeader, &[u8]),
    ) {
        let header_bytes = headers_of(packet);
        let before = self.held.iter().position(|held| held.is_of(packet));
        if let (Some(place), Some(header_bytes)) = (before, header_bytes)
            && self.held[place].fits(packet, header_bytes)
        {
            self.held[place].append(packet, header_bytes);
            if self.held[place].is_complete() {
                self.hand_over(place, &mut out);
            }
            return;
        }
        if let Some(place) = before {
            self.hand_over(place, &mut out);
        }
        match header_bytes {
            Some(header_bytes) if flags_of(packet) == ACK => {
                let until = now + self.wait;
                let aggregate = Aggregate::begin(packet, header_bytes, until);
                self.held.push_back(aggregate);
            }
            _ => out(VirtioHeader::default(), packet),
        }
    }

    /// Hands over what has waited long enough.
    pub(super) fn flush(&mut self, now: Nanos, mut out: impl FnMut(VirtioHeader, &[u8])) {
        while self.next_deadline().is_some_and(|until| until <= now) {
            self.hand_over(0, &mut out);
        }
    }

    fn hand_over(&mut self, place: usize, out: &mut impl FnMut(VirtioHeader, &[u8])) {
        if let Some(mut aggregate) = self.held.remove(place) {
            let header = aggregate.finish();
            out(header, &aggregate.bytes);
        }
    }
}

impl Aggregate {
    fn begin(packet: &[u8], header_bytes: usize, until: Nanos) -> Self {
        let segment_bytes = packet.len() - header_bytes;
        Self {
            bytes: packet.to_vec(),
            header_bytes,
            segment_bytes,
            next_seq: seq_of(packet).wrapping_add(segment_bytes as u32),
            until,
        }
    }

    /// Whether a packet goes between the same two ports, the same way.
    fn is_of(&self, packet: &[u8]) -> bool {
        let ports = IPV4_BYTES..IPV4_BYTES + 4;
        packet.first() == self.bytes.first()
            && packet.get(9) == self.bytes.get(9)
            && packet.get(12..20) == self.bytes.get(12..20)
            && packet.get(ports.clone()) == self.bytes.get(ports)
    }

    fn fits(&self, packet: &[u8], header_bytes: usize) -> bool {
        let payload_bytes = packet.len() - header_bytes;
        let same = |range: std::ops::Range<usize>| packet[range.clone()] == self.bytes[range];
        header_bytes == self.header_bytes
            && seq_of(packet) == self.next_seq
            && payload_bytes <= self.segment_bytes
            && self.bytes.len() + payload_bytes <= MOST_BYTES
            && flags_of(packet) & !PSH == ACK
            // Traffic class, number of the acknowledgement, options.
            && same(1..2)
            && same(IPV4_BYTES + 8..IPV4_BYTES + 12)
            && same(IPV4_BYTES + TCP_BYTES..header_bytes)
    }

    fn append(&mut self, packet: &[u8], header_bytes: usize) {
        let payload = &packet[header_bytes..];
        self.bytes.extend_from_slice(payload);
        self.next_seq = self.next_seq.wrapping_add(payload.len() as u32);
        self.bytes[IPV4_BYTES + 13] |= flags_of(packet);
    }

    /// Nothing may come after a segment with PSH, or a short one.
    fn is_complete(&self) -> bool {
        let payload_bytes = self.bytes.len() - self.header_bytes;
        flags_of(&self.bytes) & PSH != 0
            || !payload_bytes.is_multiple_of(self.segment_bytes)
            || self.bytes.len() + self.segment_bytes > MOST_BYTES
    }

    /// Puts lengths and checksums right, if there is more than a segment: the receiver takes the
    /// checksum of TCP for right, as from a device that has looked.
    fn finish(&mut self) -> VirtioHeader {
        let tcp_bytes = self.bytes.len() - IPV4_BYTES;
        if tcp_bytes == self.header_bytes - IPV4_BYTES + self.segment_bytes {
            return VirtioHeader::default();
        }
        let bytes = &mut self.bytes;
        let length = (bytes.len() as u16).to_be_bytes();
        bytes[2..4].copy_from_slice(&length);
        bytes[10..12].fill(0);
        let checksum = !ones_complement_sum(&bytes[..IPV4_BYTES]);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        let mut pseudo_header = [0; 12];
        pseudo_header[..8].copy_from_slice(&bytes[12..20]);
        pseudo_header[9] = TCP;
        pseudo_header[10..].copy_from_slice(&(tcp_bytes as u16).to_be_bytes());
        let sum = ones_complement_sum(&pseudo_header).to_be_bytes();
        bytes[IPV4_BYTES + 16..IPV4_BYTES + 18].copy_from_slice(&sum);
        VirtioHeader::of_tcp_over_ipv4(self.header_bytes, IPV4_BYTES, self.segment_bytes)
    }
}

/// The length of the headers of IP and TCP, if something of the payload may be merged.
fn headers_of(packet: &[u8]) -> Option<usize> {
    let is_fragment = u16::from_be_bytes([*packet.get(6)?, *packet.get(7)?]) & 0x3fff != 0;
    let tcp_bytes = usize::from(packet.get(IPV4_BYTES + 12)? >> 4) * 4;
    let header_bytes = IPV4_BYTES + tcp_bytes;
    let is_one = packet[0] == 0x45
        && packet[9] == TCP
        && !is_fragment
        && usize::from(u16::from_be_bytes([packet[2], packet[3]])) == packet.len();
    (is_one && tcp_bytes >= TCP_BYTES && packet.len() > header_bytes).then_some(header_bytes)
}

fn flags_of(packet: &[u8]) -> u8 {
    packet[IPV4_BYTES + 13]
}

fn seq_of(packet: &[u8]) -> u32 {
    let at = IPV4_BYTES + 4;
    u32::from_be_bytes([packet[at], packet[at + 1], packet[at + 2], packet[at + 3]])
}

#[cfg(test)]
mod tests {
    use super::*;
    use etherparse::{PacketBuilder, TcpOptionElement};

    const MSS_BYTES: usize = 100;

    fn segment(port: u16, seq: u32, payload_bytes: usize, tsval: u32, has_push: bool) -> Vec<u8> {
        let builder = PacketBuilder::ipv4([10, 77, 0, 1], [10, 77, 0, 2], 64);
        let tcp = builder.tcp(port, 2_000, seq, 64).ack(9);
        let tcp = tcp
            .options(&[TcpOptionElement::Timestamp(tsval, 5)])
            .unwrap();
        let tcp = if has_push { tcp.psh() } else { tcp };
        let mut bytes = Vec::new();
        tcp.write(&mut bytes, &vec![7; payload_bytes]).unwrap();
        bytes
    }

    /// What comes of packets, each a microsecond after the one before: lengths of payload.
    fn handed_over(packets: &[Vec<u8>], wait: Nanos) -> Vec<usize> {
        let mut offload = ReceiveOffload::new(wait);
        let mut lengths = Vec::new();
        let mut out = |header: VirtioHeader, bytes: &[u8]| {
            let parsed = etherparse::PacketHeaders::from_ip_slice(bytes).unwrap();
            let payload = parsed.payload.slice().len();
            let is_aggregate = header != VirtioHeader::default();
            assert_eq!(is_aggregate, payload > MSS_BYTES);
            lengths.push(payload);
        };
        for (number, packet) in packets.iter().enumerate() {
            let now = Nanos::from_micros(number as u64);
            offload.flush(now, &mut out);
            offload.take(now, packet, &mut out);
        }
        offload.flush(Nanos::from_secs(1), &mut out);
        lengths
    }

    fn row(count: usize) -> Vec<Vec<u8>> {
        let seq = |place| (u32::MAX - 150).wrapping_add((place * MSS_BYTES) as u32);
        (0..count)
            .map(|place| segment(1_000, seq(place), MSS_BYTES, 1, false))
            .collect()
    }

    #[test]
    fn consecutive_segments_are_one_packet_also_where_numbers_wrap() {
        assert_eq!(handed_over(&row(4), Nanos::from_millis(1)), [400]);
        assert_eq!(handed_over(&row(1), Nanos::from_millis(1)), [100]);
        assert_eq!(handed_over(&row(4), Nanos::from_micros(2)), [200, 200]);
    }

    #[test]
    fn what_differs_is_not_merged_and_nothing_is_lost_or_overtaken() {
        let seq = |place: usize| (u32::MAX - 150).wrapping_add((place * MSS_BYTES) as u32);
        let wait = Nanos::from_millis(1);
        let with = |place: usize, other: Vec<u8>| {
            let mut packets = row(3);
            packets[place] = other;
            handed_over(&packets, wait)
        };
        assert_eq!(with(2, segment(1_000, seq(2), 60, 1, false)), [260]);
        assert_eq!(with(1, segment(1_000, seq(1), 60, 1, false)), [160, 100]);
        assert_eq!(with(1, segment(1_000, seq(1), 100, 1, true)), [200, 100]);
        assert_eq!(
            with(1, segment(1_000, seq(1), 100, 2, false)),
            [100, 100, 100]
        );
        assert_eq!(
            with(1, segment(1_000, seq(5), 100, 1, false)),
            [100, 100, 100]
        );
        // Another connection's lies between them.
        assert_eq!(
            with(1, segment(1_001, seq(1), 100, 1, false)),
            [100, 100, 100]
        );
        let mut fin = segment(1_000, seq(1), 100, 1, false);
        fin[IPV4_BYTES + 13] |= 1;
        assert_eq!(with(1, fin), [100, 100, 100]);
    }

    #[test]
    fn the_headers_of_an_aggregate_are_right() {
        let mut aggregate = Aggregate::begin(&row(1)[0], 52, Nanos::ZERO);
        aggregate.append(&row(2)[1], 52);
        let header = aggregate.finish();
        assert_eq!(header, VirtioHeader::of_tcp_over_ipv4(52, 20, MSS_BYTES));
        let (ip, rest) = etherparse::Ipv4Header::from_slice(&aggregate.bytes).unwrap();
        assert_eq!(ip.header_checksum, ip.calc_header_checksum());
        assert_eq!(usize::from(ip.total_len), aggregate.bytes.len());
        // What the receiver would compute over all, beginning with the sum of the pseudo header.
        let (tcp, payload) = etherparse::TcpHeader::from_slice(rest).unwrap();
        let whole = tcp.calc_checksum_ipv4(&ip, payload).unwrap();
        let partial = !ones_complement_sum(rest);
        assert_eq!(partial, whole);
    }
}
