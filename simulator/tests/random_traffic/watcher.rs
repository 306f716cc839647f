// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sees every packet and knows only TCP's header: what must hold for any sender, receiver,
//! law and network.

use std::collections::{BTreeMap, HashMap};

use ebb_link::Nanos;
use ebb_simulator::{End, Flags, Observer, PacketBody, PacketRecord, Point, Segment};

/// What is known of one end of a connection from its packets. Bytes are counted from its
/// SYN, which is 0.
#[derive(Default)]
struct Half {
    initial_seq: u32,
    /// Of its windows, if its SYN has the option.
    scale: Option<u8>,
    /// First byte that it has never sent.
    sent_end: u64,
    /// It has sent so much payload, each byte counted once.
    payload_end: u64,
    is_closed: bool,
    /// What of it has arrived at the other end: a prefix, and ranges beyond it.
    arrived: u64,
    beyond: BTreeMap<u64, u64>,
    /// Largest acknowledgement and right edge that it has sent, of the other end's bytes.
    acked: u64,
    edge: u64,
    /// The right edge that it has heard of, of its own bytes.
    heard_edge: u64,
}

/// How many packets were seen, by [`Point`].
#[derive(Default)]
struct Count {
    sent: u64,
    arrived: u64,
    lost: u64,
}

pub struct Watcher {
    last_at: Nanos,
    counts: Vec<Count>,
    connections: HashMap<(usize, u64), [Half; 2]>,
}

impl Watcher {
    pub fn new(flows: usize) -> Self {
        Self {
            last_at: Nanos::ZERO,
            counts: (0..flows).map(|_| Count::default()).collect(),
            connections: HashMap::new(),
        }
    }

    /// What was sent has arrived or is lost.
    pub fn check_conservation(&self, flow: usize, does_double: bool) {
        let Count {
            sent,
            arrived,
            lost,
        } = self.counts[flow];
        if does_double {
            assert!(arrived + lost >= sent, "{sent} {arrived} {lost}");
        } else {
            assert_eq!(sent, arrived + lost);
        }
    }

    /// All that was ever sent has arrived. *Returns:* bytes from source to sink.
    pub fn check_streams(&self, flow: usize) -> u64 {
        let of_flow =
            |((number, _), halves): (&(usize, u64), _)| (*number == flow).then_some(halves);
        let mut bytes = 0;
        for halves in self.connections.iter().filter_map(of_flow) {
            let halves: &[Half; 2] = halves;
            for half in halves {
                assert_eq!(half.arrived, half.sent_end, "bytes are missing at the end");
            }
            bytes += halves[End::Source as usize].payload_end;
        }
        bytes
    }

    fn on_sent(halves: &mut [Half; 2], from: usize, segment: &Segment) {
        let [own, other] = if from == 0 {
            let [own, other] = halves;
            [own, other]
        } else {
            let [other, own] = halves;
            [own, other]
        };
        let is_syn = segment.flags.has(Flags::SYN);
        if is_syn {
            own.initial_seq = segment.seq;
            own.scale = segment.syn.window_scale;
        }
        let start = u64::from(segment.seq.wrapping_sub(own.initial_seq));
        let end = u64::from(segment.end_seq().wrapping_sub(own.initial_seq));
        let takes_room = end > start;
        if takes_room {
            assert!(start <= own.sent_end, "bytes were left out");
            let payload_end = end - u64::from(segment.flags.has(Flags::FIN));
            assert!(
                is_syn || payload_end <= own.heard_edge,
                "more than the window was sent"
            );
            assert!(
                !own.is_closed || end <= own.sent_end,
                "sent after the end of the stream"
            );
            own.is_closed |= segment.flags.has(Flags::FIN);
            own.sent_end = own.sent_end.max(end);
            own.payload_end = own.payload_end.max(payload_end.saturating_sub(1));
        }
        if segment.flags.has(Flags::ACK) {
            let ack = u64::from(segment.ack.wrapping_sub(other.initial_seq));
            assert!(
                ack <= other.arrived,
                "acknowledged what has not come: {ack} of {}",
                other.arrived
            );
            assert!(ack >= own.acked, "an acknowledgement went back");
            own.acked = ack;
            let scale = scale_of(segment, own.scale, other.scale);
            let edge = ack + (u64::from(segment.window) << scale);
            assert!(edge >= own.edge, "the right edge moved back");
            own.edge = edge;
        }
    }

    fn on_arrived(halves: &mut [Half; 2], from: usize, segment: &Segment) {
        let (initial_seq, scale) = {
            let own = &halves[from];
            (own.initial_seq, own.scale)
        };
        let other = &mut halves[1 - from];
        if segment.flags.has(Flags::ACK) {
            let scale = scale_of(segment, scale, other.scale);
            let ack = u64::from(segment.ack.wrapping_sub(other.initial_seq));
            let edge = ack + (u64::from(segment.window) << scale);
            other.heard_edge = other.heard_edge.max(edge);
        }
        let own = &mut halves[from];
        let start = u64::from(segment.seq.wrapping_sub(initial_seq));
        let end = u64::from(segment.end_seq().wrapping_sub(initial_seq));
        if end > start && start < 1 << 31 {
            let known = own.beyond.entry(start).or_insert(end);
            *known = end.max(*known);
        }
        while let Some(first) = own.beyond.first_entry() {
            if *first.key() > own.arrived {
                break;
            }
            own.arrived = own.arrived.max(first.remove());
        }
    }
}

/// RFC 7323: windows are scaled if both SYNs say so, but never on a SYN.
fn scale_of(segment: &Segment, own: Option<u8>, other: Option<u8>) -> u8 {
    match (own, other) {
        (Some(own), Some(_)) if !segment.flags.has(Flags::SYN) => own,
        _ => 0,
    }
}

impl Observer for Watcher {
    fn on_packet(&mut self, record: &PacketRecord) {
        assert!(record.at >= self.last_at, "time runs back");
        self.last_at = record.at;
        let count = &mut self.counts[record.flow];
        match record.point {
            Point::Sent => count.sent += 1,
            Point::Arrived => count.arrived += 1,
            Point::Lost => count.lost += 1,
        }
        let PacketBody::Tcp {
            connection,
            segment,
        } = &record.body
        else {
            return;
        };
        let size = 40 + segment.option_bytes() + segment.payload_bytes;
        assert_eq!(record.size_bytes, size, "headers, options, payload");
        let halves = self.connections.entry((record.flow, *connection));
        let halves = halves.or_default();
        match record.point {
            Point::Sent => Self::on_sent(halves, record.from as usize, segment),
            Point::Arrived => Self::on_arrived(halves, record.from as usize, segment),
            Point::Lost => {}
        }
    }
}
