// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a governor finds connections, and which of them it takes over.

use std::collections::HashSet;
use std::io;
use std::time::Instant;

use ebb_host::tcp_info::LISTEN;
use ebb_host::{TcpInfo, owner_of};

use super::given::Floors;
use super::{ASK_AGAIN_EVERY, Governed, Governor, Place, hold_of};
use crate::connection::{Connection, Met};
use crate::counters::MAX_PEERS;
use crate::hold::{Note, Own};
use crate::process::{is_for_want, update};
use crate::socket::{CopiedSocket, Kind};
use crate::wanted::Wanted;

/// The tree of processes is walked with every so many searches, and whenever a process is gone.
const WALK_EVERY: u32 = 2;

/// HTTP/3, which is nearly all of QUIC.
const QUIC_PORT: u16 = 443;

/// Searches in a row that find a process out of reach.
const REFUSALS: u32 = 4;

/// What a socket turned out to be.
enum Found {
    Settled,
    NotYet,
    Others,
    Governed(Box<Connection>),
}

/// The sockets of the followed processes, by inode.
#[derive(Default)]
struct Seen {
    present: HashSet<u64>,
    new: Vec<(u64, Place)>,
    /// Governed, but seen elsewhere than before.
    moved: Vec<(u64, Place)>,
}

impl Governor {
    /// Walks the tree, looks for sockets in it, takes new connections over.
    pub(super) fn search(&mut self) {
        self.searches = self.searches.wrapping_add(1);
        if self.searches % WALK_EVERY == 1 {
            let pids = self.followed.pids().into_iter().collect();
            if !update(&mut self.processes, &pids) {
                self.note_want();
            }
            self.wanted_of.retain(|pid, _| pids.contains(pid));
        }
        for (pid, name) in self.look_for_sockets() {
            self.note_out_of_reach(pid, name);
        }
        let mut seen = self.seen();
        for (inode, place) in seen.moved {
            if seen.present.insert(inode) {
                self.move_to(inode, place);
            }
        }
        self.forget_all_but(&seen.present);
        self.lift_lost();
        for (inode, place) in seen.new {
            self.meet(inode, place);
        }
    }

    /// Looks into every process; answers those that turned out to be out of reach.
    fn look_for_sockets(&mut self) -> Vec<(u32, String)> {
        let mut out_of_reach = Vec::new();
        let mut is_in_want = false;
        for process in self.processes.values_mut() {
            let looked = match self.followed.is_own() {
                true => self.given.sockets().map(|found| process.sockets = found),
                false => process.look_for_sockets(),
            };
            match looked {
                Ok(()) => process.refusals = 0,
                Err(error) if is_refusal(&error) && !process.has_ended() => process.refusals += 1,
                Err(error) if is_for_want(&error) => is_in_want = true,
                Err(_) if process.has_ended() => process.sockets.clear(),
                Err(_) => {}
            }
            // One that starts or ends is out of reach for a moment.
            if process.refusals == REFUSALS {
                out_of_reach.push((process.pid, process.name()));
            }
        }
        if is_in_want {
            self.note_want();
        }
        out_of_reach
    }

    /// What the last look into each process has shown.
    fn seen(&self) -> Seen {
        let mut seen = Seen::default();
        for process in self.processes.values() {
            for (descriptor, inode) in &process.sockets {
                let place = (process.pid, *descriptor);
                match self.connections.get(inode) {
                    // The first that is found, unless it has been there before.
                    Some(governed) if governed.place == place => {
                        seen.present.insert(*inode);
                    }
                    Some(_) => seen.moved.push((*inode, place)),
                    None if !seen.present.insert(*inode) || self.settled.contains(inode) => {}
                    None => seen.new.push((*inode, place)),
                }
            }
        }
        seen
    }

    /// Lets go and forgets what is nowhere any more.
    fn forget_all_but(&mut self, present: &HashSet<u64>) {
        self.settled.retain(|inode| present.contains(inode));
        self.others.retain(|inode, _| present.contains(inode));
        self.unreached.retain(|inode| present.contains(inode));
        let inodes: Vec<u64> = self.connections.keys().copied().collect();
        for inode in inodes.iter().filter(|inode| !present.contains(inode)) {
            if let Some(governed) = self.connections.remove(inode) {
                self.let_go(*inode, governed);
            }
        }
    }

