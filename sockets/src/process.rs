// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes whose sockets are looked after, and programs whose sockets cannot be.

use std::collections::HashMap;
use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use ebb_host::{ProcessHandle, copies_of_sockets, name_of, sockets_in};

use crate::socket::CopiedSocket;

/// A process whose sockets are looked after.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    handle: ProcessHandle,
    /// Its sockets as of the last look: descriptor and inode.
    pub(crate) sockets: Vec<(RawFd, u64)>,
    /// So often in a row it was not ours to look into.
    pub(crate) refusals: u32,
}

impl Process {
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        Ok(Self {
            pid,
            handle: ProcessHandle::open(pid)?,
            sockets: Vec::new(),
            refusals: 0,
        })
    }

    pub(crate) fn handle(&self) -> BorrowedFd<'_> {
        self.handle.as_fd()
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
        self.handle.has_ended()
    }
}

/// Copies of the sockets of a process. The connections live as long as the copies.
///
/// *Errors:* the process has ended, or it is not ours to look into.
pub fn sockets_of(pid: u32) -> io::Result<Vec<CopiedSocket>> {
    Ok(copies_of_sockets(pid)?.map(CopiedSocket::from).collect())
}

/// Keeps the processes that are still there, and opens the new ones.
pub(crate) fn update(processes: &mut HashMap<u32, Process>, pids: &[u32]) {
    processes.retain(|pid, _| pids.contains(pid));
    for pid in pids {
        if !processes.contains_key(pid)
            && let Ok(process) = Process::open(*pid)
        {
            processes.insert(*pid, process);
        }
    }
}

/// The program file of a command that would run with other privileges than ours (setuid,
/// setgid, file capabilities), whose sockets are out of reach; none: it would not.
pub fn changes_privileges(program: &std::ffi::OsStr) -> Option<PathBuf> {
    let file = find(program)?;
    let metadata = fs::metadata(&file).ok()?;
    let own_user = nix::unistd::geteuid().as_raw();
    let own_group = nix::unistd::getegid().as_raw();
    let is_setuid = metadata.mode() & libc::S_ISUID != 0 && metadata.uid() != own_user;
    let is_setgid = metadata.mode() & libc::S_ISGID != 0 && metadata.gid() != own_group;
    let has_capabilities = has_attribute(&file, c"security.capability") && own_user != 0;
    (is_setuid || is_setgid || has_capabilities).then_some(file)
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
