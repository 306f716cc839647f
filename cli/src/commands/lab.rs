// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab`: emulated links, for anyone to try things.

use anyhow::Result;
use clap::{Args, Subcommand};
use ebb_lab::engine::RunArguments;
use ebb_lab::figures::{CompareArguments, FiguresArguments};
use ebb_lab::shell::{self, ShellArgs};
use ebb_report::outcome;

use super::run::require_root;
use crate::output;

/// Emulate links with real kernel TCP at their ends
#[derive(Debug, Args)]
pub struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    /// Open a shell behind an emulated link
    #[command(long_about = SHELL_ABOUT, after_help = SHELL_AFTER_HELP)]
    Shell(Box<ShellArgs>),
    /// Measure every figure of docs/figures.md again
    #[command(long_about = FIGURES_ABOUT, after_help = FIGURES_AFTER_HELP)]
    Figures(FiguresArguments),
    /// Measure scenarios under several policies side by side
    #[command(long_about = COMPARE_ABOUT, after_help = COMPARE_AFTER_HELP)]
    Compare(CompareArguments),
    /// Run scenario files with real kernel TCP, as `ebb sim run` does in the simulator
    #[command(long_about = RUN_ABOUT, after_help = RUN_AFTER_HELP)]
    Run(RunArguments),
}

const SHELL_ABOUT: &str = "\
Open a shell behind an emulated link.

Only the network of the shell is another one; files and processes are the machine's, and `ebb run` \
works in it. At the link's other end is a second network, at $EBB_LAB_SERVER (10.77.0.1) and \
$EBB_LAB_SERVER6 (fd77::1), in which --server runs a command for the shell to talk to. Both \
directions have the same values, but for --up-rate. When the shell ends everything goes away, and \
the link tells what it carried, and how exactly it kept its times.";

const SHELL_AFTER_HELP: &str = "\
Examples:
  sudo ebb lab shell --rate 10mbit --delay 50ms --queue 86
  sudo ebb lab shell --rate 10mbit --delay 50ms --server 'python3 -m http.server 80'
  sudo ebb lab shell --trace cell.txt --loss 1% --server 'nginx -g \"daemon off;\"' -- curl http://10.77.0.1/

Exit status: that of the shell or command, 128 and the number of the signal that ended it; 1 when \
Ebb failed.";

const FIGURES_ABOUT: &str = "\
Measure every figure of docs/figures.md again.

Real kernel TCP over emulated links, many runs side by side, each on a link of its own; what a \
figure calls \"alone\" is measured in the same batch. A run in which the emulator or the endpoints \
were late is repeated, twice at the most, and marked if it stays so. All figures take about \
fifteen minutes, those of `ebb` four.";

const FIGURES_AFTER_HELP: &str = "\
Examples:
  sudo ebb lab figures ebb --check            fails when a figure misses its bound
  sudo ebb lab figures vulture/table-1 --json table-1.json
  sudo ebb lab figures ebb --quick --policy vulture

Exit status: 0; 1 when a check failed or Ebb did.";

const COMPARE_ABOUT: &str = "\
Measure scenarios under several policies side by side.

The link has 10 Mbit/s, RTT 100 ms and a queue of 86 packets. Scenarios: s1 LBE alone, s2 BE at a \
constant 6 Mbit/s, s3 greedy BE first by 3 s, s3b LBE first by 5 s, s4t1, s4t3, s4t10 BE on and \
off for 1, 3, 10 s, s5 four LBE flows, s6 as s3 with an LBE sender that uses BBR, s7 as s3 with a \
queue of 500; for laws of the sending end up1-rtt50, -rtt100 an upload alone, up3-rtt50, -rtt100 greedy \
BE first by 3 s; and those of the Vulture paper: fig-14, fig-15, fig-17 (-14 and -17 also with \
`-shrinking`: the receiver's kernel may take window back), table-1-t1, -t3, -t5, \
-t10, -t30, table-2-n2, -n4, -n8. Shares are of 1; `!` marks disturbed runs.";

const COMPARE_AFTER_HELP: &str = "\
Examples:
  sudo ebb lab compare --scenario s3,s4t3 --policy none --policy ebb --policy priority
  sudo ebb lab compare --policy ebb:target_us=7000 --runs 5 --json compare.json
  sudo ebb lab compare --scenario s5 --policy ebb --trace traces";

const RUN_ABOUT: &str = "\
Run scenario files with real kernel TCP over an emulated link.

The files are those of `ebb sim run`, and so are tables and results; what no kernel tells is missing \
there. The lab has two hosts and one link in each direction: it refuses a scenario with more, and \
says what it does not have. Runs happen in real time, many side by side, each on a link of its \
own. Those in which the emulator or the endpoints were late are repeated, and marked if they stay \
so.";

const RUN_AFTER_HELP: &str = "\
Examples:
  sudo ebb lab run scenarios/two-flows.toml
  sudo ebb lab run --runs 3 --parallel 14 --out kernel simulator/tests/kernel/*.toml

Exit status: 0; 1 when a scenario is wrong, a run stayed disturbed or Ebb failed; 2 wrong usage.";

impl Lab {
    /// Does it; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self.command {
            LabCommand::Shell(args) => Ok(shell::run(&args)?),
            LabCommand::Figures(arguments) => Ok(arguments.run()?),
            LabCommand::Compare(arguments) => Ok(arguments.run()?),
            LabCommand::Run(arguments) => run_files(&arguments),
        }
    }
}

fn run_files(arguments: &RunArguments) -> Result<u8> {
    require_root("lab run")?;
    let mut status = 0;
    for file in arguments.run()? {
        output::print(&outcome::text(&file.results))?;
        let mut emulators = file.emulator.clone();
        emulators.dedup();
        output::print(&format!("{}\n", emulators.join("\n")))?;
        if let Some(directory) = &arguments.out {
            let path = file.write(directory)?;
            output::print(&format!("Result: {}\n", path.display()))?;
        }
        output::print("\n")?;
        if file.is_disturbed {
            output::complain(&format!(
                "{}: the machine was too busy to emulate the link; do not believe it",
                file.file.display()
            ));
            status = 1;
        }
    }
    Ok(status)
}
