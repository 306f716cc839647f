// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From readings of the meters to the outcome of a run.

use ebb_link::{Class, ClassStatistics, LinkStatistics, Nanos, Waiting};
use ebb_scenario::{
    ClassMeasure, FlowMeasure, FlowOutcome, FlowSeries, Interval, LinkMeasure, LinkOutcome,
    LinkSeries, OUTCOME_FORMAT, Outcome, Period, Scenario, Series, VariationRound, Variations,
};

use crate::flows::FlowCounters;
use crate::network::Network;
use crate::simulation::Simulation;
use crate::tcp::WatchedRound;

/// What the meters showed at the borders of intervals and at the ends of bins.
pub(crate) struct Readings {
    duration: Nanos,
    bin: Nanos,
    intervals: Vec<Interval>,
    /// Places of the links that are reported.
    links: Vec<usize>,
    /// When each interval began.
    begun: Vec<Reading>,
    /// When each interval ended.
    ended: Vec<Reading>,
    /// The end of the bin before, and when that was.
    last: Reading,
    last_at: Nanos,
    /// Most packets and bytes that waited. *Shape:* by interval, then by reported link.
    max_queues: Vec<Vec<(u64, u64)>>,
    flow_series: Vec<FlowSeries>,
    link_series: Vec<LinkSeries>,
}

/// All counters at one time.
#[derive(Clone, Default)]
struct Reading {
    flows: Vec<FlowCounters>,
    links: Vec<LinkStatistics>,
}

impl Readings {
    pub(crate) fn new(scenario: &Scenario) -> Self {
        let links: Vec<usize> = (0..scenario.links.len())
            .filter(|place| scenario.links[*place].is_reported)
            .collect();
        let nothing = Reading {
            flows: vec![FlowCounters::default(); scenario.flows.len()],
            links: vec![LinkStatistics::default(); links.len()],
        };
        let intervals = scenario.intervals.len();
        Self {
            duration: scenario.duration,
            bin: scenario.bin,
            intervals: scenario.intervals.clone(),
            begun: vec![nothing.clone(); intervals],
            ended: vec![nothing.clone(); intervals],
            last: nothing,
            last_at: Nanos::ZERO,
            max_queues: vec![vec![(0, 0); links.len()]; intervals],
            flow_series: if scenario.has_flow_series {
                scenario
                    .flows
                    .iter()
                    .map(|flow| named_flow(&flow.name))
                    .collect()
            } else {
                Vec::new()
            },
            link_series: links
                .iter()
                .map(|place| named_link(&scenario.links[*place].name))
                .collect(),
            links,
        }
    }

    /// Reads all meters.
    pub(crate) fn read(&mut self, network: &mut Network) {
        let now = network.now;
        self.take_max_queues(network);
        let is_border =
            |interval: &Interval| interval.from == now || interval.to.min(self.duration) == now;
        // Of many flows, reading all of them in each bin would cost more than to run them.
        let needs_flows = !self.flow_series.is_empty() || self.intervals.iter().any(is_border);
        let flows = if needs_flows {
            0..network.flows.len()
        } else {
            0..0
        };
        let reading = Reading {
            flows: flows.map(|flow| network.flow_counters(flow)).collect(),
            links: self
                .links
                .iter()
                .map(|place| network.ports[*place].link.statistics())
                .map(|counted| counted.copied().unwrap_or_default())
                .collect(),
        };
        for (place, interval) in self.intervals.iter().enumerate() {
            if interval.from == now {
                self.begun[place] = reading.clone();
            }
            if interval.to.min(self.duration) == now {
                self.ended[place] = reading.clone();
            }
        }
        let is_end_of_bin = now.0.is_multiple_of(self.bin.0.max(1)) || now == self.duration;
        if is_end_of_bin && now > Nanos::ZERO {
            self.end_bin(network, reading);
        }
    }

    fn take_max_queues(&mut self, network: &mut Network) {
        for (index, place) in self.links.iter().enumerate() {
            let max = network.ports[*place].take_max_queue();
            for (interval, maxima) in self.intervals.iter().zip(&mut self.max_queues) {
                if interval.from < network.now && network.now <= interval.to {
                    let most = &mut maxima[index];
                    *most = (most.0.max(max.0), most.1.max(max.1));
                }
            }
        }
    }

    fn end_bin(&mut self, network: &Network, reading: Reading) {
        let seconds = network.now.since(self.last_at).as_secs_f64();
        self.end_bin_of_flows(network, &reading, seconds);
        self.end_bin_of_links(network, &reading, seconds);
        self.last = reading;
        self.last_at = network.now;
    }

