// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running a command as somebody else than root, who has to start Ebb.

use std::ffi::CString;
use std::io;
use std::process::Command;

use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Gid, Uid, User, fork, getegid, geteuid, getgrouplist, setgid, setgroups, setuid,
};

use crate::error::{Error, Result, Trying};

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
        let child = match unsafe { fork() }.trying("fork")? {
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

    /// Sets what programs read to learn whose home they work in.
    pub fn set_environment(&self, command: &mut Command) {
        command
            .env("HOME", &self.entry.dir)
            .env("SHELL", &self.entry.shell)
            .env("USER", &self.entry.name)
            .env("LOGNAME", &self.entry.name);
    }

    /// Turns the calling process into one of this user, if it is not; system calls only.
    pub fn become_it(&self) -> io::Result<()> {
        if (geteuid(), getegid()) == (self.uid, self.gid) {
            return Ok(());
        }
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }
}
