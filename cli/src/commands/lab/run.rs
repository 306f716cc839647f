// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab run`: scenario files in the lab.
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::Args;
use ebb_experiments::Runner;
use ebb_report::outcome;
use ebb_scenario::{Results, Scenario, Setting};

use crate::backend::require_root;
use crate::commands::progress::Progress;
use crate::{count, output};

/// Run scenario files with real kernel TCP, as `ebb sim run` does in the simulator
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
pub(super) struct LabRun {
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
    #[arg(long, default_value = "8", value_name = "N", value_parser = count::parse)]
    parallel: NonZeroUsize,

    /// Writes the results there: FILE.json for each FILE.toml
    #[arg(long, value_name = "DIRECTORY")]
    out: Option<PathBuf>,

    /// Repeat runs that were disturbed so often
    #[arg(long, default_value_t = 2, value_name = "N")]
    retries: u32,
}

const LONG_ABOUT: &str = "\
Run scenario files with real kernel TCP over an emulated link.

The files are those of `ebb sim run`, and so are tables and results; what no kernel tells is missing \
there. The lab has two hosts and one link in each direction: it refuses a scenario with more, and \
says what it does not have. Runs happen in real time, many side by side, each on a link of its \
own. Those in which the emulator or the endpoints were late are repeated, and marked if they stay \
so.";

const AFTER_HELP: &str = "\
Examples:
  sudo ebb lab run scenarios/two-flows.toml
  sudo ebb lab run --runs 3 --parallel 14 --out kernel simulator/tests/kernel/*.toml

Exit status: 0; 1 when a scenario is wrong, a run stayed disturbed or Ebb failed; 2 wrong usage.";

impl LabRun {
    /// Runs all files, prints their tables and writes their results; answers the exit status.
    pub(super) fn execute(self) -> Result<u8> {
        require_root("lab run")?;
        let read = |file: &PathBuf| Scenario::read_with(file, &self.settings);
        let mut scenarios = self.files.iter().map(read).collect::<Result<Vec<_>, _>>()?;
        for scenario in &mut scenarios {
            scenario.runs = self.runs.unwrap_or(scenario.runs);
        }
        let progress = Progress::default();
        let runner = Runner {
            parallel: self.parallel,
            retries: self.retries,
            ..progress.runner(None)
        };
        let ran = runner.run_in_lab(&scenarios)?;
        let mut status = 0;
        for (place, (file, results)) in self.files.iter().zip(&ran.results).enumerate() {
            output::print(&outcome::text(results))?;
            let emulator = &ran.emulator[place];
            output::print(&format!("{}\n", emulator.join("\n")))?;
            if let Some(directory) = &self.out {
                let path = write(results, file, directory)?;
                output::print(&format!("Result: {}\n", path.display()))?;
            }
            output::print("\n")?;
            if ran.is_disturbed(place) {
                output::complain(&format!(
                    "{}: the machine was too busy to emulate the link; do not believe it",
                    file.display()
                ));
                status = 1;
            }
        }
        Ok(status)
    }
}

/// Writes the results into a directory, under the name of the scenario's file.
fn write(results: &Results, file: &Path, directory: &Path) -> Result<PathBuf> {
    let stem = file.file_stem().unwrap_or(file.as_os_str());
    let path = directory.join(stem).with_extension("json");
    std::fs::create_dir_all(directory)
        .and_then(|()| std::fs::write(&path, results.to_json()))
        .with_context(|| path.display().to_string())?;
    Ok(path)
}
