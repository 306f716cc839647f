// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sender laws in closed loop: greedy senders, a first-in-first-out bottleneck, receivers
//! that SACK everything. Microseconds, no randomness but the laws' own: just enough of a
//! path for tests of a law. The real thing is the simulator.
#![allow(dead_code, reason = "each test binary uses a part of it")]

mod host;

use ebb_algorithms::Policy;
use host::Host;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};

/// What the path is like.
#[derive(Clone)]
pub struct Path {
    pub rate_bits_per_s: u64,
    pub rtt_us: u64,
    /// Packets that may wait at the bottleneck; more are dropped.
    pub queue_pkts: usize,
    /// Packets that wait from which on arriving ones are marked; None: no ECN.
    pub mark_pkts: Option<usize>,
    /// Every so manieth packet is lost; None: only full queues lose.
    pub loss_every: Option<u64>,
    pub mss_bytes: u32,
    /// Headers of a data packet on the wire.
    pub header_bytes: u32,
    /// Segments per acknowledgement: 1, or 2 with delayed acknowledgements.
    pub ack_every: u32,
    /// Length of the timestamps' ticks at both ends; 0: no timestamps.
    pub tick_us: u64,
    /// How much faster the receiver's clock runs.
    pub drift_ppm: i64,
    /// First sequence number, senders' clock and timestamp at the start: not zero.
    pub first_seq: u32,
    pub clock_us: u64,
    pub first_ts: u32,
    /// Constant traffic of others: from, until (us), bits per second.
    pub others: Vec<(u64, u64, u64)>,
    /// From a time on (us) the forward path is longer by so many us.
    pub longer: Option<(u64, u64)>,
}

impl Default for Path {
    /// 10 Mbit/s, 100 ms, 86 packets.
    fn default() -> Self {
        Self {
            rate_bits_per_s: 10_000_000,
            rtt_us: 100_000,
            queue_pkts: 86,
            mark_pkts: None,
            loss_every: None,
            mss_bytes: 1448,
            header_bytes: 52,
            ack_every: 1,
            tick_us: 1000,
            drift_ppm: 0,
            first_seq: u32::MAX - 1_000_000,
            clock_us: 7_777_000,
            first_ts: u32::MAX - 5_000,
            others: Vec::new(),
            longer: None,
        }
    }
}

/// One sender.
#[derive(Clone)]
pub struct Plan {
    pub policy: Policy,
    pub from_us: u64,
    pub until_us: u64,
    /// What the application writes; None: as much as TCP takes.
    pub app_bits_per_s: Option<u64>,
}

impl Plan {
    /// A greedy sender from the start to the end.
    pub fn greedy(policy: &str) -> Self {
        Self {
            policy: Policy::sender(policy).unwrap(),
            from_us: 0,
            until_us: u64::MAX,
            app_bits_per_s: None,
        }
    }

    /// The same between two times.
    pub fn between(self, from_us: u64, until_us: u64) -> Self {
        Self {
            from_us,
            until_us,
            ..self
        }
    }
}

/// What became of one sender; a bin is a tenth of a second.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlowOutcome {
    /// Payload that arrived for the first time in each bin.
    pub received_bytes: Vec<u64>,
    /// The host's window at the end of each bin.
    pub cwnd_pkts: Vec<u32>,
    /// Packets sent, repeated ones included.
    pub sent_pkts: u64,
    pub lost_pkts: u64,
    pub timeouts: u64,
    /// When the law was told of a loss or a mark.
    pub reductions_us: Vec<u64>,
}

impl FlowOutcome {
    fn of_bins(bins: usize) -> Self {
        Self {
            received_bytes: vec![0; bins],
            cwnd_pkts: vec![0; bins],
            ..Self::default()
        }
    }
}

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    pub flows: Vec<FlowOutcome>,
    /// In each bin: sum of the packets' waits at the bottleneck, and packets.
    pub waits_us: Vec<(u64, u64)>,
    /// Greatest wait in each bin.
    pub longest_wait_us: Vec<u64>,
    payload_share: (u64, u64),
    rate_bits_per_s: u64,
}

impl Outcome {
    /// Share of the link's payload capacity that a flow used from one time to another.
    pub fn share(&self, flow: usize, from_s: f64, until_s: f64) -> f64 {
        let bytes: u64 = self.flows[flow].received_bytes[bins(from_s, until_s)]
            .iter()
            .sum();
        let (payload, wire) = self.payload_share;
        let wire_bits = bytes as f64 * 8.0 * wire as f64 / payload as f64;
        wire_bits / (self.rate_bits_per_s as f64 * (until_s - from_s))
    }

