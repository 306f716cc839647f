// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A gateway on a cable of its own, and packets of connections that pass it.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::net::{IpAddr, Ipv4Addr};

use ebb_algorithms::Policy;
use ebb_gateway::{Gateway, Interface, Options, Rule};
use etherparse::{
    Ethernet2HeaderSlice, IpHeaders, PacketBuilder, PacketHeaders, TcpOptionElement,
    TransportHeader,
};
use libbpf_rs::MapHandle;
use libbpf_rs::query::{ProgInfoIter, ProgInfoQueryOptions};
use namespace::Namespace;

pub mod namespace;

/// The client's scale, and the other end's.
pub const SCALE: u8 = 7;
pub const MSS: u16 = 1460;
pub const PORT: u16 = 443;

/// A gateway on an interface of a network namespace that only this thread is in.
pub fn gateway(rules: &[Rule], connections: u32) -> Gateway {
    gateway_by("ebb".parse().unwrap(), rules, connections)
}

/// The same by another law.
pub fn gateway_by(policy: Policy, rules: &[Rule], connections: u32) -> Gateway {
    let namespace = Namespace::create();
    namespace.enter();
    namespace.ip("link add lan0 type veth peer name far0\n");
    let options = Options {
        interfaces: vec![Interface::of("lan0").unwrap()],
        policy,
        is_observing: false,
        hook: None,
        connections,
        is_patient: false,
    };
    Gateway::start(&options, rules).unwrap()
}

/// Those that its programs use.
pub fn tables(gateway: &Gateway) -> Vec<MapHandle> {
    let [program, _] = gateway.program_numbers().unwrap();
    let options = ProgInfoQueryOptions::default().include_map_ids(true);
    let mut programs = ProgInfoIter::with_query_opts(options);
    let found = programs.find(|info| info.id == program).unwrap();
    let tables = found.map_ids.iter().map(|&id| MapHandle::from_map_id(id));
    tables.map(Result::unwrap).collect()
}

/// What is for everything.
pub fn everything() -> Rule {
    Rule {
        is_background: true,
        ..Rule::default()
    }
}

/// A segment between a client and another end.
#[derive(Debug, Clone)]
pub struct Segment {
    pub is_from_client: bool,
    pub client: IpAddr,
    pub remote: IpAddr,
    pub client_port: u16,
    pub seq: u32,
    pub ack: u32,
    pub window: u16,
    pub is_syn: bool,
    pub is_ack: bool,
    pub is_rst: bool,
    pub payload: usize,
    /// Tags of VLANs: the outer one, if there are two, and the inner one.
    pub tags: [Option<u16>; 2],
    /// The differentiated services byte.
    pub traffic_class: u8,
}

impl Segment {
    pub fn of(client_port: u16) -> Self {
        Self {
            is_from_client: true,
            client: Ipv4Addr::new(192, 168, 7, 10).into(),
            remote: Ipv4Addr::new(198, 51, 100, 7).into(),
            client_port,
            seq: 1000,
            ack: 5000,
            window: 502,
            is_syn: false,
            is_ack: true,
            is_rst: false,
            payload: 0,
            tags: [None; 2],
            traffic_class: 0,
        }
    }

