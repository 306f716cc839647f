// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the emulator reads of a packet, and how it marks one.
//!
//! Own code, although etherparse reads headers too: that takes 450 instructions in place of 383
//! for an IPv4 packet (class, flow and ports; callgrind), 471 in place of 452 for IPv6, and each
//! packet passes here. It cannot mark in place either: that would write the header anew. The tests
//! hold this against etherparse.
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ebb_link::{Class, Ecn};

/// How the emulator tells the classes of packets apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Classifier {
    /// By TCP and UDP port; see [`super::Path::set_class`].
    #[default]
    Ports,
    /// By the differentiated services field: packets marked with this value are less
    /// than best effort. RFC 8622 has 1 (LE).
    Dscp(u8),
}

/// The ports that carry less-than-best-effort traffic; shared between threads.
#[derive(Debug)]
pub struct PortClasses {
    is_less_than_best_effort: Box<[AtomicBool]>,
}

impl PortClasses {
    fn new() -> Self {
        let ports = 0..=u16::MAX;
        Self {
            is_less_than_best_effort: ports.map(|_| AtomicBool::new(false)).collect(),
        }
    }

    /// Sets the class of a port, effective with the next packet.
    pub fn set(&self, port: u16, class: Class) {
        let is_less = class == Class::LessThanBestEffort;
        self.is_less_than_best_effort[usize::from(port)].store(is_less, Ordering::Relaxed);
    }

    fn is_less(&self, port: u16) -> bool {
        self.is_less_than_best_effort[usize::from(port)].load(Ordering::Relaxed)
    }
}

/// A classifier and what it looks at.
#[derive(Clone, Debug)]
pub(super) struct ClassifierState {
    kind: Classifier,
    pub(super) ports: Arc<PortClasses>,
}

impl ClassifierState {
    pub(super) fn new(kind: Classifier) -> Self {
        Self {
            kind,
            ports: Arc::new(PortClasses::new()),
        }
    }

    fn class(&self, header: &Header) -> Class {
        let is_less = match (self.kind, header.ports) {
            (Classifier::Dscp(dscp), _) => header.traffic_class >> 2 == dscp,
            (Classifier::Ports, Some([source, destination])) => {
                self.ports.is_less(source) || self.ports.is_less(destination)
            }
            (Classifier::Ports, None) => false,
        };
        if is_less {
            Class::LessThanBestEffort
        } else {
            Class::BestEffort
        }
    }

    /// Class and ECN field of an IP packet; `None` for what is not carried: broken
    /// packets, and the kernel's own multicast announcements, which nobody asked for.
    pub(super) fn classify(&self, bytes: &[u8]) -> Option<(Class, Ecn)> {
        let header = Header::parse(bytes)?;
        let ecn = match header.traffic_class & 3 {
            0 => Ecn::NotCapable,
            1 => Ecn::L4s,
            2 => Ecn::Capable,
            _ => Ecn::Congested,
        };
        Some((self.class(&header), ecn))
    }
}

/// The flow of an IP packet for flow queueing: a hash of its addresses,
/// protocol and ports; packets that cannot be told apart are of one flow.
pub(super) fn flow_of(bytes: &[u8]) -> u32 {
    let protocol = match bytes.first().map(|byte| byte >> 4) {
        Some(4) => bytes.get(9),
        Some(6) => bytes.get(6),
        _ => None,
    };
    let ports = Header::parse(bytes)
        .and_then(|header| header.ports)
        .unwrap_or_default();
    let ports = ports.into_iter().flat_map(u16::to_be_bytes);
    let key = addresses_of(bytes).into_iter().flatten().chain(protocol);
    hash(key.copied().chain(ports))
}

/// The hosts that an IP packet comes from and goes to: a hash of each address.
pub(super) fn hosts_of(bytes: &[u8]) -> [u16; 2] {
    addresses_of(bytes).map(|address| {
        let hashed = hash(address.iter().copied());
        // Both halves together: the upper one alone hardly knows the last byte.
        (hashed >> 16) as u16 ^ hashed as u16
    })
}

/// Source and destination address of an IP packet; empty where there is none.
fn addresses_of(bytes: &[u8]) -> [&[u8]; 2] {
    let places = match bytes.first().map(|byte| byte >> 4) {
        Some(4) => [12..16, 16..20],
        Some(6) => [8..24, 24..40],
        _ => [0..0, 0..0],
    };
    match places.map(|place| bytes.get(place)) {
        [Some(source), Some(destination)] => [source, destination],
        _ => [&[], &[]],
    }
}

/// FNV-1a.
fn hash(bytes: impl Iterator<Item = u8>) -> u32 {
    bytes.fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193)
    })
}

/// Source and destination port of an IP packet; none if it has none, or they are not in it.
pub(super) fn ports_of(bytes: &[u8]) -> Option<[u16; 2]> {
    Header::parse(bytes)?.ports
}

