// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is wanted of connections: laws for both ways, or freedom; for all, for a process, for
//! one connection.

use ebb_algorithms::{Insight, Policy, Side};
use std::net::{IpAddr, SocketAddr};

/// Which way the bytes go that yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Way {
    /// They arrive.
    Down,
    /// They are sent.
    Up,
}

/// Whose connections are switched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Whose {
    /// One connection, by its socket's number, one way.
    Connection(u64, Way),
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
    /// Another law, or other parameters, for the way that the law is for.
    Law(Policy),
    /// No law for what is sent.
    NoUploadLaw,
}

/// What is wanted of a connection.
#[derive(Clone, Debug, Default)]
pub(crate) struct Wish {
    pub(crate) download: Option<Policy>,
    pub(crate) upload: Option<Policy>,
    pub(crate) is_download_free: bool,
    pub(crate) is_upload_free: bool,
}

impl Wish {
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

    /// Changes one way only; a law changes the way that it is for.
    pub(crate) fn change_way(&mut self, way: Way, change: &Change) {
        match (change, way) {
            (Change::Free(is_free), Way::Down) => self.is_download_free = *is_free,
            (Change::Free(is_free), Way::Up) => self.is_upload_free = *is_free,
            (change, _) => self.change(change),
        }
    }
}

/// One connection, one way, as it is now.
#[derive(Clone, Debug)]
pub struct Flow {
    /// The socket's number, never used twice.
    pub cookie: u64,
    /// A process that has it.
    pub pid: u32,
    /// Which way.
    pub way: Way,
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
    fn a_law_changes_its_own_way_and_freedom_the_chosen_one() {
        let mut wish = Wish::default();
        wish.change(&Change::Law(Policy::sender("paced").unwrap()));
        assert!(wish.upload.is_some() && wish.download.is_none());
        wish.change_way(Way::Down, &Change::Free(true));
        assert!(wish.is_download_free && !wish.is_upload_free);
        wish.change(&Change::Free(true));
        assert!(wish.is_upload_free);
        wish.change_way(Way::Down, &Change::NoUploadLaw);
        assert!(wish.upload.is_none() && wish.is_download_free);
    }
}
