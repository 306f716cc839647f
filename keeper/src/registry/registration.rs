// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A keeper's side: what it is entered as, and where it is asked.

use std::fs;

use super::{Attached, Record, Registry, remove};
use crate::error::{Error, Result};
use crate::held::InForce;
use crate::protocol::{Asked, Desk, Reply};
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

    /// Says from now on what is in force.
    pub fn set_in_force(&mut self, in_force: InForce) -> Result<()> {
        let record = Record {
            policy: in_force.policy,
            upload_policy: in_force.upload_policy,
            minimum: in_force.minimum,
            deadline: in_force.deadline,
            is_observing: in_force.is_observing,
            ungoverned_connections: in_force.ungoverned_connections,
            ..self.record.clone()
        };
        self.set_record(record)
    }

    /// Says from now on what it is attached to.
    pub fn set_attached(&mut self, attached: Attached) -> Result<()> {
        let record = Record {
            attached,
            ..self.record.clone()
        };
        self.set_record(record)
    }

    fn set_record(&mut self, record: Record) -> Result<()> {
        if record == self.record {
            return Ok(());
        }
        self.record = record;
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
