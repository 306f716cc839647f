// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::{Question, RunResult};
use crate::stats::jain_index;
use crate::traffic::{Burst, FlowResult, Role};

/// The values that answer a run's question, by name; `alone` is the same scenario
/// without LBE flows. What cannot be computed is left out.
///
/// *Units:* names end in `_ms` or `_mbit_per_s`; others are shares of 1.
pub fn measure(run: &RunResult, alone: Option<&RunResult>) -> Vec<(&'static str, f64)> {
    match run.scenario.question {
        Question::Alone { settled_from_s } => measure_alone(run, settled_from_s),
        Question::Constant => measure_constant(run, alone),
        Question::Share => measure_share(run, alone),
        Question::OnOff => measure_on_off(run, alone),
        Question::Fairness => measure_fairness(run),
        Question::Periods { from_s, to_s } => measure_periods(run, from_s, to_s),
    }
}

type Values = Vec<(&'static str, f64)>;

/// Goodput of all flows of a role. *Units:* bit/s.
fn goodput(run: &RunResult, role: Role, from_s: f64, to_s: f64) -> f64 {
    run.flows_of(role)
        .filter(|flow| flow.spec.direction == crate::traffic::Direction::Download)
        .map(|flow| flow.goodput_bit_per_s(from_s, to_s))
        .sum()
}

/// Goodput from `measure_from_s` to the end.
fn measured(run: &RunResult, role: Role) -> f64 {
    let scenario = &run.scenario;
    goodput(run, role, scenario.measure_from_s, scenario.duration_s)
}

fn max_goodput(run: &RunResult) -> f64 {
    run.scenario.link.max_goodput_bit_per_s()
}

fn measure_alone(run: &RunResult, settled_from_s: f64) -> Values {
    let end_s = run.scenario.duration_s;
    let of_link = |from_s| goodput(run, Role::LessThanBestEffort, from_s, end_s) / max_goodput(run);
    vec![
        ("utilisation", of_link(0.0)),
        ("settled", of_link(settled_from_s)),
        ("queue_ms", run.queue.waiting_ms),
    ]
}

fn measure_constant(run: &RunResult, alone: Option<&RunResult>) -> Values {
    let be = measured(run, Role::BestEffort);
    let lbe = measured(run, Role::LessThanBestEffort);
    let mut values = vec![("be_mbit_per_s", be / 1e6)];
    if let Some(alone) = alone {
        let be_alone = measured(alone, Role::BestEffort);
        let added_ms = run.queue.be_waiting_ms - alone.queue.be_waiting_ms;
        values.extend([
            ("be_kept", be / be_alone),
            ("spare_used", lbe / (max_goodput(run) - be_alone)),
            ("queue_added_ms", added_ms),
        ]);
    }
    values
}

fn measure_share(run: &RunResult, alone: Option<&RunResult>) -> Values {
    let be = measured(run, Role::BestEffort);
    let lbe = measured(run, Role::LessThanBestEffort);
    let mut values = vec![
        ("be_share", be / (be + lbe)),
        ("utilisation", (be + lbe) / max_goodput(run)),
    ];
    if let Some(alone) = alone {
        values.push(("be_kept", be / measured(alone, Role::BestEffort)));
    }
    values
}

/// As the paper has it: the mean over the periods of each period's goodput.
fn measure_on_off(run: &RunResult, alone: Option<&RunResult>) -> Values {
    let Some(lbe) = run.flows_of(Role::LessThanBestEffort).next() else {
        return Vec::new();
    };
    let bursts = bursts(run);
    let on = |burst: &Burst| (burst.first_byte_s, burst.last_byte_s);
    let be_on = mean(bursts.iter().map(burst_goodput));
    let lbe_on = mean(bursts.iter().map(|burst| {
        let (from_s, to_s) = on(burst);
        lbe.goodput_bit_per_s(from_s, to_s)
    }));
    let lbe_off = mean(
        pauses(bursts, run.scenario.duration_s)
            .map(|(from_s, to_s)| lbe.goodput_bit_per_s(from_s, to_s)),
    );
    let mut values = Vec::new();
    if let (Some(be_on), Some(lbe_on)) = (be_on, lbe_on) {
        values.push(("be_on_share", be_on / (be_on + lbe_on)));
        let alone_on = alone.and_then(|alone| mean(self::bursts(alone).iter().map(burst_goodput)));
        values.extend(alone_on.map(|alone_on| ("be_on_kept", be_on / alone_on)));
    }
    values.extend(lbe_off.map(|lbe_off| ("off_used", lbe_off / max_goodput(run))));
    values
}

fn bursts(run: &RunResult) -> &[Burst] {
    run.flows_of(Role::BestEffort)
        .find(|flow| !flow.bursts.is_empty())
        .map_or(&[], |flow| &flow.bursts)
}

fn burst_goodput(burst: &Burst) -> f64 {
    burst.size_bytes as f64 * 8.0 / (burst.last_byte_s - burst.first_byte_s)
}

/// From the last byte of each burst to the first of the next, or to the end.
fn pauses(bursts: &[Burst], end_s: f64) -> impl Iterator<Item = (f64, f64)> {
    let nexts = bursts
        .iter()
        .skip(1)
        .map(|next| next.first_byte_s)
        .chain([end_s]);
    bursts
        .iter()
        .zip(nexts)
        .map(|(burst, next_s)| (burst.last_byte_s, next_s))
}

fn measure_fairness(run: &RunResult) -> Values {
    let scenario = &run.scenario;
    let (from_s, to_s) = (scenario.measure_from_s, scenario.duration_s);
    let goodputs: Vec<f64> = run
        .flows_of(Role::LessThanBestEffort)
        .map(|flow| flow.goodput_bit_per_s(from_s, to_s))
        .collect();
    let mut values = vec![
        (
            "utilisation",
            goodputs.iter().sum::<f64>() / max_goodput(run),
        ),
        ("queue_ms", run.queue.waiting_ms),
    ];
    values.extend(jain_index(&goodputs).map(|index| ("jain", index)));
    values
}

fn measure_periods(run: &RunResult, from_s: f64, to_s: f64) -> Values {
    let end_s = run.scenario.duration_s;
    let be = |from_s, to_s| goodput(run, Role::BestEffort, from_s, to_s);
    let lbe = |from_s, to_s| goodput(run, Role::LessThanBestEffort, from_s, to_s);
    let (be_during, lbe_during) = (be(from_s, to_s), lbe(from_s, to_s));
    let settled_s = from_s + 20.0;
    let mut values = vec![
        ("lbe_mbit_per_s", lbe_during / 1e6),
        ("utilisation", (be_during + lbe_during) / max_goodput(run)),
        (
            "settled",
            (be(settled_s, to_s) + lbe(settled_s, to_s)) / max_goodput(run),
        ),
    ];
    let be_flow = run
        .flows_of(Role::BestEffort)
        .find(|flow| !flow.samples.is_empty());
    if let Some(be_flow) = be_flow {
        values.extend([
            ("be_before_mbit_per_s", be(0.0, from_s) / 1e6),
            ("be_during_mbit_per_s", be_during / 1e6),
            ("be_after_mbit_per_s", be(to_s, end_s) / 1e6),
            ("spare_used", lbe_during / (max_goodput(run) - be_during)),
        ]);
        let rtts = [
            ("rtt_before_ms", 0.0, from_s),
            ("rtt_during_ms", from_s, to_s),
            ("rtt_after_ms", to_s, end_s),
        ];
        values.extend(rtts.into_iter().filter_map(|(name, from_s, to_s)| {
            mean_rtt_ms(be_flow, from_s, to_s).map(|rtt_ms| (name, rtt_ms))
        }));
    }
    values
}

fn mean_rtt_ms(flow: &FlowResult, from_s: f64, to_s: f64) -> Option<f64> {
    let samples = flow.samples.iter();
    mean(
        samples
            .filter(|sample| (from_s..to_s).contains(&sample.time_s))
            .map(|sample| f64::from(sample.rtt_us) / 1e3),
    )
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
