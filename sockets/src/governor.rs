// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Follows processes, finds their connections, keeps each under its laws.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ebb_algorithms::Policy;

use crate::connection::Connection;
use crate::counters::Counters;
use crate::error::{Error, Result};
use crate::info::LISTEN;
use crate::process::{Process, descendants_of, update};
use crate::socket::{CopiedSocket, Kind};

/// Whose connections are governed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Root {
    /// The descendants of a process, itself not included.
    DescendantsOf(u32),
    /// A process and its descendants.
    Process(u32),
}

/// Own and peer's address and port, and the number of the network namespace.
pub type Ends = ((IpAddr, u16), (IpAddr, u16), u64);

/// Tells whether a connection is to be governed.
pub type Filter = Box<dyn Fn(&Ends) -> bool + Send>;

/// How a governor acts.
#[derive(Default)]
pub struct Options {
    /// The law for what arrives; none: it is left alone.
    pub download: Option<Policy>,
    /// The law for what is sent; none: it is left alone.
    pub upload: Option<Policy>,
    /// Which connections; none: all.
    pub filter: Option<Filter>,
    /// Connections within this machine, too: for tests and benchmarks, since there is nobody
    /// to yield to.
    pub includes_loopback: bool,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            download, upload, ..
        } = self;
        write!(formatter, "Options({download:?}, {upload:?})")
    }
}

/// New connections are looked for so often while there is little to search.
const SEARCH_EVERY: Duration = Duration::from_millis(25);
/// A search that took long is not repeated before so many times that long.
const SEARCH_SHARE: u32 = 250;
/// The tree of processes is walked with every so many searches, and whenever a process is gone.
const WALK_EVERY: u32 = 2;

/// Searches in a row that find a process out of reach.
const REFUSALS: u32 = 4;

/// Keeps the connections of a tree of processes under laws. Drive it by [`Self::tick`].
#[derive(Debug)]
pub struct Governor {
    root: Root,
    options: Options,
    processes: HashMap<u32, Process>,
    /// By inode.
    connections: HashMap<u64, Governed>,
    /// Sockets that need no further look, by inode: not TCP, listening, of others.
    settled: HashSet<u64>,
    counters: Counters,
    notices: Vec<String>,
    began: Instant,
    search_due: Instant,
    searches: u32,
}

#[derive(Debug)]
struct Governed {
    connection: Connection,
    /// Where a copy is to be had: process and descriptor.
    place: (u32, i32),
}

/// What a socket turned out to be.
enum Found {
    Settled,
    NotYet,
    Governed(Box<Connection>),
}

impl Governor {
    /// A governor of the processes of a root, which must be there.
    ///
    /// *Errors:* the process is not there.
    pub fn new(root: Root, options: Options) -> Result<Self> {
        let (Root::DescendantsOf(pid) | Root::Process(pid)) = root;
        Process::open(pid).map_err(|source| Error::NoProcess { pid, source })?;
        let now = Instant::now();
        Ok(Self {
            root,
            options,
            processes: HashMap::new(),
            connections: HashMap::new(),
            settled: HashSet::new(),
            counters: Counters::default(),
            notices: Vec::new(),
            began: now,
            search_due: now,
            searches: 0,
        })
    }

    /// Does what is due; answers when something is due again.
    pub fn tick(&mut self) -> Instant {
        let now = Instant::now();
        if now >= self.search_due {
            self.search();
            let took = now.elapsed();
            self.search_due = now + SEARCH_EVERY.max(took * SEARCH_SHARE);
        }
        self.look(Instant::now());
        let next = self.connections.values().map(|it| it.connection.due).min();
        next.map_or(self.search_due, |next| next.min(self.search_due))
    }

    /// What it has seen and done.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// Processes that it follows.
    pub fn processes(&self) -> usize {
        self.processes.values().filter(|it| !it.has_ended()).count()
    }

    /// Connections under its laws now.
    pub fn connections(&self) -> usize {
        self.connections.len()
    }

    /// What people should know, once each.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Lifts every limit; new connections are governed again at the next [`Self::tick`].
    pub fn release(&mut self) {
        for governed in self.connections.values_mut() {
            if let Ok(socket) = copy(&self.processes, governed) {
                // One that is closed by now needs nothing lifted.
                let _ = governed.connection.release(&socket);
            }
        }
        self.connections.clear();
    }

    /// Changes the laws or their parameters: connections start anew under them.
    pub fn set_policies(&mut self, download: Option<Policy>, upload: Option<Policy>) {
        self.release();
        self.options.download = download;
        self.options.upload = upload;
    }

    /// Walks the tree, looks for sockets in it, takes new connections over.
    fn search(&mut self) {
        self.searches = self.searches.wrapping_add(1);
        if self.searches % WALK_EVERY == 1 {
            self.walk();
        }
        let mut present = HashSet::new();
        let mut new = Vec::new();
        let mut out_of_reach = Vec::new();
        for process in self.processes.values_mut() {
            match process.look_for_sockets() {
                Ok(()) => process.refusals = 0,
                Err(error) if is_refusal(&error) && !process.has_ended() => process.refusals += 1,
                Err(_) => {}
            }
            // One that starts or ends is out of reach for a moment.
            if process.refusals == REFUSALS {
                out_of_reach.push((process.pid, process.name()));
            }
            for (descriptor, inode) in &process.sockets {
                if !present.insert(*inode) {
                    continue;
                }
                let place = (process.pid, *descriptor);
                match self.connections.get_mut(inode) {
                    Some(governed) => governed.place = place,
                    None if self.settled.contains(inode) => {}
                    None => new.push((*inode, place)),
                }
            }
        }
        for (pid, name) in out_of_reach {
            self.note_out_of_reach(pid, name);
        }
        self.settled.retain(|inode| present.contains(inode));
        self.connections.retain(|inode, _| present.contains(inode));
        for (inode, place) in new {
            self.meet(inode, place);
        }
    }

