// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From what the endpoints and the emulator saw to the common format.
use ebb_link::{Capacity, Class, LinkSpec, Nanos};
use ebb_scenario::{
    ApplicationMeasure, ClassMeasure, Distribution, Flow, FlowMeasure, FlowOutcome, FlowSeries,
    Interval, LinkId, LinkMeasure, LinkOutcome, LinkSeries, OUTCOME_FORMAT, Outcome, Period,
    Scenario, Series, VariationRound,
};

use super::prepared::SharedPath;
use super::seen::Seen;
use crate::emulator::{DirectionReport, PathReport, QueueBin};
use crate::traffic::{FlowResult, TcpSample};

/// Everything that is known of one run.
pub(super) struct Measured<'a> {
    pub scenario: &'a Scenario,
    pub shared: &'a SharedPath,
    pub run: u32,
    pub flows: &'a [FlowResult],
    /// What the receivers' laws saw, where that was recorded. *Shape:* by flow.
    pub seen: Vec<Option<&'a Seen>>,
    pub path: &'a PathReport,
    /// When the run began, by the clock of the emulator.
    pub epoch: Nanos,
}

pub(super) fn outcome(measured: &Measured<'_>) -> Outcome {
    let scenario = measured.scenario;
    let bins = scenario.bins();
    let flows = (scenario.flows.iter().zip(measured.flows)).zip(&measured.seen);
    let links: Vec<_> = measured.links().collect();
    Outcome {
        format: OUTCOME_FORMAT,
        scenario: scenario.name.clone(),
        engine: "lab".into(),
        version: env!("CARGO_PKG_VERSION").into(),
        run: measured.run,
        seed: scenario.seed_of_run(measured.run),
        duration_s: scenario.duration.as_secs_f64(),
        intervals: scenario.intervals.iter().map(Period::from).collect(),
        flows: flows
            .clone()
            .map(|((flow, result), seen)| measured.flow_outcome(flow, result, *seen))
            .collect(),
        links: links
            .iter()
            .map(|(id, report)| measured.link_outcome(*id, report))
            .collect(),
        series: Series {
            bin_s: scenario.bin.as_secs_f64(),
            flows: flows
                .filter(|_| scenario.has_flow_series)
                .map(|((flow, result), seen)| FlowSeries {
                    estimate_bytes: seen.map_or_else(Vec::new, |seen| measured.estimates(seen)),
                    variation_rounds: seen.map_or_else(Vec::new, |seen| measured.rounds(seen)),
                    ..flow_series(&flow.name, result, scenario.bin, bins)
                })
                .collect(),
            links: links
                .iter()
                .map(|(id, report)| measured.link_series(*id, report))
                .collect(),
        },
    }
}

fn flow_measure(interval: &Interval, result: &FlowResult) -> FlowMeasure {
    let (from_s, to_s) = (interval.from.as_secs_f64(), interval.to.as_secs_f64());
    let delivered = result.bytes_between(from_s, to_s);
    let (before, after) = (last_before(result, from_s), last_before(result, to_s));
    let counted = |count: fn(&TcpSample) -> u64| {
        let [before, after] = [before, after].map(|sample| sample.map_or(0, count));
        after.saturating_sub(before)
    };
    let within = |sample: &&TcpSample| sample.time_s >= from_s && sample.time_s < to_s;
    let rtts_ms = result.samples.iter().filter(within);
    FlowMeasure {
        delivered_bytes: delivered.round() as u64,
        goodput_bits_per_s: delivered * 8.0 / (to_s - from_s),
        sent_bytes: counted(|sample| sample.sent_bytes),
        sent_pkts: counted(|sample| sample.sent_segments.into()),
        retransmitted_bytes: counted(|sample| sample.retransmitted_bytes),
        retransmitted_pkts: counted(|sample| sample.retransmitted_segments.into()),
        timeouts: counted(|sample| sample.timeouts.into()),
        recoveries: None,
        lost_pkts: None,
        rtt_ms: distribution(
            rtts_ms
                .map(|sample| f64::from(sample.rtt_us) / 1e3)
                .collect(),
        ),
        variations: None,
        application: result.udp.as_ref().map(|udp| ApplicationMeasure::Udp {
            delay_ms: distribution(
                udp.delays_us
                    .iter()
                    .map(|us| f64::from(*us) / 1e3)
                    .collect(),
            ),
            lost_pkts: udp.sent_pkts.saturating_sub(udp.delays_us.len() as u64),
        }),
    }
}

