// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes and their descendants, from /proc.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Read};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd, RawFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::copying::open_process;
use crate::socket::CopiedSocket;

/// A process whose sockets are looked after.
#[derive(Debug)]
pub(crate) struct Process {
    pub(crate) pid: u32,
    handle: OwnedFd,
    /// Its sockets as of the last look: descriptor and inode.
    pub(crate) sockets: Vec<(RawFd, u64)>,
    /// So often in a row it was not ours to look into.
    pub(crate) refusals: u32,
}

impl Process {
    pub(crate) fn open(pid: u32) -> io::Result<Self> {
        Ok(Self {
            pid,
            handle: open_process(pid)?,
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
        let name = fs::read_to_string(format!("/proc/{}/comm", self.pid));
        name.map_or_else(|_| "a process".into(), |name| name.trim().to_owned())
    }

    pub(crate) fn has_ended(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.pid));
        state.map_or(true, |text| {
            let state = text
                .rsplit_once(')')
                .map(|(_, rest)| rest.trim_start().as_bytes()[0]);
            matches!(state, None | Some(b'Z' | b'X'))
        })
    }
}

/// The sockets of a process: descriptor and inode.
///
/// *Errors:* the process has ended, or it is not ours to look into.
pub(crate) fn sockets_in(pid: u32) -> io::Result<Vec<(RawFd, u64)>> {
    let directory = nix::dir::Dir::open(
        format!("/proc/{pid}/fd").as_str(),
        nix::fcntl::OFlag::O_RDONLY | nix::fcntl::OFlag::O_DIRECTORY,
        nix::sys::stat::Mode::empty(),
    );
    let mut directory = directory?;
    let raw = directory.as_raw_fd();
    let mut sockets = Vec::new();
    for entry in directory.iter().flatten() {
        let name = entry.file_name();
        if let Some(inode) = socket_inode(raw, name)
            && let Some(descriptor) = name.to_str().ok().and_then(|text| text.parse().ok())
        {
            sockets.push((descriptor, inode));
        }
    }
    Ok(sockets)
}

/// The inode of the socket that a link of a descriptor directory names, if it names one.
fn socket_inode(directory: RawFd, name: &std::ffi::CStr) -> Option<u64> {
    let mut target = [0_u8; 40];
    // SAFETY: the name is a C string, the buffer as long as is said.
    let length = unsafe {
        libc::readlinkat(
            directory,
            name.as_ptr(),
            target.as_mut_ptr().cast(),
            target.len(),
        )
    };
    let target = target.get(..usize::try_from(length).ok()?)?;
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// All processes that descend from one, itself not included; those that have ended and were
/// not waited for are among them.
///
/// *Shape:* parents before their children.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    let mut found = children_of(pid);
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(children_of(parent));
    }
    found
}

/// Children are listed by the thread that made them.
pub(crate) fn children_of(pid: u32) -> Vec<u32> {
    let own = format!("/proc/{pid}/task");
    let Ok(threads) = fs::read_dir(&own) else {
        return Vec::new();
    };
    let mut text = String::new();
    for thread in threads.flatten() {
        let Ok(mut file) = fs::File::open(thread.path().join("children")) else {
            return children_by_parent(pid);
        };
        // The thread may have ended: then its children are another's.
        let _ = file.read_to_string(&mut text);
        text.push(' ');
    }
    text.split_ascii_whitespace()
        .filter_map(|number| number.parse().ok())
        .collect()
}

/// For kernels without the list of children (CONFIG_PROC_CHILDREN).
fn children_by_parent(pid: u32) -> Vec<u32> {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    numbers
        .filter(|number| parent_of(*number) == Some(pid))
        .collect()
}

fn parent_of(pid: u32) -> Option<u32> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let (_, rest) = text.rsplit_once(')')?;
    rest.split_ascii_whitespace().nth(1)?.parse().ok()
}

/// Copies of the sockets of a process. The connections live as long as the copies.
///
/// *Errors:* the process has ended, or it is not ours to look into.
pub fn sockets_of(pid: u32) -> io::Result<Vec<CopiedSocket>> {
    let process = open_process(pid)?;
    let copy = |(descriptor, _)| CopiedSocket::from_process(process.as_fd(), descriptor).ok();
    Ok(sockets_in(pid)?.into_iter().filter_map(copy).collect())
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
    use std::process::{Command, Stdio};

    #[test]
    fn descendants_are_found_through_shells_and_their_children() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 5 & sleep 5 & wait"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        loop {
            let found = descendants_of(child.id());
            if found.len() == 2 {
                for pid in found {
                    assert_eq!(parent_of(pid), Some(child.id()));
                    let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
                    nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL).unwrap();
                }
                break;
            }
            assert!(std::time::Instant::now() < deadline, "{found:?}");
        }
        child.wait().unwrap();
    }

    #[test]
    fn the_slow_way_finds_the_same_children() {
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let own = std::process::id();
        assert!(children_by_parent(own).contains(&child.id()));
        assert!(descendants_of(own).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn sockets_are_told_from_other_descriptors() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut own = Process::open(std::process::id()).unwrap();
        own.look_for_sockets().unwrap();
        let found = own
            .sockets
            .iter()
            .any(|(fd, _)| *fd == listener.as_raw_fd());
        assert!(found, "{:?}", own.sockets);
        assert!(own.sockets.iter().all(|(fd, _)| *fd > 2 || *fd == 0));
    }

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
