// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tasks of the repository itself: `cargo xtask cite`.

mod cite;
mod header;

use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, Result, bail};

const USAGE: &str = "usage: cargo xtask cite
  cite  every constant and parameter of algorithms/*.h names its source, and the source exists";

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
            if report.problems.is_empty() {
                println!(
                    "{} citations in {} headers",
                    report.citations, report.headers
                );
                return Ok(());
            }
            for problem in &report.problems {
                eprintln!("{problem}");
            }
            bail!("{} problems with sources", report.problems.len());
        }
        _ => bail!("{USAGE}"),
    }
}
