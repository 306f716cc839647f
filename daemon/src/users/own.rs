// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is a user's own: the rest is refused, whatever its user says.
//!
//! Numbers of processes are used again. A process is held by a descriptor first and looked at then:
//! if it has not ended by the end of that, what was seen is its own.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use ebb_host::{ProcessHandle, started_ticks, users_of};
use ebb_keeper::protocol::{Asker, Socket, peer};
use ebb_keeper::registry::Attached;
use ebb_keeper::{Cgroup, CopiedSocket, Kind};
use nix::sys::stat::fstat;

/// A process of a user's.
#[derive(Debug)]
pub(crate) struct OwnProcess {
    pub(crate) pid: u32,
    pub(crate) started_ticks: u64,
    pub(crate) handle: ProcessHandle,
}

impl OwnProcess {
    /// The process that asks.
    ///
    /// *Errors:* in words: it is not the user's alone.
    pub(crate) fn who_asks(asker: &Asker, connection: BorrowedFd<'_>) -> Result<Self, String> {
        let pid = u32::try_from(asker.pid).ok().filter(|pid| *pid > 0);
        let pid = pid.ok_or(
            "ebbd does not see the process that asks: it is in a PID namespace of its own",
        )?;
        let handle = peer::process_of(connection, asker.pid);
        let handle = handle.map_err(|_| ended(pid))?;
        Self::look(pid, handle, asker.uid)
    }

    /// The process of that number, which started then.
    ///
    /// *Errors:* in words: there is none, or it is not the user's alone.
    pub(crate) fn find(pid: u32, started_ticks: u64, user: u32) -> Result<Self, String> {
        let handle = ProcessHandle::open(pid).map_err(|_| ended(pid))?;
        let found = Self::look(pid, handle, user)?;
        match found.started_ticks == started_ticks {
            true => Ok(found),
            false => Err(format!("process {pid} is another one by now")),
        }
    }

    /// Whether it lives and has this number. Meanwhile nobody else has.
    pub(crate) fn is(&self, pid: i32) -> bool {
        u32::try_from(pid).is_ok_and(|pid| pid == self.pid) && !self.handle.has_ended()
    }

    fn look(pid: u32, handle: ProcessHandle, user: u32) -> Result<Self, String> {
        let users = users_of(pid).map_err(|_| ended(pid))?;
        let started_ticks = started_ticks(pid).ok_or_else(|| ended(pid))?;
        if handle.has_ended() {
            return Err(ended(pid));
        }
        if users != [user; 4] {
            return Err(format!(
                "process {pid} is not yours alone: it runs as another user, or has changed its \
                 user (setuid); name one of your own"
            ));
        }
        Ok(Self {
            pid,
            started_ticks,
            handle,
        })
    }
}

/// A TCP socket of a user's, in a process of that user's.
#[derive(Debug)]
pub(crate) struct OwnSocket {
    process: OwnProcess,
    socket: Socket,
}

impl OwnSocket {
    /// The socket that a process has by that descriptor, which has that number. No copy is kept:
    /// the connection ends when its process closes it.
    ///
    /// *Errors:* in words: there is none, it is not TCP, or another user made it.
    pub(crate) fn find(
        process: OwnProcess,
        socket: Socket,
        user: u32,
    ) -> Result<(Self, CopiedSocket), String> {
        let Socket { descriptor, cookie } = socket;
        let found = copy_of(&process.handle, socket);
        let found = found.ok_or_else(|| {
            format!("you have no socket by descriptor {descriptor} with number {cookie}")
        })?;
        check_socket(&found, user)?;
        Ok((Self { process, socket }, found))
    }

    /// Whether it is this one, by this descriptor.
    pub(crate) fn is(&self, socket: &Socket) -> bool {
        self.socket == *socket
    }

    /// Whether its process has it still.
    pub(crate) fn is_there(&self) -> bool {
        self.copy().is_some()
    }

    /// A copy of it, while its process has it.
    pub(crate) fn copy(&self) -> Option<CopiedSocket> {
        copy_of(&self.process.handle, self.socket)
    }

    /// The process that has it.
    pub(crate) fn owner(&self) -> &OwnProcess {
        &self.process
    }

