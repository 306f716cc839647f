// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What /proc tells: descendants, network namespaces, sockets of processes.

use crate::error::{Error, Result};
use crate::sys;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::{self, File};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// Network namespaces, each once, held open.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(BTreeMap<u64, File>);

impl Namespaces {
    /// Adds the namespaces of the processes' threads; those that ended are passed over.
    pub(crate) fn add_processes(&mut self, pids: impl IntoIterator<Item = u32>) {
        for pid in pids {
            let threads = fs::read_dir(format!("/proc/{pid}/task"));
            for thread in threads.into_iter().flatten().flatten() {
                self.add(&thread.path().join("ns/net"));
            }
        }
    }

    /// Adds the namespace of every process that can be seen.
    pub(crate) fn add_all(&mut self) {
        self.add_processes(all_processes());
    }

    fn add(&mut self, path: &Path) {
        let Ok(inode) = fs::metadata(path).map(|found| found.ino()) else {
            return;
        };
        if let Entry::Vacant(entry) = self.0.entry(inode)
            && let Ok(file) = File::open(path)
        {
            entry.insert(file);
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.values()
    }
}

/// All processes that can be seen.
pub(crate) fn all_processes() -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .collect()
}

/// The processes and all their descendants.
///
/// *Errors*: [`Error::NoProcess`] if one of them does not exist.
pub(crate) fn with_descendants(pids: &[u32]) -> Result<Vec<u32>> {
    for pid in pids {
        fs::metadata(format!("/proc/{pid}"))
            .map_err(|source| Error::NoProcess { pid: *pid, source })?;
    }
    let mut children: HashMap<u32, Vec<u32>> = HashMap::new();
    for pid in all_processes() {
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found: HashSet<u32> = HashSet::new();
    let mut pending = pids.to_vec();
    while let Some(pid) = pending.pop() {
        if found.insert(pid) {
            pending.extend(children.get(&pid).into_iter().flatten());
        }
    }
    Ok(found.into_iter().collect())
}

/// Whether process numbers here are those that the kernel's programs see.
pub(crate) fn is_first_pid_namespace() -> bool {
    /// PROC_PID_INIT_INO of the kernel: fixed.
    const FIRST: u64 = 0xefff_fffc;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|found| found.ino() == FIRST)
}

/// Copies of the sockets that a process has open; none if it ended.
pub(crate) fn sockets_of(pid: u32) -> Vec<OwnedFd> {
    // SAFETY: plain numbers.
    let process = unsafe { libc::syscall(libc::SYS_pidfd_open, pid, 0) };
    let Ok(process) = sys::own(process as libc::c_int) else {
        return Vec::new();
    };
    let entries = fs::read_dir(format!("/proc/{pid}/fd"))
        .into_iter()
        .flatten()
        .flatten();
    entries
        .filter(|entry| {
            fs::read_link(entry.path())
                .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
        })
        .filter_map(|entry| entry.file_name().to_str()?.parse::<libc::c_int>().ok())
        .filter_map(|fd| {
            // SAFETY: the pidfd is open; the other arguments are numbers.
            let copy = unsafe { libc::syscall(libc::SYS_pidfd_getfd, process.as_raw_fd(), fd, 0) };
            sys::own(copy as libc::c_int).ok()
        })
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name, in parentheses, may contain anything.
    let (_, after) = stat.rsplit_once(") ")?;
    after.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn descendants_include_a_child_of_this_process() {
        let mut child = std::process::Command::new("sleep")
            .arg("30")
            .spawn()
            .unwrap();
        let found = with_descendants(&[std::process::id()]).unwrap();
        let is_found = found.contains(&child.id());
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(is_found);
    }

    #[test]
    fn a_process_that_does_not_exist_is_named() {
        let error = with_descendants(&[u32::MAX]).unwrap_err();
        assert!(error.to_string().contains("4294967295"), "{error}");
    }
}
