// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use serde::Serialize;

use crate::emulator::PathSpec;
use crate::traffic::{FlowKind, FlowSpec, Role};

/// The bottleneck of a path, the same in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LinkParameters {
    /// Bit rate, IP headers counted.
    pub rate_bit_per_s: u64,
    /// Delay of one direction.
    pub delay_ms: u64,
    /// Packets that the drop-tail queue holds.
    pub queue_pkts: u32,
}

impl LinkParameters {
    /// The link of the Vulture paper: 10 Mbit/s, RTT 100 ms, 86 packets (about 1 BDP).
    pub const HOME: Self = Self {
        rate_bit_per_s: 10_000_000,
        delay_ms: 50,
        queue_pkts: 86,
    };

    /// The most that an application can get: of 1500 bytes in a packet 1448 are data
    /// (20 of IPv4, 20 of TCP and 12 of timestamps are not).
    pub fn max_goodput_bit_per_s(&self) -> f64 {
        self.rate_bit_per_s as f64 * 1448.0 / 1500.0
    }

    fn path(&self, is_priority: bool) -> PathSpec {
        let rate = Rate::from_bits_per_s(self.rate_bit_per_s).expect("scenarios have a rate");
        let delay = Nanos::from_millis(self.delay_ms);
        let limit = QueueLimit::Packets(self.queue_pkts.into());
        let forward = if is_priority {
            LinkSpec::strict_priority(rate, delay, limit)
        } else {
            LinkSpec::drop_tail(rate, delay, limit)
        };
        PathSpec::new(forward, LinkSpec::drop_tail(rate, delay, limit))
    }
}

/// What a scenario is to find out.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Question {
    /// How much of the link one LBE flow uses, and how much once it has settled.
    Alone {
        /// From here on it is taken to be settled.
        settled_from_s: f64,
    },
    /// What a BE flow of constant rate keeps, and who uses the rest.
    Constant,
    /// How a greedy BE flow and an LBE flow share the link.
    Share,
    /// The same, and what BE keeps of what it has alone.
    Kept,
    /// What a BE flow that comes and goes keeps, and who uses its pauses.
    OnOff,
    /// How several LBE flows share the link.
    Fairness,
    /// Goodputs and the BE flow's RTT before, in and after the LBE period.
    Periods {
        /// Begin of the LBE period.
        from_s: f64,
        /// End of the LBE period.
        to_s: f64,
    },
}

/// Switches the policy in a run: observing means that nothing is limited.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Switch {
    /// When.
    pub at_s: f64,
    /// To observing only, or to limiting.
    pub is_observing: bool,
}

/// A path with flows on it and a question.
#[derive(Clone, Debug, Serialize)]
pub struct Scenario {
    /// Short name, as on the command line.
    pub name: String,
    /// What happens in it.
    pub title: String,
    /// The path.
    pub link: LinkParameters,
    /// The flows.
    pub flows: Vec<FlowSpec>,
    /// Length of a run.
    pub duration_s: f64,
    /// Goodputs and waiting times count from here on.
    pub measure_from_s: f64,
    /// What is to be found out.
    pub question: Question,
    /// Whether the policy only observes at first.
    pub starts_observing: bool,
    /// Switches of the policy, in order of time.
    pub switches: Vec<Switch>,
    /// The receivers' kernel may take back window that it has granted already
    /// (`net.ipv4.tcp_shrink_window`, off by default).
    pub shrinks_window: bool,
}

impl Scenario {
    /// The path, with two strict priorities if wanted.
    pub(super) fn path(&self, is_priority: bool, seed: u64) -> PathSpec {
        let mut path = self.link.path(is_priority);
        path.seed = seed;
        if self.shrinks_window {
            path = path.with_client_sysctl("net.ipv4.tcp_shrink_window", "1");
        }
        path
    }

    /// The same without LBE flows: what "of alone" refers to. `None` if the question
    /// does not ask for it.
    pub fn alone(&self) -> Option<Self> {
        let is_asked = !matches!(
            self.question,
            Question::Alone { .. }
                | Question::Share
                | Question::Fairness
                | Question::Periods { .. }
        );
        is_asked.then(|| {
            let mut alone = self.clone();
            alone.name = format!("{}-alone", self.name);
            alone.flows.retain(|flow| flow.role == Role::BestEffort);
            alone
        })
    }

    /// The same, measured for so long in place of 60 s; on-off flows keep whole cycles,
    /// two at the least.
    pub(super) fn measured_for(mut self, measured_s: f64) -> Self {
        let period_s = self.flows.iter().find_map(|flow| match flow.kind {
            FlowKind::OnOff { period_s } => Some((period_s, flow.start_s)),
            _ => None,
        });
        self.duration_s = match period_s {
            Some((period_s, start_s)) => {
                let cycles = (measured_s / (2.0 * period_s)).round().max(2.0);
                start_s + cycles * 2.0 * period_s
            }
            None => self.measure_from_s + measured_s,
        };
        self
    }
}

/// How long flows are measured after all of them have started.
pub(super) const MEASURED_S: f64 = 60.0;

pub(super) fn best_effort(kind: FlowKind) -> FlowSpec {
    sampled(FlowSpec::new("be", Role::BestEffort, kind))
}

pub(super) fn yielding() -> FlowSpec {
    sampled(FlowSpec::new(
        "lbe",
        Role::LessThanBestEffort,
        FlowKind::Greedy,
    ))
}

