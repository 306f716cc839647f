// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Commands that yield from their first packet on.
//!
//! With the kernel backend a keeper is forked off first; it makes a cgroup, which the command
//! enters between fork and exec, with the policy attached already. With the user backend there
//! are three processes, of which any two may be killed:
//!
//! ```text
//! ebb run ── ebb-guardian ── ebb-governor ── the command and all its descendants
//! ```
//! The governor starts the command and looks after its sockets. It is an ancestor of whatever
//! the command starts (a subreaper: daemons stay its descendants), because the kernel may let
//! ancestors alone copy descriptors. The guardian does nothing until the governor dies or
//! falls silent; then it lifts the limits and waits for the command in its place.
//!
//! Either way the starter has the terminal and the signals, the command is in its process group,
//! and whatever happens to Ebb, the command runs on.

use std::ffi::{OsStr, OsString};

use nix::unistd::geteuid;

use crate::account::Account;
use crate::backend::Backend;
use crate::error::{Error, Result};
use crate::policies::Policies;
use crate::process::{NotStarted, Start};
use crate::protocol::Held;
use crate::summary::Summary;

mod governor;
mod guardian;
mod kernel;
mod served;
mod user;

/// A command that is to yield.
#[derive(Debug)]
pub struct Run<'a> {
    /// Program and arguments. *Shape:* one or more.
    pub words: &'a [OsString],
    /// Whom it is to run as, if not as we do.
    pub account: Option<&'a Account>,
    /// No program file gives it, or what it starts, other privileges.
    pub no_new_privileges: bool,
    /// Look at its connections now and then, for the account at the end.
    pub is_watched: bool,
}

/// A command that may start: its policies are active, or can be.
#[derive(Debug)]
pub struct Prepared<'a> {
    run: &'a Run<'a>,
    how: How,
}

#[derive(Debug)]
enum How {
    Kernel(kernel::Active),
    Served(Held),
    User(Policies),
}

/// What became of a command.
#[derive(Debug)]
pub enum Outcome {
    /// It ran; the summary is missing if the policy ended before it did, without a trace.
    Ended {
        /// As a shell would give it.
        status: u8,
        /// What came of it.
        summary: Option<Box<Summary>>,
    },
    /// It could not be started.
    NotStarted(NotStarted),
}

impl Run<'_> {
    /// Makes sure that it will yield. Call it while there is a single thread.
    ///
    /// *Errors:* [`Error::AlreadyAttached`]: it would be under another policy anyway;
    /// [`Error::CannotKeep`] and others: the backend cannot be used, or not for this command.
    pub fn prepare(&self, backend: Backend, policies: &Policies) -> Result<Prepared<'_>> {
        let how = match backend {
            Backend::Kernel if geteuid().is_root() => How::Kernel(kernel::start(self, policies)?),
            Backend::Kernel => How::Served(served::start(self, policies)?),
            Backend::Gateway => return Err(Error::ByInterface),
            Backend::User => {
                check_for_user_backend(&self.words[0])?;
                How::User(policies.clone())
            }
        };
        Ok(Prepared { run: self, how })
    }

    /// Becomes the command, without any policy; returns only where that fails.
    pub fn exec(&self) -> NotStarted {
        self.start().exec()
    }

    /// The command, with all else as we have it.
    fn start(&self) -> Start<'_> {
        Start {
            words: self.words,
            cgroup_procs: None,
            account: self.account,
            mask: None,
            process_group: None,
            no_new_privileges: self.no_new_privileges,
            open_files: None,
        }
    }
}

impl Prepared<'_> {
    /// Runs the command, and tells what people should know at once. Call it while there is a
    /// single thread.
    ///
    /// *Errors:* a system call that always works did not; the command may run all the same.
    pub fn execute(self, tell: &dyn Fn(&str)) -> Result<Outcome> {
        match self.how {
            How::Kernel(active) => kernel::execute(self.run, active, tell),
            How::Served(held) => served::execute(self.run, &held, tell),
            How::User(policies) => user::execute(self.run, &policies, tell),
        }
    }
}

/// Says why the user backend cannot act on a program, before it is started.
///
/// *Errors:* it runs with other privileges; sockets cannot be copied here.
pub fn check_for_user_backend(program: &OsStr) -> Result<()> {
    if let Some(file) = ebb_sockets::changes_privileges(program) {
        return Err(Error::OtherPrivileges { file });
    }
    Ok(ebb_sockets::probe()?)
}