    /// Mean wait of a packet at the bottleneck.
    pub fn mean_wait_ms(&self, from_s: f64, until_s: f64) -> f64 {
        let waits = &self.waits_us[bins(from_s, until_s)];
        let sum: u64 = waits.iter().map(|(sum, _)| sum).sum();
        let packets: u64 = waits.iter().map(|(_, packets)| packets).sum();
        sum as f64 / packets.max(1) as f64 / 1000.0
    }
}

fn bins(from_s: f64, until_s: f64) -> std::ops::Range<usize> {
    (from_s * 10.0) as usize..(until_s * 10.0) as usize
}

/// A segment on its way to the receiver.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Data {
    flow: usize,
    /// Counts transmissions, so that a repeated segment has another one.
    number: u64,
    seq: u64,
    bytes: u32,
    tsval: u32,
    is_marked: bool,
}

/// An acknowledgement on its way to the sender.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Ack {
    flow: usize,
    numbers: (u64, Option<u64>),
    rcv_nxt: u64,
    tsval: u32,
    tsecr: u32,
    is_ece: bool,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    Data(Data),
    DelayedAck(usize, u64),
    Ack(Ack),
    Start(usize),
    /// A pacing or application timer: try to send.
    Send(usize),
    Timeout(usize),
    Other(usize),
}

/// What hosts see of the rest: the time, the link and the timers.
struct World<'a> {
    path: &'a Path,
    now_us: u64,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    /// When each packet in the queue or on the wire will have left.
    departures_ns: VecDeque<u64>,
    packets: u64,
    waits_us: Vec<(u64, u64)>,
    longest_wait_us: Vec<u64>,
}

#[derive(Default)]
struct Receiver {
    rcv_nxt: u64,
    out_of_order: BTreeMap<u64, u32>,
    held: Option<Data>,
}

/// Runs the senders for a time.
pub fn run(path: &Path, plans: &[Plan], seconds: u64) -> Outcome {
    let bins = (seconds * 10) as usize;
    let mut world = World {
        path,
        now_us: 0,
        events: BinaryHeap::new(),
        order: 0,
        departures_ns: VecDeque::new(),
        packets: 0,
        waits_us: vec![(0, 0); bins],
        longest_wait_us: vec![0; bins],
    };
    let mut hosts: Vec<Host> = Vec::new();
    let mut receivers: Vec<Receiver> = Vec::new();
    for (index, plan) in plans.iter().enumerate() {
        world.schedule(plan.from_us, Event::Start(index));
        hosts.push(Host::new(index, path, plan, bins));
        receivers.push(Receiver::default());
    }
    for (index, (from_us, ..)) in path.others.iter().enumerate() {
        world.schedule(*from_us, Event::Other(index));
    }
    while let Some(Reverse((now_us, _, event))) = world.events.pop() {
        if now_us >= seconds * 1_000_000 {
            break;
        }
        world.now_us = now_us;
        match event {
            Event::Data(data) => {
                receivers[data.flow].take(&mut world, &mut hosts[data.flow].outcome, data);
            }
            Event::DelayedAck(flow, number) => receivers[flow].expire(&mut world, number),
            Event::Ack(ack) => hosts[ack.flow].on_ack(&mut world, &ack),
            Event::Start(flow) | Event::Send(flow) => hosts[flow].send(&mut world),
            Event::Timeout(flow) => hosts[flow].on_timer(&mut world),
            Event::Other(index) => world.send_other(index),
        }
    }
    Outcome {
        flows: hosts.into_iter().map(Host::finish).collect(),
        waits_us: world.waits_us,
        longest_wait_us: world.longest_wait_us,
        payload_share: (
            path.mss_bytes.into(),
            (path.mss_bytes + path.header_bytes).into(),
        ),
        rate_bits_per_s: path.rate_bits_per_s,
    }
}

