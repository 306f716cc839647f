// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};

use ebb_scenario::{Outcome, Scenario};
use twox_hash::XxHash3_128;

use crate::{Engine, ExperimentError};

/// Finished runs, so that what was broken off goes on where it stopped.
///
/// A run is known by all that its outcome depends on: the scenario with everything that was
/// set in it, the seed, the engine (for the lab, the kernel too) and this very program.
#[derive(Clone, Debug)]
pub struct RunStore {
    folder: PathBuf,
    is_fresh: bool,
}

impl RunStore {
    /// The store below the folder of results. When `is_fresh`, it knows of no run.
    ///
    /// *Errors:* [`ExperimentError::File`]: this program's own file cannot be read.
    pub fn open(folder: &Path, is_fresh: bool) -> Result<Self, ExperimentError> {
        let program = std::env::current_exe().and_then(std::fs::read);
        let program = program.map_err(|source| ExperimentError::File {
            path: "/proc/self/exe".into(),
            source,
        })?;
        // Laws and simulator change without a new version of Ebb: its bytes do not lie. Nor do those
        // of laws of one's own.
        let mut code = program;
        for file in ebb_algorithms::own_law_files() {
            code.extend_from_slice(file);
        }
        let version = format!("{:032x}", XxHash3_128::oneshot(&code));
        Ok(Self {
            folder: folder.join("runs").join(version),
            is_fresh,
        })
    }

    /// What a run gave, if it is known. A file that cannot be read is no known run.
    pub fn load(&self, engine: Engine, scenario: &Scenario, run: u32) -> Option<Outcome> {
        if self.is_fresh {
            return None;
        }
        let text = std::fs::read(self.path(engine, scenario, run)).ok()?;
        let outcome: Outcome = serde_json::from_slice(&text).ok()?;
        // The same run may be part of another experiment, under another number.
        Some(Outcome {
            scenario: scenario.name.clone(),
            run,
            ..outcome
        })
    }

    /// Keeps what a run gave, all of it or, when this is broken off, nothing.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn save(
        &self,
        engine: Engine,
        scenario: &Scenario,
        outcome: &Outcome,
    ) -> Result<(), ExperimentError> {
        let path = self.path(engine, scenario, outcome.run);
        let text = serde_json::to_vec(outcome).expect("text, numbers and lists are JSON");
        // Two programs may write the same run at the same time.
        let unfinished = path.with_extension(format!("part-{}", std::process::id()));
        std::fs::create_dir_all(&self.folder)
            .and_then(|()| std::fs::write(&unfinished, text))
            .and_then(|()| std::fs::rename(&unfinished, &path))
            .map_err(|source| ExperimentError::File { path, source })
    }

    fn path(&self, engine: Engine, scenario: &Scenario, run: u32) -> PathBuf {
        let one = Scenario {
            name: String::new(),
            title: String::new(),
            seed: scenario.seed_of_run(run),
            runs: 1,
            ..scenario.clone()
        };
        let scenario = serde_json::to_string(&one).expect("text, numbers and lists are JSON");
        let kernel = match engine {
            Engine::Lab => std::fs::read_to_string("/proc/version").unwrap_or_default(),
            Engine::Sim | Engine::Analytic => String::new(),
        };
        let key = [engine.name(), &kernel, &scenario].join("\n");
        let name = format!("{:032x}.json", XxHash3_128::oneshot(key.as_bytes()));
        self.folder.join(name)
    }
}
