// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running a command as somebody else than root, who has to start Ebb.

use std::ffi::CString;
use std::io;
use std::process::Command;

use anyhow::{Context, Result, bail};
use nix::sys::wait::{WaitStatus, waitpid};
use nix::unistd::{
    ForkResult, Gid, Uid, User, fork, getegid, geteuid, getgrouplist, setgid, setgroups, setuid,
};

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
        let Some(entry) = entry.with_context(|| format!("--user {name}"))? else {
            bail!("--user {name}: there is no such user (see 'getent passwd')");
        };
        let c_name = CString::new(entry.name.as_str())?;
        let groups = getgrouplist(&c_name, entry.gid)
            .with_context(|| format!("--user {name}: groups cannot be read"))?;
        Ok(Self {
            uid: entry.uid,
            gid: entry.gid,
            groups,
            entry,
        })
    }

    /// Tries in a child whether this process can become one of this user.
    ///
    /// Errors: it cannot, with what would be right. Call it while there is a single thread.
    pub fn try_on(&self) -> Result<()> {
        // SAFETY: there is a single thread, and the child makes system calls only.
        let child = match unsafe { fork() }.context("fork")? {
            ForkResult::Parent { child } => child,
            ForkResult::Child => {
                let errno = self.become_it().err().and_then(|it| it.raw_os_error());
                // SAFETY: ends the child without clearing up what is its parent's.
                unsafe { libc::_exit(errno.unwrap_or(0)) }
            }
        };
        let cause = match waitpid(child, None).context("waitpid")? {
            WaitStatus::Exited(_, 0) => return Ok(()),
            WaitStatus::Exited(_, errno) => io::Error::from_raw_os_error(errno),
            other => bail!("--user {}: {other:?}", self.entry.name),
        };
        let name = &self.entry.name;
        match geteuid().is_root() {
            false => bail!(
                "--user {name}: only root can run a command as somebody else: put 'sudo' in \
                 front, or leave --user away ({cause})"
            ),
            true => bail!(
                "--user {name}: this root cannot become somebody else: it lacks CAP_SETUID and \
                 CAP_SETGID, as in some containers, or that user is not in this user namespace; \
                 leave --user away ({cause})"
            ),
        }
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