/// Writes "congestion experienced" into an IP packet.
pub(super) fn mark_congested(bytes: &mut [u8]) {
    match bytes.first().map(|byte| byte >> 4) {
        Some(4) if bytes.len() >= IPV4_BYTES => {
            let before = u16::from_be_bytes([bytes[0], bytes[1]]);
            bytes[1] |= 3;
            let after = u16::from_be_bytes([bytes[0], bytes[1]]);
            let checksum = u16::from_be_bytes([bytes[10], bytes[11]]);
            // [RFC1624 eqn. 3] HC' = ~(~HC + ~m + m')
            let sum = u32::from(!checksum) + u32::from(!before) + u32::from(after);
            let folded = (sum & 0xffff) + (sum >> 16);
            let folded = (folded & 0xffff) + (folded >> 16);
            bytes[10..12].copy_from_slice(&(!(folded as u16)).to_be_bytes());
        }
        Some(6) if bytes.len() >= IPV6_BYTES => bytes[1] |= 3 << 4,
        _ => {}
    }
}

/// Of IPv4 without options.
pub(super) const IPV4_BYTES: usize = 20;
const IPV6_BYTES: usize = 40;
/// The protocol's number.
pub(super) const TCP: u8 = 6;
const UDP: u8 = 17;

struct Header {
    traffic_class: u8,
    ports: Option<[u16; 2]>,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        match bytes.first()? >> 4 {
            4 => Self::parse_ipv4(bytes),
            6 => Self::parse_ipv6(bytes),
            _ => None,
        }
    }

    fn parse_ipv4(bytes: &[u8]) -> Option<Self> {
        let header_bytes = usize::from(bytes[0] & 0xf) * 4;
        let is_multicast = bytes.get(16)? >> 4 == 0xe;
        if header_bytes < IPV4_BYTES || is_multicast {
            return None;
        }
        // Only the first fragment has the ports.
        let fragment_offset = u16::from_be_bytes([bytes[6], bytes[7]]) & 0x1fff;
        let ports = (fragment_offset == 0).then(|| ports(bytes[9], bytes.get(header_bytes..)?));
        Some(Self {
            traffic_class: bytes[1],
            ports: ports.flatten(),
        })
    }

    fn parse_ipv6(bytes: &[u8]) -> Option<Self> {
        let is_multicast = *bytes.get(24)? == 0xff;
        if is_multicast {
            return None;
        }
        let payload = bytes.get(IPV6_BYTES..)?;
        let traffic_class = bytes[0] << 4 | bytes[1] >> 4;
        Some(Self {
            traffic_class,
            ports: ports(bytes[6], payload),
        })
    }
}

fn ports(protocol: u8, transport: &[u8]) -> Option<[u16; 2]> {
    if protocol != TCP && protocol != UDP {
        return None;
    }
    let &[a, b, c, d] = transport.first_chunk()?;
    Some([u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d])])
}

#[cfg(test)]
mod tests {
    use super::super::checksum::ones_complement_sum;
    use super::*;

    /// A UDP packet from port 1000 to port 2000 with this traffic class.
    fn ipv4(traffic_class: u8) -> Vec<u8> {
        let mut bytes = vec![0x45, traffic_class, 0, 28, 0, 1, 0, 0, 64, UDP, 0, 0];
        bytes.extend([10, 77, 0, 1, 10, 77, 0, 2]);
        let checksum = !ones_complement_sum(&bytes);
        bytes[10..12].copy_from_slice(&checksum.to_be_bytes());
        bytes.extend([0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0]);
        bytes
    }

    fn ipv6(traffic_class: u8) -> Vec<u8> {
        let mut bytes = vec![
            0x60 | traffic_class >> 4,
            traffic_class << 4,
            0,
            0,
            0,
            8,
            TCP,
            64,
        ];
        bytes.extend([0xfd; 32]);
        bytes.extend([0x03, 0xe8, 0x07, 0xd0, 0, 8, 0, 0]);
        bytes
    }

    #[test]
    fn classifies_by_either_port() {
        let state = ClassifierState::new(Classifier::Ports);
        for port in [1000, 2000] {
            for packet in [ipv4(0), ipv6(0)] {
                assert_eq!(state.classify(&packet).unwrap().0, Class::BestEffort);
                state.ports.set(port, Class::LessThanBestEffort);
                assert_eq!(
                    state.classify(&packet).unwrap().0,
                    Class::LessThanBestEffort
                );
                state.ports.set(port, Class::BestEffort);
            }
        }
    }

    #[test]
    fn classifies_by_differentiated_services_field() {
        let state = ClassifierState::new(Classifier::Dscp(1));
        for (traffic_class, class) in [
            (0, Class::BestEffort),
            (1 << 2, Class::LessThanBestEffort),
            (0xb8, Class::BestEffort),
        ] {
            assert_eq!(state.classify(&ipv4(traffic_class)).unwrap().0, class);
            assert_eq!(state.classify(&ipv6(traffic_class)).unwrap().0, class);
        }
    }

