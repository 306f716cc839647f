// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::{Question, RunResult};
use crate::stats::jain_index;
use crate::traffic::{Burst, FlowKind, FlowResult, Role, TcpSample};

/// The values that answer a run's question, by name; `alone` is the same scenario
/// without LBE flows. What cannot be computed is left out.
///
/// *Units:* names end in `_ms` or `_mbit_per_s`; others are shares of 1.
pub fn measure(run: &RunResult, alone: Option<&RunResult>) -> Vec<(&'static str, f64)> {
    match run.scenario.question {
        Question::Alone { settled_from_s } => measure_alone(run, settled_from_s),
        Question::Constant => measure_constant(run, alone),
        Question::Share => measure_share(run),
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

fn measure_share(run: &RunResult) -> Values {
    let be = measured(run, Role::BestEffort);
    let lbe = measured(run, Role::LessThanBestEffort);
    vec![
        ("be_share", be / (be + lbe)),
        ("utilisation", (be + lbe) / max_goodput(run)),
        ("queue_ms", run.queue.waiting_ms),
    ]
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
    let both = |from_s, to_s| (be(from_s, to_s) + lbe(from_s, to_s)) / max_goodput(run);
    let mut values = vec![("lbe_mbit_per_s", lbe(from_s, to_s) / 1e6)];
    let be_flow = run
        .flows_of(Role::BestEffort)
        .find(|flow| !flow.samples.is_empty());
    if let Some(be_flow) = be_flow {
        let spare = max_goodput(run) - be(from_s, to_s);
        values.extend([
            ("be_before_mbit_per_s", be(0.0, from_s) / 1e6),
            ("be_during_mbit_per_s", be(from_s, to_s) / 1e6),
            ("be_after_mbit_per_s", be(to_s, end_s) / 1e6),
            ("spare_used", lbe(from_s, to_s) / spare),
        ]);
        let rtts = [
            ("rtt_before_ms", 0.0, from_s),
            ("rtt_during_ms", from_s, to_s),
            ("rtt_after_ms", to_s, end_s),
        ];
        values.extend(rtts.into_iter().filter_map(|(name, from_s, to_s)| {
            let rtt_us = mean_sample(be_flow, from_s, to_s, |sample| sample.rtt_us.into());
            rtt_us.map(|rtt_us| (name, rtt_us / 1e3))
        }));
        let yield_s = yield_s(run, be_flow, from_s, to_s);
        values.extend(yield_s.map(|yield_s| ("yield_s", yield_s)));
    } else {
        let settled_s = (from_s + SETTLING_S).min(to_s - 1.0);
        values.push(("utilisation", both(from_s, to_s)));
        values.push(("settled", both(settled_s, to_s)));
        let recovery_s = recovery_s(run, from_s, to_s);
        values.push(("recovery_s", recovery_s));
    }
    let lbe_flow = run.flows_of(Role::LessThanBestEffort).next();
    values.extend(
        lbe_flow
            .and_then(|flow| window_of_cwnd(flow, from_s))
            .map(|share| ("window_of_cwnd", share)),
    );
    values
}

/// The paper has its flow recovered after about so long.
const SETTLING_S: f64 = 20.0;

/// How long it takes from the switch until an LBE flow that is alone has 0.95 of the link
/// for 2 s, after it had less: 0 if it never had less, the whole period if it never has it
/// again.
fn recovery_s(run: &RunResult, from_s: f64, to_s: f64) -> f64 {
    let enough = 0.95 * max_goodput(run);
    let has_it = |step: &u32| {
        let at_s = from_s + f64::from(*step) * 0.1;
        goodput(run, Role::LessThanBestEffort, at_s, at_s + 2.0) >= enough
    };
    let steps = 0..((to_s - from_s - 2.0) / 0.1).max(0.0) as u32;
    let Some(lost) = steps.clone().find(|step| !has_it(step)) else {
        return 0.0;
    };
    let regained = steps.skip(lost as usize).find(has_it);
    regained.map_or(to_s - from_s, |step| f64::from(step) * 0.1)
}

/// How long it takes until a BE flow has 0.97 of its rate for 1 s: from the switch.
fn yield_s(run: &RunResult, flow: &FlowResult, from_s: f64, to_s: f64) -> Option<f64> {
    let FlowKind::ConstantRate { rate_bit_per_s } = flow.spec.kind else {
        return None;
    };
    let end_s = to_s.min(run.scenario.duration_s) - 1.0;
    let steps = 0..((end_s - from_s) / 0.1).max(0.0) as u32;
    let enough = 0.97 * rate_bit_per_s as f64;
    steps.map(|step| f64::from(step) * 0.1).find(|after_s| {
        let at_s = from_s + after_s;
        flow.goodput_bit_per_s(at_s, at_s + 1.0) >= enough
    })
}

/// The window that the sender sees 0.2 to 0.5 s after the switch in relation to its
/// congestion window in the second before; `None` for a flow that starts later.
fn window_of_cwnd(flow: &FlowResult, from_s: f64) -> Option<f64> {
    let cwnd_bytes = |sample: &TcpSample| f64::from(sample.cwnd_segments * sample.mss_bytes);
    let cwnd = mean_sample(flow, from_s - 1.0, from_s, cwnd_bytes)?;
    let window = mean_sample(flow, from_s + 0.2, from_s + 0.5, |sample| {
        f64::from(sample.peer_window_bytes)
    })?;
    Some(window / cwnd)
}

fn mean_sample(
    flow: &FlowResult,
    from_s: f64,
    to_s: f64,
    value: impl Fn(&TcpSample) -> f64,
) -> Option<f64> {
    let samples = flow.samples.iter();
    mean(
        samples
            .filter(|sample| (from_s..to_s).contains(&sample.time_s))
            .map(value),
    )
}

fn mean(values: impl Iterator<Item = f64>) -> Option<f64> {
    let (sum, count) = values.fold((0.0, 0_u32), |(sum, count), value| (sum + value, count + 1));
    (count > 0).then(|| sum / f64::from(count))
}
