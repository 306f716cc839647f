// SPDX-License-Identifier: Apache-2.0 OR MIT
/// What can be wrong with the description of a link.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum LinkError {
    /// A value that was typed by somebody does not read as what it should be.
    #[error("{what} `{input}`: {problem}; write it like {example}")]
    Value {
        /// The kind of value: "rate", "duration", …
        what: &'static str,
        /// What was given.
        input: String,
        /// What is wrong with it.
        problem: &'static str,
        /// Correct spellings.
        example: &'static str,
    },
    /// A line of a trace is not a delivery time.
    #[error("{file}:{line}: {problem}")]
    TraceLine {
        /// The name under which the trace was read.
        file: String,
        /// Line number, from 1.
        line: usize,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// A trace as a whole cannot be repeated.
    #[error("{file}: {problem}")]
    Trace {
        /// The name under which the trace was read.
        file: String,
        /// What is wrong, and what would be right.
        problem: &'static str,
    },
    /// A value of a queue discipline is out of its range.
    #[error("queue `{discipline}`: `{key}` {problem}")]
    Queue {
        /// The discipline, as specifications name it.
        discipline: &'static str,
        /// The key of the value.
        key: &'static str,
        /// What is wrong, and what would be right.
        problem: String,
    },
    /// Two parts of a specification contradict each other.
    #[error("link: {0}")]
    Spec(&'static str),
}

impl LinkError {
    /// For `map_err`: what is wrong in this line of a file.
    pub(crate) fn in_line(file: &str, line: usize) -> impl Fn(String) -> Self {
        move |problem| Self::TraceLine {
            file: file.to_owned(),
            line,
            problem,
        }
    }
}