    fn note_out_of_reach(&mut self, pid: u32, name: String) {
        self.notices.push(format!(
            "{name} (process {pid}) runs with other privileges than ebb (setuid, or another \
             user's): what it transfers is not controlled"
        ));
        if !self.counters.out_of_reach.contains(&name) {
            self.counters.out_of_reach.push(name);
        }
    }

    fn walk(&mut self) {
        let pids = match self.root {
            Root::DescendantsOf(pid) => descendants_of(pid),
            Root::Process(pid) => {
                let mut pids = descendants_of(pid);
                pids.push(pid);
                pids
            }
        };
        update(&mut self.processes, &pids);
    }

    fn meet(&mut self, inode: u64, place: (u32, i32)) {
        let socket = match self.processes.get(&place.0) {
            Some(process) => CopiedSocket::from_process(process.handle(), place.1),
            None => return,
        };
        let Ok(socket) = socket else {
            return;
        };
        match self.judge(&socket) {
            Ok(Found::Governed(connection)) => {
                self.counters.connections += 1;
                let connection = *connection;
                self.connections
                    .insert(inode, Governed { connection, place });
            }
            Ok(Found::Settled) => {
                self.settled.insert(inode);
            }
            Ok(Found::NotYet) | Err(_) => {}
        }
    }

    fn judge(&mut self, socket: &CopiedSocket) -> io::Result<Found> {
        match socket.kind() {
            Kind::Tcp => {}
            Kind::Multipath => {
                self.counters.multipath += 1;
                return Ok(Found::Settled);
            }
            Kind::Udp => {
                self.counters.udp += 1;
                return Ok(Found::Settled);
            }
            Kind::Other => return Ok(Found::Settled),
        }
        let info = socket.info()?;
        if info.state == LISTEN {
            return Ok(Found::Settled);
        }
        // A clamp before that would bound the window scale for good.
        if !info.receives() && !info.sends() {
            return Ok(Found::NotYet);
        }
        if socket.is_loopback() && !self.options.includes_loopback {
            self.counters.loopback += 1;
            return Ok(Found::Settled);
        }
        if let Some(filter) = &self.options.filter {
            let namespace = socket.namespace().unwrap_or(0);
            let is_wanted = socket
                .ends()
                .is_some_and(|(own, peer)| filter(&(own, peer, namespace)));
            if !is_wanted {
                return Ok(Found::Settled);
            }
        }
        let now = Instant::now();
        let now_us = self.now_us(now);
        self.counters.received_bytes += info.bytes_received;
        self.counters.sent_bytes += info.bytes_acked;
        let policies = (self.options.download.as_ref(), self.options.upload.as_ref());
        let connection = Connection::new(socket.cookie()?, info, policies, (now, now_us));
        Ok(Found::Governed(Box::new(connection)))
    }

    /// Looks at every connection that is due.
    fn look(&mut self, now: Instant) {
        let moving = self
            .connections
            .values()
            .filter(|it| it.connection.is_moving());
        let moving = moving.count();
        let began = self.began;
        let mut lost = Vec::new();
        for (inode, governed) in &mut self.connections {
            if governed.connection.due > now {
                continue;
            }
            let looked = copy(&self.processes, governed).and_then(|socket| {
                let now = Instant::now();
                let now_us = micros(began, now);
                governed.connection.look(&socket, (now, now_us), moving)
            });
            self.counters.looks += 1;
            match looked {
                Ok(look) => {
                    self.counters.received_bytes += look.received_bytes;
                    self.counters.sent_bytes += look.sent_bytes;
                    self.counters.settings += look.settings;
                    if look.has_ended {
                        lost.push(*inode);
                    }
                }
                // Closed there, or its process has ended; others may have it still.
                Err(_) => {
                    governed.connection.due = self.search_due;
                    self.search_due = self.search_due.min(now + Duration::from_millis(5));
                }
            }
        }
        for inode in lost {
            self.connections.remove(&inode);
            self.settled.insert(inode);
        }
    }

    fn now_us(&self, now: Instant) -> u64 {
        micros(self.began, now)
    }
}

impl Drop for Governor {
    fn drop(&mut self) {
        self.release();
    }
}

/// Laws want a clock that is never 0.
fn micros(began: Instant, now: Instant) -> u64 {
    1_000_000 + u64::try_from(now.duration_since(began).as_micros()).unwrap_or(u64::MAX / 2)
}

fn copy(processes: &HashMap<u32, Process>, governed: &Governed) -> io::Result<CopiedSocket> {
    let (pid, descriptor) = governed.place;
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let process = processes.get(&pid).ok_or_else(gone)?;
    let socket = CopiedSocket::from_process(process.handle(), descriptor)?;
    // The number may have been used again since.
    if socket.cookie()? == governed.connection.cookie {
        Ok(socket)
    } else {
        Err(gone())
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}
