// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb law`: laws of one's own.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use clap::{Args, Subcommand};
use ebb_algorithms::{LawInfo, own};
use ebb_keeper::kernel::own::{BuildError, add_programs};

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

/// Compile a header with a law, for the simulator, the score and the kernel backend
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

    /// Leave out the kernel's programs: for the simulator and the score alone
    #[arg(long)]
    no_kernel: bool,

    /// C compiler for the kernel's programs
    #[arg(
        long,
        value_name = "PROGRAM",
        default_value = "clang",
        conflicts_with = "no_kernel"
    )]
    kernel_compiler: String,
}

const LONG_ABOUT: &str = "\
Compile a header with a law, for the simulator, the score and the kernel backend.

The header is written as those of Ebb's own laws are, and may include all that they include. \
Warnings are errors. `ebb sim`, `score`, `policies`, `run`, `attach`, `lab` and `laws` have the law \
when EBB_LAWS names the file that is built.

The programs for the kernel need clang. Where there is none they are left out, which is said. \
Whether the kernel takes them is seen when they are loaded.";

const AFTER_HELP: &str = "\
Examples:
  ebb law build gentle.h
  EBB_LAWS=gentle.so ebb sim run two-flows.toml --set flow.mine.sender=gentle
  EBB_LAWS=gentle.so ebb score --law gentle --quick
  sudo EBB_LAWS=gentle.so ebb run --upload-policy gentle -- rsync -a /data host:backup

Exit status: 0; 1 when the header is wrong or Ebb failed; 2 wrong usage.";

impl Law {
    /// Does it.
    pub fn execute(self) -> Result<()> {
        let What::Build(build) = self.what;
        let stem = build.header.file_stem().unwrap_or_default();
        let usual = PathBuf::from(stem).with_extension("so");
        let out = build.out.clone().unwrap_or(usual);
        let laws = build.execute(&out)?;
        let names: Vec<&str> = laws.iter().map(|law| law.name).collect();
        output::print(&format!("{}: {}\n", out.display(), names.join(", ")))
    }
}

impl Build {
    /// Leaves `out` as it was, unless all is there that was asked for.
    fn execute(&self, out: &Path) -> Result<Vec<&'static LawInfo>> {
        let mut unfinished = out.as_os_str().to_owned();
        unfinished.push(".unfinished");
        let unfinished = Path::new(&unfinished);
        let built = self.build(unfinished).and_then(|laws| {
            std::fs::rename(unfinished, out).with_context(|| out.display().to_string())?;
            Ok(laws)
        });
        if built.is_err() {
            // There is none where the header was refused.
            let _ = std::fs::remove_file(unfinished);
        }
        built
    }

    fn build(&self, out: &Path) -> Result<Vec<&'static LawInfo>> {
        let laws = own::build(&self.header, out, &self.compiler)?;
        if self.no_kernel {
            return Ok(laws);
        }
        match add_programs(out, &self.header, &laws, &self.kernel_compiler) {
            Err(BuildError::Compiler { source, .. }) if source.kind() == ErrorKind::NotFound => {
                self.complain_of_no_programs("");
            }
            Err(BuildError::Unsuitable { told, .. }) => {
                self.complain_of_no_programs(&format!("; this one says:\n{told}"));
            }
            Err(error @ BuildError::DoesNotCompile { .. }) => {
                return Err(error)
                    .context("--no-kernel builds it for the simulator and the score alone");
            }
            other => other?,
        }
        Ok(laws)
    }

    fn complain_of_no_programs(&self, why: &str) {
        output::complain(&format!(
            "without programs for the kernel, which need {} (as root: apt-get install clang \
             linux-libc-dev): the simulator and the score have the law{why}",
            self.kernel_compiler
        ));
    }
}
