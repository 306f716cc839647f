// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The flows of a run: their routes, their timeline, their counters.

use std::ops::AddAssign;

use ebb_link::{Class, Nanos};
use ebb_scenario::Flow;

use crate::application::End;
use crate::endpoints::FlowTcp;
use crate::meter::ByInterval;
use crate::network::{Network, Origin};

use crate::schedule::{Alarm, Entity, Schedule};
use crate::simulation::Simulation;
use crate::tcp::WatchedRound;

/// A flow while it runs.
pub(crate) struct FlowState {
    pub(crate) spec: Flow,
    /// Where its routes start in the list of hops. *Shape:* by `End::index` of the sender.
    pub(crate) routes: [u32; 2],
    /// The hosts of its ends, as queues tell them apart. *Shape:* by `End::index`.
    hosts: [u16; 2],
    pub(crate) class: Class,
    /// Whether its receiver policy only observes.
    pub(crate) is_observing: bool,
    /// When it really started.
    pub(crate) start: Nanos,
    /// What is to happen, in order of time.
    milestones: Vec<(Nanos, Milestone)>,
    next_milestone: usize,
    timer: Option<Nanos>,
    alarm: Alarm,
    /// What its connections have in common; none for UDP.
    pub(crate) tcp: Option<FlowTcp>,
    /// Places of its connections that exist.
    pub(crate) connections: Vec<u32>,
    /// When the last byte of a fixed size had arrived.
    pub(crate) completed_at: Option<Nanos>,
    pub(crate) meter: FlowMeter,
}

/// Something in a flow's timeline. *Shape:* what happens at one instant in this order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Milestone {
    /// It is best effort from here.
    Resume,
    /// It is of its own class and under its receiver policy from here.
    Yield,
    Start,
    Stop,
}

/// What is counted for a flow over all its connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct FlowMeter {
    /// What has happened so far, but for connections that exist.
    pub(crate) counters: FlowCounters,
    /// RTT samples of its senders.
    pub(crate) rtt: ByInterval,
}

/// Counters of a flow. See [`FlowMeasure`](ebb_scenario::FlowMeasure) for their meaning.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FlowCounters {
    pub(crate) delivered_bytes: u64,
    pub(crate) sent_bytes: u64,
    pub(crate) sent_pkts: u64,
    pub(crate) retransmitted_bytes: u64,
    pub(crate) retransmitted_pkts: u64,
    pub(crate) timeouts: u64,
    pub(crate) recoveries: u64,
    pub(crate) lost_pkts: u64,
    pub(crate) rtt_samples: u64,
    pub(crate) rtt_sum_ns: u64,
}

/// When a flow begins, ends, and is to yield, in order.
fn milestones(spec: &Flow, start: Nanos) -> Vec<(Nanos, Milestone)> {
    let mut milestones = vec![(start, Milestone::Start)];
    milestones.extend(spec.stop.map(|stop| (stop.max(start), Milestone::Stop)));
    for interval in &spec.during {
        milestones.push((interval.from, Milestone::Yield));
        milestones.push((interval.to, Milestone::Resume));
    }
    milestones.sort();
    milestones
}

impl FlowState {
    pub(crate) fn new(
        spec: Flow,
        routes: [u32; 2],
        start: Nanos,
        tcp: Option<FlowTcp>,
        intervals: usize,
    ) -> Self {
        let milestones = milestones(&spec, start);
        let is_always = spec.during.is_empty();
        // With more than 65536 hosts some look alike, as they do by a router's hash.
        let hosts = [spec.from, spec.to].map(|node| node.0 as u16);
        Self {
            routes,
            hosts,
            class: if is_always {
                spec.class
            } else {
                Class::BestEffort
            },
            spec,
            is_observing: !is_always,
            start,
            milestones,
            next_milestone: 0,
            timer: None,
            alarm: Alarm::default(),
            tcp,
            connections: Vec::new(),
            completed_at: None,
            meter: FlowMeter {
                counters: FlowCounters::default(),
                rtt: ByInterval::new(intervals),
            },
        }
    }

    /// What a packet has from its flow, which is the one at this place, and from its end.
    pub(crate) fn origin(&self, place: u32, end: End) -> Origin {
        let [source, sink] = self.hosts;
        Origin {
            flow: place,
            route: self.routes[end.index()],
            hosts: match end {
                End::Source => [source, sink],
                End::Sink => [sink, source],
            },
            class: self.class,
        }
    }

    /// Asks to be woken at the next milestone or timer.
    pub(crate) fn arm(&mut self, place: u32, schedule: &mut Schedule) {
        let milestone = self.milestones.get(self.next_milestone).map(|(at, _)| *at);
        let deadline = match (milestone, self.timer) {
            (Some(first), Some(second)) => Some(first.min(second)),
            (first, second) => first.or(second),
        };
        if let Some(deadline) = deadline {
            self.alarm.at(deadline, Entity::Flow(place), schedule);
        }
    }

