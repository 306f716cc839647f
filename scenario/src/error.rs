// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::fmt;
use std::path::PathBuf;

/// What can be wrong with a scenario file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ScenarioError {
    /// The file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// The system's answer.
        source: std::io::Error,
    },
    /// The file is no result file of this version.
    #[error("{path}: not a result of this version of Ebb: {source} (run the scenario again)")]
    Results {
        /// The file.
        path: PathBuf,
        /// What was found in it.
        source: serde_json::Error,
    },
    /// A value that was to be set is not understood.
    #[error("{setting}: {problem}")]
    Setting {
        /// What was to be set, as given.
        setting: String,
        /// What is wrong with it and what would be right.
        problem: String,
    },
    /// The scenario has no interval of this name.
    #[error("there is no interval `{name}`{hint}")]
    NoInterval {
        /// The name.
        name: String,
        /// What there is.
        hint: String,
    },
    /// The file does not describe a scenario. *Shape:* at least one problem, in the order
    /// of the file.
    #[error("{}", listed(.0))]
    Problems(Vec<Problem>),
}

/// One thing that is wrong in a scenario file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The file.
    pub file: String,
    /// Line, from 1.
    pub line: usize,
    /// Column in characters, from 1.
    pub column: usize,
    /// What is wrong and what would be right.
    pub message: String,
    /// The line as it stands in the file.
    pub source_line: String,
    /// How many characters of it are meant; 0: no place in particular.
    pub length: usize,
}

impl fmt::Display for Problem {
    /// `file:line:column: what is wrong`, then the line with the place marked.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            file, line, column, ..
        } = self;
        write!(out, "{file}:{line}:{column}: {}", self.message)?;
        if self.length == 0 || self.source_line.trim().is_empty() {
            return Ok(());
        }
        let number = line.to_string();
        let indent = " ".repeat(number.len() + 1 + column);
        let mark = "^".repeat(self.length);
        write!(out, "\n {number} | {}\n {indent} {mark}", self.source_line)
    }
}

/// Enough to act on; the rest often follows from the first ones.
const MAX_LISTED: usize = 12;

fn listed(problems: &[Problem]) -> String {
    let mut texts: Vec<String> = problems
        .iter()
        .take(MAX_LISTED)
        .map(ToString::to_string)
        .collect();
    if problems.len() > MAX_LISTED {
        texts.push(format!("… and {} more", problems.len() - MAX_LISTED));
    }
    texts.join("\n")
}
