// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose a connection is: the process that has its socket.

use std::collections::{HashMap, HashSet};

use ebb_host::copies_of_sockets;
use ebb_kernel::cgroup::Cgroup;
use ebb_sockets::CopiedSocket;

use crate::flow::FlowView;
use crate::registry::{Attached, Record};

/// What is known so far; a connection that is known is not looked for again.
#[derive(Debug, Default)]
pub struct Owners {
    pids: HashMap<u64, u32>,
    /// Names of the processes of the last connections that were looked for, with their numbers.
    names: HashMap<u32, String>,
}

impl Owners {
    /// Looks for the connections of an attachment that nobody is known of.
    pub fn learn(&mut self, record: &Record, views: &[FlowView]) {
        for view in views {
            if let Some(pid) = view.process {
                self.pids.insert(view.cookie, pid);
            }
        }
        self.look_for(record, views);
        // A process may be called otherwise by now.
        let pids = views.iter().filter_map(|view| self.pid_of(view));
        let pids: HashSet<u32> = pids.collect();
        self.names = pids.into_iter().map(|pid| (pid, name_of(pid))).collect();
    }

    /// Forgets all connections but these.
    pub fn forget_all_but(&mut self, is_there: impl Fn(u64) -> bool) {
        self.pids.retain(|cookie, _| is_there(*cookie));
    }

    /// The process.
    pub fn pid_of(&self, view: &FlowView) -> Option<u32> {
        self.pids.get(&view.cookie).copied()
    }

    /// The program and its process, of a connection that was learnt of last.
    pub fn of(&self, view: &FlowView) -> Option<String> {
        self.names.get(&self.pid_of(view)?).cloned()
    }

    fn look_for(&mut self, record: &Record, views: &[FlowView]) {
        let cookies = views.iter().map(|view| view.cookie);
        let unknown: HashSet<u64> = cookies
            .filter(|cookie| !self.pids.contains_key(cookie))
            .collect();
        if unknown.is_empty() {
            return;
        }
        for pid in processes_of(&record.attached) {
            // It may have ended since.
            let copies = copies_of_sockets(pid).into_iter().flatten();
            let cookies = copies.filter_map(|socket| CopiedSocket::from(socket).cookie().ok());
            for cookie in cookies.filter(|cookie| unknown.contains(cookie)) {
                self.pids.insert(cookie, pid);
            }
        }
    }
}

fn processes_of(attached: &Attached) -> Vec<u32> {
    if let Attached::Share { programs, .. } = attached {
        let cgroups = programs.iter().map(|program| Cgroup::at(&program.cgroup));
        let processes = cgroups.map(|cgroup| cgroup.and_then(|cgroup| cgroup.processes()));
        return processes.flatten().flatten().collect();
    }
    let cgroup = match attached {
        Attached::Run {
            cgroup: Some(cgroup),
            ..
        }
        | Attached::Cgroup { cgroup } => Cgroup::at(cgroup),
        Attached::Process { pid } => Cgroup::of_process(*pid),
        Attached::Port { .. } | Attached::Rule { .. } => Cgroup::root(),
        Attached::Run { cgroup: None, .. }
        | Attached::Socket { .. }
        | Attached::Sockets { .. }
        | Attached::Share { .. }
        | Attached::Gateway { .. }
        | Attached::Laws { .. } => return Vec::new(),
    };
    cgroup
        .and_then(|cgroup| cgroup.processes())
        .unwrap_or_default()
}

fn name_of(pid: u32) -> String {
    let name = ebb_host::name_of(pid).unwrap_or_default();
    format!("{name}[{pid}]")
}
