// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is mounted where.

use procfs::process::MountInfo;
use std::path::PathBuf;

/// A file system as this process sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// Its kind, such as `cgroup2`.
    pub kind: String,
    /// Which of its directories is seen; `/` is the whole of it.
    pub root: String,
    /// Where.
    pub directory: PathBuf,
}

impl Mount {
    /// Reads a line of /proc/PID/mountinfo.
    pub fn parse(line: &str) -> Option<Self> {
        let mount = MountInfo::from_line(line).ok()?;
        let directory = mount.mount_point.to_str()?.replace("\\040", " ");
        Some(Self {
            kind: mount.fs_type,
            root: mount.root,
            directory: directory.into(),
        })
    }
}

/// All of them, in the order of their mounting.
pub fn mounts() -> Vec<Mount> {
    let text = std::fs::read_to_string("/proc/self/mountinfo").unwrap_or_default();
    // One that cannot be read hides no other.
    text.lines().filter_map(Mount::parse).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_has_its_kind_its_root_and_its_place() {
        let line = "37 24 0:32 /pod1 /mnt/a\\040pod rw,nosuid shared:9 - cgroup2 cgroup2 rw";
        let mount = Mount::parse(line).unwrap();
        assert_eq!(mount.kind, "cgroup2");
        assert_eq!(mount.root, "/pod1");
        assert_eq!(mount.directory, PathBuf::from("/mnt/a pod"));
        assert_eq!(Mount::parse("37 24"), None);
        assert!(mounts().iter().any(|mount| mount.kind == "proc"));
    }
}
