// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own, for commands that run laws natively.

use std::path::PathBuf;

use anyhow::{Context, Result};
use ebb_algorithms::own;

use crate::command_word;

/// Files of `ebb law build`, with colons between them.
const NAMED_BY: &str = "EBB_LAWS";

/// Those that never ask the kernel, which has no laws of one's own.
const COMMANDS: [&str; 3] = ["sim", "score", "policies"];

/// Loads what the environment names, before any policy is read.
pub fn load_if_asked() -> Result<()> {
    let is_meant = command_word().is_some_and(|word| COMMANDS.iter().any(|it| word == *it));
    let Some(files) = std::env::var_os(NAMED_BY).filter(|_| is_meant) else {
        return Ok(());
    };
    for file in std::env::split_paths(&files).filter(|file| *file != PathBuf::new()) {
        own::load(&file).context(NAMED_BY)?;
    }
    Ok(())
}
