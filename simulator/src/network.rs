// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network: links, and packets that move from one to the next.

use ebb_link::{Class, Ecn, Hop, Nanos, Packet, PacketId, Packets, QueueSpec};
use ebb_scenario::Seeds;

use crate::Error;
use crate::application::Datagram;
use crate::endpoints::Endpoints;
use crate::flows::FlowState;
use crate::meter::{ByInterval, Clock};
use crate::observer::{PacketBody, PacketRecord, Point};
use crate::parcel::{Body, Parcel};
use crate::schedule::{Alarm, Entity, Schedule};
use crate::segment::Segment;

/// In the list of routes: the packet has arrived.
pub(crate) const ARRIVED: u32 = u32::MAX;

/// The network, without the applications that act on it.
pub(crate) struct Network {
    pub(crate) now: Nanos,
    pub(crate) schedule: Schedule,
    pub(crate) ports: Vec<Port>,
    /// All routes one after the other: places of links, then [`ARRIVED`].
    pub(crate) hops: Vec<u32>,
    pub(crate) flows: Vec<FlowState>,
    pub(crate) endpoints: Endpoints,
    /// All that are on a link.
    pub(crate) packets: Packets<Parcel>,
    /// What links dropped in this event.
    pub(crate) lost: Vec<PacketId>,
    pub(crate) clock: Clock,
    pub(crate) seeds: Seeds,
    /// What an observer has not yet been told; `None` without an observer.
    pub(crate) observed: Option<Vec<PacketRecord>>,
    pub(crate) events: u64,
    /// Why the run cannot go on.
    pub(crate) failure: Option<Error>,
}

/// A link, and what the network keeps about it: two lines of the cache for every packet, and
/// one for those that wait.
#[repr(C, align(64))]
pub(crate) struct Port {
    pub(crate) alarm: Alarm,
    /// Present if the link is reported.
    pub(crate) meter: Option<Box<PortMeter>>,
    pub(crate) link: Hop,
}

const _: () = assert!(size_of::<Port>() == 3 * 64);

/// What is measured at a link beyond its own statistics.
pub(crate) struct PortMeter {
    /// Waiting in the queue.
    pub(crate) waited: ByInterval,
    /// Each class has a queue of its own.
    is_split: bool,
    /// Most that waited since the last reading.
    max_queue_pkts: u64,
    max_queue_bytes: u64,
}

impl Port {
    /// A link that is reported in so many intervals, if it is.
    pub(crate) fn new(mut link: Hop, queue: &QueueSpec, intervals: Option<usize>) -> Self {
        link.keep_dropped();
        if intervals.is_none() {
            link.stop_counting();
        }
        let meter = intervals.map(|intervals| {
            Box::new(PortMeter {
                waited: ByInterval::new(intervals),
                is_split: matches!(queue, QueueSpec::StrictPriority { .. }),
                max_queue_pkts: 0,
                max_queue_bytes: 0,
            })
        });
        Self {
            link,
            alarm: Alarm::default(),
            meter,
        }
    }

    /// Packets and bytes that wait.
    pub(crate) fn queue(&self) -> (u64, u64) {
        let is_split = self.meter.as_ref().is_some_and(|meter| meter.is_split);
        let others_bytes = if is_split {
            self.link.queue_bytes(Class::LessThanBestEffort)
        } else {
            0
        };
        let bytes = self.link.queue_bytes(Class::BestEffort) + others_bytes;
        (self.link.queue_pkts() as u64, bytes)
    }

    /// The most packets and bytes that waited since this was asked last.
    pub(crate) fn take_max_queue(&mut self) -> (u64, u64) {
        let (pkts, bytes) = self.queue();
        let Some(meter) = &mut self.meter else {
            return (0, 0);
        };
        (
            std::mem::replace(&mut meter.max_queue_pkts, pkts),
            std::mem::replace(&mut meter.max_queue_bytes, bytes),
        )
    }

    /// Sees to it that the link is woken when it has something to deliver.
    #[inline]
    pub(crate) fn arm(&mut self, place: u32, schedule: &mut Schedule) {
        if let Some(deadline) = self.link.next_deadline() {
            self.alarm.at(deadline, Entity::Link(place), schedule);
        }
    }