    fn end_bin_of_flows(&mut self, network: &Network, reading: &Reading, seconds: f64) {
        let flows = reading.flows.iter().zip(&self.last.flows);
        for (place, (series, (after, before))) in self.flow_series.iter_mut().zip(flows).enumerate()
        {
            let bytes = after.delivered_bytes - before.delivered_bytes;
            series.goodput_bits_per_s.push(bytes as f64 * 8.0 / seconds);
            if !network.flows[place].spec.traffic.is_tcp() {
                continue;
            }
            let windows = network.flow_windows(place);
            series.cwnd_bytes.push(windows.map(|(cwnd, _)| cwnd));
            series.rwnd_bytes.push(windows.map(|(_, rwnd)| rwnd));
            if network.flows[place].spec.receiver.is_some() {
                let estimate = network.flow_estimate_bytes(place);
                series.estimate_bytes.push(estimate);
            }
            let samples = after.rtt_samples - before.rtt_samples;
            let sum_ns = after.rtt_sum_ns - before.rtt_sum_ns;
            let mean_ms = (samples > 0).then(|| sum_ns as f64 / samples as f64 / 1e6);
            series.rtt_ms.push(mean_ms);
            let retransmitted_pkts = after.retransmitted_pkts - before.retransmitted_pkts;
            series.retransmitted_pkts.push(retransmitted_pkts);
        }
    }

    fn end_bin_of_links(&mut self, network: &Network, reading: &Reading, seconds: f64) {
        let links = reading.links.iter().zip(&self.last.links);
        for (index, (series, (after, before))) in self.link_series.iter_mut().zip(links).enumerate()
        {
            let (after, before) = (after.total(), before.total());
            let (pkts, bytes_waiting) = network.ports[self.links[index]].queue();
            let bytes = after.delivered_bytes - before.delivered_bytes;
            series.rate_bits_per_s.push(bytes as f64 * 8.0 / seconds);
            series.queue_pkts.push(pkts);
            series.queue_bytes.push(bytes_waiting);
            let waiting = mean_waiting_ms(&after.waiting, &before.waiting);
            series.queue_delay_ms.push(waiting);
            series
                .dropped_pkts
                .push(after.dropped_pkts - before.dropped_pkts);
        }
    }

    /// The outcome of the run that just ended.
    pub(crate) fn outcome(
        mut self,
        scenario: &Scenario,
        run: u32,
        simulation: &Simulation<'_>,
    ) -> Outcome {
        let flows = (0..scenario.flows.len())
            .map(|place| self.flow_outcome(place, simulation))
            .collect();
        for (place, series) in self.flow_series.iter_mut().enumerate() {
            let rounds = simulation.network.watched_rounds(place);
            series.variation_rounds = rounds.map(variation_round).collect();
        }
        let links = (0..self.links.len())
            .map(|index| self.link_outcome(index, scenario, simulation))
            .collect();
        Outcome {
            format: OUTCOME_FORMAT,
            scenario: scenario.name.clone(),
            engine: "simulator".to_owned(),
            version: env!("CARGO_PKG_VERSION").to_owned(),
            run,
            seed: scenario.seed_of_run(run),
            duration_s: scenario.duration.as_secs_f64(),
            intervals: scenario.intervals.iter().map(Period::from).collect(),
            flows,
            links,
            series: Series {
                bin_s: scenario.bin.as_secs_f64(),
                flows: self.flow_series,
                links: self.link_series,
            },
        }
    }

    fn flow_outcome(&self, place: usize, simulation: &Simulation<'_>) -> FlowOutcome {
        let flow = &simulation.network.flows[place];
        let measures = (0..self.intervals.len())
            .map(|interval| {
                let measure = self.flow_measure(place, interval);
                FlowMeasure {
                    rtt_ms: flow.meter.rtt.get(interval).in_millis(),
                    application: simulation.applications[place].measure(interval),
                    variations: self.variations(place, interval, &simulation.network),
                    ..measure
                }
            })
            .collect();
        FlowOutcome {
            name: flow.spec.name.clone(),
            group: flow.spec.group.clone(),
            class: flow.spec.class,
            sender: flow.spec.sender.clone(),
            receiver: flow.spec.receiver.clone(),
            start_s: flow.start.as_secs_f64(),
            completion_s: flow
                .completed_at
                .map(|at| at.since(flow.start).as_secs_f64()),
            measures,
        }
    }

