// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process and its descendants, followed while any of them lives.

use std::collections::BTreeMap;

use crate::error::Result;
use crate::process::{lives_still, require_started_ticks, started_ticks};
use crate::tree::children_of;

/// The living members, each with the time at which it started: numbers are used again. One
/// whose parent has ended stays a member, whoever its parent is by then.
#[derive(Debug)]
pub struct Family {
    /// Its children are members, itself is not.
    above: Option<u32>,
    members: BTreeMap<u32, u64>,
}

impl Family {
    /// A process and whatever it forks.
    ///
    /// *Errors:* there is no such process.
    pub fn of(pid: u32) -> Result<Self> {
        let started = require_started_ticks(pid)?;
        Ok(Self {
            above: None,
            members: BTreeMap::from([(pid, started)]),
        })
    }

    /// Whatever a process forks, itself not included.
    ///
    /// *Errors:* there is no such process.
    pub fn below(pid: u32) -> Result<Self> {
        require_started_ticks(pid)?;
        Ok(Self {
            above: Some(pid),
            members: BTreeMap::new(),
        })
    }

    /// Finds out who has ended and who was born; ask often, since who is forked by a member
    /// that ends before is not found.
    pub fn update(&mut self) {
        self.members
            .retain(|pid, started| lives_still(*pid, *started));
        let mut parents: Vec<u32> = self.members.keys().copied().chain(self.above).collect();
        while let Some(parent) = parents.pop() {
            for child in children_of(parent) {
                if let Some(started) = started_ticks(child)
                    && self.members.insert(child, started).is_none()
                {
                    parents.push(child);
                }
            }
        }
    }

    /// Whether any member lives.
    pub fn is_alive(&mut self) -> bool {
        self.update();
        !self.members.is_empty()
    }

    /// The members as of the last update, each with the time at which it started, in ticks since
    /// the machine did.
    pub fn members(&self) -> impl Iterator<Item = (u32, u64)> {
        let members = self.members.iter();
        members.map(|(pid, started_ticks)| (*pid, *started_ticks))
    }

    /// The members as of the last update.
    pub fn pids(&self) -> Vec<u32> {
        self.members.keys().copied().collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_family_lives_as_long_as_a_grandchild_does() {
        let mut shell = Command::new("sh")
            .args(["-c", "sleep 60 & echo $!; read -r line"])
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let mut family = Family::of(shell.id()).unwrap();
        let mut number = String::new();
        let mut output = std::io::BufReader::new(shell.stdout.take().unwrap());
        std::io::BufRead::read_line(&mut output, &mut number).unwrap();
        let sleep: u32 = number.trim().parse().unwrap();
        assert!(family.is_alive());
        assert_eq!(family.pids().len(), 2);
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(family.is_alive(), "the sleep is left");
        assert_eq!(family.pids(), [sleep]);
        // SAFETY: plain numbers; it is the shell's child, which nobody has waited for.
        unsafe { libc::kill(sleep.cast_signed(), libc::SIGKILL) };
        for _ in 0..100 {
            if !family.is_alive() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("nobody is left, and it is still said to be alive");
    }

    #[test]
    fn who_is_above_is_no_member() {
        let own = std::process::id();
        let mut child = Command::new("sleep").arg("20").spawn().unwrap();
        let mut family = Family::below(own).unwrap();
        family.update();
        let found = family.pids();
        assert!(
            found.contains(&child.id()) && !found.contains(&own),
            "{found:?}"
        );
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn a_process_that_does_not_exist_is_named() {
        let error = Family::of(4_194_305).unwrap_err().to_string();
        assert!(error.starts_with("process 4194305: "), "{error}");
    }
}
