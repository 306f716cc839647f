// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--check`: whether values are as they have to be.
use std::path::PathBuf;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use ebb_experiments::{Comparison, KnownVerdicts};

use super::Reproduce;
use crate::output;

/// What has to be green.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// All that is judged.
    All,
    /// What was green when this file was written.
    Known(PathBuf),
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
        Ok(())
    }

    /// Whether all is green that has to be.
    pub(super) fn check_verdicts(&self, comparisons: &[Comparison]) -> Result<()> {
        if let Some(path) = &self.verdicts {
            KnownVerdicts::new(comparisons).write(path)?;
        }
        let Some(check) = &self.check else {
            return Ok(());
        };
        let lost = match check {
            Check::All => comparisons.iter().flat_map(Comparison::not_green).collect(),
            Check::Known(path) => {
                let known = KnownVerdicts::read(path);
                let known = known.with_context(|| path.display().to_string())?;
                known.lost(comparisons)
            }
        };
        for line in &lost {
            output::complain(line);
        }
        let plural = output::plural(lost.len() as u64);
        match (lost.len(), check) {
            (0, _) => Ok(()),
            (1, Check::All) => bail!("1 value is not green"),
            (count, Check::All) => bail!("{count} values are not green"),
            (count, Check::Known(path)) => bail!(
                "{count} value{plural} lost against {} (write it again with --verdicts if that is \
                 right)",
                path.display()
            ),
        }
    }
}
