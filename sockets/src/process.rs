// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes whose sockets are looked after, and programs whose sockets cannot be.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io;
use std::os::fd::{AsFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ebb_host::{
    ProcessHandle, copies_of_sockets, lives_still, name_of, sockets_in, started_ticks, what_ran_out,
};
use nix::sys::resource::{Resource, getrlimit};

use crate::socket::CopiedSocket;

/// A process whose sockets are looked after.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    /// None: descriptors are dear, so that one is taken for each copy.
    handle: Option<ProcessHandle>,
    /// This process: its descriptors are ours.
    is_own: bool,
    /// None: it is known by its handle.
    started_ticks: Option<u64>,
    /// Its sockets as of the last look: descriptor and inode.
    pub(crate) sockets: Vec<(RawFd, u64)>,
    /// So often in a row it was not ours to look into.
    pub(crate) refusals: u32,
}

impl Process {
    /// Takes hold of a process; keeps a descriptor for it if it may.
    ///
    /// *Errors:* it has ended; there is no descriptor left to look at it.
    pub(crate) fn open(pid: u32, keeps_handle: bool) -> io::Result<Self> {
        if pid == std::process::id() {
            return Ok(Self::own(pid));
        }
        let handle = match keeps_handle.then(|| ProcessHandle::open(pid)) {
            Some(Err(error)) if !is_for_want(&error) => return Err(error),
            opened => opened.and_then(Result::ok),
        };
        let started_ticks = match handle {
            Some(_) => None,
            None => started_ticks(pid),
        };
        if handle.is_none() && started_ticks.is_none() {
            let is_there = ebb_host::exists(pid);
            let why = if is_there { libc::EMFILE } else { libc::ESRCH };
            return Err(io::Error::from_raw_os_error(why));
        }
        Ok(Self {
            pid,
            handle,
            is_own: false,
            started_ticks,
            sockets: Vec::new(),
            refusals: 0,
        })
    }

    fn own(pid: u32) -> Self {
        Self {
            pid,
            handle: None,
            is_own: true,
            started_ticks: None,
            sockets: Vec::new(),
            refusals: 0,
        }
    }

    /// A copy of one of its sockets. Without a handle it may be another process's, if the number
    /// was used again: look at its cookie.
    ///
    /// *Errors:* process or descriptor are gone, or not ours to look into; no descriptor is left.
    pub(crate) fn socket(&self, descriptor: RawFd) -> io::Result<CopiedSocket> {
        match &self.handle {
            // Needs no pidfd_getfd, which filters of system calls refuse.
            None if self.is_own => CopiedSocket::from_own(descriptor),
            Some(handle) => CopiedSocket::from_process(handle.as_fd(), descriptor),
            None => {
                let handle = ProcessHandle::open(self.pid)?;
                CopiedSocket::from_process(handle.as_fd(), descriptor)
            }
        }
    }

    /// Looks which descriptors are sockets; where that fails, what was known stays.
    ///
    /// *Errors:* the process has ended, or it is not ours to look into.
    pub(crate) fn look_for_sockets(&mut self) -> io::Result<()> {
        self.sockets = sockets_in(self.pid)?;
        Ok(())
    }

    /// What it is called.
    pub(crate) fn name(&self) -> String {
        name_of(self.pid).unwrap_or_else(|_| "a process".into())
    }

    pub(crate) fn has_ended(&self) -> bool {
        match (&self.handle, self.started_ticks) {
            (Some(handle), _) => handle.has_ended(),
            (None, Some(started_ticks)) => !lives_still(self.pid, started_ticks),
            (None, None) => !self.is_own,
        }
    }
}

/// Copies of the sockets of a process, each made when it is asked for. A connection lives as long
/// as its copy.
///
/// *Errors:* the process has ended, or it is not ours to look into.
pub fn sockets_of(pid: u32) -> io::Result<impl Iterator<Item = CopiedSocket>> {
    Ok(copies_of_sockets(pid)?.map(CopiedSocket::from))
}

