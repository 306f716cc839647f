// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The network namespaces in which connections are looked for.

use crate::sys;
use ebb_host::{
    NetworkNamespace, all_processes, mounted_network_namespaces, network_namespaces_of,
};
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;
use std::os::unix::fs::MetadataExt;

/// Where connections are that are to be taken over or let go: in the network namespaces of some
/// sockets, or in any. A walk over one namespace goes through the machine's whole table of
/// connections.
#[derive(Debug, Default)]
pub struct Networks {
    pub(crate) found: Namespaces,
    pub(crate) is_any: bool,
}

impl Networks {
    /// Any of them.
    pub fn any() -> Self {
        Self {
            is_any: true,
            ..Self::default()
        }
    }

    /// Adds that of a socket; what is not there, or cannot be told, may be in any.
    pub fn add(&mut self, socket: Option<BorrowedFd<'_>>) {
        let added = socket.map(|socket| self.found.add_socket(socket));
        self.is_any |= !matches!(added, Some(Ok(())));
    }
}

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

    /// Adds the namespace of a socket.
    ///
    /// *Errors*: it is no socket; no descriptor is left.
    fn add_socket(&mut self, socket: BorrowedFd<'_>) -> io::Result<()> {
        let namespace = File::from(sys::network_of(socket)?);
        let inode = namespace.metadata()?.ino();
        self.0.entry(inode).or_insert(namespace);
        Ok(())
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &File> {
        self.0.values()
    }
}