    #[test]
    fn tells_flows_apart_by_addresses_protocol_and_ports_only() {
        for packet in [ipv4(0), ipv6(0)] {
            let protocol_at = if packet[0] >> 4 == 4 { 9 } else { 6 };
            let last = packet.len() - 8;
            let changed = |index: usize, value: u8| {
                let mut other = packet.clone();
                other[index] = value;
                flow_of(&other)
            };
            // Source address, destination port, protocol; then the length.
            assert_ne!(changed(12, 99), flow_of(&packet));
            assert_ne!(changed(last + 3, 99), flow_of(&packet));
            assert_ne!(changed(protocol_at, 132), flow_of(&packet));
            assert_eq!(changed(last + 4, 99), flow_of(&packet));
        }
        assert_eq!(flow_of(&[]), flow_of(&[0x20; 40]));
    }

    #[test]
    fn tells_hosts_apart_by_their_address_only() {
        for packet in [ipv4(0), ipv6(0)] {
            let [source, destination] = if packet[0] >> 4 == 4 {
                [15, 19]
            } else {
                [23, 39]
            };
            let before = hosts_of(&packet);
            let changed = |index: usize| {
                let mut other = packet.clone();
                other[index] ^= 1;
                let after = hosts_of(&other);
                [after[0] != before[0], after[1] != before[1]]
            };
            assert_eq!(changed(source), [true, false]);
            assert_eq!(changed(destination), [false, true]);
            assert_eq!(changed(packet.len() - 8), [false, false], "a port");
        }
        assert_eq!(hosts_of(&[]), hosts_of(&[0x45; 10]));
    }

    #[test]
    fn marks_congestion_and_keeps_the_checksum_right() {
        let state = ClassifierState::new(Classifier::Ports);
        for (traffic_class, ecn) in [(1, Ecn::L4s), (2, Ecn::Capable), (0xb9, Ecn::L4s)] {
            for mut packet in [ipv4(traffic_class), ipv6(traffic_class)] {
                assert_eq!(state.classify(&packet).unwrap().1, ecn);
                mark_congested(&mut packet);
                assert_eq!(state.classify(&packet).unwrap().1, Ecn::Congested);
                if packet[0] == 0x45 {
                    assert_eq!(ones_complement_sum(&packet[..20]), 0xffff);
                    assert_eq!(packet[1], traffic_class | 3);
                }
            }
        }
    }

    #[test]
    fn reads_and_marks_headers_as_etherparse_does() {
        use etherparse::{IpDscp, IpEcn, IpHeaders, Ipv4Header, Ipv6Header, PacketBuilder};
        for (dscp, ecn) in (0..64).flat_map(|dscp| (0..3).map(move |ecn| (dscp, ecn))) {
            let with_options = Ipv4Header {
                dscp: IpDscp::try_new(dscp).unwrap(),
                ecn: IpEcn::try_new(ecn).unwrap(),
                source: [10, 77, 0, 1],
                destination: [10, 77, 0, 2],
                options: [1, 1, 1, 0].into(),
                ..Ipv4Header::default()
            };
            let version_6 = Ipv6Header {
                traffic_class: dscp << 2 | ecn,
                source: [0xfd; 16],
                destination: [0xfd; 16],
                ..Ipv6Header::default()
            };
            for headers in [
                IpHeaders::Ipv4(with_options, Default::default()),
                IpHeaders::Ipv6(version_6, Default::default()),
            ] {
                let builder = PacketBuilder::ip(headers).tcp(1_000, 2_000, 7, 64);
                let mut bytes = Vec::new();
                builder.write(&mut bytes, &[0; 40]).unwrap();
                let header = Header::parse(&bytes).unwrap();
                assert_eq!(header.traffic_class, dscp << 2 | ecn);
                assert_eq!(header.ports, Some([1_000, 2_000]));
                mark_congested(&mut bytes);
                match IpHeaders::from_slice(&bytes).unwrap().0 {
                    IpHeaders::Ipv4(header, _) => {
                        assert_eq!((header.dscp.value(), header.ecn), (dscp, IpEcn::THREE));
                        assert_eq!(header.header_checksum, header.calc_header_checksum());
                    }
                    IpHeaders::Ipv6(header, _) => {
                        assert_eq!(header.traffic_class, dscp << 2 | 3);
                    }
                }
            }
        }
    }

    #[test]
    fn does_not_carry_multicast_and_broken_packets() {
        let state = ClassifierState::new(Classifier::Ports);
        let mut multicast = ipv4(0);
        multicast[16] = 224;
        let mut multicast_ipv6 = ipv6(0);
        multicast_ipv6[24] = 0xff;
        for packet in [
            multicast,
            multicast_ipv6,
            vec![],
            vec![0x45; 3],
            vec![0x20; 40],
        ] {
            assert_eq!(state.classify(&packet), None);
        }
    }
}
