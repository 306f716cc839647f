// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running a command as somebody else than root, who has to start Ebb.

use std::ffi::CString;
use std::io;
use std::process::Command;

use ebb_host::NO_FORK;
use nix::sys::resource::{Resource, getrlimit};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Gid, Uid, User, fork, getegid, geteuid, getgrouplist, setgid, setgroups, setuid,
};

use crate::error::{Error, Result, Trying};

/// Where programs are looked for at a login.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games";
/// What is kept of the environment; of the language's, all (`LC_…`).
const KEPT: [&str; 5] = ["TERM", "COLORTERM", "NO_COLOR", "LANG", "TZ"];

/// A user, with what a process needs to become that user.
#[derive(Debug, Clone)]
pub struct Account {
    uid: Uid,
    gid: Gid,
    groups: Vec<Gid>,
    entry: User,
}

impl Account {
    /// Looks a user up by name or by number.
    pub fn find(name: &str) -> Result<Self> {
        let entry = match name.parse() {
            Ok(uid) => User::from_uid(Uid::from_raw(uid)),
            Err(_) => User::from_name(name),
        };
        let failed = |why| {
            move |error: nix::Error| Error::User {
                name: name.to_owned(),
                why,
                source: error.into(),
            }
        };
        let entry = entry.map_err(failed(""))?.ok_or_else(|| Error::NoUser {
            name: name.to_owned(),
        })?;
        // Names come from C, so that they are C strings.
        let c_name = CString::new(entry.name.as_str()).unwrap_or_default();
        let groups = getgrouplist(&c_name, entry.gid);
        let groups = groups.map_err(failed(": groups cannot be read"))?;
        Ok(Self {
            uid: entry.uid,
            gid: entry.gid,
            groups,
            entry,
        })
    }

    /// Tries in a child whether this process can become one of this user.
    ///
    /// *Errors:* it cannot, with what would be right. Call it while there is a single thread.
    pub fn try_on(&self) -> Result<()> {
        // SAFETY: there is a single thread, and the child makes system calls only.
        let child = match unsafe { fork() }.trying(NO_FORK)? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                let errno = self.become_it().err().and_then(|it| it.raw_os_error());
                // SAFETY: ends the child without clearing up what is its parent's.
                unsafe { libc::_exit(errno.unwrap_or(0)) }
            }
        };
        let cause = match waitpid(child, None).trying("waitpid")? {
            WaitStatus::Exited(_, 0) => return Ok(()),
            WaitStatus::Exited(_, errno) => io::Error::from_raw_os_error(errno),
            other => io::Error::other(format!("{other:?}")),
        };
        let name = self.entry.name.clone();
        Err(match geteuid().is_root() {
            false => Error::OnlyRootBecomes { name, cause },
            true => Error::CannotBecome { name, cause },
        })
    }

    /// Gives a command the environment of a login: what is root's stays root's. What is kept is how
    /// to speak, and to which terminal, as with `su -`.
    pub fn set_environment(&self, command: &mut Command) {
        if !self.is_own() {
            let is_kept = |name: &str| KEPT.contains(&name) || name.starts_with("LC_");
            let kept = std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(is_kept));
            command.env_clear().envs(kept).env("PATH", PATH);
        }
        command
            .env("HOME", &self.entry.dir)
            .env("SHELL", &self.entry.shell)
            .env("USER", &self.entry.name)
            .env("LOGNAME", &self.entry.name);
    }

    /// Turns the calling process into one of this user, if it is not, with nothing of what it could
    /// do or had open before; system calls only.
    pub fn become_it(&self) -> io::Result<()> {
        if self.is_own() {
            return Ok(());
        }
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        if !self.uid.is_root() {
            drop_capabilities()?;
        }
        close_on_exec()
    }

    fn is_own(&self) -> bool {
        (geteuid(), getegid()) == (self.uid, self.gid)
    }
}

/// Drops what a change of the user leaves: capabilities that a program file would give again.
fn drop_capabilities() -> io::Result<()> {
    /// _LINUX_CAPABILITY_VERSION_3, whose sets have two words each.
    const VERSION: u32 = 0x2008_0522;
    let header: [u32; 2] = [VERSION, 0];
    // Effective, permitted and inheritable, twice.
    let none = [0_u32; 6];
    // SAFETY: both are as long as this version has them, and live through the call.
    let done = unsafe { libc::syscall(libc::SYS_capset, header.as_ptr(), none.as_ptr()) };
    match done {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// What was open for root is not for others: all but the standard streams goes with exec.
fn close_on_exec() -> io::Result<()> {
    let (last, flags) = (libc::c_uint::MAX, libc::CLOSE_RANGE_CLOEXEC);
    // SAFETY: plain numbers; nothing is closed before exec.
    if unsafe { libc::syscall(libc::SYS_close_range, 3, last, flags) } == 0 {
        return Ok(());
    }
    // Before Linux 5.11: one by one, as far as anything can be open.
    let (most, _) = getrlimit(Resource::RLIMIT_NOFILE)?;
    for descriptor in 3..libc::c_int::try_from(most).unwrap_or(libc::c_int::MAX) {
        // SAFETY: as above; of most numbers there is no descriptor.
        unsafe { libc::fcntl(descriptor, libc::F_SETFD, libc::FD_CLOEXEC) };
    }
    Ok(())
}
