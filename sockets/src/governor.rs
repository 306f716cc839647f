// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Follows processes, finds their connections, keeps each under its laws.

use std::collections::{HashMap, HashSet};
use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ebb_algorithms::Policy;
use ebb_host::tcp_info::LISTEN;

use crate::claim::{Claim, is_of_kernel_backend};
use crate::connection::{Connection, Met};
use crate::counters::{Counters, MAX_PEERS};
use crate::error::Result;
use crate::hold::{Hold, Note, Own};
use crate::process::{Process, update};
use crate::root::{Followed, Root};
use crate::socket::{CopiedSocket, Kind};
use crate::timing::Search;
use crate::wish::{Change, Flow, Whose, Wish};

/// Own and peer's address and port, and the number of the network namespace.
pub type Ends = ((IpAddr, u16), (IpAddr, u16), u64);

/// Tells whether a connection is to be governed.
pub type Filter = Box<dyn Fn(&Ends) -> bool + Send>;

/// Hears what a governor holds, each time before it does it.
pub type Journal = Box<dyn FnMut(Note) + Send>;

/// How a governor acts.
#[derive(Default)]
pub struct Options {
    /// The law for what arrives; none: it is left alone.
    pub download: Option<Policy>,
    /// The law for what is sent; none: it is left alone.
    pub upload: Option<Policy>,
    /// Which connections; none: all.
    pub filter: Option<Filter>,
    /// What is sent under a law is not marked as Lower Effort (RFC 8622).
    pub keeps_code_point: bool,
    /// Who is told, so that limits can be lifted should the governor be killed.
    pub journal: Option<Journal>,
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

/// The tree of processes is walked with every so many searches, and whenever a process is gone.
const WALK_EVERY: u32 = 2;

/// A connection that another Ebb governs is asked for again so often.
const ASK_AGAIN_EVERY: Duration = Duration::from_secs(1);

/// HTTP/3, which is nearly all of QUIC.
const QUIC_PORT: u16 = 443;

/// Who was stopped for so long may have had its limits lifted by a guardian.
const STOPPED_AFTER: Duration = Duration::from_secs(1);

/// Searches in a row that find a process out of reach.
const REFUSALS: u32 = 4;

/// Keeps the connections of a tree of processes under laws. Drive it by [`Self::tick`].
#[derive(Debug)]
pub struct Governor {
    followed: Followed,
    /// Only connections with this port at one end.
    port: Option<u16>,
    options: Options,
    /// What is wanted of all, and of processes that were switched by themselves.
    wish: Wish,
    wishes: HashMap<u32, Wish>,
    processes: HashMap<u32, Process>,
    /// By inode.
    connections: HashMap<u64, Governed>,
    /// Sockets that need no further look, by inode: not TCP, listening, of others.
    settled: HashSet<u64>,
    /// Connections that another Ebb governs: when to ask again.
    others: HashMap<u64, Instant>,
    counters: Counters,
    notices: Vec<String>,
    began: Instant,
    search_due: Instant,
    searches: u32,
    check_due: Instant,
    ticked: Instant,
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
    Others,
    Governed(Box<Connection>),
}

impl Governor {
    /// A governor of the processes of a root, which must be there.
    ///
    /// *Errors:* the process or the cgroup is not there.
    pub fn new(root: Root, options: Options) -> Result<Self> {
        let now = Instant::now();
        let wish = Wish {
            download: options.download.clone(),
            upload: options.upload.clone(),
            ..Wish::default()
        };
        Ok(Self {
            followed: Followed::new(&root)?,
            port: match root {
                Root::Port(port) => Some(port),
                _ => None,
            },
            options,
            wish,
            wishes: HashMap::new(),
            processes: HashMap::new(),
            connections: HashMap::new(),
            settled: HashSet::new(),
            others: HashMap::new(),
            counters: Counters::default(),
            notices: Vec::new(),
            began: now,
            search_due: now,
            searches: 0,
            check_due: now + ASK_AGAIN_EVERY,
            ticked: now,
        })
    }

