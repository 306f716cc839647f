// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb lab`: emulated links, for anyone to try things.

use anyhow::Result;
use clap::{Args, Subcommand};
use ebb_lab::shell::{self, ShellArgs};

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

impl Lab {
    /// Does it; answers the exit status.
    pub fn execute(self) -> Result<u8> {
        match self.command {
            LabCommand::Shell(args) => Ok(shell::run(&args)?),
        }
    }
}
