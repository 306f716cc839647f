// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The scenarios of the Vulture paper's evaluation.

use super::scenario::{Question, Scenario, Switch, best_effort, scenario, yielding};
use crate::traffic::{Direction, FlowKind, FlowSpec};

/// Lengths of the paper's experiments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    before_s: f64,
    during_s: f64,
    after_s: f64,
    on_off_s: f64,
    stagger_s: f64,
    fairness_s: f64,
}

impl Timing {
    /// As in the paper; it does not tell how long its on-off experiments were.
    pub(super) const PAPER: Self = Self {
        before_s: 45.0,
        during_s: 90.0,
        after_s: 45.0,
        on_off_s: 180.0,
        stagger_s: 20.0,
        fairness_s: 180.0,
    };

    /// Short, to see whether everything works.
    pub(super) const QUICK: Self = Self {
        before_s: 10.0,
        during_s: 30.0,
        after_s: 10.0,
        on_off_s: 60.0,
        stagger_s: 3.0,
        fairness_s: 40.0,
    };
}

/// All of them, by the names of the paper's figures and tables.
pub(super) fn vulture_scenarios(timing: Timing) -> Vec<Scenario> {
    let mut scenarios = vec![
        switched_beside_constant(timing),
        started_beside_constant(timing),
        switched_alone(timing),
        shrinking(switched_beside_constant(timing)),
        shrinking(switched_alone(timing)),
    ];
    scenarios.extend([1.0, 3.0, 5.0, 10.0, 30.0].map(|period_s| on_off(period_s, timing)));
    scenarios.extend([2, 4, 8].map(|count| fairness(count, timing)));
    scenarios
}

const SIX_MBIT: FlowKind = FlowKind::constant_rate(6_000_000);

/// The flow that "introduces some random queueing delay on the ACK path". Its rate is
/// stated for fig-15 only, and taken for the others: BE's share of 0.88 in table-1 leaves
/// no room for a full queue on the way back (docs/vulture.md).
fn reverse() -> FlowSpec {
    let mut flow = best_effort(SIX_MBIT);
    flow.name = "reverse".into();
    flow.direction = Direction::Upload;
    flow
}

fn periods(name: &str, title: &str, flows: Vec<FlowSpec>, timing: Timing) -> Scenario {
    let (from_s, to_s) = (timing.before_s, timing.before_s + timing.during_s);
    let mut scenario = scenario(name, title, flows, Question::Periods { from_s, to_s });
    scenario.measure_from_s = from_s;
    scenario.duration_s = to_s + timing.after_s;
    scenario
}

fn switched(mut scenario: Scenario, timing: Timing) -> Scenario {
    scenario.starts_observing = true;
    scenario.switches = vec![
        Switch {
            at_s: timing.before_s,
            is_observing: false,
        },
        Switch {
            at_s: timing.before_s + timing.during_s,
            is_observing: true,
        },
    ];
    scenario
}

/// The same where granted window can be taken back. An ordinary kernel does not do so,
/// the paper's modified one may have.
fn shrinking(mut scenario: Scenario) -> Scenario {
    scenario.name += "-shrinking";
    scenario.shrinks_window = true;
    scenario
}

fn switched_beside_constant(timing: Timing) -> Scenario {
    let flows = vec![best_effort(SIX_MBIT), yielding(), reverse()];
    let title = "BE at 6 Mbit/s, a flow that is LBE in between, reverse flow";
    switched(periods("fig-14", title, flows, timing), timing)
}

fn started_beside_constant(timing: Timing) -> Scenario {
    let mut lbe = yielding().starting_at(timing.before_s);
    lbe.stop_s = Some(timing.before_s + timing.during_s);
    let flows = vec![best_effort(SIX_MBIT), lbe, reverse()];
    let title = "BE at 6 Mbit/s both ways, an LBE flow comes and goes";
    periods("fig-15", title, flows, timing)
}

fn switched_alone(timing: Timing) -> Scenario {
    let title = "one flow alone that is LBE in between";
    switched(periods("fig-17", title, vec![yielding()], timing), timing)
}

fn on_off(period_s: f64, timing: Timing) -> Scenario {
    let flows = vec![
        best_effort(FlowKind::OnOff { period_s }).starting_at(5.0),
        yielding(),
        reverse(),
    ];
    let name = format!("table-1-t{period_s}");
    let title = format!("greedy BE, {period_s} s on, {period_s} s off, reverse flow");
    let mut scenario = scenario(&name, &title, flows, Question::OnOff);
    scenario.measure_from_s = 0.0;
    scenario.measured_for(timing.on_off_s)
}

fn fairness(count: u8, timing: Timing) -> Scenario {
    let flows = (0..count).map(|number| {
        let mut flow = yielding().starting_at(timing.stagger_s * f64::from(number));
        flow.name = format!("lbe-{}", number + 1);
        flow
    });
    let name = format!("table-2-n{count}");
    let title = format!("{count} LBE flows, {} s apart", timing.stagger_s);
    scenario(&name, &title, flows.collect(), Question::Fairness).measured_for(timing.fairness_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_switched_flow_is_less_than_best_effort_from_45_to_135_s() {
        let scenario = switched_alone(Timing::PAPER);
        assert!(scenario.starts_observing);
        let times: Vec<_> = scenario
            .switches
            .iter()
            .map(|switch| (switch.at_s, switch.is_observing))
            .collect();
        assert_eq!(times, [(45.0, false), (135.0, true)]);
        assert_eq!(scenario.duration_s, 180.0);
    }

    #[test]
    fn eight_flows_are_measured_for_180_s_after_the_last_start() {
        let scenario = fairness(8, Timing::PAPER);
        assert_eq!(scenario.measure_from_s, 140.0);
        assert_eq!(scenario.duration_s, 320.0);
    }
}
