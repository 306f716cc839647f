// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a service tells whoever runs it.

use std::fmt;

use ebb_keeper::describe;
use ebb_scenario::Problem;

use crate::error::Error;

/// What happens to a service.
#[derive(Debug)]
pub enum Event {
    /// It holds so many rules; what is wrong with files that were left out.
    Ready {
        /// How many rules are held.
        rules: usize,
        /// What is wrong with files; none of their rules is held.
        problems: Vec<Problem>,
    },
    /// A rule is not held, or not as it says.
    Failed(Error),
    /// People should know.
    Notice(String),
    /// It was to read its rules again, and they are wrong: nothing has changed.
    NotReloaded(Error),
    /// It was told to end, and holds nothing any more.
    Over,
}

impl fmt::Display for Event {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready { rules, .. } => {
                let plural = if *rules == 1 { "" } else { "s" };
                write!(formatter, "{rules} rule{plural} in force")
            }
            Self::Notice(text) => formatter.write_str(text),
            Self::Failed(error) => formatter.write_str(&describe(error)),
            Self::NotReloaded(error) => write!(
                formatter,
                "the rules stay as they are, for there are mistakes in the new ones:\n{}",
                describe(error)
            ),
            Self::Over => formatter.write_str("told to end"),
        }
    }
}
