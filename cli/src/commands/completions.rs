// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb completions`: what shells complete, made from the definition of the command line.

use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use clap_complete::{Shell, generate_to};

/// Write what bash, zsh and fish complete into a directory
#[derive(Debug, Args)]
#[command(hide = true)]
pub struct Completions {
    /// Directory to write to; it is made if need be
    directory: PathBuf,
}

impl Completions {
    /// Writes `ebb.bash`, `_ebb` and `ebb.fish`.
    pub fn execute(self) -> Result<()> {
        let context = || self.directory.display().to_string();
        fs::create_dir_all(&self.directory).with_context(context)?;
        let mut command = crate::Cli::command();
        for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
            generate_to(shell, &mut command, "ebb", &self.directory).with_context(context)?;
        }
        Ok(())
    }
}