    /// Adds what the link dropped from inside to what was lost.
    #[inline]
    pub(crate) fn bury(&mut self, packets: &mut Packets<Parcel>, lost: &mut Vec<PacketId>) {
        while let Some(dropped) = self.link.next_dropped(packets) {
            lost.push(dropped.packet.payload);
        }
    }

    #[inline]
    fn meter_queue(&mut self) {
        if self.meter.is_none() {
            return;
        }
        let (pkts, bytes) = self.queue();
        if let Some(meter) = &mut self.meter {
            meter.max_queue_pkts = meter.max_queue_pkts.max(pkts);
            meter.max_queue_bytes = meter.max_queue_bytes.max(bytes);
        }
    }
}

/// What all packets have in common that an end of a flow sends.
#[derive(Clone, Copy)]
pub(crate) struct Origin {
    pub(crate) flow: u32,
    /// Where their way starts in the list of hops.
    pub(crate) route: u32,
    /// The hosts that they come from and go to.
    pub(crate) hosts: [u16; 2],
    pub(crate) class: Class,
}

impl Network {
    /// Puts a segment on its way to an endpoint.
    #[inline]
    pub(crate) fn send_segment(
        &mut self,
        origin: Origin,
        endpoint: u32,
        generation: u64,
        segment: &Segment,
    ) {
        let (id, packet) = self.packets.claim();
        packet.size_bytes = segment.size_bytes;
        packet.class = origin.class;
        packet.ecn = segment.ecn;
        packet.flow = origin.flow;
        packet.hosts = origin.hosts;
        packet.payload.generation = generation;
        packet.payload.endpoint = endpoint;
        packet.payload.hop = origin.route;
        packet.payload.body.assign_segment(segment);
        self.send(id, origin.route);
    }

    /// Puts a datagram on its way.
    pub(crate) fn send_datagram(&mut self, origin: Origin, datagram: Datagram) {
        let (id, packet) = self.packets.claim();
        *packet = Packet {
            size_bytes: datagram.packet_bytes,
            class: origin.class,
            ecn: Ecn::NotCapable,
            flow: origin.flow,
            hosts: origin.hosts,
            payload: Parcel {
                hop: origin.route,
                body: Body::Datagram(datagram),
                ..Parcel::default()
            },
        };
        self.send(id, origin.route);
    }

    #[inline]
    fn send(&mut self, id: PacketId, hop: u32) {
        if self.observed.is_some() {
            self.observe(Point::Sent, id);
        }
        self.enqueue(self.hops[hop as usize], id);
    }

    /// Gives a packet to a link.
    #[inline]
    pub(crate) fn enqueue(&mut self, place: u32, id: PacketId) {
        let port = &mut self.ports[place as usize];
        if let Err(rejected) = port.link.enqueue(self.now, &mut self.packets, id) {
            self.lost.push(rejected);
        }
        port.meter_queue();
        port.bury(&mut self.packets, &mut self.lost);
        port.arm(place, &mut self.schedule);
    }

    /// Chooses the next time at which meters are read.
    pub(crate) fn set_next_reading(&mut self) {
        if self.clock.is_at_border() {
            self.count_all_rtts();
        }
        self.clock.advance();
        if let Some(at) = self.clock.next_reading() {
            self.schedule.set(at, Entity::Sampler);
        }
    }

    #[cold]
    pub(crate) fn observe(&mut self, point: Point, id: PacketId) {
        let packet = self.packets.get(id);
        let parcel = &packet.payload;
        let body = match parcel.body {
            Body::Datagram(datagram) => PacketBody::Udp(datagram),
            Body::Segment(segment) => PacketBody::Tcp {
                connection: parcel.generation,
                segment,
            },
        };
        let record = PacketRecord {
            at: self.now,
            point,
            flow: packet.flow as usize,
            from: parcel.sent_from(),
            size_bytes: packet.size_bytes,
            ecn: packet.ecn,
            body,
        };
        self.observed.get_or_insert_default().push(record);
    }
}
