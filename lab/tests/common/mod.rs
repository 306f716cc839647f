// SPDX-License-Identifier: Apache-2.0 OR MIT
/// Whether a test that needs root can run; says so when not.
pub fn is_root(name: &str) -> bool {
    ebb_kernel::requires_root(name)
}
