// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own, for the commands that can run them.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ebb_algorithms::{LawInfo, own};

use crate::command_word;

/// Files of `ebb law build`, with colons between them.
const NAMED_BY: &str = "EBB_LAWS";

/// Without the service and the gateway: what both have is for everybody on the machine.
const COMMANDS: [&str; 7] = ["sim", "score", "policies", "run", "attach", "lab", "laws"];

/// Loads what the environment names, before any policy is read.
pub fn load_if_asked() -> Result<()> {
    let is_meant = command_word().is_some_and(|word| COMMANDS.iter().any(|it| word == *it));
    let Some(files) = std::env::var_os(NAMED_BY).filter(|_| is_meant) else {
        return Ok(());
    };
    let mut loaded: Vec<&LawInfo> = Vec::new();
    for file in std::env::split_paths(&files).filter(|file| *file != PathBuf::new()) {
        for law in own::load(&file).context(NAMED_BY)? {
            own::refuse_twice(law, loaded.iter().copied(), &file).context(NAMED_BY)?;
            loaded.push(law);
        }
    }
    Ok(())
}
