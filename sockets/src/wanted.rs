// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is wanted of connections: laws for both directions, or freedom; for all, for a process, for
//! one connection.

use ebb_algorithms::{Insight, Policy, Side};
use serde::{Deserialize, Serialize};
use std::net::{IpAddr, SocketAddr};

/// Which way the bytes go that yield, seen from this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// They arrive.
    Down,
    /// They are sent.
    Up,
}

/// Whose connections are switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// One connection, by its socket's number, one direction.
    Connection(u64, Direction),
    /// Those that a process has, and will have.
    Process(u32),
    /// All of them; what was switched one by one follows.
    All,
}

/// What is switched.
#[derive(Clone, Debug, PartialEq)]
pub enum Change {
    /// Nothing is limited, laws only watch; or they act again.
    Free(bool),
    /// Another law, or other parameters, for the direction that the law is for.
    Law(Policy),
    /// No law for what is sent.
    NoUploadLaw,
}

/// What is wanted of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wanted {
    pub(crate) download: Option<Policy>,
    pub(crate) upload: Option<Policy>,
    pub(crate) is_download_free: bool,
    pub(crate) is_upload_free: bool,
}

impl Wanted {
    pub(crate) fn change(&mut self, change: &Change) {
        match change {
            Change::Free(is_free) => {
                self.is_download_free = *is_free;
                self.is_upload_free = *is_free;
            }
            Change::Law(policy) => match policy.law().side() {
                Side::Receiver => self.download = Some(policy.clone()),
                Side::Sender => self.upload = Some(policy.clone()),
            },
            Change::NoUploadLaw => self.upload = None,
        }
    }

    /// Changes one direction only; a law changes the one that it is for.
    pub(crate) fn change_direction(&mut self, direction: Direction, change: &Change) {
        match (change, direction) {
            (Change::Free(is_free), Direction::Down) => self.is_download_free = *is_free,
            (Change::Free(is_free), Direction::Up) => self.is_upload_free = *is_free,
            (change, _) => self.change(change),
        }
    }
}

/// One governed connection, one direction, as it is now.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The socket's number, never used twice.
    pub cookie: u64,
    /// A process that has it.
    pub pid: u32,
    /// Which direction.
    pub direction: Direction,
    /// This end.
    pub local: SocketAddr,
    /// The other end.
    pub peer: SocketAddr,
    /// The law's name.
    pub law: &'static str,
    /// Payload since it is governed.
    pub payload_bytes: u64,
    /// The bound on the window that is advertised; sending, on what is in flight.
    pub window_bytes: u32,
    /// Sending: the bound on the pace. *Units:* bytes per second.
    pub pace_bytes_per_s: Option<u64>,
    /// Round trip, if one was measured.
    pub rtt_us: Option<u32>,
    /// What the law says of itself.
    pub insight: Option<Insight>,
    /// A limit is set.
    pub is_limited: bool,
    /// It was switched off: its law only watches.
    pub is_free: bool,
}

pub(crate) fn address((ip, port): (IpAddr, u16)) -> SocketAddr {
    SocketAddr::new(ip, port)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_law_changes_its_own_direction_and_freedom_the_chosen_one() {
        let mut wanted = Wanted::default();
        wanted.change(&Change::Law(Policy::sender("paced").unwrap()));
        assert!(wanted.upload.is_some() && wanted.download.is_none());
        wanted.change_direction(Direction::Down, &Change::Free(true));
        assert!(wanted.is_download_free && !wanted.is_upload_free);
        wanted.change(&Change::Free(true));
        assert!(wanted.is_upload_free);
        wanted.change_direction(Direction::Down, &Change::NoUploadLaw);
        assert!(wanted.upload.is_none() && wanted.is_download_free);
    }
}
