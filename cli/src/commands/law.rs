// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb law`: laws of one's own.

use std::path::PathBuf;

use anyhow::Result;
use clap::{Args, Subcommand};
use ebb_algorithms::own;

use crate::output;

/// Build laws of one's own
#[derive(Debug, Args)]
pub struct Law {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    Build(Build),
}

/// Compile a header with a law, for the simulator and the score
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
struct Build {
    /// Header of the law; docs/laws/own-law.md says what has to be in it
    #[arg(value_name = "FILE.h")]
    header: PathBuf,

    /// The file that is built; FILE.so here if not given
    #[arg(short, long, value_name = "FILE.so")]
    out: Option<PathBuf>,

    /// C compiler
    #[arg(long, value_name = "PROGRAM", default_value = "cc")]
    compiler: String,
}

const LONG_ABOUT: &str = "\
Compile a header with a law, for the simulator and the score.

The header is written as those of Ebb's own laws are, and may include all that they include. \
Warnings are errors. `ebb sim`, `ebb score` and `ebb policies` have the law when EBB_LAWS names the \
file that is built. The kernel backend does not have it.";

const AFTER_HELP: &str = "\
Examples:
  ebb law build gentle.h
  EBB_LAWS=gentle.so ebb sim run two-flows.toml --set flow.mine.sender=gentle
  EBB_LAWS=gentle.so ebb score --law gentle --quick

Exit status: 0; 1 when the header is wrong or Ebb failed; 2 wrong usage.";

impl Law {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        let What::Build(build) = self.what;
        let stem = build.header.file_stem().unwrap_or_default();
        let usual = PathBuf::from(stem).with_extension("so");
        let out = build.out.unwrap_or(usual);
        let laws = own::build(&build.header, &out, &build.compiler)?;
        let names: Vec<&str> = laws.iter().map(|law| law.name).collect();
        output::print(&format!("{}: {}\n", out.display(), names.join(", ")))
    }
}
