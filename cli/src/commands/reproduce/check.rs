// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--check`: whether values are as they have to be.
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use ebb_experiments::{Comparison, KnownVerdicts};

use super::{EngineChoice, Reproduce};
use crate::output;

/// What has to be green.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// All that is judged.
    All,
    /// What was green when this file was written.
    Known(PathBuf),
}

/// The same, read.
#[derive(Debug)]
pub(super) enum Known<'c> {
    All,
    Known(&'c Path, KnownVerdicts),
}

impl Check {
    /// Reads the file, if there is one.
    pub(super) fn read(&self) -> Result<Known<'_>> {
        match self {
            Self::All => Ok(Known::All),
            Self::Known(path) => Ok(Known::Known(path, KnownVerdicts::read(path)?)),
        }
    }
}

impl FromStr for Check {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::All),
            file if file.ends_with(".csv") => Ok(Self::Known(file.into())),
            _ => Err("a file of verdicts ends with .csv; without one, --check comes last".into()),
        }
    }
}

impl Reproduce {
    /// What no single flag shows to be wrong.
    pub(super) fn check_usage(&self) -> Result<()> {
        let is_part =
            !(self.policies.is_empty() && self.cases.is_empty() && self.settings.is_empty());
        if let (Some(Check::Known(path)), true) = (&self.check, is_part) {
            bail!(
                "--check {}: verdicts are kept of whole experiments, not with --policy, --case or --set",
                path.display()
            );
        }
        if self.trace.is_some() && matches!(self.engine, Some(EngineChoice::Sim)) {
            bail!("--trace: only the lab has laws in a kernel to record: leave --engine sim away");
        }
        Ok(())
    }

    /// Whether all is green that has to be.
    pub(super) fn check_verdicts(
        &self,
        comparisons: &[Comparison],
        known: Option<&Known<'_>>,
    ) -> Result<()> {
        if let Some(path) = &self.verdicts {
            KnownVerdicts::new(comparisons).write(path)?;
        }
        let Some(known) = known else {
            return Ok(());
        };
        let lost = match known {
            Known::All => comparisons.iter().flat_map(Comparison::not_green).collect(),
            Known::Known(_, verdicts) => verdicts.lost(comparisons),
        };
        for line in &lost {
            output::complain(line);
        }
        let plural = output::plural(lost.len() as u64);
        match (lost.len(), known) {
            (0, _) => Ok(()),
            (1, Known::All) => bail!("1 value is not green"),
            (count, Known::All) => bail!("{count} values are not green"),
            (count, Known::Known(path, _)) => bail!(
                "{count} value{plural} lost against {} (write it again with --verdicts if that is \
                 right)",
                path.display()
            ),
        }
    }
}
