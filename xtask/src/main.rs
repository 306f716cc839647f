// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of the repository itself, each of them quick: who uses whom, whether every number has a
//! source, where documents link to, what has become long. Each prints what is wrong with its file
//! and line, and fails then.
//!
//! ```sh
//! cargo xtask cite
//! ```

mod arrows;
mod cite;
mod header;
mod links;
mod literals;
mod sizes;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask arrows|cite|links|sizes
  arrows  crates use each other as the table of docs/design.md has it, modules of cli/ one way,
          and cli/ knows no descriptor and no lease
  cite    every number of the laws has a name, every name a source, and the source exists
  links   every file and heading that a document links to or names exists, its lines end at 100
          columns (rows of tables may be wider: Markdown has each on one line)
  sizes   files over 400 lines and functions over 40 say why they are long";

fn main() -> ExitCode {
    match run(std::env::args().skip(1).collect()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: Vec<String>) -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"))
        .parent()
        .context("xtask/ has no parent directory")?;
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["cite"] => {
            let report = cite::check(&root.join("algorithms"))?;
            println!(
                "{} citations in {} headers",
                report.citations, report.headers
            );
            complain(&report.problems)
        }
        ["arrows"] => {
            let report = arrows::check(root)?;
            println!(
                "{} edges between crates, {} between modules of cli/",
                report.crate_edges, report.module_edges
            );
            complain(&report.problems)
        }
        ["links"] => {
            let report = links::check(root)?;
            println!("{} links in {} documents", report.links, report.documents);
            complain(&report.problems)
        }
        ["sizes"] => {
            let report = sizes::check(root)?;
            println!("{} files, {} functions", report.files, report.functions);
            complain(&report.problems)
        }
        _ => bail!("{USAGE}"),
    }
}

fn complain(problems: &[String]) -> Result<()> {
    for problem in problems {
        eprintln!("{problem}");
    }
    if problems.is_empty() {
        Ok(())
    } else {
        bail!("{} problems", problems.len())
    }
}
