// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A wave: runs that happen at the same time, each on its own path.

use std::time::Duration;

use ebb_algorithms::{Policy, Side};
use ebb_kernel::AttachOptions;
use ebb_link::{Class, Nanos};

use super::run::{Run, RunError, RunOptions, RunResult, result};
use super::{PolicyChoice, Scenario};
use crate::clock::monotonic_now;
use crate::emulator::{CLIENT_IPV4, Path, SERVER_IPV4, Testbed};
use crate::endpoint::Endpoints;
use crate::engine::{BIN_US, FIRST_PORT, Governed, Group, LEAD, namespace_file};
use crate::traffic::{Plan, PlannedFlow, Role};

/// Everything that a wave needs, set up.
pub(super) struct Wave<'a> {
    runs: &'a [&'a Run],
    testbed: Testbed,
    groups: Vec<Option<Group>>,
    /// Let go before the endpoints.
    governed: Vec<Governed>,
    endpoints: Endpoints,
}

impl<'a> Wave<'a> {
    pub(super) fn prepare(runs: &'a [&'a Run], options: &RunOptions) -> Result<Self, RunError> {
        let paths = runs.iter().map(|run| {
            let is_priority = run.policy == PolicyChoice::Priority;
            run.scenario.path(is_priority, run.seed)
        });
        let testbed = Testbed::start(paths.collect())?;
        let groups = runs
            .iter()
            .map(|run| prepare_group(run, options))
            .collect::<Result<Vec<_>, _>>()?;
        let mut flows = Vec::new();
        for (number, run) in runs.iter().enumerate() {
            plan_flows(
                &testbed,
                number,
                &run.scenario,
                groups[number].as_ref(),
                &mut flows,
            );
        }
        let endpoints = Endpoints::prepare(&Plan {
            flows,
            bin_us: BIN_US,
        })?;
        let governed = runs.iter().enumerate().map(|(number, run)| {
            govern(run, testbed.path(number), endpoints.process_id()).transpose()
        });
        let governed = governed.flatten().collect::<Result<_, _>>()?;
        Ok(Self {
            runs,
            testbed,
            groups,
            governed,
            endpoints,
        })
    }

    pub(super) fn run(mut self, options: &RunOptions) -> Result<Vec<RunResult>, RunError> {
        let epoch = monotonic_now() + LEAD;
        self.endpoints.start(epoch.0)?;
        self.switch_policies(epoch)?;
        let ends = self.endpoints.finish()?;
        self.governed.clear();
        let emulator = self.testbed.stop()?;
        for group in self.groups.into_iter().flatten() {
            group.finish()?;
        }
        if options.is_verbose {
            let endpoints_ms = ends.latest_timer_us as f64 / 1e3;
            eprintln!("  {}", emulator.summary());
            eprintln!(
                "  endpoints: worst {endpoints_ms:.2} ms late, {:.1} s of CPU",
                ends.cpu_s
            );
        }
        let mut flows = ends.flows.into_iter();
        let results = self.runs.iter().enumerate().map(|(path, run)| {
            let own = flows.by_ref().take(run.scenario.flows.len()).collect();
            result(run, own, &emulator, path, (epoch, ends.latest_timer_us))
        });
        Ok(results.collect())
    }

    fn switch_policies(&mut self, epoch: Nanos) -> Result<(), RunError> {
        let mut switches: Vec<_> = self
            .runs
            .iter()
            .enumerate()
            .flat_map(|(number, run)| run.scenario.switches.iter().map(move |it| (number, *it)))
            .collect();
        switches.sort_by(|a, b| a.1.at_s.total_cmp(&b.1.at_s));
        for (number, switch) in switches {
            let at = epoch + Nanos((switch.at_s * 1e9) as u64);
            std::thread::sleep(Duration::from_nanos(at.since(monotonic_now()).0));
            if let Some(group) = &mut self.groups[number] {
                group.set_observing(switch.is_observing)?;
            }
        }
        Ok(())
    }
}

fn plan_flows(
    testbed: &Testbed,
    number: usize,
    scenario: &Scenario,
    group: Option<&Group>,
    flows: &mut Vec<PlannedFlow>,
) {
    let path = testbed.path(number);
    let cgroup_at = |side: Side, is_yielding: bool| {
        let group = group.filter(|group| is_yielding && group.side() == side);
        group.map(Group::directory)
    };
    for (port, spec) in (FIRST_PORT..).zip(&scenario.flows) {
        let is_yielding = spec.role == Role::LessThanBestEffort;
        if is_yielding {
            testbed.set_class(number, port, Class::LessThanBestEffort);
        }
        flows.push(PlannedFlow {
            spec: spec.clone(),
            client_namespace: namespace_file(path.client()),
            server_namespace: namespace_file(path.server()),
            client_address: CLIENT_IPV4.into(),
            server_address: SERVER_IPV4.into(),
            port,
            receiver_cgroup: cgroup_at(Side::Receiver, is_yielding),
            sender_cgroup: cgroup_at(Side::Sender, is_yielding),
            end_s: scenario.duration_s,
        });
    }
}

/// The law of a run that has one, and somebody whom it would act on.
fn law_of(run: &Run) -> Option<&Policy> {
    let PolicyChoice::Law(policy) = &run.policy else {
        return None;
    };
    let mut flows = run.scenario.flows.iter();
    flows
        .any(|flow| flow.role == Role::LessThanBestEffort)
        .then_some(policy)
}

/// `None` for a run without a law of the kernel backend.
fn prepare_group(run: &Run, options: &RunOptions) -> Result<Option<Group>, RunError> {
    let Some(policy) = law_of(run).filter(|policy| !policy.law().is_for_counters()) else {
        return Ok(None);
    };
    let options = AttachOptions {
        observing: run.scenario.starts_observing,
        trace: options
            .trace_directory
            .as_ref()
            .map(|directory| directory.join(trace_name(run, policy))),
        ..AttachOptions::default()
    };
    Ok(Some(Group::attach(policy, options)?))
}

/// Scenario, policy and repetition, in characters that need no quoting.
fn trace_name(run: &Run, policy: &Policy) -> String {
    let text = format!("{}-{policy}-{}.trace", run.scenario.name, run.repetition);
    text.replace([':', ',', '/'], "_")
}

/// `None` for a run without a law of the user backend.
fn govern(run: &Run, path: &Path, worker: u32) -> Result<Option<Governed>, RunError> {
    let Some(policy) = law_of(run).filter(|policy| policy.law().is_for_counters()) else {
        return Ok(None);
    };
    let ports = (FIRST_PORT..)
        .zip(&run.scenario.flows)
        .filter(|(_, flow)| flow.role == Role::LessThanBestEffort)
        .map(|(port, _)| port);
    // Flows of figures go from the server to the client.
    let home = match policy.law().side() {
        Side::Receiver => path.client(),
        Side::Sender => path.server(),
    };
    Ok(Some(Governed::start(
        policy,
        home,
        ports.collect(),
        worker,
    )?))
}
