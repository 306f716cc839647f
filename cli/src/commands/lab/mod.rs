// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab`: emulated links, for anyone to try things.

mod run;
mod shell;

use anyhow::Result;
use clap::{Args, Subcommand};

/// Emulate links with real kernel TCP at their ends
#[derive(Debug, Args)]
pub struct Lab {
    #[command(subcommand)]
    command: LabCommand,
}

#[derive(Debug, Subcommand)]
enum LabCommand {
    Shell(Box<shell::LabShell>),
    Run(run::LabRun),
}

impl Lab {
    /// Does it; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self.command {
            LabCommand::Shell(command) => command.execute(),
            LabCommand::Run(command) => command.execute(),
        }
    }
}