fn last_before(result: &FlowResult, time_s: f64) -> Option<&TcpSample> {
    let later = result
        .samples
        .partition_point(|sample| sample.time_s <= time_s);
    later.checked_sub(1).map(|last| &result.samples[last])
}

fn distribution(mut values: Vec<f64>) -> Distribution {
    values.sort_unstable_by(f64::total_cmp);
    let (Some(min), Some(max)) = (values.first(), values.last()) else {
        return Distribution::default();
    };
    // The least value that so large a share does not exceed.
    let quantile = |share: f64| {
        let rank = (share * values.len() as f64).ceil() as usize;
        values[rank.clamp(1, values.len()) - 1]
    };
    Distribution {
        count: values.len() as u64,
        mean: values.iter().sum::<f64>() / values.len() as f64,
        min: *min,
        median: quantile(0.5),
        p95: quantile(0.95),
        max: *max,
    }
}

fn flow_series(name: &str, result: &FlowResult, bin: Nanos, bins: usize) -> FlowSeries {
    let bin_s = bin.as_secs_f64();
    let edge = |number: usize| (number as f64 * bin_s, (number + 1) as f64 * bin_s);
    let sample = |number: usize| {
        let (from_s, to_s) = edge(number);
        last_before(result, to_s).filter(|sample| sample.time_s >= from_s)
    };
    let each = |value: fn(&TcpSample) -> u64| (0..bins).map(|bin| sample(bin).map(value)).collect();
    FlowSeries {
        name: name.to_owned(),
        goodput_bits_per_s: (0..bins)
            .map(|number| result.goodput_bit_per_s(edge(number).0, edge(number).1))
            .collect(),
        cwnd_bytes: each(|it| u64::from(it.cwnd_segments) * u64::from(it.mss_bytes)),
        rwnd_bytes: each(|it| it.peer_window_bytes.into()),
        rtt_ms: (0..bins)
            .map(|bin| sample(bin).map(|sample| f64::from(sample.rtt_us) / 1e3))
            .collect(),
        ..FlowSeries::default()
    }
}

