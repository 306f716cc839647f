// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two endpoints joined by a path of constant delay that the test can disturb.
#![allow(dead_code)]

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::sync::Arc;

use ebb_link::{Ecn, Nanos};
use ebb_scenario::TcpOptions;
use ebb_simulator::Segment;
use ebb_simulator::tcp::{Connection, Identity, Role, State, TcpConfig};

/// What the path does to a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    Arrives,
    IsLost,
    IsMarked,
    ComesLater(Nanos),
    ComesTwice(Nanos),
}

/// A segment that was sent: by whom (0: the client), when, and which.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    pub from: usize,
    pub at: Nanos,
    pub segment: Segment,
    pub fate: Fate,
}

type Disturb = Box<dyn FnMut(&Sent) -> Fate>;

/// The client, the server, and all that was sent between them.
pub struct Pair {
    pub now: Nanos,
    pub ends: [Connection; 2],
    pub delay: Nanos,
    /// Time that the path takes for each byte; 0: none.
    pub ns_per_byte: u64,
    /// Bytes that wait for the path at the most.
    pub queue_bytes: u64,
    pub log: Vec<Sent>,
    busy_until: [Nanos; 2],
    disturb: Disturb,
    flying: BinaryHeap<Reverse<(Nanos, u64, usize)>>,
    arrivals: Vec<(Segment, bool)>,
    out: Vec<Segment>,
}

pub fn ms(milliseconds: u64) -> Nanos {
    Nanos::from_millis(milliseconds)
}

/// Endpoints of two configurations.
pub fn pair_of(client: &Arc<TcpConfig>, server: &Arc<TcpConfig>, delay: Nanos) -> Pair {
    let identity = |initial_seq, timestamp_offset| Identity {
        initial_seq,
        timestamp_offset,
        drift_ppm: 0,
        seed: 7,
    };
    Pair {
        now: Nanos::ZERO,
        ends: [
            Connection::new(client, Role::Client, identity(1_000, 50)),
            Connection::new(server, Role::Server, identity(5_000, 9_000)),
        ],
        delay,
        ns_per_byte: 0,
        queue_bytes: u64::MAX,
        log: Vec::new(),
        busy_until: [Nanos::ZERO; 2],
        disturb: Box::new(|_| Fate::Arrives),
        flying: BinaryHeap::new(),
        arrivals: Vec::new(),
        out: Vec::new(),
    }
}

/// Endpoints that are alike.
pub fn pair(options: TcpOptions, law: &str, delay: Nanos) -> Pair {
    let config = TcpConfig::new(options, law, None).unwrap();
    pair_of(&config, &config, delay)
}

impl Pair {
    /// From now on the path does this.
    pub fn disturb(&mut self, disturb: impl FnMut(&Sent) -> Fate + 'static) {
        self.disturb = Box::new(disturb);
    }

    pub fn connect(&mut self) {
        let now = self.now;
        self.act(0, |end, out| end.connect(now, out));
    }

    pub fn write(&mut self, from: usize, bytes: u64) {
        let now = self.now;
        self.act(from, |end, out| end.write(now, bytes, out));
    }

    pub fn close(&mut self, from: usize) {
        let now = self.now;
        self.act(from, |end, out| end.close(now, out));
    }

    pub fn consume(&mut self, at: usize, bytes: u64) {
        let now = self.now;
        self.act(at, |end, out| end.consume(now, bytes, out));
    }

    /// Connects and lets the handshake end.
    pub fn establish(&mut self) {
        self.connect();
        while self.ends[1].state() != State::Established {
            assert!(self.step(Nanos(u64::MAX)), "the handshake stalls");
        }
        self.log.clear();
    }

    /// Runs until a time, all events of that time included.
    pub fn run_until(&mut self, end: Nanos) {
        while self.step(end) {}
        self.now = end;
    }

    /// Runs until a condition holds; panics after 1000 s.
    pub fn run_to(&mut self, mut condition: impl FnMut(&Self) -> bool) {
        let end = self.now + Nanos::from_secs(1_000);
        while !condition(self) {
            assert!(self.step(end), "nothing happens any more at {}", self.now);
        }
    }

    /// When something happens next.
    pub fn next_event(&self) -> Option<Nanos> {
        let timers = self.ends.iter().filter_map(Connection::next_timer);
        let arrival = self.flying.peek().map(|next| next.0.0);
        timers.chain(arrival).min()
    }

    /// The next event before `end`.
    pub fn step(&mut self, end: Nanos) -> bool {
        let timers = [0, 1].map(|end| self.ends[end].next_timer().unwrap_or(Nanos(u64::MAX)));
        let arrival = self.flying.peek().map_or(Nanos(u64::MAX), |next| next.0.0);
        let at = arrival.min(timers[0]).min(timers[1]);
        if at > end || at == Nanos(u64::MAX) {
            return false;
        }
        assert!(at >= self.now, "time runs back");
        self.now = at;
        if arrival == at {
            let Reverse((_, number, to)) = self.flying.pop().unwrap();
            let (segment, is_ce) = self.arrivals[number as usize];
            self.act(to, |end, out| end.on_segment(at, &segment, is_ce, out));
        } else {
            let place = usize::from(timers[0] != at);
            self.act(place, |end, out| end.on_timer(at, out));
        }
        true
    }

    pub fn act(&mut self, from: usize, call: impl FnOnce(&mut Connection, &mut Vec<Segment>)) {
        let mut out = std::mem::take(&mut self.out);
        call(&mut self.ends[from], &mut out);
        for segment in out.drain(..) {
            self.send(from, segment);
        }
        self.out = out;
    }

    fn send(&mut self, from: usize, segment: Segment) {
        let mut sent = Sent {
            from,
            at: self.now,
            segment,
            fate: Fate::Arrives,
        };
        sent.fate = (self.disturb)(&sent);
        let waiting_ns = self.busy_until[from].since(self.now).0;
        if self.ns_per_byte > 0 && waiting_ns / self.ns_per_byte > self.queue_bytes {
            sent.fate = Fate::IsLost;
        }
        self.log.push(sent);
        let is_ce = sent.fate == Fate::IsMarked && segment.ecn == Ecn::Capable;
        if sent.fate == Fate::IsLost {
            return;
        }
        let length = Nanos(u64::from(segment.size_bytes) * self.ns_per_byte);
        self.busy_until[from] = self.busy_until[from].max(self.now) + length;
        let due = self.busy_until[from] + self.delay;
        let mut fly = |due| {
            let number = self.arrivals.len() as u64;
            self.arrivals.push((segment, is_ce));
            self.flying.push(Reverse((due, number, 1 - from)));
        };
        match sent.fate {
            Fate::ComesLater(more) => fly(due + more),
            Fate::ComesTwice(more) => {
                fly(due);
                fly(due + more);
            }
            _ => fly(due),
        }
    }

    /// Frees what is kept of segments that arrived long ago; only while few are on the way.
    pub fn forget_arrivals(&mut self) {
        if self.flying.is_empty() {
            self.arrivals.clear();
        }
    }

    /// Data segments that one end has sent, in order.
    pub fn data_from(&self, from: usize) -> Vec<Sent> {
        let is_data = |sent: &&Sent| sent.from == from && sent.segment.payload_bytes > 0;
        self.log.iter().filter(is_data).copied().collect()
    }

    /// Bare acknowledgements that one end has sent, in order.
    pub fn acks_from(&self, from: usize) -> Vec<Sent> {
        let is_ack = |sent: &&Sent| sent.from == from && sent.segment.payload_bytes == 0;
        self.log.iter().filter(is_ack).copied().collect()
    }
}
