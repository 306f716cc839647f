// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CAKE: flow queueing with host fairness, under COBALT (Høiland-Jørgensen, Täht and Morton,
//! "Piece of CAKE: A Comprehensive Queue Management Solution for Home Gateways", 2018).
//!
//! Differences and choices:
//! 1. The shaper is the link, which has the rate. There is one tin (`besteffort`), the filter
//!    of acknowledgements is off, and addresses behind NAT are not looked up.
//! 2. Flow and hosts are what the packet names, hashed with a key from the seed.
//! 3. What a host load leaves of a quantum is carried on exactly, where Linux rounds at random.
//! 4. The limit counts bytes or packets, where Linux counts memory.
//! 5. When nothing waits any more, flows that had their turns are no longer counted; Linux finds
//!    them empty when others wait again.
mod cobalt;
mod ways;

use std::collections::VecDeque;

use super::fifo::Fifo;
use super::{Waiting, mark};
use crate::events::Events;
use crate::random::{Purpose, Stream};
use crate::{
    CakeSpec, Capacity, DropCause, Ecn, Isolation, LinkSpec, Nanos, Packet, QueueLimit, Rejected,
    TRACE_MTU_BYTES,
};
use cobalt::{Cobalt, Served, Settings};
use ways::Ways;

/// Largest and smallest quantum that a rate gives. *Units:* bytes.
const MOST_QUANTUM_BYTES: u64 = 1_514;
const LEAST_QUANTUM_BYTES: u64 = 300;
/// A quantum is what the link sends in this part of a second.
const QUANTA_PER_S: u64 = 4_096;
/// Credit is in this part of a byte.
const CREDIT_ONE: i64 = 1 << 16;

pub(crate) struct CakeQueue<T> {
    flows: Vec<Flow<T>>,
    /// Which flow, and which hosts by source and destination, have which place.
    flow_ways: Ways,
    host_ways: [Ways; 2],
    /// Flows that are served in turns, by host. *Shape:* as `host_ways`, by place.
    bulk_flows_of: [Vec<u32>; 2],
    bulk_flows: u32,
    /// Flows that send little; they go before the others.
    sparse: VecDeque<u32>,
    bulk: VecDeque<u32>,
    /// Flows that are empty and still remembered.
    decaying: VecDeque<u32>,
    spec: CakeSpec,
    settings: Settings,
    quantum: i64,
    random: Stream,
    len_pkts: usize,
    bytes: u64,
}

struct Flow<T> {
    fifo: Fifo<T>,
    cobalt: Cobalt,
    /// What it may send before others have their turn. *Units:* 1/2^16 bytes.
    credit: i64,
    state: State,
    /// Places of its source and its destination.
    hosts: [u32; 2],
}

/// In which list a flow is, and as what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Unlisted,
    Sparse,
    /// It has had its turn, and is empty: in the list of bulk flows, but none of them.
    SparseWaits,
    Bulk,
    Decaying,
}

impl<T> CakeQueue<T> {
    pub(crate) fn new(spec: CakeSpec, link: &LinkSpec, seed: u64) -> Self {
        let mut random = Stream::new(seed, Purpose::FlowHash);
        let places = spec.flows as usize;
        let (settings, quantum_bytes) = tuned_to(link, &spec);
        Self {
            flows: (0..places).map(|_| Flow::new()).collect(),
            flow_ways: Ways::new(places, random.bits()),
            host_ways: [random.bits(), random.bits()].map(|key| Ways::new(places, key)),
            bulk_flows_of: [vec![0; places], vec![0; places]],
            bulk_flows: 0,
            sparse: VecDeque::new(),
            bulk: VecDeque::new(),
            decaying: VecDeque::new(),
            spec,
            settings,
            quantum: i64::from(quantum_bytes) * CREDIT_ONE,
            random: Stream::new(seed, Purpose::Blue),
            len_pkts: 0,
            bytes: 0,
        }
    }

