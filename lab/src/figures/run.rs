// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::PathBuf;

use ebb_link::{Class, LinkStatistics, Nanos};
use serde::Serialize;

use super::batch::Wave;
use super::{PolicyChoice, Scenario};
use crate::LabError;
use crate::emulator::{DirectionReport, EmulatorReport};
use crate::engine::{ENDPOINT_LATE_US, EngineError};
use crate::traffic::{FlowResult, Role, TrafficError};

/// Why runs could not be carried out.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The emulated links could not be made.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The flows could not be made.
    #[error(transparent)]
    Traffic(#[from] TrafficError),
    /// A policy could not be put on its flows.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// A file could not be written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// What the kernel said.
        source: std::io::Error,
    },
    /// What was asked for does not exist.
    #[error("{0}")]
    Unknown(String),
}

/// One scenario under one policy, once.
#[derive(Clone, Debug)]
pub struct Run {
    /// What happens.
    pub scenario: Scenario,
    /// What holds the LBE flows back.
    pub policy: PolicyChoice,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Seed of the path's random numbers.
    pub seed: u64,
}

/// How runs are carried out.
#[derive(Clone, Debug)]
pub struct RunOptions {
    /// Runs at the same time.
    pub parallel: usize,
    /// A disturbed wave of runs is repeated so often.
    pub retries: u32,
    /// Records what the laws are told and answer into files of this directory.
    pub trace_directory: Option<PathBuf>,
    /// Tells on standard error what is going on.
    pub is_verbose: bool,
}

impl Default for RunOptions {
    fn default() -> Self {
        Self {
            parallel: 16,
            retries: 2,
            trace_directory: None,
            is_verbose: false,
        }
    }
}

/// The bottleneck towards the client, from `measure_from_s` to the end of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct QueueResult {
    /// Mean waiting time of all packets, their own transmission not counted.
    pub waiting_ms: f64,
    /// The same of BE packets; 0 without any.
    pub be_waiting_ms: f64,
    /// BE packets that found the queue full.
    pub be_dropped_pkts: u64,
    /// LBE packets that found the queue full.
    pub lbe_dropped_pkts: u64,
}

/// What became of a run.
#[derive(Clone, Debug, Serialize)]
pub struct RunResult {
    /// What happened.
    pub scenario: Scenario,
    /// What held the LBE flows back.
    pub policy: String,
    /// Number of the repetition, from 0.
    pub repetition: u32,
    /// Seed of the path's random numbers.
    pub seed: u64,
    /// The flows, in the order of the scenario.
    pub flows: Vec<FlowResult>,
    /// The bottleneck.
    pub queue: QueueResult,
    /// Everything that the link towards the client counted.
    pub link: LinkStatistics,
    /// The run is not to be believed: the emulator or the endpoints were late.
    pub is_disturbed: bool,
    /// Share of all packets of the wave that were delivered more than 1 ms late.
    pub late_pkts_share: f64,
    /// The latest packet of the wave.
    pub latest_packet_us: u64,
    /// The latest action of the endpoints.
    pub latest_endpoint_us: u64,
}

impl RunResult {
    /// The flows of one role.
    pub fn flows_of(&self, role: Role) -> impl Iterator<Item = &FlowResult> {
        self.flows.iter().filter(move |flow| flow.spec.role == role)
    }
}

/// Carries runs out, many at the same time, each on a path of its own.
///
/// *Shape:* results are in the order of the runs. Runs that stay disturbed after all
/// retries are marked so.
///
/// *Errors:* the first thing that could not be set up.
pub fn run_many(runs: &[Run], options: &RunOptions) -> Result<Vec<RunResult>, RunError> {
    let mut order: Vec<usize> = (0..runs.len()).collect();
    // Runs of similar length together: a wave lasts as long as its longest run.
    order.sort_by(|a, b| {
        let duration = |index: usize| runs[index].scenario.duration_s;
        duration(*b).total_cmp(&duration(*a))
    });
    // Waves of equal size: the fewer paths, the less they disturb each other.
    let waves = order.len().div_ceil(options.parallel.max(1)).max(1);
    let mut results: Vec<Option<RunResult>> = runs.iter().map(|_| None).collect();
    for (number, wave) in order.chunks(order.len().div_ceil(waves).max(1)).enumerate() {
        let wave_runs: Vec<&Run> = wave.iter().map(|index| &runs[*index]).collect();
        if options.is_verbose {
            let longest_s = wave_runs[0].scenario.duration_s;
            let count = wave_runs.len();
            eprintln!(
                "wave {} of {waves}: {count} links, {longest_s:.0} s",
                number + 1
            );
        }
        for (index, result) in wave.iter().zip(run_wave(&wave_runs, options)?) {
            results[*index] = Some(result);
        }
    }
    Ok(results.into_iter().flatten().collect())
}

fn run_wave(runs: &[&Run], options: &RunOptions) -> Result<Vec<RunResult>, RunError> {
    let mut retries_left = options.retries;
    loop {
        let results = Wave::prepare(runs, options)?.run(options)?;
        let is_disturbed = results.iter().any(|result| result.is_disturbed);
        if !is_disturbed || retries_left == 0 {
            return Ok(results);
        }
        retries_left -= 1;
        if options.is_verbose {
            eprintln!("  disturbed: once more");
        }
    }
}

/// Puts together what the endpoints and the emulator know of one run.
pub(super) fn result(
    run: &Run,
    flows: Vec<FlowResult>,
    emulator: &EmulatorReport,
    path: usize,
    times: (Nanos, u64),
) -> RunResult {
    let (epoch, latest_endpoint_us) = times;
    let forward = &emulator.paths[path].forward;
    RunResult {
        scenario: run.scenario.clone(),
        policy: run.policy.to_string(),
        repetition: run.repetition,
        seed: run.seed,
        flows,
        queue: queue_result(&run.scenario, forward, epoch),
        link: forward.statistics,
        is_disturbed: emulator.is_disturbed() || latest_endpoint_us > ENDPOINT_LATE_US,
        late_pkts_share: emulator.lateness.late_share(),
        latest_packet_us: emulator.lateness.max_ns / 1_000,
        latest_endpoint_us,
    }
}

fn queue_result(scenario: &Scenario, forward: &DirectionReport, epoch: Nanos) -> QueueResult {
    let at = |seconds: f64| epoch + Nanos((seconds * 1e9) as u64);
    let (from, until) = (at(scenario.measure_from_s), at(scenario.duration_s));
    let be = forward.series.between(Class::BestEffort, from, until);
    let lbe = forward
        .series
        .between(Class::LessThanBestEffort, from, until);
    let mut all = be.waiting;
    all += lbe.waiting;
    QueueResult {
        waiting_ms: all.mean_ns().unwrap_or(0.0) / 1e6,
        be_waiting_ms: be.waiting.mean_ns().unwrap_or(0.0) / 1e6,
        be_dropped_pkts: be.dropped_pkts,
        lbe_dropped_pkts: lbe.dropped_pkts,
    }
}
