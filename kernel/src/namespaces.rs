// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network namespaces in which connections are looked for.

use ebb_host::{all_processes, network_namespaces_of};
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::File;

/// Network namespaces, each once, held open.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(BTreeMap<u64, File>);

impl Namespaces {
    /// Adds the namespaces of the processes' threads; those that ended are passed over.
    pub(crate) fn add_processes(&mut self, pids: impl IntoIterator<Item = u32>) {
        for namespace in pids.into_iter().flat_map(network_namespaces_of) {
            if let Entry::Vacant(entry) = self.0.entry(namespace.inode)
                && let Ok(file) = namespace.open()
            {
                entry.insert(file);
            }
        }
    }

    /// Adds the namespace of every process that can be seen.
    pub(crate) fn add_all(&mut self) {
        self.add_processes(all_processes());
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.values()
    }
}
