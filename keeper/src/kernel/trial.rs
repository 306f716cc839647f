// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Trying the kernel backend out, and clearing up after those who were killed.

use std::path::Path;

use ebb_algorithms::Policy;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, Error as KernelError};

use crate::error::Result;
use crate::place::make_cgroup;

/// Attaches a policy to an empty cgroup and takes it off again.
///
/// *Errors:* the kernel backend cannot be used here, and why.
pub fn try_out() -> Result<()> {
    let cgroup = make_cgroup()?;
    let tried = Attachment::attach(&cgroup, &Policy::default(), AttachOptions::default())
        .and_then(Attachment::detach);
    cgroup.remove()?;
    match tried {
        // Under a policy already: then it works.
        Err(KernelError::AlreadyAttached { .. }) => Ok(()),
        tried => Ok(tried?),
    }
}

/// Takes a policy off a cgroup whose keeper left no trace where keepers are found; answers
/// whether there was one.
///
/// *Errors:* it cannot be taken off.
pub fn detach_left_over(cgroup: &Cgroup) -> Result<bool> {
    Ok(ebb_kernel::detach_all(cgroup)? > 0)
}

/// Takes off what killed keepers left on any cgroup: it acts no more, but still runs. Answers
/// the number of programs.
///
/// *Errors:* there are no cgroups.
pub fn sweep_all() -> Result<u64> {
    Ok(sweep_below(
        &Cgroup::root()?.directory_path(),
        Path::new("/"),
    ))
}

fn sweep_below(directory: &Path, path: &Path) -> u64 {
    // Cgroups come and go while we look.
    let swept = Cgroup::at(path)
        .and_then(|cgroup| ebb_kernel::sweep(&cgroup))
        .unwrap_or(0);
    let children = std::fs::read_dir(directory).into_iter().flatten().flatten();
    let children = children.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    swept as u64
        + children
            .map(|child| sweep_below(&child.path(), &path.join(child.file_name())))
            .sum::<u64>()
}
