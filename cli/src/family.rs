// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A process and its descendants, followed while any of them lives.

use std::collections::BTreeMap;
use std::fs;

use anyhow::{Context, Result};

/// The living members, each with the time at which it started: numbers are used again.
#[derive(Debug)]
pub struct Family {
    members: BTreeMap<u32, u64>,
}

impl Family {
    /// A process and whatever it forks.
    ///
    /// Errors: there is no such process.
    pub fn of(pid: u32) -> Result<Self> {
        let (_, started) = read_stat(pid).with_context(|| {
            format!("process {pid}: does not exist; see 'ps -e' for those that do")
        })?;
        Ok(Self {
            members: BTreeMap::from([(pid, started)]),
        })
    }

    /// Whether any member lives; new members are found here, so ask about once a second.
    pub fn is_alive(&mut self) -> bool {
        self.members
            .retain(|pid, started| read_stat(*pid).is_some_and(|(_, now)| now == *started));
        self.find_children();
        !self.members.is_empty()
    }

    fn find_children(&mut self) {
        let everybody: Vec<_> = numbers_in_proc()
            .filter_map(|pid| read_stat(pid).map(|(parent, started)| (pid, parent, started)))
            .collect();
        loop {
            let before = self.members.len();
            for (pid, parent, started) in &everybody {
                if self.members.contains_key(parent) {
                    self.members.insert(*pid, *started);
                }
            }
            if self.members.len() == before {
                return;
            }
        }
    }
}

fn numbers_in_proc() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Parent and start time of a process that has not ended.
fn read_stat(pid: u32) -> Option<(u32, u64)> {
    parse_stat(&fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// From proc_pid_stat(5): the name, in parentheses, may contain anything.
fn parse_stat(text: &str) -> Option<(u32, u64)> {
    let (_, behind_name) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = behind_name.split(' ').collect();
    let has_ended = matches!(*fields.first()?, "Z" | "X");
    let (parent, started) = (fields.get(1)?.parse().ok()?, fields.get(19)?.parse().ok()?);
    (!has_ended).then_some((parent, started))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_name_with_spaces_and_parentheses_is_skipped() {
        let rest = "S 41 1 1 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 987654 1 1";
        assert_eq!(
            parse_stat(&format!("42 (a) b (c)) {rest}")),
            Some((41, 987_654))
        );
    }

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
        assert!(family.is_alive());
        shell.kill().unwrap();
        shell.wait().unwrap();
        assert!(family.is_alive(), "the sleep is left");
        let sleep = nix::unistd::Pid::from_raw(number.trim().parse().unwrap());
        nix::sys::signal::kill(sleep, nix::sys::signal::Signal::SIGKILL).unwrap();
        for _ in 0..100 {
            if !family.is_alive() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(50));
        }
        panic!("nobody is left, and it is still said to be alive");
    }

    #[test]
    fn a_process_that_does_not_exist_is_named() {
        let error = Family::of(4_194_305).unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("process 4194305: does not exist")
        );
    }
}
