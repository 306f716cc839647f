// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who uses a TCP port: the processes that have sockets with it, at either end.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read};

use crate::process::sockets_in;

/// What /proc/net/tcp calls a connection that only waits for its end to be forgotten.
const TIME_WAIT: &str = "06";
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
        let mut sockets = HashSet::new();
        for name in ["tcp", "tcp6"] {
            let table = read_whole(&format!("/proc/self/net/{name}")).unwrap_or_default();
            sockets.extend(sockets_of_port(&table, self.port));
        }
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

/// A file of /proc tells no size; read in small pieces, a long table costs more by the pieces.
fn read_whole(path: &str) -> io::Result<String> {
    let mut text = String::with_capacity(1 << 16);
    fs::File::open(path)?.read_to_string(&mut text)?;
    Ok(text)
}

/// The inodes of those sockets of a table as in /proc/net/tcp that have the port at one end.
fn sockets_of_port(table: &str, port: u16) -> Vec<u64> {
    let of_line = |line: &str| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let port_of = |field: &str| u16::from_str_radix(field.rsplit_once(':')?.1, 16).ok();
        let ends = [port_of(fields.get(1)?)?, port_of(fields.get(2)?)?];
        let inode: u64 = fields.get(9)?.parse().ok()?;
        // One that nobody has accepted yet has no inode.
        let is_it = ends.contains(&port) && inode > 0 && fields[3] != TIME_WAIT;
        is_it.then_some(inode)
    };
    table.lines().skip(1).filter_map(of_line).collect()
}

fn holders_of(inodes: &HashSet<u64>) -> Vec<u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbers = entries.filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    let holds = |pid: &u32| {
        let held = sockets_in(*pid).unwrap_or_default();
        held.iter().any(|(_, inode)| inodes.contains(inode))
    };
    numbers.filter(holds).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 222 1
   2: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 333 1
   3: 0100007F:C002 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 3
   4: 0100007F:0016 0100007F:C003 01 00000000:00000000 00:00000000 00000000     0        0 444 1
";

    #[test]
    fn a_port_is_looked_for_at_both_ends() {
        assert_eq!(sockets_of_port(TABLE, 8080), [111, 222, 333]);
        assert_eq!(sockets_of_port(TABLE, 22), [444]);
        assert_eq!(sockets_of_port("", 22), []);
        assert_eq!(sockets_of_port("head\nnonsense\n", 22), []);
    }

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
