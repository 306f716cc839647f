// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Help for tests that need root, or what not every kernel has.

use crate::features::{self, Presence};
use std::io::Write;

/// Whether this is root; if not, says on standard error that the test is skipped.
///
/// ```
/// # fn the_test() {
/// if !ebb_kernel::requires_root("the_test") {
///     return;
/// }
/// # }
/// ```
pub fn requires_root(test_name: &str) -> bool {
    // SAFETY: takes nothing, cannot fail.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        skip(test_name, "root");
    }
    is_root
}

/// Whether this is root and the kernel has a feature, by its key ([`features::Feature::key`]); if
/// not, says on standard error that the test is skipped.
///
/// # Panics
/// If there is no such feature.
pub fn requires_feature(test_name: &str, key: &str) -> bool {
    is_expected(test_name, key, Presence::Present)
}

/// The same for a test of what is done where the kernel has not got the feature.
///
/// # Panics
/// If there is no such feature.
pub fn requires_absence(test_name: &str, key: &str) -> bool {
    is_expected(test_name, key, Presence::Missing)
}

fn is_expected(test_name: &str, key: &str, expected: Presence) -> bool {
    if !requires_root(test_name) {
        return false;
    }
    let features = features::probe().features;
    let found = features.iter().find(|feature| feature.key == key);
    let feature = found.unwrap_or_else(|| panic!("no feature '{key}'"));
    let is_as_expected = feature.presence == expected;
    if !is_as_expected {
        let (name, since) = (feature.name, feature.since.unwrap_or_default());
        let what = match expected {
            Presence::Present => format!("{name} (Linux {since})"),
            _ => format!("a kernel without {name} (before Linux {since})"),
        };
        skip(test_name, &what);
    }
    is_as_expected
}

/// Not by eprintln: the test harness would keep it for failures.
fn skip(test_name: &str, what: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test_name} needs {what}");
}
