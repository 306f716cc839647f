// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables that programs read and their owner writes.

use crate::error::{Error, Result};
use crate::sys;
use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

/// Makes these the entries of a table; those that stay are never missing.
pub(crate) fn replace(
    map: &OwnedFd,
    name: &'static str,
    entries: impl Iterator<Item = (Vec<u8>, u64)>,
) -> Result<()> {
    let wanted: BTreeMap<Vec<u8>, u64> = entries.collect();
    let info = sys::map_info(map.as_fd()).map_err(|source| table(name, source))?;
    for key in keys_of(map.as_fd(), info.key_bytes as usize) {
        if !wanted.contains_key(&key) {
            let _ = sys::delete(map.as_fd(), &key);
        }
    }
    for (key, rules) in &wanted {
        debug_assert_eq!(key.len(), info.key_bytes as usize);
        sys::update(map.as_fd(), key, &rules.to_ne_bytes())
            .map_err(|source| table(name, source))?;
    }
    Ok(())
}

/// All keys of a table.
pub(crate) fn keys_of(map: BorrowedFd<'_>, key_bytes: usize) -> Vec<Vec<u8>> {
    let mut keys: Vec<Vec<u8>> = Vec::new();
    let mut next = vec![0; key_bytes];
    while sys::next_key(map, keys.last().map(Vec::as_slice), &mut next).is_some() {
        keys.push(next.clone());
    }
    keys
}

/// A table that cannot be written.
pub(crate) fn table(name: &'static str, source: io::Error) -> Error {
    Error::Program {
        what: name.to_owned(),
        action: "write",
        source,
    }
}
