// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks who uses whom: crates against the table of `docs/design.md`, modules of `cli` among
//! themselves, and that nothing in `cli` knows a descriptor or a lease.

mod crates;
mod modules;
mod paths;
mod table;
mod without;
mod words;

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Edges between crates.
    pub crate_edges: usize,
    /// Edges between modules of `cli`.
    pub module_edges: usize,
    /// One line for each edge or name that must not be: `file:line: what is wrong`.
    pub problems: Vec<String>,
}

/// Checks the workspace at `root`.
///
/// Errors: a file cannot be read, or the table has a form that nobody can read.
pub fn check(root: &Path) -> Result<Report> {
    let design = root.join("docs/design.md");
    let text = fs::read_to_string(&design).with_context(|| design.display().to_string())?;
    let layers = table::read(&text).with_context(|| design.display().to_string())?;
    let mut report = Report::default();
    crates::check(root, &layers, &mut report)?;
    without::check(root, &mut report)?;
    modules::check(&root.join("cli/src"), &mut report)?;
    words::check(root, &mut report)?;
    Ok(report)
}

fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).with_context(|| folder.display().to_string())? {
        let path = entry?.path();
        if path.is_dir() {
            files.extend(rust_files(&path)?);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}
