// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One process, as /proc tells of it.

use crate::error::{Error, Result, io_error};
use procfs::ProcResult;
use procfs::process::{Process, Stat, StatFlags};
use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// Whether there is a process of this number. One that has ended is there until its parent has
/// asked for its status.
pub fn exists(pid: u32) -> bool {
    // Takes no descriptor: to have none left is not to be without processes.
    fs::metadata(format!("/proc/{pid}")).is_ok()
}

/// Refuses the number of a process that does not [exist](exists).
///
/// *Errors*: [`Error::NoProcess`].
pub(crate) fn require(pid: u32) -> Result<()> {
    match exists(pid) {
        true => Ok(()),
        false => Err(no_process(pid, io::Error::from_raw_os_error(libc::ESRCH))),
    }
}

/// When a process started, in ticks since the machine did; none if it has ended. Numbers of
/// processes are used again: number and start together are one process's for ever.
pub fn started_ticks(pid: u32) -> Option<u64> {
    let stat = stat(pid).ok()?;
    let has_ended = matches!(stat.state, 'Z' | 'X');
    (!has_ended).then_some(stat.starttime)
}

/// Whether the process that started then still lives. It does until the opposite is known: without a
/// descriptor to look with nobody has ended.
pub fn lives_still(pid: u32, started_ticks: u64) -> bool {
    match stat(pid) {
        Ok(stat) => stat.starttime == started_ticks && !matches!(stat.state, 'Z' | 'X'),
        Err(_) => exists(pid),
    }
}

/// As [`started_ticks`], of a process that must be there.
///
/// *Errors*: [`Error::NoProcess`].
pub(crate) fn require_started_ticks(pid: u32) -> Result<u64> {
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    started_ticks(pid).ok_or_else(|| no_process(pid, gone()))
}

/// The process that a process is a child of.
pub(crate) fn parent_of(pid: u32) -> Option<u32> {
    stat(pid).ok()?.ppid.try_into().ok()
}

/// What a process is called, at most 15 letters.
///
/// *Errors*: it is not there.
pub fn name_of(pid: u32) -> io::Result<String> {
    stat(pid).map(|stat| stat.comm).map_err(io_error)
}

/// The real user of a process.
///
/// *Errors*: [`Error::NoProcess`].
pub fn real_user_of(pid: u32) -> Result<u32> {
    let user = open(pid).and_then(|process| Ok(process.status()?.ruid));
    user.map_err(|error| no_process(pid, io_error(error)))
}

/// All users of a process: the real one, the effective one, the saved one and the file system's.
///
/// *Errors*: [`Error::NoProcess`].
pub fn users_of(pid: u32) -> Result<[u32; 4]> {
    let status = open(pid).and_then(|process| process.status());
    let status = status.map_err(|error| no_process(pid, io_error(error)))?;
    Ok([status.ruid, status.euid, status.suid, status.fuid])
}

/// Whose files of /proc those of a process are: its effective user's, or root's where it does not
/// let others of its user look into it.
///
/// *Errors*: it is not there.
pub fn owner_of(pid: u32) -> io::Result<u32> {
    Ok(fs::metadata(format!("/proc/{pid}"))?.uid())
}

/// Whether it is a thread of the kernel, which has no connections, nor have its descendants.
pub fn is_kernel_thread(pid: u32) -> bool {
    // Not as a set: newer kernels have flags that the crate does not know.
    stat(pid).is_ok_and(|stat| stat.flags & StatFlags::PF_KTHREAD.bits() != 0)
}

/// The cgroup (version 2) of a process, from the root of the hierarchy; none where there are
/// none.
///
/// *Errors*: [`Error::NoProcess`].
pub fn cgroup_of(pid: u32) -> Result<Option<PathBuf>> {
    let groups = open(pid).and_then(|process| process.cgroups());
    let groups = groups.map_err(|error| no_process(pid, io_error(error)))?;
    let group = groups.0.into_iter().find(|group| group.hierarchy == 0);
    // A group that was removed while the process lives on is marked so.
    let is_marked = |path: &str| path.strip_suffix(" (deleted)").map(PathBuf::from);
    Ok(group.map(|group| is_marked(&group.pathname).unwrap_or(group.pathname.into())))
}

/// The effective capabilities of this process, one bit each.
pub fn effective_capabilities() -> u64 {
    let status = Process::myself().and_then(|process| process.status());
    status.map_or(0, |status| status.capeff)
}

/// Whether numbers of processes here are those that the kernel's programs see.
pub fn is_first_pid_namespace() -> bool {
    /// PROC_PID_INIT_INO of the kernel: fixed.
    const FIRST: u64 = 0xefff_fffc;
    fs::metadata("/proc/self/ns/pid").is_ok_and(|found| found.ino() == FIRST)
}

pub(crate) fn open(pid: u32) -> ProcResult<Process> {
    // Numbers that no process can have.
    let pid = i32::try_from(pid).map_err(|_| procfs::ProcError::NotFound(None))?;
    Process::new(pid)
}

fn stat(pid: u32) -> ProcResult<Stat> {
    open(pid)?.stat()
}

fn no_process(pid: u32, source: io::Error) -> Error {
    Error::NoProcess { pid, source }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_known() {
        let own = std::process::id();
        assert!(exists(own) && !is_kernel_thread(own));
        assert!(started_ticks(own).is_some());
        assert_eq!(parent_of(own), Some(std::os::unix::process::parent_id()));
        // SAFETY: takes nothing, cannot fail.
        assert_eq!(real_user_of(own).unwrap(), unsafe { libc::getuid() });
        assert_eq!(users_of(own).unwrap()[0], real_user_of(own).unwrap());
        // SAFETY: as above.
        assert_eq!(users_of(own).unwrap()[1], unsafe { libc::geteuid() });
        // SAFETY: as above.
        assert_eq!(owner_of(own).unwrap(), unsafe { libc::geteuid() });
        assert!(!is_kernel_thread(own));
        assert!(name_of(own).is_ok_and(|name| !name.is_empty() && name.len() < 16));
    }

    #[test]
    fn a_process_that_does_not_exist_is_named() {
        for pid in [4_194_305, u32::MAX] {
            let told = format!("process {pid}: No such process");
            for error in [
                require(pid).unwrap_err(),
                require_started_ticks(pid).unwrap_err(),
                real_user_of(pid).unwrap_err(),
                cgroup_of(pid).unwrap_err(),
            ] {
                assert!(error.to_string().starts_with(&told), "{error}");
            }
        }
    }

    #[test]
    fn one_that_has_ended_has_no_start() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(10);
        while started_ticks(child.id()).is_some() {
            assert!(std::time::Instant::now() < deadline);
        }
        // Nobody has asked for its status yet.
        assert!(exists(child.id()));
        child.wait().unwrap();
        assert!(!exists(child.id()));
    }
}
