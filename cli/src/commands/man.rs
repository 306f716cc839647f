// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb man`: the manual pages, made from the same texts as `--help`.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};

/// Write the manual pages into a directory
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Man {
    /// Directory to write to; it is made if need be
    directory: PathBuf,
}

impl Man {
    /// Writes one page per command: `ebb.1`, `ebb-run.1`, …
    pub fn execute(self) -> Result<()> {
        let context = || self.directory.display().to_string();
        fs::create_dir_all(&self.directory).with_context(context)?;
        let command = crate::Cli::command().disable_help_subcommand(true);
        clap_mangen::generate_to(command, &self.directory).with_context(context)
    }
}
