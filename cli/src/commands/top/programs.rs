// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose a connection is: the process that holds its socket, by inode.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use ebb_kernel::cgroup::Cgroup;

use crate::flow_view::FlowView;
use crate::runtime::{Record, Target};

type Ends = (SocketAddr, SocketAddr);

/// What is known so far; a connection that is known is not looked for again.
#[derive(Debug, Default)]
pub struct Programs {
    names: HashMap<u64, String>,
}

impl Programs {
    /// Looks for the connections of an attachment that nobody is known of.
    pub fn learn(&mut self, record: &Record, views: &[FlowView]) {
        let unknown: HashMap<Ends, u64> = views
            .iter()
            .filter(|view| !self.names.contains_key(&view.cookie))
            .map(|view| ((view.local, view.peer), view.cookie))
            .collect();
        if unknown.is_empty() {
            return;
        }
        let mut namespaces = HashSet::new();
        let mut inodes = HashMap::new();
        let pids = processes_of(&record.target);
        for pid in &pids {
            // All processes of a network namespace see the same connections.
            let namespace = fs::read_link(format!("/proc/{pid}/ns/net"));
            if namespace.is_ok_and(|namespace| namespaces.insert(namespace)) {
                inodes.extend(
                    connections_seen_by(*pid)
                        .into_iter()
                        .filter_map(|(ends, inode)| Some((inode, *unknown.get(&ends)?))),
                );
            }
        }
        for pid in pids {
            for inode in sockets_of(pid) {
                if let Some(cookie) = inodes.get(&inode) {
                    self.names.insert(*cookie, name_of(pid));
                }
            }
        }
    }

    /// The program and its process.
    pub fn of(&self, view: &FlowView) -> Option<String> {
        self.names.get(&view.cookie).cloned()
    }
}

fn processes_of(target: &Target) -> Vec<u32> {
    let cgroup = match target {
        Target::Run { cgroup, .. } | Target::Cgroup { cgroup } => Cgroup::at(cgroup),
        Target::Process { pid } => Cgroup::of_process(*pid),
        Target::Laws { .. } => return Vec::new(),
    };
    cgroup
        .and_then(|cgroup| cgroup.processes())
        .unwrap_or_default()
}

fn name_of(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    format!("{}[{pid}]", name.trim_end())
}

/// The inodes of the sockets that a process holds.
fn sockets_of(pid: u32) -> Vec<u64> {
    let entries = fs::read_dir(format!("/proc/{pid}/fd"));
    let links = entries.into_iter().flatten().flatten();
    links
        .filter_map(|entry| {
            let link = fs::read_link(entry.path()).ok()?;
            let number = link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?;
            number.parse().ok()
        })
        .collect()
}

/// TCP connections in a process's network namespace, with the inodes of their sockets.
fn connections_seen_by(pid: u32) -> Vec<(Ends, u64)> {
    let tables = ["tcp", "tcp6"].map(|table| format!("/proc/{pid}/net/{table}"));
    let texts = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
    texts
        .iter()
        .flat_map(|text| text.lines().skip(1))
        .filter_map(parse_line)
        .collect()
}

/// From proc_net_tcp: `sl local remote st … inode`.
fn parse_line(line: &str) -> Option<(Ends, u64)> {
    let fields: Vec<&str> = line.split_ascii_whitespace().collect();
    let ends = (parse_end(fields.get(1)?)?, parse_end(fields.get(2)?)?);
    Some((ends, fields.get(9)?.parse().ok()?))
}

/// Addresses are words in the machine's order, each in hexadecimal; ports are numbers.
fn parse_end(text: &str) -> Option<SocketAddr> {
    let (address, port) = text.split_once(':')?;
    let port = u16::from_str_radix(port, 16).ok()?;
    let word = |at: usize| u32::from_str_radix(address.get(at..at + 8)?, 16).ok();
    let address = match address.len() {
        8 => IpAddr::from(Ipv4Addr::from(word(0)?.to_ne_bytes())),
        32 => {
            let mut bytes = [0; 16];
            for (index, chunk) in bytes.chunks_mut(4).enumerate() {
                chunk.copy_from_slice(&word(8 * index)?.to_ne_bytes());
            }
            IpAddr::from(Ipv6Addr::from(bytes)).to_canonical()
        }
        _ => return None,
    };
    Some(SocketAddr::new(address, port))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn this_process_is_found_by_its_connection_over_ipv4_and_ipv6() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let listener = TcpListener::bind(address).unwrap();
            let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let ends = (stream.local_addr().unwrap(), stream.peer_addr().unwrap());
            let pid = std::process::id();
            let found = connections_seen_by(pid);
            let (_, inode) = found.iter().find(|(own, _)| *own == ends).unwrap();
            assert!(sockets_of(pid).contains(inode));
        }
    }

    #[test]
    fn nonsense_is_no_connection() {
        assert_eq!(parse_line("  sl  local_address rem_address"), None);
        assert_eq!(parse_end("0100007F"), None);
        assert_eq!(parse_end("0100007:1F90"), None);
    }
}
