// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where commands run: a cgroup for each, below the one that `ebb` was started in.

use ebb_kernel::cgroup::Cgroup;

use crate::error::Result;

/// Cgroups of commands are called so, with the number of the process that made them.
const PREFIX: &str = "ebb-run-";

/// A new cgroup for this process to use, below its own, or where that cannot be, below the root.
pub fn make_cgroup() -> Result<Cgroup> {
    let own = Cgroup::of_process(std::process::id());
    let below_own = own.and_then(|own| own.create_own_child(PREFIX, None));
    Ok(below_own.or_else(|first| {
        tracing::info!("no cgroup below our own: {first:#}");
        Cgroup::root()?.create_own_child(PREFIX, None)
    })?)
}
