// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The table of flows: who got how much, at what price.
use ebb_link::Class;
use ebb_scenario::stats::{jain_index, mean};
use ebb_scenario::{FlowMeasure, FlowOutcome, Results};

use super::{NOTHING, interval_title, spread};
use crate::table::{Align, Table, cut};
use crate::units;

/// Flows of one entry of the file are one line where there are more flows than this.
const MAX_LINES: usize = 16;
/// Widths of names and policies, without and with a column for completion.
const WIDTHS: [(usize, usize); 2] = [(16, 20), (14, 16)];

/// One line for each flow or, where these are many, for each group.
pub(super) fn table(results: &Results, interval: usize) -> Table {
    let title = interval_title(&results.scenario.intervals[interval]);
    let mut table = Table::new(title)
        .column("flow", Align::Left)
        .column("policy", Align::Left)
        .column("Mbit/s", Align::Right)
        .column("again", Align::Right)
        .column("RTT", Align::Right)
        .column("p95", Align::Right);
    let lines = lines(results);
    let has_completion = lines.iter().any(|line| line.has_completion(results));
    if has_completion {
        table = table.column("done", Align::Right);
    }
    for line in &lines {
        let mut cells = line.cells(results, interval, WIDTHS[usize::from(has_completion)]);
        if has_completion {
            cells.push(line.completion(results));
        }
        table.row(cells);
    }
    for line in &lines {
        let notes = [line.fairness(results, interval), line.incomplete(results)];
        for note in notes.into_iter().flatten() {
            table.note(note);
        }
    }
    table
}

/// A line of the table: some flows of one group.
struct Line {
    name: String,
    flows: Vec<usize>,
}

fn lines(results: &Results) -> Vec<Line> {
    let flows = &results.scenario.flows;
    if flows.len() <= MAX_LINES {
        return flows
            .iter()
            .enumerate()
            .map(|(place, flow)| Line {
                name: flow.name.clone(),
                flows: vec![place],
            })
            .collect();
    }
    let mut lines: Vec<Line> = Vec::new();
    for (place, flow) in flows.iter().enumerate() {
        match lines.last_mut().filter(|line| line.name == flow.group) {
            Some(line) => line.flows.push(place),
            None => lines.push(Line {
                name: flow.group.clone(),
                flows: vec![place],
            }),
        }
    }
    lines
}

impl Line {
    fn cells(&self, results: &Results, interval: usize, widths: (usize, usize)) -> Vec<String> {
        let (name_width, policy_width) = widths;
        let name = match self.flows.len() {
            1 => cut(&self.name, name_width),
            count => format!("{} ×{count}", cut(&self.name, name_width - 6)),
        };
        let goodput = self.sums(results, interval, |measure| measure.goodput_bits_per_s);
        let again = self.sums(results, interval, |measure| {
            measure.retransmitted_bytes as f64
        });
        let sent = self.sums(results, interval, |measure| measure.sent_bytes as f64);
        let share = match (mean(&again), mean(&sent)) {
            (Some(again), Some(sent)) if sent > 0.0 => units::percent(again / sent),
            _ => NOTHING.into(),
        };
        vec![
            name,
            cut(&self.policy(results), policy_width),
            spread(&goodput, 1e6),
            share,
            self.rtt(results, interval, |measure| measure.rtt_ms.mean),
            self.rtt(results, interval, |measure| measure.rtt_ms.p95),
        ]
    }

    /// `cubic`, `cubic, ebb` or `UDP`, with the class where it is not the usual one.
    fn policy(&self, results: &Results) -> String {
        let flow = &results.scenario.flows[self.flows[0]];
        let laws = match (flow.sender.as_str(), &flow.receiver) {
            ("", _) => "UDP".to_owned(),
            (sender, Some(receiver)) => format!("{sender}, {receiver}"),
            (sender, None) => sender.to_owned(),
        };
        match flow.class {
            Class::BestEffort => laws,
            Class::LessThanBestEffort => format!("{laws} (LBE)"),
        }
    }

    /// Of each run, the sum over the flows of the line.
    fn sums(
        &self,
        results: &Results,
        interval: usize,
        value: impl Fn(&FlowMeasure) -> f64,
    ) -> Vec<f64> {
        let sum = |flows: &[FlowOutcome]| {
            let measures = self
                .flows
                .iter()
                .map(|&flow| &flows[flow].measures[interval]);
            measures.map(&value).sum()
        };
        results.runs.iter().map(|run| sum(&run.flows)).collect()
    }

    /// The mean over flows and runs that have samples.
    fn rtt(
        &self,
        results: &Results,
        interval: usize,
        value: impl Fn(&FlowMeasure) -> f64,
    ) -> String {
        let measures = results.runs.iter().flat_map(|run| {
            self.flows
                .iter()
                .map(|&flow| &run.flows[flow].measures[interval])
        });
        let values: Vec<f64> = measures
            .filter(|measure| measure.rtt_ms.count > 0)
            .map(value)
            .collect();
        mean(&values).map_or(NOTHING.into(), units::milliseconds)
    }

    fn has_completion(&self, results: &Results) -> bool {
        self.flows.iter().any(|&flow| {
            matches!(
                results.scenario.flows[flow].traffic,
                ebb_scenario::Traffic::Fixed { .. }
            )
        })
    }

    /// The mean time to completion of those that were complete.
    fn completion(&self, results: &Results) -> String {
        let complete: Vec<f64> = self.completions(results).into_iter().flatten().collect();
        match mean(&complete) {
            Some(mean) => units::seconds(mean),
            None if self.has_completion(results) => "not".into(),
            None => NOTHING.into(),
        }
    }

    /// Of all runs.
    fn completions(&self, results: &Results) -> Vec<Option<f64>> {
        let of_run = |flows: &[FlowOutcome]| -> Vec<Option<f64>> {
            self.flows
                .iter()
                .map(|&flow| flows[flow].completion_s)
                .collect()
        };
        results
            .runs
            .iter()
            .flat_map(|run| of_run(&run.flows))
            .collect()
    }

    /// How many of several were not complete.
    fn incomplete(&self, results: &Results) -> Option<String> {
        let all = self.completions(results);
        let open = all.iter().filter(|done| done.is_none()).count();
        (self.has_completion(results) && open > 0 && all.len() > 1).then(|| {
            format!(
                "{}: {open} of {} were not complete at the end",
                self.name,
                all.len()
            )
        })
    }

    fn fairness(&self, results: &Results, interval: usize) -> Option<String> {
        if self.flows.len() < 2 {
            return None;
        }
        let of_run = |flows: &[FlowOutcome]| {
            let shares: Vec<f64> = self
                .flows
                .iter()
                .map(|&flow| flows[flow].measures[interval].goodput_bits_per_s)
                .collect();
            jain_index(&shares)
        };
        let indices: Vec<f64> = results
            .runs
            .iter()
            .filter_map(|run| of_run(&run.flows))
            .collect();
        let index = mean(&indices)?;
        Some(format!("{}: Jain's index {index:.3}", self.name))
    }
}