    /// Of the round trips that ended in the interval.
    fn variations(&self, place: usize, interval: usize, network: &Network) -> Option<Variations> {
        let interval = &self.intervals[interval];
        let rounds = network.watched_rounds(place);
        let ended = rounds.filter(|round| interval.from <= round.at && round.at < interval.to);
        Variations::of(ended.map(variation_round))
    }

    fn flow_measure(&self, place: usize, interval: usize) -> FlowMeasure {
        let after = self.ended[interval].flows[place];
        let before = self.begun[interval].flows[place];
        let delivered_bytes = after.delivered_bytes - before.delivered_bytes;
        let seconds = self.intervals[interval].length().as_secs_f64();
        FlowMeasure {
            delivered_bytes,
            goodput_bits_per_s: delivered_bytes as f64 * 8.0 / seconds,
            sent_bytes: after.sent_bytes - before.sent_bytes,
            sent_pkts: after.sent_pkts - before.sent_pkts,
            retransmitted_bytes: after.retransmitted_bytes - before.retransmitted_bytes,
            retransmitted_pkts: after.retransmitted_pkts - before.retransmitted_pkts,
            timeouts: after.timeouts - before.timeouts,
            recoveries: Some(after.recoveries - before.recoveries),
            lost_pkts: Some(after.lost_pkts - before.lost_pkts),
            ..FlowMeasure::default()
        }
    }

    fn link_outcome(
        &self,
        index: usize,
        scenario: &Scenario,
        simulation: &Simulation<'_>,
    ) -> LinkOutcome {
        let place = self.links[index];
        let link = &scenario.links[place];
        let rate = link.spec.mean_bits_per_s();
        let meter = &simulation.network.ports[place].meter;
        let measures = (0..self.intervals.len())
            .map(|interval| {
                let measure = self.link_measure(index, interval, rate);
                let waited = meter.as_ref().map(|meter| meter.waited.get(interval));
                LinkMeasure {
                    queue_delay_ms: waited.map(|waited| waited.in_millis()).unwrap_or_default(),
                    ..measure
                }
            })
            .collect();
        LinkOutcome {
            name: link.name.clone(),
            rate_bits_per_s: rate,
            measures,
        }
    }

    fn link_measure(&self, index: usize, interval: usize, rate: Option<f64>) -> LinkMeasure {
        let after = &self.ended[interval].links[index];
        let before = &self.begun[interval].links[index];
        let bytes = after.total().delivered_bytes - before.total().delivered_bytes;
        let seconds = self.intervals[interval].length().as_secs_f64();
        let (max_queue_pkts, max_queue_bytes) = self.max_queues[interval][index];
        let class = |class| class_measure(after.class(class), before.class(class));
        LinkMeasure {
            utilisation: rate.map(|rate| bytes as f64 * 8.0 / (rate * seconds)),
            max_queue_pkts: Some(max_queue_pkts),
            max_queue_bytes: Some(max_queue_bytes),
            best_effort: class(Class::BestEffort),
            less_than_best_effort: class(Class::LessThanBestEffort),
            ..LinkMeasure::default()
        }
    }
}

fn class_measure(after: &ClassStatistics, before: &ClassStatistics) -> ClassMeasure {
    ClassMeasure {
        offered_pkts: after.offered_pkts - before.offered_pkts,
        delivered_pkts: after.delivered_pkts - before.delivered_pkts,
        delivered_bytes: after.delivered_bytes - before.delivered_bytes,
        dropped_pkts: after.dropped_pkts - before.dropped_pkts,
        lost_pkts: Some(after.lost_pkts - before.lost_pkts),
        marked_pkts: Some(after.marked_pkts - before.marked_pkts),
        mean_queue_delay_ms: mean_waiting_ms(&after.waiting, &before.waiting).unwrap_or(0.0),
    }
}

fn mean_waiting_ms(after: &Waiting, before: &Waiting) -> Option<f64> {
    let count = after.count - before.count;
    let sum_ns = after.sum_ns - before.sum_ns;
    (count > 0).then(|| sum_ns as f64 / count as f64 / 1e6)
}

fn variation_round(round: &WatchedRound) -> VariationRound {
    VariationRound {
        at_s: round.at.as_secs_f64(),
        all: round.all,
        positive: round.positive,
        sum_jiffies: round.sum_jiffies,
    }
}

fn named_flow(name: &str) -> FlowSeries {
    FlowSeries {
        name: name.to_owned(),
        ..FlowSeries::default()
    }
}

fn named_link(name: &str) -> LinkSeries {
    LinkSeries {
        name: name.to_owned(),
        ..LinkSeries::default()
    }
}
