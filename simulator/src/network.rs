// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network: links, and packets that move from one to the next.

use ebb_link::{Class, Ecn, Link, Nanos, Packet, QueueSpec};
use ebb_scenario::Seeds;

use crate::Error;
use crate::endpoints::Endpoints;
use crate::flows::FlowState;
use crate::meter::{ByInterval, Clock};
use crate::observer::{PacketBody, PacketRecord, Point};
use crate::parcel::{Body, Parcel, Pool};
use crate::schedule::{Alarm, Entity, Schedule};

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
    pub(crate) pool: Pool,
    /// What links dropped in this event.
    pub(crate) lost: Vec<Packet<Parcel>>,
    pub(crate) clock: Clock,
    pub(crate) seeds: Seeds,
    /// What an observer has not yet been told; `None` without an observer.
    pub(crate) observed: Option<Vec<PacketRecord>>,
    pub(crate) events: u64,
    /// Why the run cannot go on.
    pub(crate) failure: Option<Error>,
}

/// A link, and what the network keeps about it.
/// Begins with a line of the cache, and with what every packet needs.
#[repr(C, align(64))]
pub(crate) struct Port {
    pub(crate) alarm: Alarm,
    /// Present if the link is reported.
    pub(crate) meter: Option<Box<PortMeter>>,
    pub(crate) link: Link<Parcel>,
}

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
    pub(crate) fn new(mut link: Link<Parcel>, queue: &QueueSpec, intervals: Option<usize>) -> Self {
        link.keep_dropped();
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
    /// Puts a packet on its way.
    #[inline]
    pub(crate) fn send(&mut self, origin: Origin, size_bytes: u32, ecn: Ecn, body: Box<Body>) {
        let hop = origin.route;
        let packet = Packet {
            size_bytes,
            class: origin.class,
            ecn,
            flow: origin.flow,
            hosts: origin.hosts,
            payload: Parcel { hop, body },
        };
        if self.observed.is_some() {
            self.observe(Point::Sent, &packet);
        }
        self.enqueue(self.hops[hop as usize], packet);
    }

    /// Gives a packet to a link.
    #[inline]
    pub(crate) fn enqueue(&mut self, place: u32, packet: Packet<Parcel>) {
        let port = &mut self.ports[place as usize];
        if let Err(rejected) = port.link.enqueue(self.now, packet) {
            self.lost.push(rejected.0);
        }
        port.meter_queue();
        arm(port, place, &mut self.schedule, &mut self.lost);
    }

    /// Sees to it that a link is woken when it has something to deliver.
    #[inline]
    pub(crate) fn arm(&mut self, place: u32) {
        let port = &mut self.ports[place as usize];
        arm(port, place, &mut self.schedule, &mut self.lost);
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
    pub(crate) fn observe(&mut self, point: Point, packet: &Packet<Parcel>) {
        let (from, body) = match *packet.payload.body {
            Body::Datagram(datagram) => (datagram.from, PacketBody::Udp(datagram)),
            Body::Segment {
                endpoint,
                segment,
                generation,
            } => (
                Endpoints::end_of(endpoint).other(),
                PacketBody::Tcp {
                    connection: generation,
                    segment,
                },
            ),
        };
        let record = PacketRecord {
            at: self.now,
            point,
            flow: packet.flow as usize,
            from,
            size_bytes: packet.size_bytes,
            ecn: packet.ecn,
            body,
        };
        self.observed.get_or_insert_default().push(record);
    }
}

#[inline(always)]
fn arm(port: &mut Port, place: u32, schedule: &mut Schedule, lost: &mut Vec<Packet<Parcel>>) {
    while let Some(dropped) = port.link.next_dropped() {
        lost.push(dropped.packet);
    }
    if let Some(deadline) = port.link.next_deadline() {
        port.alarm.at(deadline, Entity::Link(place), schedule);
    }
}
