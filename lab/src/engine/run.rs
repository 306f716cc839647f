// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carries runs of a scenario out, several at the same time on paths of their own.
use std::time::Duration;

use ebb_algorithms::Policy;
use ebb_kernel::AttachOptions;
use ebb_link::{Class, Nanos};
use ebb_scenario::{Flow, Interval, Outcome, Scenario};

use super::EngineError;
use super::outcome::{Measured, outcome};
use super::plan::{Plan, SharedPath, shared_path};
use crate::clock::monotonic_now;
use crate::emulator::{CLIENT_IPV4, EmulatorReport, SERVER_IPV4, Testbed};
use crate::endpoint::Endpoints;
use crate::figures::{BIN_US, ENDPOINT_LATE_US, FIRST_PORT, Group, LEAD, namespace_file};
use crate::traffic::{self, PlannedFlow, WorkerResult};

/// What one run in the lab gave.
#[derive(Debug)]
pub struct LabRun {
    /// In the format of both engines.
    pub outcome: Outcome,
    /// How exactly packets were delivered, in one line.
    pub emulator: String,
    /// The run is not to be believed: the emulator or the endpoints were late.
    pub is_disturbed: bool,
}

/// Runs `runs` of a scenario, `parallel` at the same time; disturbed ones are repeated
/// `retries` times at the most.
///
/// *Shape:* in the order of `runs`.
///
/// *Errors:* [`EngineError`]: the lab cannot run it, or the first thing that failed.
pub fn run(
    scenario: &Scenario,
    runs: &[u32],
    parallel: usize,
    retries: u32,
) -> Result<Vec<LabRun>, EngineError> {
    let shared = shared_path(scenario)?;
    let mut done = Vec::new();
    for wave in runs.chunks(parallel.max(1)) {
        let mut retries_left = retries;
        loop {
            let results = Wave::prepare(scenario, &shared, wave)?.run()?;
            let is_disturbed = results.iter().any(|run| run.is_disturbed);
            if !is_disturbed || retries_left == 0 {
                done.extend(results);
                break;
            }
            retries_left -= 1;
        }
    }
    Ok(done)
}

/// A cgroup with those flows of a run that are under the same policy at the same times.
struct YieldingGroup {
    run: usize,
    receiver: String,
    during: Vec<Interval>,
    group: Group,
}

struct Wave<'a> {
    scenario: &'a Scenario,
    shared: &'a SharedPath,
    runs: &'a [u32],
    testbed: Testbed,
    groups: Vec<YieldingGroup>,
    endpoints: Endpoints,
}

impl<'a> Wave<'a> {
    fn prepare(
        scenario: &'a Scenario,
        shared: &'a SharedPath,
        runs: &'a [u32],
    ) -> Result<Self, EngineError> {
        let plans = runs.iter().map(|run| Plan::new(scenario, shared, *run));
        let plans = plans.collect::<Result<Vec<_>, _>>()?;
        let paths = plans.iter().map(|plan| plan.path.clone());
        let testbed = Testbed::start(paths.collect())?;
        let mut groups = Vec::new();
        let mut flows = Vec::new();
        for (number, plan) in plans.into_iter().enumerate() {
            let path = testbed.path(number);
            for (place, spec) in plan.flows.into_iter().enumerate() {
                let flow = &scenario.flows[place];
                let port = FIRST_PORT + place as u16;
                if flow.class == Class::LessThanBestEffort && flow.during.is_empty() {
                    testbed.set_class(number, port, Class::LessThanBestEffort);
                }
                let receiver_cgroup = group_of(&mut groups, number, flow)?;
                flows.push(PlannedFlow {
                    spec,
                    client_namespace: namespace_file(path.client()),
                    server_namespace: namespace_file(path.server()),
                    client_address: CLIENT_IPV4.into(),
                    server_address: SERVER_IPV4.into(),
                    port,
                    receiver_cgroup,
                    end_s: scenario.duration.as_secs_f64(),
                });
            }
        }
        let plan = traffic::Plan {
            flows,
            bin_us: BIN_US,
        };
        Ok(Self {
            scenario,
            shared,
            runs,
            testbed,
            groups,
            endpoints: Endpoints::prepare(&plan)?,
        })
    }

