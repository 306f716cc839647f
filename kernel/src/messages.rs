// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What libbpf says while it loads: kept, to be shown only if loading fails.

use libbpf_rs::{PrintLevel, set_print};
use std::sync::Mutex;

static SAID: Mutex<String> = Mutex::new(String::new());

/// Lines of the verifier's log that are worth showing.
const SHOWN_LINES: usize = 30;

/// Collects messages from now on, in place of standard error.
pub(crate) fn collect() {
    take();
    set_print(Some((PrintLevel::Info, keep)));
}

/// What was said since [`collect`].
pub(crate) fn take() -> String {
    SAID.lock()
        .map(|mut said| std::mem::take(&mut *said))
        .unwrap_or_default()
}

/// The last lines, after a line break, or nothing.
pub(crate) fn tail(said: &str) -> String {
    let lines: Vec<&str> = said.lines().collect();
    let shown = &lines[lines.len().saturating_sub(SHOWN_LINES)..];
    shown
        .iter()
        .fold(String::new(), |text, line| text + "\n  " + line)
}

fn keep(_: PrintLevel, message: String) {
    if let Ok(mut said) = SAID.lock() {
        said.push_str(&message);
    }
}
