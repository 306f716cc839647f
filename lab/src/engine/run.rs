// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Carries runs of a scenario out, several at the same time on paths of their own.
use std::net::Ipv4Addr;
use std::os::fd::{AsFd, AsRawFd};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebb_link::{Class, Nanos};
use ebb_scenario::{Flow, Outcome, Scenario};

use super::EngineError;
use super::homes::Homes;
use super::outcome::{Measured, outcome};
use super::prepared::{PreparedRun, SharedPath, port_of, shared_path};
use super::programs::Programs;
use super::repeats::Repeats;
use super::seen::Seen;
use super::sharing::SharedGroups;
use super::yielding::{End, Yielding, is_within};
use crate::clock::monotonic_now;
use crate::emulator::{self, CLIENT_IPV4, EmulatorReport, SERVER_IPV4, Testbed};
use crate::endpoint::Endpoints;
use crate::namespace::NamespaceHandle;
use crate::traffic::{self, Direction, FlowResult, FlowSpec, PlacedFlow, WorkerResult};

/// Receivers count bytes in bins of this length.
pub(super) const BIN_US: u64 = 10_000;
/// From "go" to the common start: more than the worker takes to read the line.
const LEAD: Nanos = Nanos::from_millis(200);
/// Endpoints that are later than this disturb a run: a pause of a sender would show.
const ENDPOINT_LATE_US: u64 = 30_000;

/// What one run in the lab gave.
#[derive(Debug)]
pub struct LabRun {
    /// In the format of both engines.
    pub outcome: Outcome,
    /// How exactly packets of all runs of its time were delivered, in one line.
    pub emulator: String,
    /// The run is not to be believed: the emulator or the endpoints were late with its packets.
    pub is_disturbed: bool,
}

/// One run of a scenario, by its number.
#[derive(Clone, Copy, Debug)]
pub struct Job<'a> {
    /// What is run.
    pub scenario: &'a Scenario,
    /// Which run: it has a seed of its own.
    pub run: u32,
    /// What laws in the kernel are told and answer is recorded in files whose names begin so, and
    /// end with the policy, the run and `.trace`; none: it is not.
    pub traces: Option<&'a Path>,
}

impl<'a> Job<'a> {
    /// A run of which nothing is recorded.
    pub fn new(scenario: &'a Scenario, run: u32) -> Self {
        Self {
            scenario,
            run,
            traces: None,
        }
    }
}

/// Carries out runs, `parallel` at the same time. Those that were disturbed are repeated, `retries`
/// times at the most, and the last time each by itself.
///
/// *Shape:* in the order of `jobs`.
///
/// *Errors:* [`EngineError`]: the lab cannot run it, or the first thing that failed.
pub fn run(jobs: &[Job<'_>], parallel: usize, retries: u32) -> Result<Vec<LabRun>, EngineError> {
    let mut runs: Vec<Option<LabRun>> = jobs.iter().map(|_| None).collect();
    run_each(jobs, parallel, retries, |place, run| {
        runs[place] = Some(run);
    })?;
    Ok(runs.into_iter().flatten().collect())
}

/// The same; `done` gets each run with its place among `jobs` as soon as it is not to be repeated.
///
/// *Errors:* those of [`run`]. What was handed over before stays.
pub fn run_each(
    jobs: &[Job<'_>],
    parallel: usize,
    retries: u32,
    done: impl FnMut(usize, LabRun),
) -> Result<(), EngineError> {
    let shared = jobs.iter().map(|job| shared_path(job.scenario));
    let shared = shared.collect::<Result<Vec<_>, _>>()?;
    let wave = |places: &[usize]| {
        let on_paths: Vec<_> = places.iter().map(|at| (jobs[*at], &shared[*at])).collect();
        let results = Wave::prepare(&on_paths)?.run()?;
        // Real time is long: whoever waits wants to know why once more.
        if let Some(run) = results.iter().find(|run| run.is_disturbed) {
            tracing::warn!("disturbed: {}", run.emulator);
        }
        Ok(results)
    };
    let repeats = Repeats { parallel, retries };
    repeats.carry_out(jobs.len(), wave, |run| run.is_disturbed, done)
}

/// A job and the path that its flows share.
type OnPath<'a> = (Job<'a>, &'a SharedPath);

struct Wave<'a> {
    jobs: &'a [OnPath<'a>],
    testbed: Testbed,
    /// Let go before the endpoints.
    homes: Homes,
    yielding: Yielding,
    sharing: SharedGroups,
    programs: Programs,
    endpoints: Endpoints,
}

