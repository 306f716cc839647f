// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Help for tests that need what not every kernel has.

use crate::features::{self, Presence};
pub use ebb_host::testing::{requires, requires_root, until};

/// Whether this is root and the kernel has a feature, by its key ([`features::Feature::key`]); if
/// not, the test is skipped.
///
/// # Panics
/// If there is no such feature; if `EBB_REQUIRE` has the key.
pub fn requires_feature(test_name: &str, key: &str) -> bool {
    is_expected(test_name, key, Presence::Present)
}

/// The same for a test of what is done where the kernel has not got the feature. `EBB_REQUIRE` has
/// `no-` before the key.
///
/// # Panics
/// As [`requires_feature`].
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
    let (name, since) = (feature.name, feature.since.unwrap_or_default());
    let (key, what) = match expected {
        Presence::Present => (key.to_owned(), format!("{name} (Linux {since})")),
        _ => (
            format!("no-{key}"),
            format!("a kernel without {name} (before Linux {since})"),
        ),
    };
    requires(test_name, &key, &what, feature.presence == expected)
}
