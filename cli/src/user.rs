// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Running a command as somebody else than root, who has to start Ebb.

use std::ffi::CString;
use std::io;
use std::process::Command;

use anyhow::{Context, Result, bail};
use nix::unistd::{Gid, Uid, User, getgrouplist, setgid, setgroups, setuid};

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

    /// Sets what programs read to learn whose home they work in.
    pub fn set_environment(&self, command: &mut Command) {
        command
            .env("HOME", &self.entry.dir)
            .env("SHELL", &self.entry.shell)
            .env("USER", &self.entry.name)
            .env("LOGNAME", &self.entry.name);
    }

    /// Turns the calling process into one of this user; system calls only.
    pub fn become_it(&self) -> io::Result<()> {
        setgroups(&self.groups)?;
        setgid(self.gid)?;
        setuid(self.uid)?;
        Ok(())
    }
}
