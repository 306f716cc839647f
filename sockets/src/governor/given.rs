// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of this process that somebody gives to its governor, one by one or all, and takes back.

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::time::{Duration, Instant};

use ebb_algorithms::{Floor, Policy};
use ebb_host::tcp_info::LISTEN;
use ebb_host::{descendants_of, inode_of, sockets_in};

use super::{Governed, Governor};
use crate::error::{Error, Result};
use crate::hold::Hold;
use crate::socket::{CopiedSocket, Kind};
use crate::wanted::{Flow, Wanted};

/// A socket that is given before it connects is looked at often for so long, then
const EAGER_FOR: Duration = Duration::from_secs(10);
/// so often.
const RARELY: Duration = Duration::from_millis(500);
/// One that does not connect at once is looked at again after this.
const SOON: Duration = Duration::from_millis(25);
/// When nothing was given.
const NEVER: Duration = Duration::from_secs(3_600);

/// By what a socket is to yield.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Terms {
    /// The law for what arrives; none: it is left alone.
    pub download: Option<Policy>,
    /// The law for what is sent; none: it is left alone.
    pub upload: Option<Policy>,
    /// What is sent under a law is not marked as Lower Effort (RFC 8622).
    pub keeps_code_point: bool,
    /// What the socket has at the least each way; all that are given together have it together.
    /// *Units:* bytes per second; 0: whatever the laws say.
    pub minimum_bytes_per_s: u64,
}

/// How a governor of this process stands to one of its sockets.
#[derive(Clone, Debug)]
pub enum Standing {
    /// It was not given.
    NotGiven,
    /// It was given, and is governed once it is connected.
    NotConnected,
    /// It was given, but it is left alone: both ends are on this machine, or nothing can move on
    /// it any more.
    LeftAlone,
    /// It was given, but another Ebb governs it.
    OfAnother,
    /// It yields; one for each direction that has a law.
    Governed(Vec<Flow>),
}

/// What was given.
#[derive(Debug, Default)]
pub(super) struct Given {
    /// By inode.
    sockets: HashMap<u64, GivenSocket>,
    /// On what terms all others are given, if they are, and what they have together.
    all: Option<(Terms, Floors)>,
    /// Those that were given since the last tick.
    fresh: Vec<u64>,
    /// Those that are not in this process any more, since the last search.
    pub(super) lost: Vec<Hold>,
}

/// Of what arrives, of what is sent.
pub(super) type Floors = [Floor; 2];

#[derive(Debug)]
struct GivenSocket {
    descriptor: RawFd,
    terms: Terms,
    floors: Floors,
    since: Instant,
}

impl Terms {
    pub(super) fn wanted(&self) -> Wanted {
        Wanted {
            download: self.download.clone(),
            upload: self.upload.clone(),
            ..Wanted::default()
        }
    }
}

impl Given {
    /// On what terms a socket was given, and what it has at the least, alone or with others.
    pub(super) fn terms(&self, inode: u64) -> Option<(&Terms, &Floors)> {
        let own = self.sockets.get(&inode).map(|it| (&it.terms, &it.floors));
        own.or(self.all.as_ref().map(|(terms, floors)| (terms, floors)))
    }

    /// The sockets that were given and are still there, by whatever number.
    pub(super) fn sockets(&mut self) -> io::Result<Vec<(RawFd, u64)>> {
        let own = std::process::id();
        if self.all.is_some() {
            let found = sockets_in(own)?;
            let inodes: HashSet<u64> = found.iter().map(|(_, inode)| *inode).collect();
            self.sockets.retain(|inode, _| inodes.contains(inode));
            return Ok(found);
        }
        let is_there = |descriptor, inode| inode_of(descriptor).is_ok_and(|it| it == inode);
        let mut found = None;
        self.sockets.retain(|inode, socket| {
            if is_there(socket.descriptor, *inode) {
                return true;
            }
            // It was closed, unless it lives on by another number.
            let found = found.get_or_insert_with(|| sockets_in(own).unwrap_or_default());
            let elsewhere = found.iter().find(|(_, it)| it == inode);
            if let Some((number, _)) = elsewhere {
                socket.descriptor = *number;
            }
            elsewhere.is_some()
        });
        let sockets = self.sockets.iter();
        Ok(sockets.map(|(inode, it)| (it.descriptor, *inode)).collect())
    }

