// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who uses a TCP port: the processes that have sockets with it, at either end.

use std::collections::{HashMap, HashSet};

use ebb_host::{all_processes, sockets_in, sockets_of_port};

/// How often the holder of a socket is looked for: it is in the table before it is in the
/// descriptors of who accepts it, and for ever if it is somebody else's.
const SEARCHES: u8 = 3;

/// The processes with sockets of a port, as far as they are ours to look into.
#[derive(Debug)]
pub(crate) struct PortUsers {
    port: u16,
    /// Sockets whose holders are looked for no more, or how often they were.
    searched: HashMap<u64, u8>,
    pids: Vec<u32>,
}

impl PortUsers {
    pub(crate) fn new(port: u16) -> Self {
        Self {
            port,
            searched: HashMap::new(),
            pids: Vec::new(),
        }
    }

    /// All of them. Everybody's descriptors are read only for sockets that are new and not of
    /// somebody who is known: who listens on the port is known before the first connection.
    pub(crate) fn pids(&mut self) -> Vec<u32> {
        let sockets = sockets_of_port(self.port);
        let mut searched = std::mem::take(&mut self.searched);
        self.pids.retain(|pid| {
            let held = sockets_in(*pid).unwrap_or_default();
            let inodes = held.iter().map(|(_, inode)| *inode);
            let of_port: Vec<u64> = inodes.filter(|inode| sockets.contains(inode)).collect();
            searched.extend(of_port.iter().map(|inode| (*inode, SEARCHES)));
            !of_port.is_empty()
        });
        searched.retain(|inode, _| sockets.contains(inode));
        let is_new = |inode: &u64| searched.get(inode).is_none_or(|times| *times < SEARCHES);
        let new: HashSet<u64> = sockets.into_iter().filter(is_new).collect();
        if !new.is_empty() {
            self.pids.extend(holders_of(&new));
            self.pids.sort_unstable();
            self.pids.dedup();
        }
        for inode in new {
            *searched.entry(inode).or_default() += 1;
        }
        self.searched = searched;
        self.pids.clone()
    }
}

fn holders_of(inodes: &HashSet<u64>) -> Vec<u32> {
    let holds = |pid: &u32| {
        let held = sockets_in(*pid).unwrap_or_default();
        held.iter().any(|(_, inode)| inodes.contains(inode))
    };
    all_processes().into_iter().filter(holds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_listens_is_found_and_forgotten_when_nobody_does() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut users = PortUsers::new(listener.local_addr().unwrap().port());
        // The descriptor may be in a child of another test for a moment, too.
        assert!(users.pids().contains(&std::process::id()));
        assert!(users.pids().contains(&std::process::id()));
        drop(listener);
        let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
        while !users.pids().is_empty() {
            assert!(std::time::Instant::now() < deadline);
        }
    }
}
