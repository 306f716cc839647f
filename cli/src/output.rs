// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writing to the standard streams without panicking when nobody reads.

use std::io::{self, IsTerminal, Write};

use anyhow::Result;
use serde::Serialize;

/// Writes `text` to standard output.
///
/// Errors: the write failed; see [`is_broken_pipe`].
pub fn print(text: &str) -> Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(text.as_bytes())?;
    stdout.flush()?;
    Ok(())
}

/// Writes `value` to standard output as indented JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    print(&format!("{}\n", serde_json::to_string_pretty(value)?))
}

/// Writes one line for people to standard error: `ebb: …`.
pub fn complain(text: &str) {
    // There is nowhere left to report that standard error is closed.
    let _ = writeln!(io::stderr(), "ebb: {text}");
}

/// The same for each of several.
pub fn complain_of(problems: &[impl std::fmt::Display]) {
    for problem in problems {
        complain(&problem.to_string());
    }
}

/// A line on standard error that takes the place of the one before it, where a terminal shows it.
#[derive(Debug, Clone, Copy)]
pub struct StatusLine {
    is_shown: bool,
}

impl StatusLine {
    /// Columns that every terminal has, but for the last: a line that wraps could not be replaced.
    const COLUMNS: usize = 79;

    /// Shows nothing yet.
    pub fn new() -> Self {
        Self {
            is_shown: io::stderr().is_terminal(),
        }
    }

    /// Whether standard error is a terminal.
    pub fn is_shown(self) -> bool {
        self.is_shown
    }

    /// Puts this there.
    pub fn show(self, text: &str) {
        if self.is_shown {
            let text: String = text.chars().take(Self::COLUMNS).collect();
            // What is told of goes on where nobody watches.
            let _ = write!(io::stderr(), "\r\x1b[K{text}");
        }
    }

    /// Takes it away.
    pub fn end(self) {
        self.show("");
    }
}

/// The error and its causes, without what a cause repeats of the sentence before it.
pub fn describe(error: &anyhow::Error) -> String {
    ebb_keeper::describe(error.as_ref())
}

/// The reader of our output has gone away (`ebb policies | head`): no failure of ours.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error
        .downcast_ref::<io::Error>()
        .is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// The ending of a noun: `s` unless there is one.
pub fn plural(count: u64) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A policy, and the one for sending if there is one.
pub fn policies(policy: &str, upload_policy: Option<&impl std::fmt::Display>) -> String {
    match upload_policy {
        Some(upload) => format!("{policy}, sending by {upload}"),
        None => policy.to_owned(),
    }
}
