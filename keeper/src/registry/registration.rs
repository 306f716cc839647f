// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A keeper's side: what it is entered as, and how it answers.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use anyhow::{Context, Result};
use serde_json::Value;

use super::{Record, Request, Runtime, Target, remove};
use crate::describe::describe;

/// A keeper has a lease to renew: it waits no longer for a request to be complete.
const REQUEST_WITHIN: Duration = Duration::from_millis(200);

/// A keeper's own pair of files; they go when it goes.
#[derive(Debug)]
pub struct Registration {
    pub(super) runtime: Runtime,
    pub(super) record: Record,
    pub(super) listener: UnixListener,
    pub(super) is_withdrawn: bool,
}

impl Registration {
    /// Says from now on that other policies are attached.
    pub fn set_policies(&mut self, policy: &str, upload_policy: Option<String>) -> Result<()> {
        policy.clone_into(&mut self.record.policy);
        self.record.upload_policy = upload_policy;
        self.write()
    }

    /// Says from now on whether it only watches.
    pub fn set_observing(&mut self, is_observing: bool) -> Result<()> {
        self.record.is_observing = is_observing;
        self.write()
    }

    /// Says from now on what it is attached to.
    pub fn set_target(&mut self, target: Target) -> Result<()> {
        self.record.target = target;
        self.write()
    }

    /// Nobody finds it from now on, and the next keeper may have its name: to be called before
    /// it is answered that everything is let go.
    pub fn withdraw(&mut self) {
        if !self.is_withdrawn {
            self.is_withdrawn = true;
            remove(&self.runtime.json(&self.record.id));
            remove(&self.runtime.socket(&self.record.id));
        }
    }

    /// Answers every request that waits, with JSON: null where only doing it counts.
    pub fn answer(&mut self, mut act: impl FnMut(&mut Self, Request) -> Result<Value>) {
        while let Ok((stream, _)) = self.listener.accept() {
            // Whoever asks and hangs up is no concern of the policy.
            if let Err(error) = self.answer_one(stream, &mut act) {
                tracing::debug!("request: {error:#}");
            }
        }
    }

    fn answer_one(
        &mut self,
        stream: UnixStream,
        act: &mut impl FnMut(&mut Self, Request) -> Result<Value>,
    ) -> Result<()> {
        stream.set_nonblocking(false)?;
        stream.set_read_timeout(Some(REQUEST_WITHIN))?;
        stream.set_write_timeout(Some(REQUEST_WITHIN))?;
        let mut line = String::new();
        BufReader::new(&stream).read_line(&mut line)?;
        if line.is_empty() {
            // Somebody looked whether we live.
            return Ok(());
        }
        let request = serde_json::from_str(&line)?;
        let reply = act(self, request).map_err(|error| describe(&error));
        (&stream).write_all(format!("{}\n", serde_json::to_string(&reply)?).as_bytes())?;
        Ok(())
    }

    /// Whole or not at all: readers never see half a record.
    pub(super) fn write(&self) -> Result<()> {
        if self.is_withdrawn {
            return Ok(());
        }
        let path = self.runtime.json(&self.record.id);
        let temporary = path.with_extension("new");
        fs::write(&temporary, serde_json::to_vec_pretty(&self.record)?)
            .and_then(|()| fs::rename(&temporary, &path))
            .with_context(|| path.display().to_string())
    }
}

impl AsFd for Registration {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.withdraw();
    }
}