    fn run(mut self) -> Result<Vec<LabRun>, EngineError> {
        let epoch = monotonic_now() + LEAD;
        self.endpoints.start(epoch.0)?;
        self.switch(epoch)?;
        let ends = self.endpoints.finish()?;
        let emulator = self.testbed.stop()?;
        for group in self.groups {
            group.group.finish()?;
        }
        Ok(results(
            self.scenario,
            self.shared,
            self.runs,
            (&emulator, epoch),
            ends,
        ))
    }

    /// Switches classes and policies of flows that yield for a part of the run only.
    fn switch(&mut self, epoch: Nanos) -> Result<(), EngineError> {
        let mut times: Vec<Nanos> = self.scenario.flows.iter().flat_map(boundaries).collect();
        times.sort_unstable();
        times.dedup();
        for time in times {
            let at = epoch + time;
            std::thread::sleep(Duration::from_nanos(at.since(monotonic_now()).0));
            for group in &mut self.groups {
                let is_yielding = is_within(&group.during, time);
                if !group.during.is_empty() {
                    group.group.set_observing(!is_yielding)?;
                }
            }
            for (place, flow) in self.scenario.flows.iter().enumerate() {
                if flow.during.is_empty() || flow.class == Class::BestEffort {
                    continue;
                }
                let class = match is_within(&flow.during, time) {
                    true => Class::LessThanBestEffort,
                    false => Class::BestEffort,
                };
                for path in 0..self.runs.len() {
                    self.testbed
                        .set_class(path, FIRST_PORT + place as u16, class);
                }
            }
        }
        Ok(())
    }
}

fn boundaries(flow: &Flow) -> impl Iterator<Item = Nanos> + '_ {
    flow.during.iter().flat_map(|part| [part.from, part.to])
}

fn is_within(parts: &[Interval], time: Nanos) -> bool {
    parts.iter().any(|part| part.contains(time))
}

fn group_of(
    groups: &mut Vec<YieldingGroup>,
    run: usize,
    flow: &Flow,
) -> Result<Option<std::path::PathBuf>, EngineError> {
    let Some(receiver) = &flow.receiver else {
        return Ok(None);
    };
    let known = groups
        .iter()
        .find(|it| it.run == run && it.receiver == *receiver && it.during == flow.during);
    if let Some(known) = known {
        return Ok(Some(known.group.directory()));
    }
    let policy = Policy::receiver(receiver).map_err(|error| EngineError::Unsupported {
        scenario: flow.name.clone(),
        what: error.to_string(),
        instead: "see 'ebb policies'",
    })?;
    let options = AttachOptions {
        observing: !flow.during.is_empty() && !is_within(&flow.during, Nanos::ZERO),
        ..AttachOptions::default()
    };
    let group = Group::attach(&policy, options)?;
    let directory = group.directory();
    groups.push(YieldingGroup {
        run,
        receiver: receiver.clone(),
        during: flow.during.clone(),
        group,
    });
    Ok(Some(directory))
}

fn results(
    scenario: &Scenario,
    shared: &SharedPath,
    runs: &[u32],
    (emulator, epoch): (&EmulatorReport, Nanos),
    ends: WorkerResult,
) -> Vec<LabRun> {
    let is_disturbed = emulator.is_disturbed() || ends.latest_timer_us > ENDPOINT_LATE_US;
    let mut flows = ends.flows.into_iter();
    let runs = runs.iter().enumerate().map(|(path, run)| {
        let flows: Vec<_> = flows.by_ref().take(scenario.flows.len()).collect();
        let measured = Measured {
            scenario,
            shared,
            run: *run,
            flows: &flows,
            path: &emulator.paths[path],
            epoch,
        };
        LabRun {
            outcome: outcome(&measured),
            emulator: emulator.summary(),
            is_disturbed,
        }
    });
    runs.collect()
}
