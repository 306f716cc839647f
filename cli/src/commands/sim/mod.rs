// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb sim`: runs scenarios in the simulator.
mod sweep;

use std::fs::File;
use std::io::BufWriter;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{Args, Subcommand, ValueEnum};
use ebb_report::{image, outcome};
use ebb_scenario::{Results, Scenario, Setting};
use ebb_simulator::capture::{Capture, Place};

use super::progress::Progress;
use crate::{count, output};

/// Simulate scenarios: links, queues and flows from one file
#[derive(Debug, Args)]
pub struct Sim {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(Debug, Subcommand)]
enum SimCommand {
    Run(SimRun),
    Sweep(sweep::SimSweep),
    Show(SimShow),
    Check(SimCheck),
}

/// Run a scenario, print what came out, write the result
#[derive(Debug, Args)]
#[command(long_about = RUN_ABOUT, after_help = RUN_AFTER_HELP)]
struct SimRun {
    /// Scenario file; docs/scenarios.md describes the language
    #[arg(value_name = "FILE")]
    file: PathBuf,

    /// Value that comes before that of the file, like bottleneck.queue=500 or
    /// flow.NAME.receiver=vulture; several times for several
    #[arg(short, long = "set", value_name = "KEY=VALUE")]
    settings: Vec<Setting>,

    /// Result file, or the directory for it; NAME.json unless --json
    #[arg(short, long, value_name = "FILE|DIR")]
    out: Option<PathBuf>,

    /// Draw rates, windows and queues over time, as NAME.svg and NAME.png in this directory
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,

    /// Write the packets of the first run to this file, for Wireshark
    #[arg(long, value_name = "FILE.pcapng")]
    trace: Option<PathBuf>,

    /// At which hosts packets are traced
    #[arg(
        long,
        value_name = "WHERE",
        default_value = "senders",
        requires = "trace"
    )]
    trace_at: TraceAt,

    /// Write the first run to this file in the form of `iperf3 --json`
    #[arg(long, value_name = "FILE.json")]
    iperf3: Option<PathBuf>,

    /// Interval of the scenario that counts for iperf3; the first if not given
    #[arg(long, value_name = "NAME", requires = "iperf3")]
    iperf3_interval: Option<String>,

    /// Seed of the first run, in place of the scenario's; each further run has the next one
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// Number of runs, in place of the scenario's
    #[arg(long, value_name = "NUMBER", value_parser = clap::value_parser!(u32).range(1..=100_000))]
    runs: Option<u32>,

    /// Runs at the same time; one on each core if not given
    #[arg(long, value_name = "NUMBER", value_parser = count::parse)]
    jobs: Option<NonZeroUsize>,

    /// Print the result as JSON in place of the tables
    #[arg(long)]
    json: bool,
}

/// Print and draw a result file again
#[derive(Debug, Args)]
#[command(after_help = SHOW_AFTER_HELP)]
struct SimShow {
    /// Result file of `ebb sim run` or `ebb lab run`
    #[arg(value_name = "RESULT")]
    file: PathBuf,

    /// Draw rates, windows and queues over time, as NAME.svg and NAME.png in this directory
    #[arg(long, value_name = "DIR")]
    plot: Option<PathBuf>,

    /// Run to draw, from 1
    #[arg(long, value_name = "NUMBER", default_value = "1", requires = "plot",
          value_parser = count::parse)]
    run: NonZeroUsize,
}

