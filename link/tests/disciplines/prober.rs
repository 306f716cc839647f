// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Senders that probe for bandwidth, and what came of some of them on one link.
use std::collections::VecDeque;

use ebb_link::{Capacity, Class, ClassStatistics, Ecn, Link, LinkSpec, Nanos, Packet};

const RUN: Nanos = Nanos::from_secs(60);
const WARM_UP: Nanos = Nanos::from_secs(20);
pub const ONE_WAY: Nanos = Nanos::from_millis(25);

/// A sender with a window that grows by a packet per round trip.
pub struct Prober {
    flow: u32,
    ecn: Ecn,
    hosts: [u16; 2],
    window: f64,
    response: Response,
    in_flight: u32,
    /// When acknowledgements come, and whether they tell of congestion.
    acknowledgements: VecDeque<(Nanos, bool)>,
}

/// What a sender does about congestion.
enum Response {
    /// Halves once per round trip in which a packet was dropped or marked.
    Halves { at: Nanos },
    /// Shrinks once per round trip by half of the share of packets that were marked, which it
    /// averages as DCTCP does (RFC 8257).
    Shrinks {
        at: Nanos,
        alpha: f64,
        acknowledged: f64,
        marked: f64,
    },
}

impl Prober {
    pub fn new(flow: u32, ecn: Ecn) -> Self {
        Self {
            flow,
            ecn,
            hosts: [0; 2],
            window: 10.0,
            response: Response::Halves { at: Nanos::ZERO },
            in_flight: 0,
            acknowledgements: VecDeque::new(),
        }
    }

    /// One of L4S, which answers as DCTCP does.
    pub fn scalable(flow: u32) -> Self {
        let response = Response::Shrinks {
            at: Nanos::ZERO,
            alpha: 1.0,
            acknowledged: 0.0,
            marked: 0.0,
        };
        Self {
            response,
            ..Self::new(flow, Ecn::L4s)
        }
    }

    pub fn between(self, hosts: [u16; 2]) -> Self {
        Self { hosts, ..self }
    }

    fn acknowledge(&mut self, now: Nanos) {
        while let Some(&(at, is_congested)) = self.acknowledgements.front()
            && at <= now
        {
            self.acknowledgements.pop_front();
            self.in_flight -= 1;
            self.respond(now, is_congested);
        }
    }

    fn respond(&mut self, now: Nanos, is_congested: bool) {
        match &mut self.response {
            Response::Halves { at } => {
                if !is_congested {
                    self.window += 1.0 / self.window;
                } else if now.since(*at) > Nanos::from_millis(100) {
                    self.window = (self.window / 2.0).max(2.0);
                    *at = now;
                }
            }
            Response::Shrinks {
                at,
                alpha,
                acknowledged,
                marked,
            } => {
                self.window += 1.0 / self.window;
                *acknowledged += 1.0;
                *marked += if is_congested { 1.0 } else { 0.0 };
                if now.since(*at) > ONE_WAY + ONE_WAY {
                    *alpha += (*marked / *acknowledged - *alpha) / 16.0;
                    if *marked > 0.0 {
                        self.window = (self.window * (1.0 - *alpha / 2.0)).max(2.0);
                    }
                    (*at, *acknowledged, *marked) = (now, 0.0, 0.0);
                }
            }
        }
    }

    fn send(&mut self, now: Nanos, link: &mut Link<()>) {
        while self.in_flight < self.window as u32 {
            self.in_flight += 1;
            let packet = Packet::new(1_500, Class::BestEffort, ())
                .with_flow(self.flow)
                .with_hosts(self.hosts)
                .with_ecn(self.ecn);
            if link.enqueue(now, packet).is_err() {
                // Noticed about when the packets around it are acknowledged.
                self.acknowledgements
                    .push_back((now + ONE_WAY + ONE_WAY, true));
            }
        }
    }
}

/// What came of some probers after the warm-up.
pub struct Outcome {
    /// Part of the rate that each had.
    pub shares: Vec<f64>,
    /// How long packets of each waited. *Units:* ms.
    pub waited_ms: Vec<f64>,
    pub total: ClassStatistics,
}

/// Lets probers send that are numbered from 1 on.
pub fn run(spec: &LinkSpec, mut probers: Vec<Prober>) -> Outcome {
    let mut link = Link::new(spec, 1).unwrap();
    link.keep_dropped();
    let mut sums = vec![(0_u64, 0_u64, 0_u64); probers.len()];
    let mut now = Nanos::ZERO;
    let mut is_warm = false;
    while now < RUN {
        if now >= WARM_UP && !is_warm {
            link.restart_statistics(now);
            sums.fill((0, 0, 0));
            is_warm = true;
        }
        while let Some(delivery) = link.poll(now) {
            let index = delivery.packet.flow as usize - 1;
            let is_marked = delivery.packet.ecn == Ecn::Congested;
            probers[index]
                .acknowledgements
                .push_back((now + ONE_WAY, is_marked));
            let (bytes, pkts, waited_ns) = &mut sums[index];
            *bytes += u64::from(delivery.packet.size_bytes);
            *pkts += 1;
            *waited_ns += delivery.waited().0;
        }
        while let Some(dropped) = link.next_dropped() {
            let prober = &mut probers[dropped.packet.flow as usize - 1];
            prober.acknowledgements.push_back((now + ONE_WAY, true));
        }
        for prober in &mut probers {
            prober.acknowledge(now);
            prober.send(now, &mut link);
        }
        now += Nanos::from_micros(100);
    }
    let Capacity::Rate(rate) = spec.capacity else {
        panic!("shares are of a rate");
    };
    let bits = RUN.since(WARM_UP).as_secs_f64() * rate.bits_per_s() as f64;
    let share = |(bytes, _, _): &(u64, u64, u64)| *bytes as f64 * 8.0 / bits;
    let waited_ms = |(_, pkts, ns): &(u64, u64, u64)| *ns as f64 / *pkts as f64 / 1e6;
    Outcome {
        shares: sums.iter().map(share).collect(),
        waited_ms: sums.iter().map(waited_ms).collect(),
        total: link.statistics().total(),
    }
}
