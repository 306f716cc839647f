// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab`: emulated links, for anyone to try things.

mod run;
mod shell;

use anyhow::Result;
use clap::{Args, Subcommand};
use ebb_lab::figures::{CompareArguments, FiguresArguments};

/// Emulate links with real kernel TCP at their ends
#[derive(Debug, Args)]
pub struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    Shell(Box<shell::LabShell>),
    /// Measure every figure of docs/figures.md again
    #[command(long_about = FIGURES_ABOUT, after_help = FIGURES_AFTER_HELP)]
    Figures(FiguresArguments),
    /// Measure scenarios under several policies side by side
    #[command(long_about = COMPARE_ABOUT, after_help = COMPARE_AFTER_HELP)]
    Compare(CompareArguments),
    Run(run::LabRun),
}

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

impl Lab {
    /// Does it; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self.command {
            LabCommand::Shell(command) => command.execute(),
            LabCommand::Figures(arguments) => Ok(arguments.run()?),
            LabCommand::Compare(arguments) => Ok(arguments.run()?),
            LabCommand::Run(command) => command.execute(),
        }
    }
}
