// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where commands run: a cgroup for each, below the one that `ebb` was started in.

use std::path::Path;

use anyhow::Result;
use ebb_kernel::cgroup::Cgroup;

/// A new cgroup for this process to use, below its own, or where that cannot be, below the root.
pub fn make_cgroup() -> Result<Cgroup> {
    let name = format!("ebb-run-{}", std::process::id());
    let own = Cgroup::of_process(std::process::id());
    let below_own = own
        .map_err(anyhow::Error::from)
        .and_then(|own| make_child(&own, &name));
    below_own.or_else(|first| {
        tracing::info!("no cgroup below our own: {first:#}");
        make_child(&Cgroup::root()?, &name)
    })
}

fn make_child(parent: &Cgroup, name: &str) -> Result<Cgroup> {
    remove_left_over(parent);
    Ok(parent.create_child(name)?)
}

/// Removes the empty cgroups that keepers left who were killed.
fn remove_left_over(parent: &Cgroup) {
    let Ok(entries) = std::fs::read_dir(parent.directory_path()) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let pid = name
            .to_str()
            .and_then(|name| name.strip_prefix("ebb-run-")?.parse::<u32>().ok());
        let is_left_over = pid.is_some_and(|pid| {
            // One with our own number is of an earlier process of that number.
            pid == std::process::id() || !Path::new(&format!("/proc/{pid}")).exists()
        });
        if is_left_over {
            // Fails, as it should, while processes live there.
            let _ = std::fs::remove_dir(entry.path());
        }
    }
}
