// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sender that is limited by the window, a first-in-first-out bottleneck, a receiver
//! under a law: just enough of a path to test laws in closed loop, in microseconds and
//! without randomness. The real thing is the lab.

mod fair;
mod greedy;
mod offload;
pub mod path;
mod receiver;

use ebb_algorithms::Policy;
use fair::Fair;
use greedy::Greedy;
use offload::{Aggregate, Offload};
pub use path::Path;
use receiver::Receiver;
use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// What came out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// Payload received in each tenth of a second.
    pub received_bytes: Vec<u64>,
    /// What the greedy flow's receiver got, likewise.
    pub greedy_bytes: Vec<u64>,
    /// Greatest wait at the bottleneck, by anybody, in each tenth of a second.
    pub longest_wait_us: Vec<u64>,
    /// The window at the end of each tenth of a second.
    pub window_bytes: Vec<u32>,
}

impl Outcome {
    /// Share of the link's payload capacity used from one time to another.
    pub fn utilisation(&self, path: &Path, from_s: f64, until_s: f64) -> f64 {
        let bins = (from_s * 10.0) as usize..(until_s * 10.0) as usize;
        let bits: u64 = self.received_bytes[bins].iter().sum::<u64>() * 8;
        let wire = f64::from(path.mss_bytes + 52) / f64::from(path.mss_bytes);
        bits as f64 * wire / (path.rate_bits_per_s as f64 * (until_s - from_s))
    }

    /// Mean of the greatest waits in a time.
    pub fn mean_longest_wait_ms(&self, from_s: f64, until_s: f64) -> f64 {
        let bins = (from_s * 10.0) as usize..(until_s * 10.0) as usize;
        let waits = &self.longest_wait_us[bins];
        waits.iter().sum::<u64>() as f64 / waits.len() as f64 / 1000.0
    }
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Event {
    /// A segment of ours arrives.
    Segment(Aggregate),
    /// A segment has waited long enough for others.
    Flush,
    /// Our acknowledgement reaches the sender: acknowledged, right edge, timestamp.
    Ack(u64, u64, u32),
    /// A packet of others reaches the bottleneck, of the stream of this index.
    Other(usize),
    /// A segment of ours was lost and is sent again: first byte.
    Retransmit(u64),
    /// The greedy flow starts to send, or stops.
    GreedyTurn(bool),
    /// The greedy flow learns what became of a packet: sent at, waited; None: lost.
    GreedyAck(u64, Option<u64>),
}

struct World<'a> {
    path: &'a Path,
    events: BinaryHeap<Reverse<(u64, u64, Event)>>,
    order: u64,
    free_at_us: u64,
    outcome: Outcome,
    next_byte: u64,
    acked: u64,
    edge: u64,
    cwnd_bytes: u64,
    echo: u32,
    greedy: Greedy,
    fair: Fair,
    sent_segments: u64,
    held_until_us: u64,
    /// When the machine took the last segment.
    taken_us: u64,
    offload: Offload,
}

/// Runs a greedy sender against a policy for a time.
pub fn run(path: &Path, policy: &Policy, seconds: u64) -> Outcome {
    let bins = (seconds * 10) as usize;
    let mss = u64::from(path.mss_bytes);
    let mut world = World {
        path,
        events: BinaryHeap::new(),
        order: 0,
        free_at_us: 0,
        outcome: Outcome {
            received_bytes: vec![0; bins],
            greedy_bytes: vec![0; bins],
            longest_wait_us: vec![0; bins],
            window_bytes: vec![0; bins],
        },
        next_byte: 0,
        acked: 0,
        edge: 10 * mss,
        cwnd_bytes: 10 * mss,
        // The request left half a round trip before the first segment comes in.
        echo: path
            .first_local_ts
            .wrapping_sub((path.rtt_us / 2000) as u32),
        greedy: Greedy::default(),
        fair: Fair::default(),
        sent_segments: 0,
        held_until_us: 0,
        taken_us: 0,
        offload: Offload::default(),
    };
    for (from_us, until_us) in &path.greedy {
        world.schedule(*from_us, Event::GreedyTurn(true));
        world.schedule(*until_us, Event::GreedyTurn(false));
    }
    for (index, (from_us, ..)) in path.others.iter().enumerate() {
        world.schedule(*from_us, Event::Other(index));
    }
    let mut receiver = Receiver::new(policy, 10 * mss);
    if path.taken_over.is_none() {
        receiver.begin(path, 0, path.first_tsval);
    }
    world.send(0);
    while let Some(Reverse((now_us, _, event))) = world.events.pop() {
        if now_us >= seconds * 1_000_000 {
            break;
        }
        match event {
            Event::Segment(segment) => {
                if let Some(arrived) = world.merge(now_us, segment) {
                    receiver.take(&mut world, now_us, arrived);
                }
            }
            Event::Flush => {
                if let Some(arrived) = world.offload.flush(now_us) {
                    receiver.take(&mut world, now_us, arrived);
                }
            }
            Event::Ack(acked, edge, tsval) => {
                let most_bytes = path.taken_over.map_or(u64::MAX, |it| it.cwnd_bytes);
                world.cwnd_bytes = (world.cwnd_bytes + acked - world.acked).min(most_bytes);
                world.acked = acked;
                world.edge = world.edge.max(edge);
                world.echo = tsval;
                world.send(now_us);
            }
            Event::Other(index) => world.send_other(now_us, index),
            Event::Retransmit(byte) => world.send_segment(now_us, byte),
            Event::GreedyTurn(is_on) => world.turn_greedy(now_us, is_on),
            Event::GreedyAck(sent_us, wait_us) => {
                world
                    .greedy
                    .on_ack(now_us, sent_us, wait_us, world.path.rtt_us);
                world.send_greedy(now_us);
            }
        }
    }
    world.outcome
}

