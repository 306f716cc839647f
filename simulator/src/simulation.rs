// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loop: links, endpoints and flows, woken in order of time.

use ebb_link::{Ecn, Nanos, PacketId};

use crate::application::{Application, End};
use crate::network::{ARRIVED, Network};
use crate::observer::{Observer, Point};
use crate::parcel::Body;
use crate::schedule::Entity;
use crate::{Error, Host};

/// So many events at one instant are no progress: packets run around in no time.
const MAX_EVENTS_AT_ONCE: u64 = 10_000_000;

/// The network and the applications, one for each flow.
pub(crate) struct Simulation<'a> {
    pub(crate) network: Network,
    pub(crate) applications: Vec<Box<dyn Application>>,
    pub(crate) observer: Option<&'a mut dyn Observer>,
}

impl Simulation<'_> {
    /// Runs until `end`, this instant included; `read` is called when meters are to be
    /// read.
    #[inline(never)]
    pub(crate) fn run_until(
        &mut self,
        end: Nanos,
        mut read: impl FnMut(&mut Network),
    ) -> Result<(), Error> {
        let mut events_before = 0;
        while let Some((at, entity)) = self.network.schedule.take(end) {
            let network = &mut self.network;
            assert!(at >= network.now, "time runs back");
            if at != network.now {
                events_before = network.events;
                network.now = at;
            }
            if network.events - events_before > MAX_EVENTS_AT_ONCE {
                return Err(Error::NoProgress { at });
            }
            match entity {
                Entity::Link(place) => self.wake_link(place),
                Entity::Endpoint(place) => {
                    network.events += 1;
                    self.wake_endpoint(place);
                }
                Entity::Flow(place) => {
                    network.events += 1;
                    self.wake_flow(place);
                }
                Entity::Sampler => {
                    self.settle_links();
                    read(&mut self.network);
                    self.network.set_next_reading();
                }
            }
            self.finish_event();
            if self.network.failure.is_some() {
                break;
            }
        }
        self.network.now = end;
        self.network.failure.take().map_or(Ok(()), Err)
    }

    /// Lets the application of a flow act.
    pub(crate) fn tell(
        &mut self,
        flow: u32,
        act: impl FnOnce(&mut dyn Application, &mut Host<'_>),
    ) {
        let application = &mut self.applications[flow as usize];
        let mut host = Host::new(&mut self.network, flow);
        act(application.as_mut(), &mut host);
    }

    fn wake_link(&mut self, place: u32) {
        let network = &mut self.network;
        let alarm = &mut network.ports[place as usize].alarm;
        if alarm.went_off(network.now) {
            self.drain(place);
        }
    }

    /// Passes on what is due at a link.
    fn drain(&mut self, place: u32) {
        let now = self.network.now;
        loop {
            let network = &mut self.network;
            let link = &mut network.ports[place as usize].link;
            // What was due may have been lost on the wire just now: that is no end.
            if let Some(id) = link.poll(now, &mut network.packets) {
                self.pass_on(place, id);
            }
            let network = &mut self.network;
            let port = &mut network.ports[place as usize];
            if port.link.next_deadline().is_none_or(|due| due > now) {
                port.bury(&mut network.packets, &mut network.lost);
                port.arm(place, &mut network.schedule);
                break;
            }
        }
    }

    #[inline]
    fn pass_on(&mut self, place: u32, id: PacketId) {
        let network = &mut self.network;
        network.events += 1;
        if let Some(meter) = &mut network.ports[place as usize].meter {
            let waited = network.packets.waited(id);
            meter.waited.add(network.clock.open(), waited);
        }
        let hop = &mut network.packets.get_mut(id).payload.hop;
        *hop += 1;
        match network.hops[*hop as usize] {
            ARRIVED => self.arrive(id),
            next => network.enqueue(next, id),
        }
    }

    fn arrive(&mut self, id: PacketId) {
        let network = &mut self.network;
        if network.observed.is_some() {
            network.observe(Point::Arrived, id);
        }
        let packet = network.packets.get(id);
        let flow = packet.flow;
        let parcel = packet.payload;
        match parcel.body {
            Body::Segment(segment) => {
                let is_ce = packet.ecn == Ecn::Congested;
                // Its place is free for what answers it.
                network.packets.free(id);
                self.receive(parcel.endpoint, parcel.generation, &segment, is_ce);
            }
            Body::Datagram(datagram) => {
                network.packets.free(id);
                if datagram.from == End::Source {
                    let flow = &mut network.flows[flow as usize];
                    flow.meter.counters.delivered_bytes += datagram.payload_bytes();
                }
                self.tell(flow, |application, host| {
                    application.on_datagram(&datagram, host);
                });
            }
        }
    }

    /// Tells applications and meters of what links dropped, and the observer of all.
    #[inline]
    fn finish_event(&mut self) {
        self.tell_consequences();
        while let Some(id) = self.network.lost.pop() {
            self.bury(id);
        }
        if let Some(observed) = &mut self.network.observed
            && let Some(observer) = &mut self.observer
        {
            for record in observed.drain(..) {
                observer.on_packet(&record);
            }
        }
    }

    #[cold]
    fn bury(&mut self, id: PacketId) {
        let network = &mut self.network;
        if network.observed.is_some() {
            network.observe(Point::Lost, id);
        }
        let packet = network.packets.get(id);
        let (flow, parcel) = (packet.flow, packet.payload);
        network.packets.free(id);
        if parcel.sent_from() == End::Source {
            let flow = &mut network.flows[flow as usize];
            flow.meter.counters.lost_pkts += 1;
        }
        if let Body::Datagram(datagram) = parcel.body {
            self.tell(flow, |application, host| {
                application.on_datagram_lost(&datagram, host);
            });
        }
    }

    /// Brings links up to date for a reading: they work only when they are asked.
    #[inline(never)]
    fn settle_links(&mut self) {
        for place in 0..self.network.ports.len() {
            if self.network.ports[place].meter.is_some() {
                self.drain(place as u32);
            }
        }
    }
}
