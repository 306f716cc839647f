// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is run of all experiments, and by what.
use anyhow::{Result, bail};
use ebb_experiments::{Catalogue, Engine, Experiment, Plan, only_cases};

use super::{EngineChoice, Reproduce};
use crate::output;

impl Reproduce {
    /// The experiments that are named, as far as the engine runs them, and what of them is wanted.
    pub(super) fn chosen(&self, catalogue: &Catalogue) -> Result<Vec<Experiment>> {
        let named = match self.list && self.ids.is_empty() {
            true => catalogue.read_all()?,
            false => catalogue.read(&self.ids)?,
        };
        let mut chosen = match self.engine {
            Some(EngineChoice::Lab) => self.in_lab(named)?,
            _ => self.without_root(named)?,
        };
        if !self.cases.is_empty() {
            chosen = only_cases(&chosen, &self.cases)?;
        }
        if !self.settings.is_empty() {
            let with = |experiment: &Experiment| experiment.with_settings(&self.settings);
            chosen = chosen.iter().map(with).collect::<Result<_, _>>()?;
        }
        if !self.policies.is_empty() {
            let under = |experiment: &Experiment| experiment.under(&self.policies);
            chosen = chosen.iter().map(under).collect::<Result<_, _>>()?;
        }
        if let Some(runs) = self.runs {
            let with_runs = |experiment: Experiment| experiment.with_runs(runs);
            chosen = chosen.into_iter().map(with_runs).collect();
        }
        let is_of_lab = |experiment: &Experiment| self.plan(experiment).engine == Engine::Lab;
        if self.trace.is_some() && !chosen.iter().any(is_of_lab) {
            bail!(
                "--trace: none of these experiments runs in the lab, which alone has laws in a \
                 kernel to record: --engine lab"
            );
        }
        Ok(chosen)
    }

    fn in_lab(&self, experiments: Vec<Experiment>) -> Result<Vec<Experiment>> {
        for experiment in &experiments {
            if self.ids.contains(&experiment.id) && !experiment.engines.contains(&Engine::Lab) {
                bail!("{} does not run in the lab, see --list", experiment.id);
            }
        }
        let in_lab: Vec<_> = experiments
            .into_iter()
            .filter(|experiment| experiment.engines.contains(&Engine::Lab))
            .collect();
        if in_lab.is_empty() {
            bail!("none of these experiments runs in the lab, see --list");
        }
        Ok(in_lab)
    }

    /// Leaves out what only the lab runs, where it is not asked for or cannot be.
    fn without_root(&self, experiments: Vec<Experiment>) -> Result<Vec<Experiment>> {
        if self.list || self.stored {
            return Ok(experiments);
        }
        let is_simulated = matches!(self.engine, Some(EngineChoice::Sim));
        let mut chosen = Vec::with_capacity(experiments.len());
        for experiment in experiments {
            let is_named = self.ids.contains(&experiment.id);
            if experiment.engines != [Engine::Lab] || (!is_simulated && is_named) {
                chosen.push(experiment);
            } else if is_named {
                bail!("{} runs in the lab only: --engine lab", experiment.id);
            } else if !is_simulated && nix::unistd::geteuid().is_root() {
                chosen.push(experiment);
            } else if !is_simulated {
                let id = &experiment.id;
                output::complain(&format!("{id}: left out, it runs in the lab, as root"));
            }
        }
        Ok(chosen)
    }

    /// By what it is run.
    pub(super) fn plan(&self, experiment: &Experiment) -> Plan {
        let engine = match (self.engine, experiment.engines.first()) {
            (Some(EngineChoice::Lab), _) => Engine::Lab,
            // A formula needs no simulator.
            (None, Some(first)) | (_, Some(first @ Engine::Analytic)) => *first,
            _ => Engine::Sim,
        };
        Plan {
            engine,
            is_quick: self.quick,
        }
    }
}