impl World<'_> {
    fn schedule(&mut self, at_us: u64, event: Event) {
        self.order += 1;
        self.events.push(Reverse((at_us, self.order, event)));
    }

    /// Sends what the windows allow.
    fn send(&mut self, now_us: u64) {
        let mss = u64::from(self.path.mss_bytes);
        let limit = self.edge.min(self.acked + self.cwnd_bytes);
        while self.next_byte + mss <= limit {
            self.send_segment(now_us, self.next_byte);
            self.next_byte += mss;
        }
    }

    fn send_segment(&mut self, now_us: u64, byte: u64) {
        let tsval = self.tsval(now_us);
        let Some(left_us) = self.leave(now_us, u64::from(self.path.mss_bytes) + 52) else {
            // Three duplicates later, about a round trip with a full queue.
            let noticed_us = now_us + self.path.rtt_us + self.path.buffer_us;
            return self.schedule(noticed_us, Event::Retransmit(byte));
        };
        let arrival_us = self.hold_up(left_us + self.one_way_us(now_us));
        let segment = Aggregate {
            byte,
            segments: 1,
            tsval,
            tsecr: self.echo,
        };
        self.schedule(arrival_us, Event::Segment(segment));
    }

    /// What the receiver's device hands over when a segment comes.
    fn merge(&mut self, now_us: u64, segment: Aggregate) -> Option<Aggregate> {
        if self.path.offload_us == 0 {
            return Some(segment);
        }
        let until_us = now_us + self.path.offload_us;
        self.schedule(until_us, Event::Flush);
        let mss = u64::from(self.path.mss_bytes);
        self.offload.take(until_us, segment, mss)
    }

    /// When a packet of ours has left the bottleneck.
    fn leave(&mut self, now_us: u64, wire_bytes: u64) -> Option<u64> {
        let is_fair = |(from_us, until_us)| (from_us..until_us).contains(&now_us);
        if !self.path.fair.is_some_and(is_fair) {
            return self.cross_bottleneck(now_us, wire_bytes);
        }
        let packet_us = wire_bytes * 8_000_000 / self.path.rate_bits_per_s(now_us);
        Some(self.fair.pass(now_us.max(self.free_at_us), packet_us))
    }

    fn turn_greedy(&mut self, now_us: u64, is_on: bool) {
        self.greedy.turn(is_on);
        self.send_greedy(now_us);
    }

    fn send_greedy(&mut self, now_us: u64) {
        while self.greedy.may_send() {
            self.greedy.in_flight += 1;
            let left_us = self.cross_bottleneck(now_us, 1500);
            let wait_us = left_us.map(|left_us| left_us - now_us);
            let noticed_us = left_us.unwrap_or(now_us + self.path.buffer_us) + self.path.rtt_us;
            self.schedule(noticed_us, Event::GreedyAck(now_us, wait_us));
            let bin = ((noticed_us - self.path.rtt_us / 2) / 100_000) as usize;
            if let (Some(bytes), Some(_)) = (self.outcome.greedy_bytes.get_mut(bin), left_us) {
                *bytes += 1448;
            }
        }
    }

    fn send_other(&mut self, now_us: u64, index: usize) {
        let (_, until_us, bits_per_s) = self.path.others[index];
        self.cross_bottleneck(now_us, 1500);
        let next_us = now_us + 1500 * 8 * 1_000_000 / bits_per_s;
        if next_us < until_us {
            self.schedule(next_us, Event::Other(index));
        }
    }

    /// When a packet that comes now has left the bottleneck; None if it is dropped.
    fn cross_bottleneck(&mut self, now_us: u64, wire_bytes: u64) -> Option<u64> {
        let wait_us = self.free_at_us.saturating_sub(now_us);
        let bin = (now_us / 100_000) as usize;
        let longest_us = &mut self.outcome.longest_wait_us[bin];
        *longest_us = wait_us.max(*longest_us);
        if wait_us > self.path.buffer_us {
            return None;
        }
        self.free_at_us =
            now_us + wait_us + wire_bytes * 8_000_000 / self.path.rate_bits_per_s(now_us);
        Some(self.free_at_us)
    }

    fn one_way_us(&self, now_us: u64) -> u64 {
        let longer_us = self.path.longer.filter(|(at_us, _)| now_us >= *at_us);
        self.path.rtt_us / 2 + longer_us.map_or(0, |(_, by_us)| by_us)
    }

    fn hold_up(&mut self, arrival_us: u64) -> u64 {
        self.sent_segments += 1;
        if let Some((every, by_us)) = self.path.held_up
            && self.sent_segments.is_multiple_of(every)
        {
            self.held_until_us = arrival_us + by_us;
        }
        let due_us = arrival_us.max(self.held_until_us);
        let is_stalled =
            |(from_us, for_us): &&(u64, u64)| (*from_us..from_us + for_us).contains(&due_us);
        let stall = self.path.stalls.iter().find(is_stalled);
        let taken_us = stall.map_or(due_us, |(from_us, for_us)| from_us + for_us);
        self.taken_us = taken_us.max(self.taken_us + self.path.catching_up_us);
        self.taken_us
    }

    fn tsval(&self, now_us: u64) -> u32 {
        let drift_us = now_us as i64 * self.path.drift_ppm / 1_000_000;
        let clock_us = now_us.wrapping_add_signed(drift_us);
        let ticks = clock_us.checked_div(self.path.tick_us).unwrap_or(0);
        self.path.first_tsval.wrapping_add(ticks as u32)
    }
}
