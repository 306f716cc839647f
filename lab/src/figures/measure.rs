// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::{Question, RunResult};
use crate::traffic::{Burst, FlowKind, FlowResult, Role, TcpSample};
use ebb_scenario::stats::jain_index;

/// The values that answer a run's question, by name; `alone` is the same scenario
/// without LBE flows. What cannot be computed is left out.
///
/// *Units:* names end in `_ms` or `_mbit_per_s`; others are shares of 1.
pub fn measure(run: &RunResult, alone: Option<&RunResult>) -> Vec<(&'static str, f64)> {
    match run.scenario.question {
        Question::Alone { settled_from_s } => measure_alone(run, settled_from_s),
        Question::Constant => measure_constant(run, alone),
        Question::Share => measure_share(run),
        Question::Kept => measure_kept(run, alone),
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

fn measure_kept(run: &RunResult, alone: Option<&RunResult>) -> Values {
    let mut values = measure_share(run);
    values.extend(alone.map(|alone| {
        let be = |run| measured(run, Role::BestEffort);
        ("be_kept", be(run) / be(alone))
    }));
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
    let be_flow = run.flows_of(Role::BestEffort).next();
    let lbe_flow = run.flows_of(Role::LessThanBestEffort).next();
    let mut values = match be_flow {
        Some(be_flow) => measure_beside(run, be_flow, from_s, to_s),
        None => {
            let settled_s = (from_s + SETTLING_S).min(to_s - 1.0);
            let lbe = |from_s| goodput(run, Role::LessThanBestEffort, from_s, to_s);
            vec![
                ("utilisation", lbe(from_s) / max_goodput(run)),
                ("settled", lbe(settled_s) / max_goodput(run)),
                ("recovery_s", recovery_s(run, from_s, to_s)),
            ]
        }
    };
    values.extend(
        lbe_flow
            .and_then(|flow| window_of_cwnd(flow, from_s))
            .map(|share| ("window_of_cwnd", share)),
    );
    values
}

fn measure_beside(run: &RunResult, be_flow: &FlowResult, from_s: f64, to_s: f64) -> Values {
    let end_s = run.scenario.duration_s;
    let be = |from_s, to_s| be_flow.goodput_bit_per_s(from_s, to_s);
    let lbe = goodput(run, Role::LessThanBestEffort, from_s, to_s);
    let mut values = vec![
        ("be_before_mbit_per_s", be(0.0, from_s) / 1e6),
        ("be_during_mbit_per_s", be(from_s, to_s) / 1e6),
        ("be_after_mbit_per_s", be(to_s, end_s) / 1e6),
        ("lbe_mbit_per_s", lbe / 1e6),
        ("spare_used", lbe / (max_goodput(run) - be(from_s, to_s))),
    ];
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
    values
}

/// The paper has its flow recovered after about so long.
const SETTLING_S: f64 = 20.0;

/// How long it takes from the switch until an LBE flow that is alone has 0.95 of the link
/// for 2 s, after it had less than 0.8: 0 if it never had so little, the whole period if
/// it never has it again.
fn recovery_s(run: &RunResult, from_s: f64, to_s: f64) -> f64 {
    let used = |step: u32| {
        let at_s = from_s + f64::from(step) * 0.1;
        goodput(run, Role::LessThanBestEffort, at_s, at_s + 2.0) / max_goodput(run)
    };
    let mut steps = 0..((to_s - from_s - 2.0) / 0.1).max(0.0) as u32;
    if !steps.any(|step| used(step) < 0.8) {
        return 0.0;
    }
    let regained = steps.find(|step| used(*step) >= 0.95);
    regained.map_or(to_s - from_s, |step| f64::from(step) * 0.1)
}

/// How long it takes until a BE flow has 0.97 of its rate for 1 s: from the switch.
fn yield_s(run: &RunResult, flow: &FlowResult, from_s: f64, to_s: f64) -> Option<f64> {
    let FlowKind::ConstantRate { rate_bit_per_s, .. } = flow.spec.kind else {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::QueueResult;
    use crate::figures::catalogue::all_scenarios;

    /// A run of a known scenario in which each flow received so many Mbit/s in each
    /// second.
    fn run(name: &str, mbit_per_s: &[Vec<f64>]) -> RunResult {
        let scenarios = all_scenarios(false);
        let scenario = scenarios.into_iter().find(|it| it.name == name).unwrap();
        let flows = scenario.flows.iter().zip(mbit_per_s).map(|(spec, rates)| {
            let mut flow = FlowResult::new(spec.clone(), 1_000_000);
            flow.received_bytes = rates.iter().map(|rate| (rate * 125_000.0) as u64).collect();
            flow
        });
        RunResult {
            flows: flows.collect(),
            scenario,
            policy: "none".into(),
            repetition: 0,
            seed: 1,
            queue: QueueResult::default(),
            link: Default::default(),
            is_disturbed: false,
            late_pkts_share: 0.0,
            latest_packet_us: 0,
            latest_endpoint_us: 0,
        }
    }

    fn value(values: &Values, name: &str) -> f64 {
        values.iter().find(|(own, _)| *own == name).unwrap().1
    }

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-3, "{value}, not {expected}");
    }

    #[test]
    fn a_constant_flow_is_compared_with_itself_alone() {
        let mut shared = run("s2", &[vec![5.7; 63], vec![3.0; 63]]);
        let mut alone = run("s2", &[vec![6.0; 63], vec![0.0; 63]]);
        shared.queue.be_waiting_ms = 9.0;
        alone.queue.be_waiting_ms = 0.5;
        let values = measure(&shared, Some(&alone));
        close(value(&values, "be_kept"), 0.95);
        // 3 of 9.6533 - 6 Mbit/s.
        close(value(&values, "spare_used"), 3.0 / 3.6533);
        close(value(&values, "queue_added_ms"), 8.5);
    }

    #[test]
    fn on_and_off_periods_are_those_that_the_receiver_saw() {
        let lbe: Vec<f64> = (0..65).map(|second| f64::from(second % 10)).collect();
        let mut shared = run("s4t10", &[vec![], lbe]);
        shared.scenario.duration_s = 20.0;
        let burst = |first_byte_s, last_byte_s, size_bytes| Burst {
            first_byte_s,
            last_byte_s,
            size_bytes,
        };
        shared.flows[0].bursts = vec![burst(5.0, 8.0, 3_000_000), burst(15.0, 16.0, 1_500_000)];
        let mut alone = shared.clone();
        alone.flows[0].bursts = vec![burst(5.0, 7.0, 2_500_000)];
        let values = measure(&shared, Some(&alone));
        // On: BE 8 and 12 Mbit/s, alone 10; LBE (5 + 6 + 7) / 3 = 6 and 5.
        close(value(&values, "be_on_kept"), 1.0);
        close(value(&values, "be_on_share"), 10.0 / 15.5);
        // Off: from 8 to 15 s (8 + 9 + 0 + 1 + 2 + 3 + 4) / 7, from 16 to 20 s 30 / 4.
        let off = (27.0 / 7.0 + 30.0 / 4.0) / 2.0;
        close(value(&values, "off_used"), off / 9.6533);
    }

    #[test]
    fn recovery_counts_from_the_switch_until_the_link_is_full_again() {
        let mut rates = vec![9.6; 180];
        rates[46..60].fill(4.0);
        let values = measure(&run("fig-17", &[rates]), None);
        // From 59.9 s on: (0.1 * 4 + 1.9 * 9.6) / 2 = 9.32, which is more than 0.95.
        close(value(&values, "recovery_s"), 14.9);
        close(value(&values, "settled"), 9.6 / 9.6533);
        let never_lost = measure(&run("fig-17", &[vec![9.6; 180]]), None);
        close(value(&never_lost, "recovery_s"), 0.0);
    }

    #[test]
    fn fairness_counts_from_the_last_start() {
        // Seconds 0 to 5 do not count: the last of four flows starts at 6 s.
        let early = |rate| [vec![9.0; 6], vec![rate; 60]].concat();
        let values = measure(
            &run("s5", &[early(2.0), early(2.0), early(2.0), early(2.0)]),
            None,
        );
        close(value(&values, "jain"), 1.0);
        close(value(&values, "utilisation"), 8.0 / 9.6533);
    }
}
