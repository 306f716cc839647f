// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The loop: links, endpoints and flows, woken in order of time.

use ebb_link::{Delivery, Nanos, Packet};

use crate::application::{Application, End};
use crate::network::{ARRIVED, Network};
use crate::observer::{Observer, Point};
use crate::parcel::{Body, Parcel};
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
            let link = &mut self.network.ports[place as usize].link;
            // What was due may have been lost on the wire just now: that is no end.
            if let Some(delivery) = link.poll(now) {
                self.pass_on(place, delivery);
            }
            let link = &self.network.ports[place as usize].link;
            if link.next_deadline().is_none_or(|due| due > now) {
                break;
            }
        }
        self.network.arm(place);
    }

    #[inline]
    fn pass_on(&mut self, place: u32, delivery: Delivery<Parcel>) {
        let network = &mut self.network;
        network.events += 1;
        let waited = delivery.waited();
        if let Some(meter) = &mut network.ports[place as usize].meter {
            meter.waited.add(network.clock.open(), waited);
        }
        let mut packet = delivery.packet;
        packet.payload.hop += 1;
        match network.hops[packet.payload.hop as usize] {
            ARRIVED => self.arrive(packet),
            next => network.enqueue(next, packet),
        }
    }

    fn arrive(&mut self, packet: Packet<Parcel>) {
        let network = &mut self.network;
        if network.observed.is_some() {
            network.observe(Point::Arrived, &packet);
        }
        let body = packet.payload.body;
        match *body {
            Body::Segment {
                endpoint,
                generation,
                ref segment,
            } => self.receive(endpoint, generation, segment, packet.ecn),
            Body::Datagram(datagram) => {
                if datagram.from == End::Source {
                    let flow = &mut network.flows[packet.flow as usize];
                    flow.meter.counters.delivered_bytes += datagram.payload_bytes();
                }
                self.tell(packet.flow, |application, host| {
                    application.on_datagram(&datagram, host);
                });
            }
        }
        self.network.pool.free(body);
    }

    /// Tells applications and meters of what links dropped, and the observer of all.
    #[inline]
    fn finish_event(&mut self) {
        self.tell_consequences();
        while let Some(packet) = self.network.lost.pop() {
            self.bury(packet);
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
    fn bury(&mut self, packet: Packet<Parcel>) {
        let network = &mut self.network;
        if network.observed.is_some() {
            network.observe(Point::Lost, &packet);
        }
        let body = *packet.payload.body;
        network.pool.free(packet.payload.body);
        if body.is_on_the_way_of_the_data() {
            let flow = &mut network.flows[packet.flow as usize];
            flow.meter.counters.lost_pkts += 1;
        }
        if let Body::Datagram(datagram) = body {
            self.tell(packet.flow, |application, host| {
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