impl<'a> Wave<'a> {
    fn prepare(jobs: &'a [OnPath<'a>]) -> Result<Self, EngineError> {
        let prepared = jobs
            .iter()
            .map(|(job, shared)| PreparedRun::new(job.scenario, shared, job.run));
        let prepared = prepared.collect::<Result<Vec<_>, _>>()?;
        let testbed = Testbed::start(prepared.iter().map(|run| run.path.clone()).collect())?;
        let mut flows = Flows::default();
        for (number, run) in prepared.into_iter().enumerate() {
            flows.add(&testbed, number, &jobs[number], run)?;
        }
        let Flows {
            homes,
            mut yielding,
            sharing,
            by_worker,
            by_programs,
        } = flows;
        let programs = Programs::prepare(&testbed, by_programs)?;
        let endpoints = Endpoints::prepare(&traffic::PlacedFlows {
            flows: by_worker,
            bin_us: BIN_US,
        })?;
        yielding.follow(endpoints.process_id())?;
        Ok(Self {
            jobs,
            testbed,
            homes,
            yielding,
            sharing,
            programs,
            endpoints,
        })
    }

    fn run(mut self) -> Result<Vec<LabRun>, EngineError> {
        let epoch = monotonic_now() + LEAD;
        self.endpoints.start(epoch.0)?;
        self.steer(epoch)?;
        let mut ends = self.endpoints.finish()?;
        // In the order of places, so that each is put where it belongs.
        for (place, result) in self.programs.finish()? {
            ends.flows.insert(place, result);
            ends.latest_timers_us.insert(place, 0);
        }
        let emulator = self.testbed.stop()?;
        let seen = self.yielding.finish()?;
        self.sharing.finish()?;
        Ok(results(self.jobs, (&emulator, epoch), ends, &seen))
    }

    /// Switches what holds for a part of a run only, and looks after groups that share.
    fn steer(&mut self, epoch: Nanos) -> Result<(), EngineError> {
        let ends: Vec<Nanos> = (self.jobs.iter())
            .map(|(job, _)| job.scenario.duration)
            .collect();
        let flows = self.jobs.iter().flat_map(|(job, _)| &job.scenario.flows);
        let mut times: Vec<Nanos> = flows.flat_map(boundaries).collect();
        times.sort_unstable();
        times.dedup();
        let mut times = times.into_iter().peekable();
        let epoch_instant = Instant::now() + Duration::from_nanos(epoch.since(monotonic_now()).0);
        loop {
            let changes = [self.sharing.next_period(), self.programs.next_change()];
            let next = changes.into_iter().chain([times.peek().copied()]);
            let Some(next) = next.flatten().min() else {
                return self.wait_for_programs(epoch, &ends);
            };
            let at = epoch + next;
            std::thread::sleep(Duration::from_nanos(at.since(monotonic_now()).0));
            if let Some(time) = times.next_if_eq(&next) {
                self.switch(time)?;
            }
            let now = monotonic_now().since(epoch);
            self.sharing.control(now.max(next), &ends)?;
            self.programs.change(now.max(next), epoch_instant)?;
        }
    }

    /// The worker ends with its own flows, programs do not.
    fn wait_for_programs(&self, epoch: Nanos, ends: &[Nanos]) -> Result<(), EngineError> {
        let jobs = self.jobs.iter().zip(ends);
        let by_programs = jobs.filter(|((job, _), _)| {
            let mut flows = job.scenario.flows.iter();
            flows.any(|flow| flow.is_by_programs)
        });
        if let Some(end) = by_programs.map(|(_, end)| *end).max() {
            let left = (epoch + end).since(monotonic_now());
            std::thread::sleep(Duration::from_nanos(left.0));
        }
        Ok(())
    }

    /// Switches classes and policies of flows that yield for a part of a run only.
    fn switch(&mut self, time: Nanos) -> Result<(), EngineError> {
        self.homes.switch(time);
        self.yielding.switch(time)?;
        self.switch_classes(time);
        Ok(())
    }

    fn switch_classes(&self, time: Nanos) {
        for (path, (job, _)) in self.jobs.iter().enumerate() {
            for (place, flow) in job.scenario.flows.iter().enumerate() {
                if flow.during.is_empty() || flow.class == Class::BestEffort {
                    continue;
                }
                let class = match is_within(&flow.during, time) {
                    true => Class::LessThanBestEffort,
                    false => Class::BestEffort,
                };
                self.testbed.set_class(path, port_of(place), class);
            }
        }
    }
}

/// The flows of a wave, on their paths and under their laws.
#[derive(Default)]
struct Flows {
    homes: Homes,
    yielding: Yielding,
    sharing: SharedGroups,
    by_worker: Vec<PlacedFlow>,
    /// With the place among all flows, and the path.
    by_programs: Vec<(usize, usize, PlacedFlow)>,
}

impl Flows {
    fn add(
        &mut self,
        testbed: &Testbed,
        number: usize,
        (job, shared): &OnPath<'_>,
        run: PreparedRun,
    ) -> Result<(), EngineError> {
        let scenario = (job.scenario, *shared);
        self.homes.add(number, testbed.path(number), scenario)?;
        self.sharing.add(number, job.scenario)?;
        for (place, spec) in run.flows.into_iter().enumerate() {
            let flow = &job.scenario.flows[place];
            if flow.class == Class::LessThanBestEffort && flow.during.is_empty() {
                testbed.set_class(number, port_of(place), Class::LessThanBestEffort);
            }
            let placed = self.placed((testbed, number), job, place, spec)?;
            match flow.is_by_programs {
                true => {
                    let before = self.by_worker.len() + self.by_programs.len();
                    self.by_programs.push((before, number, placed));
                }
                false => self.by_worker.push(placed),
            }
        }
        Ok(())
    }