    /// When to search again at the earliest, given the sockets that are neither governed nor
    /// settled.
    fn rest(&self, is_open: impl Fn(&u64) -> bool) -> Duration {
        let mut sockets = self.sockets.iter();
        let is_new = |it: &GivenSocket| it.since.elapsed() < EAGER_FOR;
        match () {
            () if self.all.is_some() => Duration::ZERO,
            () if self.sockets.is_empty() => NEVER,
            () if sockets.any(|(inode, it)| is_open(inode) && is_new(it)) => Duration::ZERO,
            () => RARELY,
        }
    }
}

impl Governor {
    /// Puts a socket of this process under laws from the next [`Self::tick`] on, for as long as
    /// this process has it by any number. Given once more it has other terms.
    ///
    /// *Errors:* it is no TCP socket, or it waits for connections.
    pub fn give(&mut self, socket: BorrowedFd<'_>, terms: Terms) -> Result<()> {
        let inode = inode_of_socket(socket)?;
        let copy = check(socket)?;
        let now = Instant::now();
        let now_us = self.now_us(now);
        let before = self.given.sockets.get(&inode).map(|it| it.floors.clone());
        let is_first = before.is_none();
        let floors = floors_of(before, &terms);
        if let Some(Governed { connection, .. }) = self.connections.get_mut(&inode) {
            if is_first {
                connection.set_floors(&floors);
            }
            connection.set_wanted(terms.wanted(), (now, now_us));
        } else {
            self.settled.remove(&inode);
            self.others.remove(&inode);
        }
        drop(copy);
        let descriptor = socket.as_raw_fd();
        let since = now;
        let given = GivenSocket {
            descriptor,
            terms,
            floors,
            since,
        };
        self.given.sockets.insert(inode, given);
        self.given.fresh.push(inode);
        // While nothing was given there was nothing to search for.
        self.search_due = self.search_due.min(now + RARELY);
        Ok(())
    }

    /// Takes a socket back; its limits are lifted when this returns. Answers whether it was given.
    ///
    /// *Errors:* it is no socket.
    pub fn take_back(&mut self, socket: BorrowedFd<'_>) -> Result<bool> {
        let inode = inode_of_socket(socket)?;
        let was_given = self.given.sockets.remove(&inode).is_some();
        // Whoever has it still, here it is in the foreground.
        self.others.remove(&inode);
        let governed = self.connections.remove(&inode);
        let was_governed = governed.is_some();
        if let Some(mut governed) = governed {
            governed.place.1 = socket.as_raw_fd();
            self.let_go(inode, governed);
        }
        let is_of_all = self.given.all.is_some();
        if is_of_all {
            self.settled.insert(inode);
        }
        Ok(was_given || was_governed || is_of_all)
    }

    /// Puts all sockets that this process has and will have under laws, but for those that are
    /// taken back later; none: only those that are given one by one.
    pub fn give_all(&mut self, terms: Option<Terms>) {
        let now = Instant::now();
        let now_us = self.now_us(now);
        let before = self.given.all.take().map(|(_, floors)| floors);
        let is_first = before.is_none();
        self.given.all = terms.map(|terms| {
            let floors = floors_of(before, &terms);
            (terms, floors)
        });
        if let Some((terms, floors)) = &self.given.all {
            for (inode, Governed { connection, .. }) in &mut self.connections {
                if self.given.sockets.contains_key(inode) {
                    continue;
                }
                if is_first {
                    connection.set_floors(floors);
                }
                connection.set_wanted(terms.wanted(), (now, now_us));
            }
            self.settled.clear();
        }
        self.search_due = now;
    }

    /// Takes everything back; limits are lifted when this returns.
    pub fn take_all_back(&mut self) {
        self.given.all = None;
        self.given.sockets.clear();
        self.release();
        self.settled.clear();
        self.others.clear();
    }

    /// How it stands to a socket of this process.
    ///
    /// *Errors:* it is no socket.
    pub fn standing(&self, socket: BorrowedFd<'_>) -> Result<Standing> {
        let inode = inode_of_socket(socket)?;
        if let Some(governed) = self.connections.get(&inode) {
            let flows = governed.connection.flows(governed.place.0);
            return Ok(Standing::Governed(flows.collect()));
        }
        Ok(match self.given.terms(inode) {
            None => Standing::NotGiven,
            Some(_) if self.others.contains_key(&inode) => Standing::OfAnother,
            Some(_) if !self.settled.contains(&inode) => Standing::NotConnected,
            Some(_) if self.given.sockets.contains_key(&inode) => Standing::LeftAlone,
            // It was taken back from all, or nobody could have given it.
            Some(_) => match check(socket) {
                Ok(copy) if copy.is_loopback() => Standing::LeftAlone,
                _ => Standing::NotGiven,
            },
        })
    }

