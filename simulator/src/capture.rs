// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Simulated packets as a pcapng file, for Wireshark and its like.
//!
//! Each host is an interface and has an address of its own, `10.0.0.1` and on. Packets are
//! written whole but for their payload, which the simulator does not have: checksums are
//! those of a payload of zeros. Times are of the run, in nanoseconds.
#[cfg(test)]
mod byte_by_byte;
#[cfg(test)]
mod read_by_others;

use std::borrow::Cow;
use std::io::{self, Write};
use std::time::Duration;

use ebb_link::{Class, Ecn};
use ebb_scenario::{NodeId, NodeKind, Scenario};
use etherparse::{IpDscp, IpEcn, IpNumber, Ipv4Header, TcpHeader, TcpOptionElement, UdpHeader};
use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketBlock;
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption,
};
use pcap_file::{DataLink, PcapError};

use crate::{Datagram, End, Flags, Observer, PacketBody, PacketRecord, Point, Segment};

/// At which hosts packets are captured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Place {
    /// Where flows come from, as `tcpdump` at a server: what it sends, what reaches it.
    #[default]
    Senders,
    /// Where flows go to.
    Receivers,
    /// At both ends: each packet that arrives is there twice.
    Both,
}

/// Writes what it sees to a pcapng file.
pub struct Capture<W: Write> {
    writer: PcapNgWriter<W>,
    place: Place,
    flows: Vec<Ends>,
    /// Interface of each node; none: a router.
    interfaces: Vec<Option<u32>>,
    identification: u16,
    packets: u64,
    failure: Option<io::Error>,
}

/// The two hosts of a flow. *Shape:* by [`End::index`].
struct Ends {
    hosts: [NodeId; 2],
    class: Class,
}

/// Enough for the longest headers of IPv4 and TCP.
const SNAP_BYTES: u32 = 120;
const NANOSECONDS: u8 = 9;

impl<W: Write> Capture<W> {
    /// Starts a file with an interface for each host of the scenario.
    ///
    /// *Errors:* the file cannot be written.
    pub fn new(scenario: &Scenario, place: Place, out: W) -> io::Result<Self> {
        let mut writer = PcapNgWriter::new(out).map_err(io_error)?;
        let mut interfaces = Vec::with_capacity(scenario.nodes.len());
        let mut count = 0;
        for node in &scenario.nodes {
            let is_host = node.kind == NodeKind::Host;
            interfaces.push(is_host.then_some(count));
            if is_host {
                count += 1;
                writer
                    .write_pcapng_block(interface(&node.name))
                    .map_err(io_error)?;
            }
        }
        let ends = |flow: &ebb_scenario::Flow| Ends {
            hosts: [flow.from, flow.to],
            class: flow.class,
        };
        Ok(Self {
            writer,
            place,
            flows: scenario.flows.iter().map(ends).collect(),
            interfaces,
            identification: 0,
            packets: 0,
            failure: None,
        })
    }

    /// Ends the file and tells how many packets are in it.
    ///
    /// *Errors:* the first that occurred while packets were written.
    pub fn finish(mut self) -> io::Result<u64> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.writer.into_inner().flush().map(|()| self.packets),
        }
    }

    /// The host at which this is seen; none: it is not captured.
    fn seen_at(&self, record: &PacketRecord) -> Option<End> {
        let end = match record.point {
            Point::Sent => record.from,
            Point::Arrived => record.from.other(),
            Point::Lost => return None,
        };
        let is_captured = match self.place {
            Place::Senders => end == End::Source,
            Place::Receivers => end == End::Sink,
            Place::Both => true,
        };
        is_captured.then_some(end)
    }

    fn write(&mut self, record: &PacketRecord, end: End) -> io::Result<()> {
        let flow = &self.flows[record.flow];
        let host = flow.hosts[end.index()];
        let Some(interface_id) = self.interfaces[host.index()] else {
            return Ok(());
        };
        self.identification = self.identification.wrapping_add(1);
        let ip = ip_header(record, flow, self.identification);
        let (data, length) = headers(ip, record)?;
        let block = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from(record.at),
            original_len: length,
            data: Cow::Owned(data),
            options: Vec::new(),
        };
        self.writer.write_pcapng_block(block).map_err(io_error)?;
        self.packets += 1;
        Ok(())
    }
}

impl<W: Write> Observer for Capture<W> {
    fn on_packet(&mut self, record: &PacketRecord) {
        if self.failure.is_some() {
            return;
        }
        if let Some(end) = self.seen_at(record) {
            self.failure = self.write(record, end).err();
        }
    }
}

fn interface(name: &str) -> InterfaceDescriptionBlock<'static> {
    InterfaceDescriptionBlock {
        linktype: DataLink::IPV4,
        snaplen: SNAP_BYTES,
        options: vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name.to_owned())),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ],
    }
}

/// 10.0.0.1 is the first node.
fn address(node: NodeId) -> [u8; 4] {
    (0x0a00_0001 + (node.0 & 0x00ff_ffff)).to_be_bytes()
}

/// As RFC 8622 has it for less than best effort.
fn dscp(class: Class) -> IpDscp {
    match class {
        Class::BestEffort => IpDscp::ZERO,
        Class::LessThanBestEffort => IpDscp::try_new(1).unwrap_or(IpDscp::ZERO),
    }
}

