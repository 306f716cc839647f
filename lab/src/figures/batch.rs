// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A wave: runs that happen at the same time, each on its own path.

use std::os::fd::{AsFd, AsRawFd};
use std::path::PathBuf;
use std::time::Duration;

use ebb_algorithms::Side;
use ebb_link::{Class, Nanos};

use super::governed::Governed;
use super::group::Group;
use super::run::{Run, RunError, RunOptions, RunResult, result};
use super::{PolicyChoice, Scenario};
use crate::clock::monotonic_now;
use crate::emulator::{CLIENT_IPV4, SERVER_IPV4, Testbed};
use crate::endpoint::Endpoints;
use crate::namespace::NamespaceHandle;
use crate::traffic::{Plan, PlannedFlow, Role};

/// Flows of a path use ports from here on.
pub(crate) const FIRST_PORT: u16 = 5_201;
/// Receivers count bytes in bins of this length.
pub(crate) const BIN_US: u64 = 10_000;
/// From "go" to the common start: more than the worker takes to read the line.
pub(crate) const LEAD: Nanos = Nanos::from_millis(200);

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
            .map(|run| Group::prepare(run, options))
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
            Governed::start(run, testbed.path(number), endpoints.process_id()).transpose()
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

/// The namespace as a file that the worker can open, too.
pub(crate) fn namespace_file(namespace: &NamespaceHandle) -> PathBuf {
    let (pid, fd) = (std::process::id(), namespace.as_fd().as_raw_fd());
    format!("/proc/{pid}/fd/{fd}").into()
}
