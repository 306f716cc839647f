// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::PathBuf;

use ebb_scenario::ScenarioError;

/// What can be wrong with experiments and with what is stored of them.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExperimentError {
    /// A file or folder cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// There is no folder of experiments, or of scenarios of the score.
    #[error("{path}: there is no such file or folder (name the folder with {flag} DIR)")]
    NoFolder {
        /// What was looked for.
        path: PathBuf,
        /// What names another.
        flag: &'static str,
    },
    /// There are no experiments in this folder.
    #[error(
        "{0}: no experiments there, which are files <paper>/<experiment>.toml (say where \
         they are by --experiments)"
    )]
    Empty(PathBuf),
    /// Nothing has this ID.
    #[error("there is no experiment `{id}`; {hint}")]
    Unknown {
        /// What was asked for.
        id: String,
        /// What there is.
        hint: String,
    },
    /// No scenario of the matrix has this name.
    #[error("there is no scenario `{name}`; {hint}")]
    UnknownScenario {
        /// What was asked for.
        name: String,
        /// What there is.
        hint: String,
    },
    /// No experiment that was asked for has a case of this name.
    #[error("there is no case `{name}`; {hint}")]
    UnknownCase {
        /// What was asked for.
        name: String,
        /// What there is.
        hint: String,
    },
    /// There is nobody to put a policy on.
    #[error(
        "{0}: no flow in it yields (class = \"lbe\"), so that nobody could be under another policy"
    )]
    NobodyYields(String),
    /// The file of an experiment, or a scenario of it, is wrong.
    #[error(transparent)]
    Wrong(#[from] ScenarioError),
    /// A stored result is none of this version.
    #[error("{path}: not a result of this version of Ebb: {source} (run the experiment again)")]
    Stored {
        /// The file.
        path: PathBuf,
        /// What was found in it.
        source: serde_json::Error,
    },
    /// The simulator refused a scenario.
    #[cfg(feature = "run")]
    #[error(transparent)]
    Simulation(#[from] ebb_simulator::Error),
    /// The lab refused a scenario, or failed.
    #[cfg(feature = "lab")]
    #[error(transparent)]
    Lab(#[from] ebb_lab::engine::EngineError),
    /// There is no lab in this program.
    #[cfg(not(feature = "lab"))]
    #[error("this program was built without the lab (feature `lab` of ebb-experiments)")]
    NoLab,
    /// A file is none of values.
    #[error("{path}: not a file of values, as `ebb reproduce --values FILE` writes it: {source}")]
    Values {
        /// The file.
        path: PathBuf,
        /// What was found in it.
        source: csv::Error,
    },
    /// A table could not be made.
    #[error("the table could not be made: {0}")]
    Table(#[from] csv::Error),
    /// A Parquet file could not be made.
    #[error("the Parquet file could not be made: {0}")]
    Parquet(#[from] parquet::errors::ParquetError),
}
