// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Help for tests that need root.

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
        // Not by eprintln: the test harness would keep it for failures.
        let _ = writeln!(std::io::stderr(), "skipped: {test_name} needs root");
    }
    is_root
}
