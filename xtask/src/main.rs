// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks of the repository itself: `cargo xtask cite`, `cargo xtask links`.

mod cite;
mod header;
mod links;
mod literals;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask cite|links
  cite   every number of the laws has a name, every name a source, and the source exists
  links  every file and heading that a document links to exists";

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
        ["links"] => {
            let report = links::check(root)?;
            println!("{} links in {} documents", report.links, report.documents);
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
