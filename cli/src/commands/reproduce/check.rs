// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `--check`: whether values are as they have to be.
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Result, bail};
use ebb_experiments::{Comparison, DistanceTable, KnownValues};

use super::{EngineChoice, Reproduce};
use crate::output;

/// How values have to be.
#[derive(Clone, Debug)]
pub(super) enum Check {
    /// All that counts has to be green.
    All,
    /// As when this file was written, within the intervals of then.
    Known(PathBuf),
}

/// The same, read.
#[derive(Debug)]
pub(super) enum Known<'c> {
    All,
    Known(&'c Path, KnownValues),
}

impl Check {
    /// Reads the file, if there is one.
    pub(super) fn read(&self) -> Result<Known<'_>> {
        match self {
            Self::All => Ok(Known::All),
            Self::Known(path) => Ok(Known::Known(path, KnownValues::read(path)?)),
        }
    }
}

impl FromStr for Check {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "" => Ok(Self::All),
            file if file.ends_with(".csv") => Ok(Self::Known(file.into())),
            _ => Err("a file of values ends with .csv; without one, --check comes last".into()),
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
                "--check {}: values are kept of whole experiments, not with --policy, --case or --set",
                path.display()
            );
        }
        if self.distances.is_some() && !matches!(self.engine, Some(EngineChoice::Lab)) {
            bail!(
                "--distances: only what ran in the lab is apart from the simulator: --engine lab"
            );
        }
        if self.trace.is_some() && matches!(self.engine, Some(EngineChoice::Sim)) {
            bail!("--trace: only the lab has laws in a kernel to record: leave --engine sim away");
        }
        Ok(())
    }

    /// Whether all is as it has to be.
    pub(super) fn check_values(
        &self,
        comparisons: &[Comparison],
        known: Option<&Known<'_>>,
    ) -> Result<()> {
        if let Some(path) = &self.values {
            KnownValues::new(comparisons).write(path)?;
        }
        if let Some(path) = &self.distances {
            DistanceTable::new(comparisons).write(path)?;
        }
        let Some(known) = known else {
            return Ok(());
        };
        let wrong = match known {
            Known::All => comparisons.iter().flat_map(Comparison::not_green).collect(),
            Known::Known(_, values) => values.moved(comparisons),
        };
        for line in &wrong {
            output::complain(line);
        }
        let plural = output::plural(wrong.len() as u64);
        match (wrong.len(), known) {
            (0, _) => Ok(()),
            (1, Known::All) => bail!("1 value is not green"),
            (count, Known::All) => bail!("{count} values are not green"),
            (count, Known::Known(path, _)) => bail!(
                "{count} value{plural} left the intervals of {} (write it again with --values if that is \
                 right)",
                path.display()
            ),
        }
    }
}
