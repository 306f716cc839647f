// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the hierarchy is.

use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::PathBuf;
use std::sync::{Arc, OnceLock};

use crate::error::{Error, Result};
use crate::sys;
use ebb_host::{Mount, mounts};

#[derive(Debug)]
pub(super) struct Hierarchy {
    pub(super) mount: PathBuf,
    /// Keeps a private mount alive; `mount` leads through it.
    _private: Option<OwnedFd>,
}

/// Where the hierarchy is mounted, if it is: what `ebb doctor` tells.
pub fn mount_point() -> Option<PathBuf> {
    mounted_cgroup2(mounts()).filter(|mount| mount.join("cgroup.procs").exists())
}

pub(super) fn hierarchy() -> Result<Arc<Hierarchy>> {
    static HIERARCHY: OnceLock<Arc<Hierarchy>> = OnceLock::new();
    if let Some(known) = HIERARCHY.get() {
        return Ok(Arc::clone(known));
    }
    let found = match mount_point() {
        Some(mount) => Hierarchy {
            mount,
            _private: None,
        },
        None => private_mount().map_err(|source| Error::NoCgroup2 { source })?,
    };
    Ok(Arc::clone(HIERARCHY.get_or_init(|| Arc::new(found))))
}

/// The first mount of type cgroup2 of which we see the whole.
fn mounted_cgroup2(mounts: impl IntoIterator<Item = Mount>) -> Option<PathBuf> {
    let is_it = |mount: &Mount| mount.kind == "cgroup2" && mount.root == "/";
    let found = mounts.into_iter().find(is_it)?;
    Some(found.directory)
}

/// Mounts the hierarchy nowhere: only this process can reach it, through a descriptor.
fn private_mount() -> io::Result<Hierarchy> {
    const FSCONFIG_CMD_CREATE: libc::c_long = 6;
    const CLOEXEC: libc::c_long = 1;
    // SAFETY: the file system's name is a C string.
    let context = unsafe { libc::syscall(libc::SYS_fsopen, c"cgroup2".as_ptr(), CLOEXEC) };
    let context = sys::own(context as libc::c_int)?;
    // SAFETY: the context is open; this command takes neither key nor value.
    sys::check(unsafe {
        libc::syscall(
            libc::SYS_fsconfig,
            context.as_raw_fd(),
            FSCONFIG_CMD_CREATE,
            0usize,
            0usize,
            0usize,
        )
    } as libc::c_int)?;
    // SAFETY: the context is configured.
    let mount = unsafe { libc::syscall(libc::SYS_fsmount, context.as_raw_fd(), CLOEXEC, 0usize) };
    let mount = sys::own(mount as libc::c_int)?;
    Ok(Hierarchy {
        mount: PathBuf::from(format!("/proc/self/fd/{}", mount.as_raw_fd())),
        _private: Some(mount),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mounted_cgroup2(mounts: &str) -> Option<PathBuf> {
        super::mounted_cgroup2(mounts.lines().filter_map(Mount::parse))
    }

    #[test]
    fn the_mount_is_found_on_a_unified_hierarchy() {
        let mounts = "35 24 0:30 / /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw\n";
        assert_eq!(mounted_cgroup2(mounts), Some("/sys/fs/cgroup".into()));
    }

    #[test]
    fn the_mount_is_found_on_a_hybrid_hierarchy() {
        let mounts = "36 24 0:31 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n\
                      37 24 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n";
        assert_eq!(
            mounted_cgroup2(mounts),
            Some("/sys/fs/cgroup/unified".into())
        );
    }

    #[test]
    fn a_mount_of_a_part_of_the_hierarchy_is_passed_over() {
        let mounts = "37 24 0:32 /pod1 /mnt/pod rw - cgroup2 cgroup2 rw\n";
        assert_eq!(mounted_cgroup2(mounts), None);
    }
}
