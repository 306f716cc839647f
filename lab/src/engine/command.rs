// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab run`: scenario files in the lab.
use std::path::{Path, PathBuf};

use clap::Args;
use ebb_scenario::{Results, Scenario, ScenarioError, Setting};

use super::{EngineError, Job, LabRun, run};

/// What `ebb lab run` is told.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// Scenario files (docs/scenarios.md)
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Value that comes before that of the files, as for `ebb sim run`
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    settings: Vec<Setting>,

    /// How often each is run; otherwise as often as its file says
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    runs: Option<u32>,

    /// Runs at the same time, each on a link of its own
    #[arg(long, default_value_t = 8, value_name = "N")]
    parallel: usize,

    /// Writes the results there: FILE.json for each FILE.toml
    #[arg(long, value_name = "DIRECTORY")]
    pub out: Option<PathBuf>,

    /// Repeat runs that were disturbed so often
    #[arg(long, default_value_t = 2, value_name = "N")]
    retries: u32,
}

/// A scenario with its results, and what its emulator had to say.
#[derive(Debug)]
pub struct LabResults {
    /// The file that the scenario is from.
    pub file: PathBuf,
    /// In the format of both engines.
    pub results: Results,
    /// How exactly packets were delivered, one line for each run.
    pub emulator: Vec<String>,
    /// At least one run is not to be believed.
    pub is_disturbed: bool,
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum CommandError {
    /// A file is wrong.
    #[error(transparent)]
    Scenario(#[from] ScenarioError),
    /// The lab cannot run it, or failed.
    #[error(transparent)]
    Engine(#[from] EngineError),
    /// The results cannot be written.
    #[error("{path}: {source}")]
    Write {
        /// Where to.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl LabResults {
    /// Writes the results into a directory, under the name of the scenario's file.
    ///
    /// *Errors:* [`CommandError::Write`].
    pub fn write(&self, directory: &Path) -> Result<PathBuf, CommandError> {
        let stem = self.file.file_stem().unwrap_or(self.file.as_os_str());
        let path = directory.join(stem).with_extension("json");
        let written = std::fs::create_dir_all(directory)
            .and_then(|()| std::fs::write(&path, self.results.to_json()));
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(CommandError::Write { path, source }),
        }
    }
}

impl RunArguments {
    /// Runs all files; runs of different files share the time of the lab.
    ///
    /// *Errors:* [`CommandError`]; nothing is run if a file is wrong.
    pub fn run(&self) -> Result<Vec<LabResults>, CommandError> {
        let scenarios = self
            .files
            .iter()
            .map(|file| Scenario::read_with(file, &self.settings));
        let scenarios = scenarios.collect::<Result<Vec<_>, _>>()?;
        let jobs: Vec<Job<'_>> = scenarios
            .iter()
            .flat_map(|scenario| {
                let runs = self.runs.unwrap_or(scenario.runs);
                (0..runs).map(move |run| Job { scenario, run })
            })
            .collect();
        let mut runs = run(&jobs, self.parallel, self.retries)?.into_iter();
        let counts: Vec<usize> = scenarios
            .iter()
            .map(|scenario| self.runs.unwrap_or(scenario.runs) as usize)
            .collect();
        let files = self.files.iter().zip(scenarios.clone()).zip(counts);
        Ok(files
            .map(|((file, scenario), count)| {
                let own: Vec<LabRun> = runs.by_ref().take(count).collect();
                LabResults {
                    file: file.clone(),
                    emulator: own.iter().map(|run| run.emulator.clone()).collect(),
                    is_disturbed: own.iter().any(|run| run.is_disturbed),
                    results: Results {
                        scenario,
                        runs: own.into_iter().map(|run| run.outcome).collect(),
                    },
                }
            })
            .collect())
    }
}