/// About twice per round trip.
fn sampled(mut flow: FlowSpec) -> FlowSpec {
    flow.sample_every_ms = Some(50);
    flow
}

/// A scenario on the home link, measured from the last start on for 60 s.
pub(super) fn scenario(
    name: &str,
    title: &str,
    flows: Vec<FlowSpec>,
    question: Question,
) -> Scenario {
    let measure_from_s = flows.iter().map(|flow| flow.start_s).fold(0.0, f64::max);
    Scenario {
        name: name.into(),
        title: title.into(),
        link: LinkParameters::HOME,
        flows,
        duration_s: measure_from_s + MEASURED_S,
        measure_from_s,
        question,
        starts_observing: false,
        switches: Vec::new(),
        shrinks_window: false,
    }
}

fn alone() -> Scenario {
    let question = Question::Alone {
        settled_from_s: 20.0,
    };
    scenario("s1", "one LBE flow alone", vec![yielding()], question)
}

fn constant() -> Scenario {
    let rate = FlowKind::constant_rate(6_000_000);
    let flows = vec![best_effort(rate), yielding().starting_at(3.0)];
    let title = "BE at a constant 6 Mbit/s";
    scenario("s2", title, flows, Question::Constant)
}

fn be_first(name: &str, title: &str, congestion_control: &str) -> Scenario {
    let lbe = yielding()
        .starting_at(3.0)
        .with_congestion_control(congestion_control);
    let flows = vec![best_effort(FlowKind::Greedy), lbe];
    scenario(name, title, flows, Question::Share)
}

fn lbe_first() -> Scenario {
    let flows = vec![best_effort(FlowKind::Greedy).starting_at(5.0), yielding()];
    let title = "greedy BE, LBE first by 5 s";
    scenario("s3b", title, flows, Question::Share)
}

fn long_queue() -> Scenario {
    let mut scenario = be_first("s7", "greedy BE, queue of 500 packets", "cubic");
    scenario.link.queue_pkts = 500;
    scenario
}

/// LBE has 5 s of its own first; the run ends with a pause.
fn on_off(period_s: f64) -> Scenario {
    let flows = vec![
        best_effort(FlowKind::OnOff { period_s }).starting_at(5.0),
        yielding(),
    ];
    let name = format!("s4t{period_s}");
    let title = format!("greedy BE, {period_s} s on, {period_s} s off");
    let mut scenario = scenario(&name, &title, flows, Question::OnOff);
    scenario.measure_from_s = 0.0;
    scenario.measured_for(MEASURED_S)
}

fn several(count: u8) -> Scenario {
    let flows = (0..count).map(|number| {
        let mut flow = yielding().starting_at(2.0 * f64::from(number));
        flow.name = format!("lbe-{}", number + 1);
        flow
    });
    let title = format!("{count} LBE flows, 2 s apart");
    scenario("s5", &title, flows.collect(), Question::Fairness)
}

/// The scenarios of sender laws, on links of RTT 50 and 100 ms: a flow alone, and beside a
/// greedy one that was there first. The flow is an upload, seen from the end that sends it.
pub(super) fn upload_scenarios() -> Vec<Scenario> {
    let settled = Question::Alone {
        settled_from_s: 20.0,
    };
    let both = [25, 50].map(|delay_ms| {
        let rtt_ms = 2 * delay_ms;
        let name = format!("up1-rtt{rtt_ms}");
        let mut alone = scenario(
            &name,
            "one yielding upload alone",
            vec![yielding()],
            settled,
        );
        let name = format!("up3-rtt{rtt_ms}");
        let mut shared = be_first(&name, "greedy BE first by 3 s, yielding upload", "cubic");
        shared.question = Question::Kept;
        alone.link.delay_ms = delay_ms;
        shared.link.delay_ms = delay_ms;
        [alone, shared]
    });
    both.into_iter().flatten().collect()
}

/// The scenarios of the law `ebb`.
pub(super) fn ebb_scenarios() -> Vec<Scenario> {
    vec![
        alone(),
        constant(),
        be_first("s3", "greedy BE first by 3 s", "cubic"),
        lbe_first(),
        on_off(1.0),
        on_off(3.0),
        on_off(10.0),
        several(4),
        be_first("s6", "greedy BE first by 3 s, LBE sender BBR", "bbr"),
        long_queue(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn goodput_of_the_home_link_is_known() {
        // 10 Mbit/s * 1448 / 1500 = 9.6533 Mbit/s.
        let goodput = LinkParameters::HOME.max_goodput_bit_per_s();
        assert!((goodput - 9_653_333.3).abs() < 0.1);
    }

    #[test]
    fn every_scenario_has_its_own_name_and_ends_after_it_is_measured() {
        let scenarios = ebb_scenarios();
        for scenario in &scenarios {
            let name = &scenario.name;
            assert!(
                scenario.duration_s >= scenario.measure_from_s + 50.0,
                "{name}"
            );
            let same = scenarios.iter().filter(|other| other.name == *name);
            assert_eq!(same.count(), 1, "{name}");
        }
    }

    #[test]
    fn alone_means_without_yielding_flows() {
        assert!(alone().alone().is_none());
        let alone = constant().alone().unwrap();
        assert_eq!(alone.name, "s2-alone");
        assert_eq!(alone.flows.len(), 1);
        assert_eq!(alone.flows[0].role, Role::BestEffort);
    }
}
