// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Processes that were switched by themselves under the kernel backend: its programs know
//! connections, so the keeper looks which new ones these processes have.

use std::collections::{HashMap, HashSet};
use std::io;
use std::time::Instant;

use ebb_host::copies_of_sockets;
use ebb_sockets::{CopiedSocket, Search};

use super::attachments::Attachments;
use crate::error::{Error, Result};

/// The processes.
#[derive(Debug, Default)]
pub(super) struct Switched {
    processes: HashMap<u32, Process>,
    due: Option<Instant>,
}

#[derive(Debug)]
struct Process {
    is_free: bool,
    /// Its connections that have been switched with it, or by themselves since.
    known: HashSet<u64>,
}

impl Switched {
    /// Sets what a process has and will have free, or holds it back.
    ///
    /// *Errors:* there is no such process, or its connections cannot be switched.
    pub(super) fn switch(
        &mut self,
        pid: u32,
        is_free: bool,
        attachments: &mut Attachments,
    ) -> Result<()> {
        let search = Search::begin();
        let present = connections_of(pid).map_err(|source| Error::Process { pid, source })?;
        let mut process = Process {
            is_free,
            known: HashSet::new(),
        };
        process.switch_new(present, attachments)?;
        self.processes.insert(pid, process);
        self.due = Some(search.due_again());
        Ok(())
    }

    /// They are as all others again.
    pub(super) fn clear(&mut self) {
        self.processes.clear();
    }

    /// Their connections are under new programs, which have not heard of them.
    pub(super) fn forget_connections(&mut self) {
        self.processes
            .values_mut()
            .for_each(|process| process.known.clear());
    }

    /// Switches the connections that the processes have made since, if it is time to look;
    /// answers when it is time again, if ever.
    pub(super) fn look(&mut self, attachments: &mut Attachments) -> Option<Instant> {
        let due = self.due.filter(|_| !self.processes.is_empty())?;
        if Instant::now() < due {
            return Some(due);
        }
        let search = Search::begin();
        self.processes.retain(|pid, process| {
            // One that has ended has no more connections.
            let Ok(present) = connections_of(*pid) else {
                return false;
            };
            if let Err(error) = process.switch_new(present, attachments) {
                tracing::warn!("new connections of process {pid} are as all others: {error}");
            }
            true
        });
        self.due = Some(search.due_again());
        self.due
    }
}

impl Process {
    fn switch_new(&mut self, present: HashSet<u64>, attachments: &mut Attachments) -> Result<()> {
        let new: Vec<u64> = present.difference(&self.known).copied().collect();
        self.known = present;
        match new.is_empty() {
            true => Ok(()),
            false => attachments.set_free(&new, self.is_free),
        }
    }
}

/// The numbers of the sockets of a process that are connected.
fn connections_of(pid: u32) -> io::Result<HashSet<u64>> {
    let sockets = copies_of_sockets(pid)?.map(CopiedSocket::from);
    let connected = sockets.filter(|socket| socket.ends().is_some());
    Ok(connected
        .filter_map(|socket| socket.cookie().ok())
        .collect())
}