    /// Takes any packet, and then drops from the longest queue while there are too many.
    pub(crate) fn push(
        &mut self,
        now: Nanos,
        packet: Packet<T>,
        events: &mut Events<T>,
    ) -> Result<(), Rejected<T>> {
        // A packet that is larger than all room there is cannot be made room for.
        if !self.spec.limit.holds(1, packet.size_bytes.into()) {
            return Err(events.rejected(packet, DropCause::Full));
        }
        let number = self.flow_of(&packet);
        self.len_pkts += 1;
        self.bytes += u64::from(packet.size_bytes);
        self.flows[number as usize].fifo.push(now, packet);
        self.list(number);
        while self.is_over_limit() {
            self.drop_from_longest(now, events);
        }
        Ok(())
    }

    pub(crate) fn pop(&mut self, now: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        if let Some(number) = self.decaying.pop_front() {
            self.forget(number, now);
        }
        loop {
            let is_sparse = !self.sparse.is_empty();
            let list = if is_sparse { &self.sparse } else { &self.bulk };
            let number = *list.front()?;
            if self.flows[number as usize].credit <= 0 {
                self.end_turn(number, is_sparse);
                continue;
            }
            if let Some(waiting) = self.serve(number, now, events) {
                let size = i64::from(waiting.packet.size_bytes);
                self.flows[number as usize].credit -= size * CREDIT_ONE;
                return Some(waiting);
            }
            self.first_list(is_sparse).pop_front();
            self.forget(number, now);
        }
    }

