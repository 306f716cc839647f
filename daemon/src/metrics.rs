// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The metrics, in the text format of OpenMetrics 1.0.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use ebb_keeper::{FlowView, QueueSeen};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{
    DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, MetricEncoder, NoLabelSet,
};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::{Registry, Unit};

use crate::ledger::Totals;
use crate::snapshot::{Latest, RuleSeen, Snapshot, State};
use crate::web::{Answer, Method, Request, Site, Status};

const KIND: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
const PATH: &str = "/metrics";
const DIRECTIONS: [&str; 2] = ["down", "up"];

type Labels<'a> = Vec<(&'a str, &'a str)>;

/// Serves the metrics of the latest snapshot.
pub(crate) fn site(latest: Latest) -> Site {
    // Written once, however many ask.
    let written: Mutex<(Arc<Snapshot>, Arc<[u8]>)> = Mutex::default();
    Box::new(move |request: &Request| {
        if request.path != PATH {
            return Answer::refusal(Status::NotFound, "metrics are at /metrics");
        }
        if request.method == Method::Post {
            return Answer::refusal(Status::WrongMethod, "metrics are told by GET");
        }
        let snapshot = latest.snapshot();
        let mut written = written.lock().unwrap_or_else(PoisonError::into_inner);
        if written.1.is_empty() || !Arc::ptr_eq(&written.0, &snapshot) {
            let text = text(&snapshot);
            *written = (snapshot, Arc::from(text.into_bytes()));
        }
        Answer::of(KIND, Arc::clone(&written.1))
    })
}

fn text(snapshot: &Arc<Snapshot>) -> String {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(Metrics(Arc::clone(snapshot))));
    let mut text = String::new();
    // Writing into a text does not fail.
    let _ = encode(&mut text, &registry);
    text
}

#[derive(Debug)]
struct Metrics(Arc<Snapshot>);

impl Collector for Metrics {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = &self.0;
        of_service(snapshot, &mut encoder)?;
        let mut rules = Rules {
            prefix: "ebb_rule",
            rules: snapshot.rules.iter().collect(),
            encoder,
        };
        rules.of_state()?;
        rules.of_traffic()?;
        rules.of_connections()?;
        rules.of_those_left_alone()?;
        gateways::encode(&snapshot.gateways, rules.encoder)
    }
}

/// What is of the service as a whole.
fn of_service(snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
    let version = [("version", env!("CARGO_PKG_VERSION"))];
    let help = "The program that keeps the rules.";
    encoder
        .encode_descriptor("ebb_build", help, None, MetricType::Info)?
        .encode_info(&version)?;
    let help = "When the service began, in seconds since 1970.";
    encoder
        .encode_descriptor(
            "ebb_start_time",
            help,
            Some(&Unit::Seconds),
            MetricType::Gauge,
        )?
        .encode_gauge(&snapshot.began_unix_s)?;
    let help = "Files of rules that are left out, for mistakes in them.";
    encoder
        .encode_descriptor("ebb_mistaken_files", help, None, MetricType::Gauge)?
        .encode_gauge(&Whole(snapshot.mistaken_files))?;
    let help = "Times that the rules were read again, by whether that was done or refused.";
    let mut reloads = encoder.encode_descriptor("ebb_reloads", help, None, MetricType::Counter)?;
    for (outcome, times) in [
        ("done", snapshot.reloads),
        ("refused", snapshot.refused_reloads),
    ] {
        let labels = [("outcome", outcome)];
        count(reloads.encode_family(&labels)?, &times)?;
    }
    let help = "What is attached by hand beside the rules, by 'ebb run' and its like.";
    let mut by_hand = encoder.encode_descriptor("ebb_by_hand", help, None, MetricType::Gauge)?;
    for (kind, number) in &snapshot.by_hand {
        let labels = [("kind", *kind)];
        by_hand
            .encode_family(&labels)?
            .encode_gauge(&Whole(*number))?;
    }
    Ok(())
}

/// What metrics are of.
trait Told {
    fn labels(&self) -> Labels<'_>;
    fn flows(&self) -> &[FlowView];
    fn totals(&self) -> &Totals;
}

impl Told for RuleSeen {
    fn labels(&self) -> Labels<'_> {
        vec![("rule", &self.name)]
    }

    fn flows(&self) -> &[FlowView] {
        &self.flows
    }

    fn totals(&self) -> &Totals {
        &self.totals
    }
}

/// What is of each rule.
struct Rules<'a, 'e, R> {
    /// Of the names of metrics.
    prefix: &'static str,
    rules: Vec<&'a R>,
    encoder: DescriptorEncoder<'e>,
}

impl Rules<'_, '_, RuleSeen> {
    fn of_state(&mut self) -> fmt::Result {
        let help = "A rule, and what it yields by.";
        let mut about =
            (self.encoder).encode_descriptor("ebb_rule", help, None, MetricType::Info)?;
        for rule in &self.rules {
            let file = rule.file.display().to_string();
            let or_none = |text: &'_ Option<String>| text.clone().unwrap_or("none".to_owned());
            let (upload_policy, minimum) = (or_none(&rule.upload_policy), or_none(&rule.minimum));
            let weight = or_none(&rule.weight.map(|weight| weight.to_string()));
            about.encode_info(&[
                ("rule", rule.name.as_str()),
                ("file", &file),
                ("policy", &rule.policy),
                ("upload_policy", &upload_policy),
                ("minimum", &minimum),
                ("weight", &weight),
            ])?;
        }
        let help = "Whether the rule is held: 0 if that failed.";
        self.gauge("in_force", help, |rule| {
            u64::from(rule.state != State::Failed)
        })?;
        let help = "Whether the rule is switched off: everything under it is free.";
        self.gauge("switched_off", help, |rule| {
            u64::from(rule.state == State::Off)
        })?;
        let help = "Times that the rule could not be held, or not as it says.";
        self.counter("errors", help, None, &[&[]], |rule, _| rule.totals().errors)
    }