fn ecn(ecn: Ecn) -> IpEcn {
    match ecn {
        Ecn::NotCapable => IpEcn::ZERO,
        Ecn::L4s => IpEcn::ONE,
        Ecn::Capable => IpEcn::TWO,
        Ecn::Congested => IpEcn::THREE,
    }
}

/// Source and destination: a port for each flow where its data comes from, one for each
/// connection where it goes to.
fn ports(record: &PacketRecord, connection: u64) -> [u16; 2] {
    let source = 5_001 + (record.flow % 25_000) as u16;
    let sink = 32_768 + (connection % 28_000) as u16;
    match record.from {
        End::Source => [source, sink],
        End::Sink => [sink, source],
    }
}

/// All that is known before the payload is.
fn ip_header(record: &PacketRecord, flow: &Ends, identification: u16) -> Ipv4Header {
    let address_of = |end: End| address(flow.hosts[end.index()]);
    Ipv4Header {
        identification,
        dont_fragment: true,
        time_to_live: 64,
        source: address_of(record.from),
        destination: address_of(record.from.other()),
        dscp: dscp(flow.class),
        ecn: ecn(record.ecn),
        ..Ipv4Header::default()
    }
}

/// All headers of a packet, and how long it is with its payload.
fn headers(mut ip: Ipv4Header, record: &PacketRecord) -> io::Result<(Vec<u8>, u32)> {
    let (header, payload_bytes) = match record.body {
        PacketBody::Tcp {
            connection,
            segment,
        } => {
            ip.protocol = IpNumber::TCP;
            let ports = ports(record, connection);
            (tcp_header(&ip, ports, &segment)?, segment.payload_bytes)
        }
        PacketBody::Udp(datagram) => {
            ip.protocol = IpNumber::UDP;
            let payload_bytes = datagram.payload_bytes() as u32;
            (udp_header(&ip, ports(record, 0), &datagram)?, payload_bytes)
        }
    };
    let length = Ipv4Header::MIN_LEN as u32 + header.len() as u32 + payload_bytes;
    // What is too long for the field is the work of segmentation offload, and Linux
    // writes zero then.
    ip.total_len = u16::try_from(length).unwrap_or(0);
    ip.header_checksum = ip.calc_header_checksum();
    let mut data = ip.to_bytes().to_vec();
    data.extend(header);
    Ok((data, length))
}

fn tcp_header(ip: &Ipv4Header, ports: [u16; 2], segment: &Segment) -> io::Result<Vec<u8>> {
    let mut header = TcpHeader::new(ports[0], ports[1], segment.seq, segment.window);
    let has = |flag| segment.flags.has(flag);
    header.syn = has(Flags::SYN);
    header.fin = has(Flags::FIN);
    header.rst = has(Flags::RST);
    header.psh = has(Flags::PSH);
    header.ack = has(Flags::ACK);
    header.ece = has(Flags::ECE);
    header.cwr = has(Flags::CWR);
    if header.ack {
        header.acknowledgment_number = segment.ack;
    }
    header
        .set_options(&options(segment))
        .map_err(io::Error::other)?;
    let payload = zeros(segment.payload_bytes);
    header.checksum = header
        .calc_checksum_ipv4_raw(ip.source, ip.destination, &payload)
        .unwrap_or(0);
    Ok(header.to_bytes().to_vec())
}

/// In the order in which Linux writes them.
fn options(segment: &Segment) -> Vec<TcpOptionElement> {
    use TcpOptionElement::{
        MaximumSegmentSize, Noop, SelectiveAcknowledgement, SelectiveAcknowledgementPermitted,
        Timestamp, WindowScale,
    };
    let mut options = Vec::new();
    let is_syn = segment.flags.has(Flags::SYN);
    if is_syn {
        options.push(MaximumSegmentSize(segment.syn.mss_bytes));
    }
    let is_permitted = is_syn && segment.syn.has_sack;
    match (is_permitted, segment.timestamps.is_some()) {
        (true, true) => options.push(SelectiveAcknowledgementPermitted),
        (true, false) => options.extend([Noop, Noop, SelectiveAcknowledgementPermitted]),
        (false, true) => options.extend([Noop, Noop]),
        (false, false) => {}
    }
    if let Some(timestamps) = segment.timestamps {
        options.push(Timestamp(timestamps.value, timestamps.echo));
    }
    if let Some(shift) = segment.syn.window_scale.filter(|_| is_syn) {
        options.extend([Noop, WindowScale(shift)]);
    }
    if let Some((first, rest)) = segment.sack.as_slice().split_first() {
        let mut others = [None; 3];
        for (place, block) in others.iter_mut().zip(rest) {
            *place = Some(*block);
        }
        options.extend([Noop, Noop, SelectiveAcknowledgement(*first, others)]);
    }
    options
}

fn udp_header(ip: &Ipv4Header, ports: [u16; 2], datagram: &Datagram) -> io::Result<Vec<u8>> {
    let payload = zeros(datagram.payload_bytes() as u32);
    UdpHeader::with_ipv4_checksum(ports[0], ports[1], ip, &payload)
        .map(|header| header.to_bytes().to_vec())
        .map_err(io::Error::other)
}

/// The payload that nobody has; only its length counts in a checksum.
fn zeros(bytes: u32) -> Cow<'static, [u8]> {
    static ZEROS: [u8; 65_536] = [0; 65_536];
    match ZEROS.get(..bytes as usize) {
        Some(zeros) => Cow::Borrowed(zeros),
        None => Cow::Owned(vec![0; bytes as usize]),
    }
}

fn io_error(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
