// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb detach`: lifts what `ebb attach` or `ebb run` put on.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use clap::{ArgGroup, Args};
use ebb_keeper::protocol::Request;
use ebb_keeper::registry::{Attached, Lock, Record, Registry};
use ebb_keeper::{Whose, kernel};

use crate::chosen::{ARGUMENTS, Chosen};
use crate::output;

/// Let a process, a cgroup or a port have its full share again
#[derive(Debug, Args)]
#[command(long_about = LONG_ABOUT, after_help = AFTER_HELP)]
#[command(group(ArgGroup::new("what").required(true).args(ARGUMENTS).args(["share", "all"])))]
pub struct Detach {
    #[command(flatten)]
    chosen: Chosen,

    /// The sharing by this file, which `ebb share` began
    #[arg(long, value_name = "FILE")]
    share: Option<PathBuf>,

    /// Everything on this machine, commands under `ebb run` included
    #[arg(short, long)]
    all: bool,
}

const LONG_ABOUT: &str = "\
Let a process, a cgroup or a port have its full share again.

Ends what `ebb attach` or `ebb share` began; commands under `ebb run` and `ebb share` go on \
without any limit. All limits have been lifted when it returns. Root ends what other users \
attached as well, other users only what is their own.";

const AFTER_HELP: &str = "\
Exit status: 0 done (with --all also if there was nothing to do), 1 nothing is attached there, \
or it failed, 2 wrong usage.

Examples:
  ebb detach --pid 4242
  sudo ebb detach --share home.toml
  sudo ebb detach --all";

impl Detach {
    /// Detaches, and says what from.
    pub fn execute(self) -> Result<()> {
        let registry = Registry::open()?;
        let lock = registry.lock()?;
        let records = registry.all_records()?;
        if self.all {
            return detach_all(&registry, &records, lock);
        }
        if let Some(file) = &self.share {
            return detach_share(&registry, file, &records);
        }
        let whose = self.chosen.whose()?;
        if let Some(record) = registry.find_among(&whose, &records) {
            if record.home.is_some() {
                drop(lock);
            }
            return detach(&registry, &record);
        }
        if let Some((file, name)) = whose.find_sharer(&records) {
            bail!(
                "{} shares with others, as `{name}`: 'ebb detach --share {}' lets all of them go",
                self.chosen,
                file.display()
            );
        }
        // A policy whose keeper left no trace here, of another runtime directory perhaps.
        if nix::unistd::geteuid().is_root()
            && let Whose::Cgroup(cgroup) = &whose
            && kernel::detach_left_over(cgroup)?
        {
            return output::print(&format!("{}: detached\n", self.chosen));
        }
        bail!(
            "nothing is attached to {}{}",
            self.chosen,
            elsewhere(&records)
        )
    }
}

fn detach_all(registry: &Registry, records: &[Record], lock: Lock) -> Result<()> {
    let (own, others): (Vec<_>, Vec<_>) = records.iter().partition(|it| it.home.is_none());
    let mut failed = detach_each(registry, &own);
    let swept = match nix::unistd::geteuid().is_root() {
        true => kernel::sweep_all()?,
        // Users leave no programs behind.
        false => 0,
    };
    // Nobody is to wait for other users' keepers but who asks them.
    drop(lock);
    failed += detach_each(registry, &others);
    if swept > 0 {
        let plural = output::plural(swept);
        output::print(&format!(
            "{swept} program{plural} of a killed Ebb taken off\n"
        ))?;
    }
    if records.is_empty() && swept == 0 {
        return output::print("nothing is attached\n");
    }
    if failed > 0 {
        bail!("{failed} of {} could not be detached", records.len());
    }
    Ok(())
}

/// Answers how many could not be.
fn detach_each(registry: &Registry, records: &[&Record]) -> usize {
    let failed = records.iter().filter(|record| {
        let detached = detach(registry, record);
        if let Err(error) = &detached {
            output::complain(&output::describe(error));
        }
        detached.is_err()
    });
    failed.count()
}

fn detach_share(registry: &Registry, file: &Path, records: &[Record]) -> Result<()> {
    match sharing_by(file, records)? {
        Some(record) => detach(registry, record),
        None => bail!("nothing shares by {}{}", file.display(), elsewhere(records)),
    }
}

fn detach(registry: &Registry, record: &Record) -> Result<()> {
    if let Err(error) = registry.ask(record, &Request::Detach) {
        let still_lives = registry
            .all_records()?
            .iter()
            .any(|living| living.id == record.id);
        if still_lives {
            return Err(error).context(record.to_string());
        }
        // It has ended by itself just now, and has lifted everything.
    }
    output::print(&format!("{record}: detached\n"))
}

/// The sharing by a file.
///
/// Errors: there is no such file.
fn sharing_by<'a>(file: &Path, records: &'a [Record]) -> Result<Option<&'a Record>> {
    let wanted = file
        .canonicalize()
        .with_context(|| file.display().to_string())?;
    let is_it = |record: &&Record| match &record.attached {
        Attached::Share { file, .. } => *file == wanted,
        _ => false,
    };
    Ok(records.iter().find(is_it))
}

fn elsewhere(records: &[Record]) -> String {
    if records.is_empty() {
        return String::new();
    }
    let names: Vec<_> = records.iter().map(ToString::to_string).collect();
    format!(" (but to: {})", names.join("; "))
}
