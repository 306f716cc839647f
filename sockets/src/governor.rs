// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Follows processes, finds their connections, keeps each under its laws.

mod given;
mod search;

use std::collections::{HashMap, HashSet};
use std::io;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use ebb_algorithms::{Floor, Policy};

use crate::claim::Claims;
use crate::connection::Connection;
use crate::counters::Counters;
use crate::error::Result;
use crate::hold::{Hold, Note};
use crate::options::Options;
use crate::process::{Process, is_for_want, is_gone};
use crate::root::{Followed, Root};
use crate::socket::CopiedSocket;
use crate::timing::Search;
use crate::wanted::{Change, Flow, Wanted, Whose};
use given::Given;

pub use given::{Standing, Terms, inode_of_socket};

/// A connection that another Ebb governs is asked for again so often.
const ASK_AGAIN_EVERY: Duration = Duration::from_secs(1);

/// Who was stopped for so long may have had its limits lifted by a guardian.
const STOPPED_AFTER: Duration = Duration::from_secs(1);

/// Keeps the connections of a tree of processes under laws. Drive it by [`Self::tick`].
#[derive(Debug)]
pub struct Governor {
    followed: Followed,
    /// Only connections with this port at one end.
    port: Option<u16>,
    options: Options,
    /// What is wanted of all, and of processes that were switched by themselves.
    wanted: Wanted,
    wanted_of: HashMap<u32, Wanted>,
    /// What all have together at the least: of what arrives, of what is sent.
    floors: [Floor; 2],
    processes: HashMap<u32, Process>,
    /// By inode.
    connections: HashMap<u64, Governed>,
    /// Sockets that need no further look, by inode: not TCP, listening, of others.
    settled: HashSet<u64>,
    /// Connections that another Ebb governs: when to ask again.
    others: HashMap<u64, Instant>,
    /// Sockets that could not be looked at, for want of descriptors.
    unreached: HashSet<u64>,
    claims: Claims,
    given: Given,
    has_told_want: bool,
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
    place: Place,
}

/// A process and its descriptor.
type Place = (u32, RawFd);