impl Measured<'_> {
    fn flow_outcome(&self, flow: &Flow, result: &FlowResult, seen: Option<&Seen>) -> FlowOutcome {
        let measure = |interval| FlowMeasure {
            variations: seen.and_then(|seen| seen.variations(self.epoch, interval)),
            ..flow_measure(interval, result)
        };
        FlowOutcome {
            name: flow.name.clone(),
            group: flow.group.clone(),
            class: flow.class,
            sender: flow.sender.clone(),
            receiver: flow.receiver.clone(),
            start_s: result.spec.start_s,
            completion_s: result.completed_s.map(|at| at - result.spec.start_s),
            measures: self.scenario.intervals.iter().map(measure).collect(),
        }
    }

    /// What a law took the sender's window for at the end of each bin.
    fn estimates(&self, seen: &Seen) -> Vec<Option<u64>> {
        let ends = (1..=self.scenario.bins() as u64).map(|number| number * self.scenario.bin.0);
        ends.map(|end| seen.estimate_bytes(self.epoch + Nanos(end)))
            .collect()
    }

    /// Round trips that a law watched. Packets still arrive for a moment after the end, and a
    /// flow that acts up to there watches these.
    fn rounds(&self, seen: &Seen) -> Vec<VariationRound> {
        let end_s = self.scenario.duration.as_secs_f64();
        let rounds = seen.rounds(self.epoch);
        rounds.filter(|round| round.at_s < end_s).collect()
    }

    /// The links that limit the flows, where there are any.
    fn links(&self) -> impl Iterator<Item = (LinkId, &DirectionReport)> {
        let reports = [&self.path.forward, &self.path.reverse];
        let both = self.shared.bottlenecks.iter().zip(reports);
        let reported = both.filter_map(|(id, report)| id.map(|id| (id, report)));
        reported.filter(|(id, _)| self.scenario.links[id.index()].is_reported)
    }

    fn spec(&self, id: LinkId) -> &LinkSpec {
        &self.scenario.links[id.index()].spec
    }

    fn rate_bits_per_s(&self, id: LinkId) -> Option<f64> {
        match &self.spec(id).capacity {
            Capacity::Rate(rate) => Some(rate.bits_per_s() as f64),
            // The mean of what varies is what the simulator reports; the lab leaves it out.
            Capacity::Trace(_) | Capacity::Steps(_) | Capacity::Unlimited => None,
        }
    }

    fn link_outcome(&self, id: LinkId, report: &DirectionReport) -> LinkOutcome {
        let intervals = self.scenario.intervals.iter();
        LinkOutcome {
            name: self.scenario.links[id.index()].name.clone(),
            rate_bits_per_s: self.rate_bits_per_s(id),
            measures: intervals
                .map(|interval| self.link_measure(id, report, interval))
                .collect(),
        }
    }

    fn link_measure(&self, id: LinkId, report: &DirectionReport, part: &Interval) -> LinkMeasure {
        let (from, to) = (self.epoch + part.from, self.epoch + part.to);
        let classes = [Class::BestEffort, Class::LessThanBestEffort];
        let bins = classes.map(|class| report.series.between(class, from, to));
        let sent_bits = bins
            .iter()
            .map(|bin| bin.sent_bytes as f64 * 8.0)
            .sum::<f64>();
        let waits_us = classes
            .iter()
            .flat_map(|class| report.series.waits_us(*class, from, to));
        let queue_delay_ms = distribution(waits_us.map(|us| f64::from(us) / 1e3).collect());
        let seconds = part.length().as_secs_f64();
        LinkMeasure {
            utilisation: self
                .rate_bits_per_s(id)
                .map(|rate| sent_bits / seconds / rate),
            queue_delay_ms,
            max_queue_pkts: None,
            max_queue_bytes: None,
            best_effort: class_measure(&bins[0]),
            less_than_best_effort: class_measure(&bins[1]),
        }
    }

    fn link_series(&self, id: LinkId, report: &DirectionReport) -> LinkSeries {
        let bin = self.scenario.bin;
        let bins = (0..self.scenario.bins() as u64).map(|number| {
            let from = self.epoch + Nanos(number * bin.0);
            let classes = [Class::BestEffort, Class::LessThanBestEffort];
            classes.map(|class| report.series.between(class, from, from + bin))
        });
        let bins: Vec<[QueueBin; 2]> = bins.collect();
        let sum = |value: fn(&QueueBin) -> u64| -> Vec<u64> {
            bins.iter()
                .map(|both| both.iter().map(value).sum())
                .collect()
        };
        let waiting = |both: &[QueueBin; 2]| {
            let mut waiting = both[0].waiting;
            waiting += both[1].waiting;
            waiting.mean_ns().map(|mean| mean / 1e6)
        };
        LinkSeries {
            name: self.scenario.links[id.index()].name.clone(),
            rate_bits_per_s: sum(|bin| bin.sent_bytes)
                .into_iter()
                .map(|bytes| bytes as f64 * 8.0 / bin.as_secs_f64())
                .collect(),
            queue_pkts: Vec::new(),
            queue_bytes: Vec::new(),
            queue_delay_ms: bins.iter().map(waiting).collect(),
            dropped_pkts: sum(|bin| bin.dropped_pkts),
        }
    }
}

fn class_measure(bin: &QueueBin) -> ClassMeasure {
    ClassMeasure {
        offered_pkts: bin.waiting.count + bin.dropped_pkts,
        delivered_pkts: bin.waiting.count,
        delivered_bytes: bin.sent_bytes,
        dropped_pkts: bin.dropped_pkts,
        lost_pkts: None,
        marked_pkts: None,
        mean_queue_delay_ms: bin.waiting.mean_ns().unwrap_or(0.0) / 1e6,
    }
}
