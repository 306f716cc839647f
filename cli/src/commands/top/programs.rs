// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose a connection is: the process that holds its socket.

use std::collections::{HashMap, HashSet};
use std::fs;

use ebb_kernel::cgroup::Cgroup;

use crate::flow_view::FlowView;
use crate::runtime::{Record, Target};

/// What is known so far; a connection that is known is not looked for again.
#[derive(Debug, Default)]
pub struct Programs {
    names: HashMap<u64, String>,
}

impl Programs {
    /// Looks for the connections of an attachment that nobody is known of.
    pub fn learn(&mut self, record: &Record, views: &[FlowView]) {
        let cookies = views.iter().map(|view| view.cookie);
        let unknown: HashSet<u64> = cookies
            .filter(|cookie| !self.names.contains_key(cookie))
            .collect();
        if unknown.is_empty() {
            return;
        }
        for pid in processes_of(&record.target) {
            // It may have ended since.
            let sockets = ebb_sockets::sockets_of(pid).unwrap_or_default();
            let cookies = sockets.iter().filter_map(|socket| socket.cookie().ok());
            for cookie in cookies.filter(|cookie| unknown.contains(cookie)) {
                self.names.insert(cookie, name_of(pid));
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