    fn of_those_left_alone(&mut self) -> fmt::Result {
        let help = "Times that a connection was left alone, by why: at its beginning, and when \
                    rules are read again.";
        let reasons = ["memory", "multipath", "local", "running"].map(|it| [("reason", it)]);
        let each: Vec<&[(&str, &str)]> = reasons.iter().map(|it| it.as_slice()).collect();
        self.counter("left_alone", help, None, &each, |rule, reason| {
            let it = &rule.totals().counts;
            [it.without_memory, it.multipath, it.local, it.running][reason]
        })
    }
}

impl<R: Told> Rules<'_, '_, R> {
    fn of_traffic(&mut self) -> fmt::Result {
        let directions = DIRECTIONS.map(|direction| [("direction", direction)]);
        let [down, up] = &directions;
        let each: [&[(&str, &str)]; 2] = [down, up];
        let help = "Payload that arrived (down), and that was sent and acknowledged (up).";
        let bytes = Some(Unit::Bytes);
        self.counter("payload", help, bytes, &each, |rule, way| {
            let counts = &rule.totals().counts;
            [counts.received_bytes, counts.sent_bytes][way]
        })?;
        let help = "Time in which a connection that carried something was held back, by looks.";
        let seconds = Some(Unit::Seconds);
        self.counter("held_back", help, seconds, &each, |rule, way| {
            rule.totals().looks[way].held_back.as_secs_f64()
        })?;
        self.queues(&each)
    }

    fn queues(&mut self, each: &[&[(&str, &str)]]) -> fmt::Result {
        let help =
            "Queueing delay that the law saw on a connection that carried something, a look each.";
        let name = format!("{}_queueing_delay", self.prefix);
        let (unit, kind) = (Some(&Unit::Seconds), MetricType::Histogram);
        let mut queues = self.encoder.encode_descriptor(&name, help, unit, kind)?;
        for rule in &self.rules {
            for (way, labels) in each.iter().enumerate() {
                let queue = &rule.totals().looks[way].queue;
                let labels = labels_of(*rule, labels);
                queues
                    .encode_family(&labels)?
                    .encode_histogram::<NoLabelSet>(
                        queue.sum_us as f64 / 1e6,
                        queue.count(),
                        &buckets(queue),
                        None,
                    )?;
            }
        }
        Ok(())
    }

    fn of_connections(&mut self) -> fmt::Result {
        let help = "Connections that came under the rule.";
        self.counter("connections", help, None, &[&[]], |rule, _| {
            rule.totals().counts.connections
        })?;
        let help = "Connections that are under the rule now.";
        self.gauge("open_connections", help, |rule| {
            // By its ends: a gateway has another number for each way.
            let ends = rule.flows().iter().map(|flow| (flow.local, flow.peer));
            ends.collect::<std::collections::BTreeSet<_>>().len() as u64
        })?;
        let help =
            "Connections that were set free since the service did not renew its lease in time.";
        self.counter("failures_open", help, None, &[&[]], |rule, _| {
            rule.totals().counts.lapsed
        })
    }

    /// A gauge of each rule.
    fn gauge(&mut self, name: &str, help: &str, value: impl Fn(&R) -> u64) -> fmt::Result {
        let kind = MetricType::Gauge;
        let name = format!("{}_{name}", self.prefix);
        let mut gauge = (self.encoder).encode_descriptor(&name, help, None, kind)?;
        for rule in &self.rules {
            let labels = labels_of(*rule, &[]);
            gauge
                .encode_family(&labels)?
                .encode_gauge(&Whole(value(rule)))?;
        }
        Ok(())
    }

    /// A counter of each rule, for each of some labels.
    fn counter<N: EncodeCounterValue>(
        &mut self,
        name: &str,
        help: &str,
        unit: Option<Unit>,
        each: &[&[(&str, &str)]],
        value: impl Fn(&R, usize) -> N,
    ) -> fmt::Result {
        let kind = MetricType::Counter;
        let name = format!("{}_{name}", self.prefix);
        let mut counter = (self.encoder).encode_descriptor(&name, help, unit.as_ref(), kind)?;
        for rule in &self.rules {
            for (place, labels) in each.iter().enumerate() {
                let labels = labels_of(*rule, labels);
                count(counter.encode_family(&labels)?, &value(rule, place))?;
            }
        }
        Ok(())
    }
}

fn labels_of<'a>(rule: &'a impl Told, others: &[(&'a str, &'a str)]) -> Labels<'a> {
    let own = rule.labels().into_iter();
    own.chain(others.iter().copied()).collect()
}

fn count<N: EncodeCounterValue>(mut encoder: MetricEncoder<'_>, value: &N) -> fmt::Result {
    encoder.encode_counter::<NoLabelSet, _, u64>(value, None)
}

fn buckets(queue: &QueueSeen) -> Vec<(f64, u64)> {
    let bounds = QueueSeen::BOUNDS_US.iter();
    let bounds = bounds.map(|bound_us| f64::from(*bound_us) / 1e6);
    bounds.chain([f64::INFINITY]).zip(queue.counts).collect()
}

/// A gauge that is a number of things.
struct Whole(u64);

impl EncodeGaugeValue for Whole {
    fn encode(
        &self,
        encoder: &mut prometheus_client::encoding::GaugeValueEncoder<'_>,
    ) -> fmt::Result {
        EncodeGaugeValue::encode(&i64::try_from(self.0).unwrap_or(i64::MAX), encoder)
    }
}

mod gateways;
#[cfg(test)]
mod strict;
#[cfg(test)]
mod tests;