impl Governor {
    /// A governor of the processes of a root, which must be there.
    ///
    /// *Errors:* the process or the cgroup is not there.
    pub fn new(root: Root, options: Options) -> Result<Self> {
        let now = Instant::now();
        let wanted = Wanted {
            download: options.download.clone(),
            upload: options.upload.clone(),
            ..Wanted::default()
        };
        Ok(Self {
            followed: Followed::new(&root)?,
            port: match root {
                Root::Port(port) => Some(port),
                _ => None,
            },
            options,
            wanted,
            wanted_of: HashMap::new(),
            floors: [0; 2].map(|_| Floor::default()),
            processes: HashMap::new(),
            connections: HashMap::new(),
            settled: HashSet::new(),
            others: HashMap::new(),
            unreached: HashSet::new(),
            claims: Claims::default(),
            given: Given::default(),
            has_told_want: false,
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
        // Nobody else lifts what this process has set on its own sockets.
        if now.duration_since(self.ticked) > STOPPED_AFTER && !self.followed.is_own() {
            let connections = self.connections.values_mut();
            connections.for_each(|it| it.connection.forget_settings(now));
        }
        self.ticked = now;
        if now >= self.search_due {
            let search = Search::begin();
            self.search();
            self.search_due = self.after_rest(search.due_again());
        }
        self.meet_fresh();
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
        self.notices.extend(self.claims.take_notices());
        std::mem::take(&mut self.notices)
    }

    /// Whether the process, or any of its descendants, or the cgroup is still there.
    pub fn is_needed(&mut self) -> bool {
        self.followed.is_alive()
    }

    /// Every connection as of its last look, one for each direction that has a law.
    pub fn flows(&self) -> Vec<Flow> {
        let governed = self.connections.values();
        let mut flows: Vec<Flow> = governed
            .flat_map(|it| it.connection.flows(it.place.0))
            .collect();
        flows.sort_by_key(|flow| (flow.cookie, flow.direction as u8));
        flows
    }

    /// Lifts every limit; new connections are governed again at the next [`Self::tick`]. Those whose
    /// limits cannot be lifted now, for want of descriptors, stay under its laws.
    pub fn release(&mut self) {
        // There may be no search any more that would see to these two.
        self.find_moved();
        for (inode, governed) in std::mem::take(&mut self.connections) {
            self.let_go(inode, governed);
        }
        self.lift_lost();
    }

    /// Changes the laws or their parameters, live. Another law starts anew on each connection.
    pub fn set_policies(&mut self, download: Option<Policy>, upload: Option<Policy>) {
        self.change_all(|wanted| {
            wanted.download.clone_from(&download);
            wanted.upload.clone_from(&upload);
        });
    }

    /// Changes what all connections have together at the least, each way, live; 0: whatever the laws
    /// say. *Units:* bytes per second.
    pub fn set_floor(&mut self, bytes_per_s: u64) {
        for floor in &self.floors {
            floor.set_bytes_per_s(bytes_per_s);
        }
    }

    /// Switches connections off or on, or to another law, live; answers how many there are.
    pub fn switch(&mut self, whose: Whose, change: &Change) -> usize {
        match whose {
            Whose::All => self.change_all(|wanted| wanted.change(change)),
            Whose::Process(pid) => {
                let all = &self.wanted;
                let wanted = self.wanted_of.entry(pid).or_insert_with(|| all.clone());
                wanted.change(change);
                self.change_some(|it| it.place.0 == pid, |wanted| wanted.change(change))
            }
            Whose::Connection(cookie, direction) => self.change_some(
                |it| it.connection.cookie == cookie,
                |wanted| wanted.change_direction(direction, change),
            ),
        }
    }

    fn change_all(&mut self, change: impl Fn(&mut Wanted)) -> usize {
        change(&mut self.wanted);
        self.wanted_of.values_mut().for_each(&change);
        self.change_some(|_| true, change)
    }

    fn change_some(
        &mut self,
        is_meant: impl Fn(&Governed) -> bool,
        change: impl Fn(&mut Wanted),
    ) -> usize {
        let now = Instant::now();
        let now = (now, self.now_us(now));
        let mut changed = 0;
        for governed in self.connections.values_mut().filter(|it| is_meant(it)) {
            let mut wanted = governed.connection.wanted().clone();
            change(&mut wanted);
            governed.connection.set_wanted(wanted, now);
            changed += 1;
        }
        changed
    }

    /// Lifts the limits of a connection that is not governed any more. The guardian hears of it
    /// only once they are lifted.
    fn let_go(&mut self, inode: u64, mut governed: Governed) {
        // Whose process has left is reached, too.
        let lifted = copy(&self.processes, &governed)
            .and_then(|socket| governed.connection.release(&socket));
        match lifted {
            // To be tried again.
            Err(error) if is_for_want(&error) => {
                self.connections.insert(inode, governed);
            }
            // Out of our reach by now: the guardian tries once more when we have gone.
            Err(error) if !is_gone(&error) => {}
            // One that is closed by now needs nothing lifted, unless descendants have it.
            Err(_) if self.followed.is_own() => self.given.lost.push(hold_of(&governed)),
            _ => self.tell(Note::Free(governed.connection.cookie)),
        }
    }

    /// What the kernel backend has taken over since is not touched any more.
    fn leave_to_the_kernel_backend(&mut self) {
        let processes = &self.processes;
        let is_taken = |governed: &Governed| {
            copy(processes, governed).is_ok_and(|socket| socket.is_of_kernel_backend())
        };
        let taken = self.connections.iter().filter(|(_, it)| is_taken(it));
        let taken: Vec<u64> = taken.map(|(inode, _)| *inode).collect();
        for inode in taken {
            if let Some(governed) = self.connections.remove(&inode) {
                // Its window is set anew with the next segment, its pace by nobody.
                self.let_go(inode, governed);
                self.others.insert(inode, Instant::now() + ASK_AGAIN_EVERY);
            }
        }
    }

    fn tell(&mut self, note: Note) {
        if let Some(journal) = &mut self.options.journal {
            journal(note);
        }
    }

    /// Looks at every connection that is due.
    fn look(&mut self, now: Instant) {
        let is_moving = |it: &&Governed| it.connection.is_moving();
        let moving = self.connections.values().filter(is_moving).count();
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
                Err(error) => {
                    governed.connection.due = self.search_due;
                    if is_gone(&error) {
                        self.search_due = self.search_due.min(now + Duration::from_millis(5));
                    }
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

/// A copy of a connection's socket, also of one whose process is not followed any more.
fn copy(processes: &HashMap<u32, Process>, governed: &Governed) -> io::Result<CopiedSocket> {
    let (pid, descriptor) = governed.place;
    let gone = || io::Error::from_raw_os_error(libc::ESRCH);
    let socket = match processes.get(&pid) {
        Some(process) => process.socket(descriptor)?,
        None => Process::open(pid, true)?.socket(descriptor)?,
    };
    // The number may have been used again since, also for what is no socket.
    match socket.cookie() {
        Ok(cookie) if cookie == governed.connection.cookie => Ok(socket),
        _ => Err(gone()),
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