    /// Says that descriptors are missing, once.
    fn note_want(&mut self) {
        if !std::mem::replace(&mut self.has_told_want, true) {
            self.notices.push(
                "no descriptor is left, of this process or of the machine (ulimit -n, \
                 fs.file-max): connections that begin meanwhile do not yield"
                    .to_owned(),
            );
        }
    }

    /// The copy is to be had elsewhere from now on.
    fn move_to(&mut self, inode: u64, place: Place) {
        let Some(governed) = self.connections.get_mut(&inode) else {
            return;
        };
        governed.place = place;
        let hold = hold_of(governed);
        self.tell(Note::Held(hold));
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

    pub(super) fn meet(&mut self, inode: u64, place: Place) {
        if self
            .others
            .get(&inode)
            .is_some_and(|due| *due > Instant::now())
        {
            return;
        }
        let Some(process) = self.processes.get(&place.0) else {
            return;
        };
        let socket = process.socket(place.1);
        self.note_reach(inode, socket.as_ref().err());
        let Ok(socket) = socket else {
            return;
        };
        // The number may have been used again since it was seen: that is another socket.
        if !socket.inode().is_ok_and(|it| it == inode) {
            return;
        }
        match self.judge(&socket, inode, place.0) {
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

    /// Counts a socket that cannot be looked at for want of something, until it can. One that goes
    /// before stays counted.
    fn note_reach(&mut self, inode: u64, error: Option<&io::Error>) {
        if error.is_none() && self.unreached.remove(&inode) {
            self.counters.unreached -= 1;
        }
        if error.is_some_and(is_for_want) && self.unreached.insert(inode) {
            self.counters.unreached += 1;
            self.note_want();
        }
    }

    fn judge(&mut self, socket: &CopiedSocket, inode: u64, pid: u32) -> io::Result<Found> {
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
        self.take_over(socket, info, (inode, pid))
    }

    /// Puts a connection under its laws, unless another Ebb has it.
    fn take_over(
        &mut self,
        socket: &CopiedSocket,
        info: TcpInfo,
        (inode, pid): (u64, u32),
    ) -> io::Result<Found> {
        let (wanted, keeps_code_point, floors) = self.terms_of(inode, pid);
        let cookie = socket.cookie()?;
        let claim = match socket.is_of_kernel_backend() {
            true => None,
            false => self.claims.claim(cookie, self.owner_of(pid)?),
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
            floors,
            keeps_code_point,
            may_sleep: self.followed.is_own(),
        };
        if self.counters.peers.len() < MAX_PEERS {
            self.counters.peers.insert(met.ends.1.0);
        }
        let now = Instant::now();
        let now = (now, self.now_us(now));
        self.counters.received_bytes += info.bytes_received;
        self.counters.sent_bytes += info.bytes_acked;
        let connection = Connection::new(met, &wanted, now);
        Ok(Found::Governed(Box::new(connection)))
    }

    /// What is wanted of a connection, whether it keeps its code point, and its floors.
    fn terms_of(&self, inode: u64, pid: u32) -> (Wanted, bool, Floors) {
        if let Some((terms, floors)) = self.given.terms(inode) {
            return (terms.wanted(), terms.keeps_code_point, floors.clone());
        }
        let wanted = self.wanted_of.get(&pid).unwrap_or(&self.wanted);
        let keeps_code_point = self.options.keeps_code_point;
        (wanted.clone(), keeps_code_point, self.floors.clone())
    }

    /// Whose a process is; our own is known without /proc, which not every sandbox has.
    fn owner_of(&self, pid: u32) -> io::Result<u32> {
        match self.followed.is_own() {
            true => Ok(nix::unistd::geteuid().as_raw()),
            false => owner_of(pid),
        }
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
}

fn is_refusal(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EACCES | libc::EPERM))
}