impl World<'_> {
    fn schedule(&mut self, at_us: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at_us, self.order, event)));
    }

    fn bin(&self) -> usize {
        (self.now_us / 100_000) as usize
    }

    /// The timestamp clock of the senders, or of the receivers with their drift.
    fn timestamp(&self, is_receiver: bool) -> u32 {
        let drift_us = self.now_us as i64 * self.path.drift_ppm / 1_000_000;
        let clock_us = self
            .now_us
            .wrapping_add_signed(if is_receiver { drift_us } else { 0 });
        let ticks = clock_us.checked_div(self.path.tick_us).unwrap_or(0) as u32;
        let first = self
            .path
            .first_ts
            .wrapping_add(u32::from(is_receiver) * 99_991);
        first.wrapping_add(ticks)
    }

    /// Puts a segment on the link: it arrives, or it is dropped.
    fn send(&mut self, mut data: Data) {
        let Some((left_us, waiting)) = self.cross_bottleneck(data.bytes + self.path.header_bytes)
        else {
            return;
        };
        data.is_marked = self.path.mark_pkts.is_some_and(|mark| waiting >= mark);
        let longer = self.path.longer.filter(|(at_us, _)| self.now_us >= *at_us);
        let arrival_us = left_us + self.path.rtt_us / 2 + longer.map_or(0, |(_, by_us)| by_us);
        self.schedule(arrival_us, Event::Data(data));
    }

    /// When a packet that comes now has left, and how many wait before it; None: dropped.
    fn cross_bottleneck(&mut self, wire_bytes: u32) -> Option<(u64, usize)> {
        let now_ns = self.now_us * 1000;
        while self.departures_ns.front().is_some_and(|at| *at <= now_ns) {
            self.departures_ns.pop_front();
        }
        self.packets += 1;
        let is_unlucky = self
            .path
            .loss_every
            .is_some_and(|every| self.packets.is_multiple_of(every));
        // The first one is on the wire.
        let waiting = self.departures_ns.len().saturating_sub(1);
        if waiting >= self.path.queue_pkts && !self.departures_ns.is_empty() || is_unlucky {
            return None;
        }
        let start_ns = self.departures_ns.back().copied().unwrap_or(now_ns);
        let wait_us = (start_ns - now_ns) / 1000;
        let bin = self.bin();
        self.waits_us[bin].0 += wait_us;
        self.waits_us[bin].1 += 1;
        self.longest_wait_us[bin] = self.longest_wait_us[bin].max(wait_us);
        let left_ns = start_ns + u64::from(wire_bytes) * 8_000_000_000 / self.path.rate_bits_per_s;
        self.departures_ns.push_back(left_ns);
        Some((left_ns.div_ceil(1000), waiting))
    }

    fn send_other(&mut self, index: usize) {
        let (_, until_us, bits_per_s) = self.path.others[index];
        self.cross_bottleneck(1500);
        let next_us = self.now_us + 1500 * 8 * 1_000_000 / bits_per_s;
        if next_us < until_us {
            self.schedule(next_us, Event::Other(index));
        }
    }
}

impl Receiver {
    fn take(&mut self, world: &mut World, outcome: &mut FlowOutcome, data: Data) {
        let is_new = data.seq >= self.rcv_nxt && !self.out_of_order.contains_key(&data.seq);
        if is_new {
            outcome.received_bytes[world.bin()] += u64::from(data.bytes);
            self.out_of_order.insert(data.seq, data.bytes);
        }
        while let Some(bytes) = self.out_of_order.remove(&self.rcv_nxt) {
            self.rcv_nxt += u64::from(bytes);
        }
        if let Some(held) = self.held.take() {
            return self.acknowledge(world, &data, Some(held));
        }
        if world.path.ack_every < 2 || data.is_marked || !self.out_of_order.is_empty() {
            return self.acknowledge(world, &data, None);
        }
        self.held = Some(data);
        world.schedule(
            world.now_us + 40_000,
            Event::DelayedAck(data.flow, data.number),
        );
    }

    fn expire(&mut self, world: &mut World, number: u64) {
        if let Some(held) = self.held.filter(|held| held.number == number) {
            self.held = None;
            self.acknowledge(world, &held, None);
        }
    }

    fn acknowledge(&mut self, world: &mut World, data: &Data, held: Option<Data>) {
        let ack = Ack {
            flow: data.flow,
            numbers: (data.number, held.map(|held| held.number)),
            rcv_nxt: self.rcv_nxt,
            tsval: world.timestamp(true),
            // RFC 7323: the echo is of the earliest segment not acknowledged yet.
            tsecr: held.map_or(data.tsval, |held| held.tsval),
            is_ece: data.is_marked || held.is_some_and(|held| held.is_marked),
        };
        world.schedule(world.now_us + world.path.rtt_us / 2, Event::Ack(ack));
    }
}
