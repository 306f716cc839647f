// SPDX-License-Identifier: Apache-2.0 OR MIT
/// Whether a test that needs root can run; says so when not.
pub fn is_root(name: &str) -> bool {
    // SAFETY: geteuid(2) has no preconditions.
    let is_root = unsafe { libc::geteuid() } == 0;
    if !is_root {
        eprintln!("skipped: {name} needs root");
    }
    is_root
}