    /// The sockets that it governs because all are given: descriptor and number (SO_COOKIE).
    pub fn governed_of_all(&self) -> Vec<(RawFd, u64)> {
        if self.given.all.is_none() {
            return Vec::new();
        }
        let connections = self.connections.iter();
        let of_all = connections.filter(|(inode, _)| !self.given.sockets.contains_key(inode));
        let place = |(_, it): (&u64, &Governed)| (it.place.1, it.connection.cookie);
        of_all.map(place).collect()
    }

    /// Whether there is anything to do: something was given, or could not be let go yet.
    pub fn has_given(&self) -> bool {
        let is_given = self.given.all.is_some() || !self.given.sockets.is_empty();
        is_given || !self.connections.is_empty()
    }

    /// Forgets everything and lifts nothing: for the child of a process that still governs.
    pub fn abandon(mut self) {
        self.connections.clear();
        self.given.lost.clear();
    }

    /// When a search is due again that may be at this time.
    pub(super) fn after_rest(&self, due: Instant) -> Instant {
        if !self.followed.is_own() {
            return due;
        }
        let mut rest = self.given.rest(|inode| self.is_open(inode));
        // What could not be let go is to be tried again, whatever else is given.
        let mut inodes = self.connections.keys();
        if inodes.any(|inode| self.given.terms(*inode).is_none()) {
            rest = rest.min(RARELY);
        }
        due.max(Instant::now() + rest)
    }

    /// Finds those again that this process has by other numbers by now than at the last search.
    pub(super) fn find_moved(&mut self) {
        let is_there = |(inode, governed): (&u64, &Governed)| {
            inode_of(governed.place.1).is_ok_and(|it| it == *inode)
        };
        if !self.followed.is_own() || self.connections.iter().all(is_there) {
            return;
        }
        for (descriptor, inode) in sockets_in(std::process::id()).unwrap_or_default() {
            if let Some(governed) = self.connections.get_mut(&inode) {
                governed.place.1 = descriptor;
            }
        }
    }

    /// Takes those over that were given since the last tick: a search would look at all.
    pub(super) fn meet_fresh(&mut self) {
        for inode in std::mem::take(&mut self.given.fresh) {
            let Some(given) = self.given.sockets.get(&inode) else {
                continue;
            };
            let place = (std::process::id(), given.descriptor);
            if !self.connections.contains_key(&inode) {
                self.meet(inode, place);
            }
            if self.is_open(&inode) {
                self.search_due = self.search_due.min(Instant::now() + SOON);
            }
        }
    }

    /// Whether it is not known yet what is to become of a socket.
    fn is_open(&self, inode: &u64) -> bool {
        !self.connections.contains_key(inode) && !self.settled.contains(inode)
    }

    /// Lifts the limits of sockets that this process has closed and its descendants have still.
    pub(super) fn lift_lost(&mut self) {
        let lost = std::mem::take(&mut self.given.lost);
        if lost.is_empty() {
            return;
        }
        for pid in descendants_of(std::process::id()) {
            for hold in &lost {
                // Most processes have none of them.
                let _ = Hold {
                    pid,
                    ..hold.clone()
                }
                .lift();
            }
        }
    }
}

/// The number of a socket's inode, by which a [`Governor`] knows it.
///
/// *Errors:* [`Error::NotASocket`].
pub fn inode_of_socket(socket: BorrowedFd<'_>) -> Result<u64> {
    inode_of(socket.as_raw_fd()).map_err(|source| Error::NotASocket { source })
}

/// The floors of what is given, by the rate of its terms from now on.
fn floors_of(before: Option<Floors>, terms: &Terms) -> Floors {
    let floors = before.unwrap_or_else(|| [0; 2].map(|_| Floor::default()));
    for floor in &floors {
        floor.set_bytes_per_s(terms.minimum_bytes_per_s);
    }
    floors
}

/// A copy of what can be governed.
fn check(socket: BorrowedFd<'_>) -> Result<CopiedSocket> {
    // That it is one is known by now: what is wrong is that no descriptor is left.
    let copy = CopiedSocket::from_own(socket.as_raw_fd());
    let copy = copy.map_err(|source| Error::System {
        what: "copy a socket's descriptor",
        source,
    })?;
    match copy.kind() {
        Kind::Tcp => {}
        other => return Err(Error::NotTcp(other)),
    }
    match copy.info() {
        Ok(info) if info.state == LISTEN => Err(Error::Listens),
        _ => Ok(copy),
    }
}