/// Keeps the processes that are still there, and opens the new ones; answers whether there were
/// descriptors for that.
pub(crate) fn update(processes: &mut HashMap<u32, Process>, pids: &HashSet<u32>) -> bool {
    processes.retain(|pid, _| pids.contains(pid));
    let most = most_handles();
    let mut is_in_want = false;
    for pid in pids {
        if processes.contains_key(pid) {
            continue;
        }
        match Process::open(*pid, processes.len() < most) {
            Ok(process) => drop(processes.insert(*pid, process)),
            Err(error) => is_in_want |= is_for_want(&error),
        }
    }
    !is_in_want
}

/// Half of the descriptors that this process may have: the rest is for looking.
fn most_handles() -> usize {
    let limit = getrlimit(Resource::RLIMIT_NOFILE).map_or(0, |(soft, _)| soft);
    usize::try_from(limit / 2).unwrap_or(usize::MAX)
}

/// Something was missing (descriptors, memory) that may be there later.
pub(crate) fn is_for_want(error: &io::Error) -> bool {
    what_ran_out(error).is_some()
}

/// The process, or its descriptor, is not there any more.
pub(crate) fn is_gone(error: &io::Error) -> bool {
    let number = error.raw_os_error();
    matches!(number, Some(libc::ESRCH | libc::EBADF | libc::ENOENT))
}

/// The program file of a command that would run with other privileges than ours (setuid,
/// setgid, file capabilities), whose sockets are out of reach; none: it would not.
pub fn changes_privileges(program: &std::ffi::OsStr) -> Option<PathBuf> {
    if let Some(file) = changes_user(program) {
        return Some(file);
    }
    let file = find(program)?;
    let metadata = fs::metadata(&file).ok()?;
    let own_group = nix::unistd::getegid().as_raw();
    let is_setgid = metadata.mode() & libc::S_ISGID != 0 && metadata.gid() != own_group;
    let is_root = nix::unistd::geteuid().is_root();
    let has_capabilities = has_attribute(&file, c"security.capability") && !is_root;
    (is_setgid || has_capabilities).then_some(file)
}

/// The program file of a command that would run as another user (setuid), whose sockets are that
/// user's; none: it would not.
pub fn changes_user(program: &std::ffi::OsStr) -> Option<PathBuf> {
    let file = find(program)?;
    let metadata = fs::metadata(&file).ok()?;
    let own_user = nix::unistd::geteuid().as_raw();
    let is_setuid = metadata.mode() & libc::S_ISUID != 0 && metadata.uid() != own_user;
    is_setuid.then_some(file)
}

fn has_attribute(file: &Path, name: &std::ffi::CStr) -> bool {
    use std::os::unix::ffi::OsStrExt;
    let Ok(path) = std::ffi::CString::new(file.as_os_str().as_bytes()) else {
        return false;
    };
    // SAFETY: both are C strings; a length of 0 only asks for the size.
    unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

fn find(program: &std::ffi::OsStr) -> Option<PathBuf> {
    let path = Path::new(program);
    if path.components().count() > 1 {
        return Some(path.to_owned());
    }
    let directories = std::env::var_os("PATH")?;
    std::env::split_paths(&directories)
        .map(|directory| directory.join(path))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_setuid_program_of_another_user_is_told() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("program");
        fs::write(&file, "").unwrap();
        assert_eq!(changes_privileges(file.as_os_str()), None);
        let set = |mode| fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        set(0o4755);
        // Our own: nothing changes.
        assert_eq!(changes_privileges(file.as_os_str()), None);
        if nix::unistd::geteuid().is_root() {
            std::os::unix::fs::chown(&file, Some(1), Some(0)).unwrap();
            set(0o4755);
            assert_eq!(changes_privileges(file.as_os_str()), Some(file.clone()));
        }
    }
}