    fn placed(
        &mut self,
        (testbed, number): (&Testbed, usize),
        job: &Job<'_>,
        place: usize,
        mut spec: FlowSpec,
    ) -> Result<PlacedFlow, EngineError> {
        let flow = &job.scenario.flows[place];
        let (path, port) = (testbed.path(number), port_of(place));
        let near = self.near_end(path, number, place);
        let near = (&near.0, near.1);
        let mut ends = [near, (path.server(), SERVER_IPV4)];
        let end_at = |home| End { home, port };
        let (from, to) = match spec.direction {
            Direction::Download => (end_at(path.server()), end_at(near.0)),
            Direction::Upload => (end_at(near.0), end_at(path.server())),
        };
        // Of the two ends of the path, which have names of their own, the client is who connects.
        let by_client = match flow.receiver_connects || flow.is_by_programs {
            true => Direction::Download,
            false => Direction::Upload,
        };
        if spec.direction != by_client {
            ends.reverse();
            spec.direction = by_client;
        }
        let [(client, client_address), (server, server_address)] = ends;
        Ok(PlacedFlow {
            spec,
            client_namespace: namespace_file(client),
            server_namespace: namespace_file(server),
            client_address: client_address.into(),
            server_address: server_address.into(),
            port,
            receiver_cgroup: self.receiver_cgroup((number, place), job, &to)?,
            sender_cgroup: self.yielding.sender(number, job, flow, &from)?,
            end_s: job.scenario.duration.as_secs_f64(),
        })
    }

    /// Where clients are: at the end of the path, or behind a router there.
    fn near_end(
        &self,
        path: &emulator::Path,
        run: usize,
        place: usize,
    ) -> (NamespaceHandle, Ipv4Addr) {
        let device = self.homes.device(run, place);
        let (home, address) = device.unwrap_or((path.client(), CLIENT_IPV4));
        (home.clone(), address)
    }

    /// Where the receiving socket of a flow belongs, if that is how its law reaches it.
    fn receiver_cgroup(
        &mut self,
        (run, place): (usize, usize),
        job: &Job<'_>,
        end: &End<'_>,
    ) -> Result<Option<PathBuf>, EngineError> {
        let flow = &job.scenario.flows[place];
        match self.sharing.directory(run, place) {
            Some(directory) => Ok(Some(directory)),
            None if flow.is_by_gateway => Ok(None),
            None => self.yielding.receiver(run, job, flow, end),
        }
    }
}

fn boundaries(flow: &Flow) -> impl Iterator<Item = Nanos> + '_ {
    flow.during.iter().flat_map(|part| [part.from, part.to])
}

fn results(
    jobs: &[OnPath<'_>],
    (emulator, epoch): (&EmulatorReport, Nanos),
    ends: WorkerResult,
    seen: &[(u64, Seen)],
) -> Vec<LabRun> {
    let latest_us = ends.latest_timers_us.iter().max().copied().unwrap_or(0);
    let summary = format!(
        "{}; endpoints late by {:.0} ms at worst",
        emulator.summary(),
        latest_us as f64 / 1e3
    );
    let mut flows = ends.flows.into_iter();
    let mut late_us = ends.latest_timers_us.iter();
    let runs = jobs.iter().enumerate().map(|(path, (job, shared))| {
        let count = job.scenario.flows.len();
        let flows: Vec<_> = flows.by_ref().take(count).collect();
        let late_us = late_us.by_ref().take(count).max();
        let measured = Measured {
            scenario: job.scenario,
            shared,
            run: job.run,
            flows: &flows,
            seen: flows.iter().map(|flow| seen_by(flow, seen)).collect(),
            path: &emulator.paths[path],
            epoch,
        };
        LabRun {
            outcome: outcome(&measured),
            emulator: summary.clone(),
            is_disturbed: emulator.paths[path].is_disturbed()
                || late_us.is_some_and(|late_us| *late_us > ENDPOINT_LATE_US),
        }
    });
    runs.collect()
}

/// What the law at the receiving socket of a flow saw, if anything was recorded of it.
fn seen_by<'s>(flow: &FlowResult, seen: &'s [(u64, Seen)]) -> Option<&'s Seen> {
    let cookie = flow.receiver_cookie?;
    let mut seen = seen.iter();
    let (_, seen) = seen.find(|(socket, _)| *socket == cookie)?;
    Some(seen)
}

/// The namespace as a file that the worker can open, too.
fn namespace_file(namespace: &NamespaceHandle) -> PathBuf {
    let (pid, fd) = (std::process::id(), namespace.as_fd().as_raw_fd());
    format!("/proc/{pid}/fd/{fd}").into()
}