/// Check scenario files without running them
#[derive(Debug, Args)]
#[command(after_help = CHECK_AFTER_HELP)]
struct SimCheck {
    /// Scenario files
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum TraceAt {
    /// Where flows come from
    Senders,
    /// Where flows go to
    Receivers,
    /// At both ends: each packet that arrives is there twice
    Both,
}

const RUN_ABOUT: &str = "\
Run a scenario, print what came out, write the result.

A scenario is one TOML file: links with their queues, flows with their control laws, and when \
they come and go. The simulator sends every packet; the same file and seed give the same result, \
byte for byte, on any machine. Several runs take different seeds and go over all cores.

In the tables `again` is the share of data that was sent again, `RTT` the mean round trip that \
senders saw, `p95` what 95 % of all values do not exceed, `queue` the mean waiting in a link's \
queue. With several runs a value is the mean, and ± half its 95 % confidence interval.";

const RUN_AFTER_HELP: &str = "\
Examples:
  ebb sim run two-flows.toml                        tables, and two-flows.json
  ebb sim run two-flows.toml --plot plots           ... and pictures in ./plots
  ebb sim run two-flows.toml --trace out.pcapng     ... and packets
  ebb sim run two-flows.toml --iperf3 iperf3.json   ... and as iperf3 would tell it
  ebb sim run two-flows.toml --set flow.mine.receiver=vulture
  ebb sim run two-flows.toml --json | jq '.runs[].flows[0].measures[0]'

Exit status: 0; 1 when the scenario is wrong or Ebb failed; 2 wrong usage.";

const SHOW_AFTER_HELP: &str = "\
Examples:
  ebb sim show two-flows.json
  ebb sim show two-flows.json --plot plots --run 3";

const CHECK_AFTER_HELP: &str = "\
Examples:
  ebb sim check scenarios/*.toml

Exit status: 0 when all are right, 1 otherwise.";

impl Sim {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        match self.command {
            SimCommand::Run(command) => command.execute(),
            SimCommand::Sweep(command) => command.execute(),
            SimCommand::Show(command) => command.execute(),
            SimCommand::Check(command) => command.execute(),
        }
    }
}

impl SimShow {
    fn execute(self) -> Result<()> {
        let results = Results::read(&self.file)?;
        let mut text = outcome::text(&results);
        if let Some(folder) = &self.plot {
            if self.run.get() > results.runs.len() {
                bail!(
                    "there is no run {}; there are {}",
                    self.run,
                    results.runs.len()
                );
            }
            text += &format!("\n{}", plot(&results, self.run.get() - 1, folder)?);
        }
        output::print(&text)
    }
}

impl SimCheck {
    fn execute(self) -> Result<()> {
        let mut wrong = 0;
        for file in &self.files {
            match Scenario::read(file) {
                Ok(scenario) => output::print(&format!(
                    "{}: {} flow{}, {}\n",
                    file.display(),
                    scenario.flows.len(),
                    output::plural(scenario.flows.len() as u64),
                    scenario.duration
                ))?,
                Err(error) => {
                    wrong += 1;
                    output::complain(&error.to_string());
                }
            }
        }
        match wrong {
            0 => Ok(()),
            _ => bail!("{wrong} of {} files cannot be run", self.files.len()),
        }
    }
}

impl SimRun {
    fn execute(self) -> Result<()> {
        let mut scenario = Scenario::read_with(&self.file, &self.settings)?;
        scenario.seed = self.seed.unwrap_or(scenario.seed);
        scenario.runs = self.runs.unwrap_or(scenario.runs);
        // What cannot be written is better known before the runs than after them.
        let result_file = self.result_file(&scenario)?;
        let interval = scenario.interval_place(self.iperf3_interval.as_deref())?;
        self.iperf3.as_deref().map_or(Ok(()), has_folder)?;
        let mut capture = self.open_trace(&scenario)?;

        let observer = capture.as_mut().map(|capture| capture as _);
        let scenarios = [scenario];
        let results = Progress::default()
            .runner(self.jobs)
            .simulate(&scenarios, observer)
            .with_context(|| self.file.display().to_string())?
            .remove(0);
        // Files first: whoever reads the tables may stop to do so, as `head` does.
        let mut written = self.write(&results, result_file.as_deref(), interval)?;
        if let (Some(capture), Some(path)) = (capture, &self.trace) {
            let packets = capture
                .finish()
                .with_context(|| path.display().to_string())?;
            written += &format!("Packets: {packets} in {}\n", path.display());
        }
        if self.json {
            // With --json standard output is for the result alone.
            return output::print(&results.to_json());
        }
        output::print(&outcome::text(&results))?;
        output::print(&format!("\n{written}"))
    }

    /// Writes result and pictures; answers what to tell of them.
    fn write(
        &self,
        results: &Results,
        result_file: Option<&Path>,
        interval: usize,
    ) -> Result<String> {
        let mut written = String::new();
        if let Some(path) = result_file {
            std::fs::write(path, results.to_json()).with_context(|| path.display().to_string())?;
            written += &format!("Result: {}\n", path.display());
        }
        if let Some((path, text)) = self.iperf3.as_ref().zip(results.to_iperf3(0, interval)) {
            std::fs::write(path, text).with_context(|| path.display().to_string())?;
            written += &format!("iperf3: {}\n", path.display());
        }
        if let Some(folder) = &self.plot {
            written += &plot(results, 0, folder)?;
        }
        Ok(written)
    }

    fn result_file(&self, scenario: &Scenario) -> Result<Option<PathBuf>> {
        let name = format!("{}.json", stem(scenario));
        let path = match &self.out {
            None if self.json => return Ok(None),
            None => PathBuf::from(name),
            Some(path) if is_folder(path) => {
                std::fs::create_dir_all(path).with_context(|| path.display().to_string())?;
                path.join(name)
            }
            Some(path) => path.clone(),
        };
        has_folder(&path)?;
        Ok(Some(path))
    }

    fn open_trace(&self, scenario: &Scenario) -> Result<Option<Capture<BufWriter<File>>>> {
        let Some(path) = &self.trace else {
            return Ok(None);
        };
        let name = || path.display().to_string();
        let file = BufWriter::new(File::create(path).with_context(name)?);
        let place = match self.trace_at {
            TraceAt::Senders => Place::Senders,
            TraceAt::Receivers => Place::Receivers,
            TraceAt::Both => Place::Both,
        };
        Capture::new(scenario, place, file)
            .map(Some)
            .with_context(name)
    }
}

/// Draws a run; answers what to tell of it.
fn plot(results: &Results, run: usize, folder: &Path) -> Result<String> {
    let Some(figure) = outcome::figure(results, run) else {
        return Ok("No plot: nothing was sent in this run\n".into());
    };
    let [svg, png] = image::write(&figure, folder, &stem(&results.scenario))?;
    Ok(format!("Plot: {} and {}\n", png.display(), svg.display()))
}

/// What files of the scenario are called, without their endings.
fn stem(scenario: &Scenario) -> String {
    scenario.name.replace('/', "-")
}

/// Refuses a file whose directory is not there.
fn has_folder(file: &Path) -> Result<()> {
    let folder = file.parent().filter(|it| !it.as_os_str().is_empty());
    match folder.filter(|it| !it.is_dir()) {
        Some(folder) => bail!("{}: there is no such directory", folder.display()),
        None => Ok(()),
    }
}

/// A directory that is there, or is meant by the slash at its end.
fn is_folder(path: &Path) -> bool {
    path.is_dir() || path.as_os_str().as_encoded_bytes().ends_with(b"/")
}