    /// Does what is due; answers when something is due again.
    pub fn tick(&mut self) -> Instant {
        let now = Instant::now();
        if now.duration_since(self.ticked) > STOPPED_AFTER {
            let connections = self.connections.values_mut();
            connections.for_each(|it| it.connection.forget_settings(now));
        }
        self.ticked = now;
        if now >= self.search_due {
            let search = Search::begin();
            self.search();
            self.search_due = search.due_again();
        }
        if now >= self.check_due {
            self.leave_to_the_kernel_backend();
            self.check_due = now + ASK_AGAIN_EVERY;
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

    /// Whether the process, or any of its descendants, or the cgroup is still there.
    pub fn is_needed(&mut self) -> bool {
        self.followed.is_alive()
    }

    /// Every connection as of its last look, one for each way that has a law.
    pub fn flows(&self) -> Vec<Flow> {
        let governed = self.connections.values();
        let mut flows: Vec<Flow> = governed
            .flat_map(|it| it.connection.flows(it.place.0))
            .collect();
        flows.sort_by_key(|flow| (flow.cookie, flow.way as u8));
        flows
    }

    /// Lifts every limit; new connections are governed again at the next [`Self::tick`].
    pub fn release(&mut self) {
        for governed in std::mem::take(&mut self.connections).into_values() {
            self.let_go(governed);
        }
    }

    /// Changes the laws or their parameters, live. Another law starts anew on each connection.
    pub fn set_policies(&mut self, download: Option<Policy>, upload: Option<Policy>) {
        self.change_all(|wish| {
            wish.download.clone_from(&download);
            wish.upload.clone_from(&upload);
        });
    }

    /// Switches connections off or on, or to another law, live; answers how many there are.
    pub fn switch(&mut self, whose: Whose, change: &Change) -> usize {
        match whose {
            Whose::All => self.change_all(|wish| wish.change(change)),
            Whose::Process(pid) => {
                let all = &self.wish;
                let wish = self.wishes.entry(pid).or_insert_with(|| all.clone());
                wish.change(change);
                self.change_some(|it| it.place.0 == pid, |wish| wish.change(change))
            }
            Whose::Connection(cookie, way) => self.change_some(
                |it| it.connection.cookie == cookie,
                |wish| wish.change_way(way, change),
            ),
        }
    }

    fn change_all(&mut self, change: impl Fn(&mut Wish)) -> usize {
        change(&mut self.wish);
        self.wishes.values_mut().for_each(&change);
        self.change_some(|_| true, change)
    }

    fn change_some(
        &mut self,
        is_meant: impl Fn(&Governed) -> bool,
        change: impl Fn(&mut Wish),
    ) -> usize {
        let now = Instant::now();
        let now = (now, self.now_us(now));
        let mut changed = 0;
        for governed in self.connections.values_mut().filter(|it| is_meant(it)) {
            let mut wish = governed.connection.wish().clone();
            change(&mut wish);
            governed.connection.set_wish(wish, now);
            changed += 1;
        }
        changed
    }

    /// Walks the tree, looks for sockets in it, takes new connections over.
    fn search(&mut self) {
        self.searches = self.searches.wrapping_add(1);
        if self.searches % WALK_EVERY == 1 {
            let pids = self.followed.pids();
            update(&mut self.processes, &pids);
            self.wishes.retain(|pid, _| pids.contains(pid));
        }
        let mut present = HashSet::new();
        let mut new = Vec::new();
        let mut moved = Vec::new();
        let mut out_of_reach = Vec::new();
        for process in self.processes.values_mut() {
            match process.look_for_sockets() {
                Ok(()) => process.refusals = 0,
                Err(error) if is_refusal(&error) && !process.has_ended() => process.refusals += 1,
                Err(_) if process.has_ended() => process.sockets.clear(),
                Err(_) => {}
            }
            // One that starts or ends is out of reach for a moment.
            if process.refusals == REFUSALS {
                out_of_reach.push((process.pid, process.name()));
            }
            for (descriptor, inode) in &process.sockets {
                let place = (process.pid, *descriptor);
                match self.connections.get_mut(inode) {
                    // The first that is found, unless it has been there before.
                    Some(governed) if governed.place == place => {
                        present.insert(*inode);
                    }
                    Some(_) => moved.push((*inode, place)),
                    None if !present.insert(*inode) || self.settled.contains(inode) => {}
                    None => new.push((*inode, place)),
                }
            }
        }
        for (inode, place) in moved {
            if present.insert(inode) {
                self.move_to(inode, place);
            }
        }
        for (pid, name) in out_of_reach {
            self.note_out_of_reach(pid, name);
        }
        self.settled.retain(|inode| present.contains(inode));
        self.others.retain(|inode, _| present.contains(inode));
        let inodes: Vec<u64> = self.connections.keys().copied().collect();
        for inode in inodes.iter().filter(|inode| !present.contains(inode)) {
            if let Some(governed) = self.connections.remove(inode) {
                self.let_go(governed);
            }
        }
        for (inode, place) in new {
            self.meet(inode, place);
        }
    }

    /// The copy is to be had elsewhere from now on.
    fn move_to(&mut self, inode: u64, place: (u32, i32)) {
        let Some(governed) = self.connections.get_mut(&inode) else {
            return;
        };
        governed.place = place;
        let hold = hold_of(governed);
        self.tell(Note::Held(hold));
    }

    /// Lifts the limits of a connection that is not governed any more.
    fn let_go(&mut self, mut governed: Governed) {
        // One that is closed by now needs nothing lifted; whose process has left is reached.
        let (pid, descriptor) = governed.place;
        let socket = match self.processes.get(&pid) {
            Some(process) => CopiedSocket::from_process(process.handle(), descriptor),
            None => Process::open(pid)
                .and_then(|process| CopiedSocket::from_process(process.handle(), descriptor)),
        };
        let cookie = governed.connection.cookie;
        if let Ok(socket) = socket
            && socket.cookie().is_ok_and(|it| it == cookie)
        {
            let _ = governed.connection.release(&socket);
        }
        self.tell(Note::Free(cookie));
    }

    /// What the kernel backend has taken over since is not touched any more.
    fn leave_to_the_kernel_backend(&mut self) {
        let processes = &self.processes;
        let is_taken = |governed: &Governed| {
            copy(processes, governed).is_ok_and(|socket| is_of_kernel_backend(&socket))
        };
        let taken = self.connections.iter().filter(|(_, it)| is_taken(it));
        let taken: Vec<u64> = taken.map(|(inode, _)| *inode).collect();
        for inode in taken {
            if let Some(governed) = self.connections.remove(&inode) {
                self.tell(Note::Free(governed.connection.cookie));
                self.others.insert(inode, Instant::now() + ASK_AGAIN_EVERY);
            }
        }
    }

    fn tell(&mut self, note: Note) {
        if let Some(journal) = &mut self.options.journal {
            journal(note);
        }
    }

    fn note_out_of_reach(&mut self, pid: u32, name: String) {
        self.notices.push(format!(
            "{name} (process {pid}) is out of reach (setuid, another user's, or it hides itself \
             by PR_SET_DUMPABLE off): what it transfers is not controlled"
        ));
        if !self.counters.out_of_reach.contains(&name) {
            self.counters.out_of_reach.push(name);
        }
    }

    fn meet(&mut self, inode: u64, place: (u32, i32)) {
        if self
            .others
            .get(&inode)
            .is_some_and(|due| *due > Instant::now())
        {
            return;
        }
        let socket = match self.processes.get(&place.0) {
            Some(process) => CopiedSocket::from_process(process.handle(), place.1),
            None => return,
        };
        let Ok(socket) = socket else {
            return;
        };
        match self.judge(&socket, place.0) {
            Ok(Found::Governed(connection)) => {
                self.counters.connections += 1;
                let connection = *connection;
                let governed = Governed { connection, place };
                self.tell(Note::Held(hold_of(&governed)));
                self.others.remove(&inode);
                self.connections.insert(inode, governed);
            }
            Ok(Found::Others) => {
                self.others.insert(inode, Instant::now() + ASK_AGAIN_EVERY);
            }
            Ok(Found::Settled) => {
                self.settled.insert(inode);
            }
            Ok(Found::NotYet) | Err(_) => {}
        }
    }

    fn judge(&mut self, socket: &CopiedSocket, pid: u32) -> io::Result<Found> {
        match socket.kind() {
            Kind::Tcp => {}
            Kind::Multipath => {
                self.counters.multipath += 1;
                return Ok(Found::Settled);
            }
            Kind::Udp => return Ok(self.count_datagrams(socket)),
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
        if !self.is_wanted(socket) {
            return Ok(Found::Settled);
        }
        if socket.is_loopback() && !self.options.includes_loopback {
            self.counters.loopback += 1;
            return Ok(Found::Settled);
        }
        let cookie = socket.cookie()?;
        let claim = match is_of_kernel_backend(socket) {
            true => None,
            false => Claim::of(cookie),
        };
        let (Some(claim), Some(ends)) = (claim, socket.ends()) else {
            return Ok(Found::Others);
        };
        let met = Met {
            cookie,
            info,
            own: Own::of(socket)?,
            ends,
            claim,
            keeps_code_point: self.options.keeps_code_point,
        };
        if self.counters.peers.len() < MAX_PEERS {
            self.counters.peers.insert(met.ends.1.0);
        }
        let now = Instant::now();
        let now = (now, self.now_us(now));
        self.counters.received_bytes += info.bytes_received;
        self.counters.sent_bytes += info.bytes_acked;
        let wish = self.wishes.get(&pid).unwrap_or(&self.wish);
        let connection = Connection::new(met, wish, now);
        Ok(Found::Governed(Box::new(connection)))
    }

    /// Takes note of a UDP socket once it is used.
    fn count_datagrams(&mut self, socket: &CopiedSocket) -> Found {
        match (socket.own_port(), socket.ends()) {
            (None | Some(0), _) => return Found::NotYet,
            // Questions to a resolver on this machine, mostly.
            (_, Some((own, peer))) if peer.0.is_loopback() || peer.0 == own.0 => {}
            (Some(own), ends) => {
                let ports = [Some(own), ends.map(|(_, peer)| peer.1)];
                self.counters.udp += 1;
                self.counters.quic += u64::from(ports.contains(&Some(QUIC_PORT)));
            }
        }
        Found::Settled
    }

    fn is_wanted(&self, socket: &CopiedSocket) -> bool {
        if self.port.is_none() && self.options.filter.is_none() {
            return true;
        }
        let Some((own, peer)) = socket.ends() else {
            return false;
        };
        let has_port = self.port.is_none_or(|port| own.1 == port || peer.1 == port);
        let namespace = socket.namespace().unwrap_or(0);
        let filter = self.options.filter.as_ref();
        has_port && filter.is_none_or(|filter| filter(&(own, peer, namespace)))
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
            if let Some(governed) = self.connections.remove(&inode) {
                self.tell(Note::Free(governed.connection.cookie));
            }
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

fn hold_of(governed: &Governed) -> Hold {
    Hold {
        cookie: governed.connection.cookie,
        pid: governed.place.0,
        descriptor: governed.place.1,
        own: governed.connection.own,
    }
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}