    /// The frame, with right checksums.
    pub fn frame(&self) -> Vec<u8> {
        let (source, destination) = match self.is_from_client {
            true => (self.client, self.remote),
            false => (self.remote, self.client),
        };
        let ports = match self.is_from_client {
            true => (self.client_port, PORT),
            false => (PORT, self.client_port),
        };
        let (of_client, of_router) = ([2, 0, 0, 0, 0, 1], [2, 0, 0, 0, 0, 2]);
        let ethernet = match self.is_from_client {
            true => PacketBuilder::ethernet2(of_client, of_router),
            false => PacketBuilder::ethernet2(of_router, of_client),
        };
        let address = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                let (from, to) = (source.octets(), destination.octets());
                let header =
                    etherparse::Ipv4Header::new(0, 64, etherparse::IpNumber::TCP, from, to);
                let mut header = header.unwrap();
                header.dscp = etherparse::IpDscp::try_new(self.traffic_class >> 2).unwrap();
                IpHeaders::Ipv4(header, Default::default())
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => IpHeaders::Ipv6(
                etherparse::Ipv6Header {
                    next_header: etherparse::IpNumber::TCP,
                    hop_limit: 64,
                    traffic_class: self.traffic_class,
                    source: source.octets(),
                    destination: destination.octets(),
                    ..Default::default()
                },
                Default::default(),
            ),
            _ => unreachable!("both ends are of one kind"),
        };
        let vlan = |tag| etherparse::VlanId::try_new(tag).unwrap();
        let builder = match self.tags {
            [Some(outer), Some(inner)] => {
                ethernet.double_vlan(vlan(outer), vlan(inner)).ip(address)
            }
            [None, Some(tag)] => ethernet.single_vlan(vlan(tag)).ip(address),
            _ => ethernet.ip(address),
        };
        let mut builder = builder.tcp(ports.0, ports.1, self.seq, self.window);
        if self.is_syn {
            builder = builder.syn();
        }
        if self.is_ack {
            builder = builder.ack(self.ack);
        }
        if self.is_rst {
            builder = builder.rst();
        }
        let mut options = vec![TcpOptionElement::Timestamp(77, 99)];
        if self.is_syn {
            options.push(TcpOptionElement::MaximumSegmentSize(MSS));
            options.push(TcpOptionElement::WindowScale(SCALE));
        }
        let builder = builder.options(&options).unwrap();
        let mut frame = Vec::new();
        builder.write(&mut frame, &vec![7; self.payload]).unwrap();
        frame
    }

    /// Passes the gateway; answers what is left of it.
    pub fn pass(&self, gateway: &Gateway) -> Vec<u8> {
        let tried = gateway.try_packet(self.is_from_client, &self.frame(), 1);
        let tried = tried.unwrap();
        assert_eq!(tried.answer, -1, "it leaves packets to others");
        tried.packet
    }
}

/// Has a connection begin.
pub fn shake_hands(gateway: &Gateway, segment: &Segment) {
    let syn = Segment {
        is_syn: true,
        is_ack: false,
        seq: segment.seq.wrapping_sub(1),
        ..segment.clone()
    };
    assert_eq!(syn.pass(gateway), syn.frame());
    let answer = Segment {
        is_from_client: false,
        is_syn: true,
        seq: segment.ack.wrapping_sub(1),
        ack: segment.seq,
        ..segment.clone()
    };
    assert_eq!(answer.pass(gateway), answer.frame());
}

/// The client acknowledges data that has passed; answers the window that is left.
pub fn receive(gateway: &Gateway, segment: &mut Segment, bytes: usize) -> u16 {
    gateway.renew();
    let data = Segment {
        is_from_client: false,
        seq: segment.ack,
        ack: segment.seq,
        payload: bytes,
        ..segment.clone()
    };
    assert_eq!(data.pass(gateway), data.frame(), "data leaves as it came");
    segment.ack = segment.ack.wrapping_add(bytes as u32);
    window(&segment.pass(gateway))
}

/// The window of a frame, whose checksum must be right.
pub fn window(frame: &[u8]) -> u16 {
    let headers = PacketHeaders::from_ethernet_slice(frame).unwrap();
    let Some(TransportHeader::Tcp(tcp)) = &headers.transport else {
        panic!("{headers:?}");
    };
    let payload = headers.payload.slice();
    let sum = match headers.net.as_ref().unwrap() {
        etherparse::NetHeaders::Ipv4(ip, _) => tcp.calc_checksum_ipv4(ip, payload),
        etherparse::NetHeaders::Ipv6(ip, _) => tcp.calc_checksum_ipv6(ip, payload),
        other => panic!("{other:?}"),
    };
    assert_eq!(tcp.checksum, sum.unwrap());
    let _ = Ethernet2HeaderSlice::from_slice(frame).unwrap();
    tcp.window_size
}