    pub(crate) fn set_timer(&mut self, at: Option<Nanos>) {
        self.timer = at;
    }

    fn next_milestone(&mut self, now: Nanos) -> Option<Milestone> {
        let (_, milestone) = self
            .milestones
            .get(self.next_milestone)
            .filter(|(at, _)| *at <= now)?;
        self.next_milestone += 1;
        Some(*milestone)
    }
}

impl FlowMeter {
    pub(crate) fn add_rtts(&mut self, open: &[usize], rtts_us: &[u32]) {
        for rtt_us in rtts_us {
            self.rtt.add(open, Nanos::from_micros(u64::from(*rtt_us)));
        }
    }
}

impl AddAssign for FlowCounters {
    fn add_assign(&mut self, other: Self) {
        self.delivered_bytes += other.delivered_bytes;
        self.sent_bytes += other.sent_bytes;
        self.sent_pkts += other.sent_pkts;
        self.retransmitted_bytes += other.retransmitted_bytes;
        self.retransmitted_pkts += other.retransmitted_pkts;
        self.timeouts += other.timeouts;
        self.recoveries += other.recoveries;
        self.lost_pkts += other.lost_pkts;
        self.rtt_samples += other.rtt_samples;
        self.rtt_sum_ns += other.rtt_sum_ns;
    }
}

impl Network {
    /// What a flow has counted so far, over all its connections.
    pub(crate) fn flow_counters(&self, flow: usize) -> FlowCounters {
        let state = &self.flows[flow];
        let mut total = state.meter.counters;
        for place in &state.connections {
            total += self.connection_counters(*place);
        }
        total
    }

    /// What a connection has counted that its flow has not.
    pub(crate) fn connection_counters(&self, place: u32) -> FlowCounters {
        let connection = &self.endpoints.at(place, End::Source).connection;
        let source = connection.counters();
        let sink = &self.endpoints.at(place, End::Sink).connection;
        FlowCounters {
            delivered_bytes: sink.received_bytes(),
            sent_bytes: source.sent_bytes + source.resent_bytes,
            sent_pkts: source.sent_pkts + source.resent_pkts,
            retransmitted_bytes: source.resent_bytes,
            retransmitted_pkts: source.resent_pkts,
            timeouts: u64::from(source.timeouts),
            recoveries: u64::from(source.recoveries),
            lost_pkts: 0,
            rtt_samples: connection.rtt_samples().0,
            rtt_sum_ns: connection.rtt_sum_us() * 1_000,
        }
    }

    /// Congestion window of the source, and the window that it was told last, over all
    /// connections; none without one. *Units:* bytes.
    pub(crate) fn flow_windows(&self, flow: usize) -> Option<(u64, u64)> {
        let windows = self.flows[flow].connections.iter().map(|place| {
            let info = self.endpoints.at(*place, End::Source).connection.info();
            let cwnd_bytes = u64::from(info.cwnd_pkts) * u64::from(info.segment_bytes);
            (cwnd_bytes, u64::from(info.peer_window_bytes))
        });
        windows.reduce(|total, one| (total.0 + one.0, total.1 + one.1))
    }
}

impl Network {
    /// What the receiver laws of a flow take its congestion window for. *Units:* bytes.
    pub(crate) fn flow_estimate_bytes(&self, flow: usize) -> Option<u64> {
        let estimates = self.flows[flow].connections.iter().map(|place| {
            let sink = &self.endpoints.at(*place, End::Sink).connection;
            sink.estimate_bytes().map(u64::from)
        });
        estimates.sum()
    }

    /// Round trips whose variations the receiver laws of a flow have watched.
    pub(crate) fn watched_rounds(&self, flow: usize) -> impl Iterator<Item = &WatchedRound> {
        let places = self.flows[flow].connections.iter();
        places.flat_map(|place| {
            let sink = &self.endpoints.at(*place, End::Sink).connection;
            sink.watched_rounds()
        })
    }
}

impl Simulation<'_> {
    #[inline(never)]
    pub(crate) fn wake_flow(&mut self, place: u32) {
        let now = self.network.now;
        let flow = &mut self.network.flows[place as usize];
        if !flow.alarm.went_off(now) {
            return;
        }
        while let Some(milestone) = self.network.flows[place as usize].next_milestone(now) {
            self.pass_milestone(place, milestone);
        }
        let flow = &mut self.network.flows[place as usize];
        if flow.timer.take_if(|timer| *timer <= now).is_some() {
            self.tell(place, |application, host| application.on_timer(host));
        }
        let network = &mut self.network;
        network.flows[place as usize].arm(place, &mut network.schedule);
    }

    fn pass_milestone(&mut self, place: u32, milestone: Milestone) {
        match milestone {
            Milestone::Start => self.tell(place, |application, host| application.on_start(host)),
            Milestone::Stop => self.tell(place, |application, host| application.on_stop(host)),
            Milestone::Yield | Milestone::Resume => {
                self.network
                    .set_yielding(place, milestone == Milestone::Yield);
            }
        }
    }
}
