// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks who uses whom: crates against the table of `docs/design.md`, modules of `cli` among
//! themselves.

mod crates;
mod modules;
mod table;

use std::path::Path;

use anyhow::{Context, Result};

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Edges between crates.
    pub crate_edges: usize,
    /// Edges between modules of `cli`.
    pub module_edges: usize,
    /// One line for each edge that must not be: `file:line: what is wrong`.
    pub problems: Vec<String>,
}

/// Checks the workspace at `root`.
///
/// Errors: a file cannot be read, or the table has a form that nobody can read.
pub fn check(root: &Path) -> Result<Report> {
    let design = root.join("docs/design.md");
    let text = std::fs::read_to_string(&design).with_context(|| design.display().to_string())?;
    let layers = table::read(&text).with_context(|| design.display().to_string())?;
    let mut report = Report::default();
    crates::check(root, &layers, &mut report)?;
    modules::check(&root.join("cli/src"), &mut report)?;
    Ok(report)
}
