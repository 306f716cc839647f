// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is held for users, written down for the next service: that takes it up again.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebb_keeper::protocol::Due;
use ebb_keeper::registry::Attached;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// Among the records, of which it is none.
const FILE: &str = "held-for-users";
/// Who belongs to what is looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look that took long is not repeated before so many times that long.
const LOOK_SHARE: u32 = 100;

/// One hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct SavedHold {
    pub(crate) id: String,
    pub(crate) user: u32,
    pub(crate) groups: Vec<u32>,
    pub(crate) attached: Attached,
    pub(crate) since_unix_s: u64,
    pub(crate) policy: String,
    pub(crate) upload_policy: Option<String>,
    pub(crate) minimum: Option<String>,
    /// What is left to be transferred, if there is a deadline.
    pub(crate) left_until: Option<Due>,
    pub(crate) keeps_code_point: bool,
    pub(crate) is_observing: bool,
    pub(crate) is_watched: bool,
    /// Who attends to a command that has not ended: number and start.
    pub(crate) starter: Option<(u32, u64)>,
    /// The number of a cgroup.
    pub(crate) cgroup: Option<u64>,
    /// Processes: number and start.
    pub(crate) members: Vec<(u32, u64)>,
}

/// The file.
#[derive(Debug)]
pub(crate) struct Saved {
    path: PathBuf,
    last: Vec<SavedHold>,
    due: Instant,
}

impl Saved {
    /// That in a directory of records, with what the last service left there.
    pub(crate) fn open(records: &Path) -> (Self, Vec<SavedHold>) {
        let path = records.join(FILE);
        let text = fs::read(&path).ok();
        let last: Vec<SavedHold> = text
            .and_then(|text| serde_json::from_slice(&text).ok())
            .unwrap_or_default();
        let saved = Self {
            path,
            last: last.clone(),
            due: Instant::now(),
        };
        (saved, last)
    }

    /// When it is to be written again.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Writes it if it is due, or `at_once`, and something changed.
    ///
    /// *Errors:* [`Error::File`].
    pub(crate) fn write(
        &mut self,
        at_once: bool,
        holds: impl FnOnce() -> Vec<SavedHold>,
    ) -> Result<()> {
        let now = Instant::now();
        if !at_once && now < self.due {
            return Ok(());
        }
        let holds = holds();
        self.due = now + (now.elapsed() * LOOK_SHARE).max(LOOK_EVERY);
        if holds == self.last {
            return Ok(());
        }
        let written = serde_json::to_vec(&holds).map_err(Into::into);
        let temporary = self.path.with_extension("new");
        let written = written
            .and_then(|text| fs::write(&temporary, text))
            .and_then(|()| fs::rename(&temporary, &self.path));
        written.map_err(|source| Error::file(&self.path, source))?;
        self.last = holds;
        Ok(())
    }
}