    /// The same, to wait for its end.
    pub(crate) fn process(&self) -> &ProcessHandle {
        &self.process.handle
    }

    /// By which it is told from all others.
    pub(crate) fn attached(&self) -> Attached {
        Attached::Socket {
            pid: self.process.pid,
            cookie: self.socket.cookie,
        }
    }
}

/// A copy of the socket that a process has by that descriptor, if it has that number.
pub(super) fn copy_of(process: &ProcessHandle, socket: Socket) -> Option<CopiedSocket> {
    let copy = CopiedSocket::from_process(process.as_fd(), socket.descriptor).ok()?;
    let is_it = copy.cookie().is_ok_and(|cookie| cookie == socket.cookie);
    is_it.then_some(copy)
}

/// Whether a user may have a socket held.
///
/// *Errors:* in words: it is not TCP, or another user made it.
pub(super) fn check_socket(socket: &CopiedSocket, user: u32) -> Result<(), String> {
    if socket.kind() != Kind::Tcp {
        return Err(format!("{}: only TCP is held", socket.kind()));
    }
    match fstat(socket.as_fd()).map(|seen| seen.st_uid) {
        Ok(owner) if owner == user => Ok(()),
        _ => Err("this socket was made by another user: who made it can have it held".to_owned()),
    }
}

/// Whether numbers of processes mean the same to who asks as here.
///
/// *Errors:* in words: they do not.
pub(crate) fn same_numbers(asker: &Asker) -> Result<(), String> {
    let namespace =
        |process: &str| fs::metadata(format!("/proc/{process}/ns/pid")).map(|it| it.ino());
    let same = |theirs: u64| -> io::Result<bool> { Ok(namespace("self")? == theirs) };
    match namespace(&asker.pid.to_string()).and_then(same) {
        Ok(true) => Ok(()),
        _ => Err(
            "who asks is in a PID namespace of its own, as in a container, where processes have \
             other numbers: from there only 'ebb run' is held"
                .to_owned(),
        ),
    }
}

/// The cgroup of that path and number.
///
/// *Errors:* in words: there is none, or it is not the user's.
pub(crate) fn find_cgroup(
    path: &Path,
    number: u64,
    user: u32,
    below: &Cgroup,
) -> Result<Cgroup, String> {
    let cgroup = Cgroup::below_root(path).map_err(|error| error.to_string())?;
    if cgroup.id() != number {
        return Err(format!(
            "{} is another cgroup here than where you look at it from, as in a container",
            path.display()
        ));
    }
    let owner = cgroup.owner().map_err(|error| error.to_string())?;
    if owner != user {
        return Err(format!(
            "cgroup {} belongs to user {owner}: name one that was delegated to you, such as those of \
             your own units ('systemctl --user')",
            path.display()
        ));
    }
    if !path.starts_with(below.path()) {
        return Err(elsewhere(path, below));
    }
    Ok(cgroup)
}

/// That ebbd does not act there.
pub(crate) fn elsewhere(path: &Path, below: &Cgroup) -> String {
    format!(
        "ebbd acts only on what is in cgroup {} (--below): {} is not",
        below.path().display(),
        path.display()
    )
}

fn ended(pid: u32) -> String {
    format!("there is no process {pid}, or it has ended")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    #[test]
    fn a_process_is_found_by_number_start_and_user_together() {
        let own = std::process::id();
        let started = started_ticks(own).unwrap();
        let user = nix::unistd::getuid().as_raw();
        assert_eq!(OwnProcess::find(own, started, user).unwrap().pid, own);
        let said = OwnProcess::find(own, started + 1, user).unwrap_err();
        assert!(said.contains("another one by now"), "{said}");
        let said = OwnProcess::find(own, started, user + 1).unwrap_err();
        assert!(said.contains("is not yours alone"), "{said}");
        let mut child = Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        let (pid, started) = (child.id(), started_ticks(child.id()).unwrap());
        drop(child.stdin.take());
        child.wait().unwrap();
        assert!(
            OwnProcess::find(pid, started, user)
                .unwrap_err()
                .contains("has ended")
        );
    }
}
