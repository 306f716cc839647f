// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is attached, wherever it is kept: by keepers of this user's, by the service, and for root by
//! other users.

use super::{Record, Registry, neighbours};
use crate::ebbd;
use crate::error::Result;
use crate::whose::Whose;

impl Registry {
    /// Everything that is attached now, and what the service holds for this user; for root after its
    /// own what other users attached, unless `EBB_RUNTIME_DIR` names the directory to look at.
    pub fn all_records(&self) -> Result<Vec<Record>> {
        let mut records = self.records()?;
        records.extend(ebbd::records());
        if nix::unistd::geteuid().is_root() && std::env::var_os("EBB_RUNTIME_DIR").is_none() {
            records.extend(neighbours::records());
        }
        Ok(records)
    }

    /// What acts on this for its user: by itself, or the `ebb run` that it is part of.
    pub fn find(&self, whose: &Whose) -> Result<Option<Record>> {
        let own = whose.find(&self.records()?);
        let is_root = nix::unistd::geteuid().is_root();
        Ok(own.or_else(|| (!is_root).then(|| ebbd::find(whose)).flatten()))
    }

    /// The same among records, those of other users as well where they are root's to see.
    pub fn find_among(&self, whose: &Whose, records: &[Record]) -> Option<Record> {
        whose.find(records).or_else(|| ebbd::find(whose))
    }
}
