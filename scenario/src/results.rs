// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{Outcome, Scenario, ScenarioError};

/// A scenario and what its runs gave: what a result file holds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// What was run.
    pub scenario: Scenario,
    /// What came out. *Shape:* in the order of the runs.
    pub runs: Vec<Outcome>,
}

impl Results {
    /// The bytes of a result file: JSON in one line, the same for the same results.
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string(self).expect("text, numbers and lists are JSON");
        text.push('\n');
        text
    }

    /// Reads a result file.
    ///
    /// *Errors:* [`ScenarioError::File`] when it cannot be read, [`ScenarioError::Results`]
    /// when it is no result file of this version.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        let text = std::fs::read_to_string(path).map_err(|source| ScenarioError::File {
            path: path.to_owned(),
            source,
        })?;
        serde_json::from_str(&text).map_err(|source| ScenarioError::Results {
            path: path.to_owned(),
            source,
        })
    }
}