    pub(crate) fn len_pkts(&self) -> usize {
        self.len_pkts
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The queue of a packet's flow; if nobody has it, it is that of these hosts from now on.
    fn flow_of(&mut self, packet: &Packet<T>) -> u32 {
        let Self {
            flows, flow_ways, ..
        } = self;
        let is_in_use = |place: usize| flows[place].state != State::Unlisted;
        let number = flow_ways.place(packet.flow, is_in_use);
        if flows[number].state == State::Unlisted || flows[number].state == State::Decaying {
            flows[number].hosts = [0, 1].map(|end| {
                let counts = &self.bulk_flows_of[end];
                let key = u32::from(packet.hosts[end]);
                self.host_ways[end].place(key, |place| counts[place] > 0) as u32
            });
        }
        number as u32
    }

    /// A packet has come to this flow.
    fn list(&mut self, number: u32) {
        match self.flows[number as usize].state {
            State::Unlisted | State::Decaying => {
                if self.flows[number as usize].state == State::Decaying {
                    self.decaying.retain(|other| *other != number);
                }
                let credit = self.quantum_of(number);
                let flow = &mut self.flows[number as usize];
                flow.state = State::Sparse;
                flow.credit = credit;
                self.sparse.push_back(number);
            }
            // It did not wait for its turn as a sparse flow would.
            State::SparseWaits => self.become_bulk(number),
            State::Sparse | State::Bulk => {}
        }
    }

    fn become_bulk(&mut self, number: u32) {
        let flow = &mut self.flows[number as usize];
        flow.state = State::Bulk;
        self.bulk_flows += 1;
        for (counts, host) in self.bulk_flows_of.iter_mut().zip(flow.hosts) {
            counts[host as usize] += 1;
        }
    }

    /// What a flow may send in a turn: its part of what its busier host may.
    fn quantum_of(&self, number: u32) -> i64 {
        let load = match self.spec.isolation {
            Isolation::Flows => 1,
            Isolation::TripleIsolate => {
                let hosts = self.flows[number as usize].hosts;
                let load = |end: usize| self.bulk_flows_of[end][hosts[end] as usize];
                load(0).max(load(1)).max(1)
            }
        };
        (self.quantum / i64::from(load)).max(1)
    }

    /// The first flow of a list has sent what it may: it goes behind those with much to send.
    fn end_turn(&mut self, number: u32, is_sparse: bool) {
        let flow = &mut self.flows[number as usize];
        if flow.state == State::Sparse {
            if flow.fifo.is_empty() {
                flow.state = State::SparseWaits;
            } else {
                self.become_bulk(number);
            }
        }
        self.flows[number as usize].credit += self.quantum_of(number);
        self.first_list(is_sparse).pop_front();
        self.bulk.push_back(number);
    }

    /// The packet that a flow sends, after dropping those that COBALT drops.
    fn serve(&mut self, number: u32, now: Nanos, events: &mut Events<T>) -> Option<Waiting<T>> {
        loop {
            let flow = &mut self.flows[number as usize];
            let mut waiting = flow.fifo.pop()?;
            self.len_pkts -= 1;
            self.bytes -= u64::from(waiting.packet.size_bytes);
            let can_be_marked = self.spec.ecn && waiting.packet.ecn != Ecn::NotCapable;
            let served = Served {
                waited: now.since(waiting.queued_at),
                can_be_marked,
                bulk_flows: self.bulk_flows,
            };
            let is_signalled = flow.cobalt.signals(&self.settings, now, served);
            let is_marked = is_signalled && can_be_marked && mark(&mut waiting.packet, events);
            let is_dropped = (is_signalled && !is_marked)
                || flow.cobalt.is_dropped_by_blue(|| self.random.unit());
            if !is_dropped || flow.fifo.is_empty() {
                return Some(waiting);
            }
            events.dropped(now, waiting.packet, DropCause::Early);
        }
    }

    /// An empty flow that is in no list: remembered as long as COBALT has something to.
    fn forget(&mut self, number: u32, now: Nanos) {
        let flow = &mut self.flows[number as usize];
        if flow.state == State::Bulk {
            self.bulk_flows -= 1;
            for (counts, host) in self.bulk_flows_of.iter_mut().zip(flow.hosts) {
                counts[host as usize] -= 1;
            }
        }
        flow.cobalt.ran_empty(&self.settings, now);
        if flow.cobalt.is_at_rest(now) {
            flow.state = State::Unlisted;
        } else {
            flow.state = State::Decaying;
            self.decaying.push_back(number);
        }
    }

    fn first_list(&mut self, is_sparse: bool) -> &mut VecDeque<u32> {
        if is_sparse {
            &mut self.sparse
        } else {
            &mut self.bulk
        }
    }

    fn is_over_limit(&self) -> bool {
        !self.spec.limit.holds(self.len_pkts, self.bytes)
    }

    fn drop_from_longest(&mut self, now: Nanos, events: &mut Events<T>) {
        let lists = self.sparse.iter().chain(&self.bulk);
        let longest = lists.max_by_key(|number| self.flows[**number as usize].fifo.bytes());
        let number = *longest.expect("a queue that is over its limit is not empty");
        let flow = &mut self.flows[number as usize];
        let Some(waiting) = flow.fifo.pop() else {
            return;
        };
        flow.cobalt.overflowed(&self.settings, now);
        self.len_pkts -= 1;
        self.bytes -= u64::from(waiting.packet.size_bytes);
        events.dropped(now, waiting.packet, DropCause::Full);
    }
}

/// Target, interval and quantum of a link of this rate. One that varies is taken as if it were
/// fast.
fn tuned_to(link: &LinkSpec, spec: &CakeSpec) -> (Settings, u32) {
    let bits_per_s = match (&link.capacity, &link.bucket) {
        (_, Some(bucket)) => Some(bucket.rate.bits_per_s()),
        (Capacity::Rate(rate), None) => Some(rate.bits_per_s()),
        _ => None,
    };
    // At 1 bit/s it is 12 000 s.
    let bit_ns = u64::from(TRACE_MTU_BYTES) * 8 * 1_000_000_000;
    let full_packet = bits_per_s.map_or(Nanos::ZERO, |bits_per_s| Nanos(bit_ns / bits_per_s));
    let target = spec.target.max(Nanos(full_packet.0 / 2 * 3));
    let interval = (spec.interval + target.since(spec.target)).max(target + target);
    let by_rate = bits_per_s.map_or(MOST_QUANTUM_BYTES, |bits_per_s| {
        bits_per_s / 8 / QUANTA_PER_S
    });
    let by_rate = by_rate.clamp(LEAST_QUANTUM_BYTES, MOST_QUANTUM_BYTES);
    let settings = Settings {
        target,
        interval,
        full_packet,
    };
    (settings, spec.quantum_bytes.unwrap_or(by_rate as u32))
}

impl<T> Flow<T> {
    fn new() -> Self {
        Self {
            // The limit is one for all flows together.
            fifo: Fifo::new(QueueLimit::Packets(u64::MAX)),
            cobalt: Cobalt::default(),
            credit: 0,
            state: State::Unlisted,
            hosts: [0; 2],
        }
    }
}

#[cfg(test)]
mod tests;
