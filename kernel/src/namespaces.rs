// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network namespaces in which connections are looked for.

use ebb_host::{
    NetworkNamespace, all_processes, mounted_network_namespaces, network_namespaces_of,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;

/// Network namespaces, each once, held open: they live as long as they are here.
#[derive(Debug, Default)]
pub(crate) struct Namespaces(BTreeMap<u64, File>);

impl Namespaces {
    /// Adds the namespaces of the processes' threads; those that ended are passed over. Of the
    /// others keeps only those that `is_used`.
    pub(crate) fn update(
        &mut self,
        pids: impl IntoIterator<Item = u32>,
        is_used: impl Fn(&File) -> bool,
    ) {
        let inhabited: BTreeSet<u64> = self.add_processes(pids).into_iter().collect();
        self.0
            .retain(|inode, file| inhabited.contains(inode) || is_used(file));
    }

    /// Adds the namespaces of the processes' threads, and answers their numbers; threads that
    /// ended are passed over.
    pub(crate) fn add_processes(&mut self, pids: impl IntoIterator<Item = u32>) -> Vec<u64> {
        self.add(pids.into_iter().flat_map(network_namespaces_of))
    }

    /// Adds every namespace that can be seen, by a process or by its mount.
    pub(crate) fn add_all(&mut self) {
        self.add_processes(all_processes());
        self.add(mounted_network_namespaces());
    }

    fn add(&mut self, namespaces: impl Iterator<Item = NetworkNamespace>) -> Vec<u64> {
        let noted = namespaces.map(|namespace| {
            if let Entry::Vacant(entry) = self.0.entry(namespace.inode)
                && let Ok(file) = namespace.open()
            {
                entry.insert(file);
            }
            namespace.inode
        });
        noted.collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.values()
    }
}
