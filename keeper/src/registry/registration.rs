// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A keeper's side: what it is entered as, and where it is asked.

use std::fs;

use super::{Record, Registry, Target, remove};
use crate::describe::describe;
use crate::error::{Error, Result};
use crate::protocol::{Asked, Desk, Reply, Request};
use crate::wait::Wait;

/// A keeper's own pair of files; they go when it goes.
#[derive(Debug)]
pub struct Registration {
    registry: Registry,
    record: Record,
    desk: Desk,
    is_withdrawn: bool,
}

impl Registration {
    pub(super) fn enter(registry: Registry, record: Record, desk: Desk) -> Result<Self> {
        let registration = Self {
            registry,
            record,
            desk,
            is_withdrawn: false,
        };
        registration.write()?;
        Ok(registration)
    }

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
            remove(&self.registry.json(&self.record.id));
            remove(&self.registry.socket(&self.record.id));
        }
    }

    /// The next request that waits, to be answered by [`Self::answer`].
    pub fn next_request(&mut self) -> Option<Asked> {
        self.desk.next_request()
    }

    /// Answers a request.
    pub fn answer(&mut self, asked: &Asked, reply: &Reply) {
        self.desk.answer(asked, reply);
    }

    /// Answers every request that waits.
    pub fn answer_all(&mut self, mut act: impl FnMut(&mut Self, Request) -> anyhow::Result<Reply>) {
        while let Some(asked) = self.next_request() {
            let reply = act(self, asked.request.clone()).unwrap_or_else(|error| {
                let cause = describe(error.as_ref());
                Reply::Refused { cause }
            });
            self.answer(&asked, &reply);
        }
    }

    /// Waits for requests, and for those who take an answer.
    pub fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        self.desk.add_to(wait);
    }

    /// Whole or not at all: readers never see half a record.
    fn write(&self) -> Result<()> {
        if self.is_withdrawn {
            return Ok(());
        }
        let path = self.registry.json(&self.record.id);
        let temporary = path.with_extension("new");
        let text = serde_json::to_vec_pretty(&self.record);
        text.map_err(Into::into)
            .and_then(|text| fs::write(&temporary, text))
            .and_then(|()| fs::rename(&temporary, &path))
            .map_err(|source| Error::file(&path, source))
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.withdraw();
    }
}
