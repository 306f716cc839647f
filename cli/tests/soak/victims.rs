// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The processes of one Ebb, told by the runtime directory in their environment, and their deaths.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// A process of Ebb's.
pub struct Process {
    pid: Pid,
    name: String,
}

/// Who of Ebb is killed: any of whom docs/user-backend.md and docs/kernel-backend.md say that all
/// limits are lifted then.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Victims {
    /// Who holds the policy: the keeper, or the governor.
    Holder,
    /// `ebb run`.
    Starter,
    /// Both.
    HolderAndStarter,
    /// With the user backend alone.
    GuardianAndStarter,
    /// The same.
    HolderAndGuardian,
}

impl Victims {
    fn are(self, name: &str) -> bool {
        let is_holder = matches!(name, "ebb-keeper" | "ebb-governor");
        match self {
            Self::Holder => is_holder,
            Self::Starter => name == "ebb",
            Self::HolderAndStarter => is_holder || name == "ebb",
            Self::GuardianAndStarter => matches!(name, "ebb-guardian" | "ebb"),
            Self::HolderAndGuardian => is_holder || name == "ebb-guardian",
        }
    }
}

/// All that live.
pub fn processes_of(runtime: &Path) -> Vec<Process> {
    let own = format!("EBB_RUNTIME_DIR={}", runtime.display());
    let of_ebb = |pid: i32| {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let program = fs::read_link(folder.join("exe")).ok()?;
        // The command of `ebb run` has the same environment.
        if program.file_name()? != "ebb" {
            return None;
        }
        let environment = fs::read(folder.join("environ")).ok()?;
        let mut variables = environment.split(|byte| *byte == 0);
        let name = fs::read_to_string(folder.join("comm")).ok()?;
        variables.any(|it| it == own.as_bytes()).then(|| Process {
            pid: Pid::from_raw(pid),
            name: name.trim().to_owned(),
        })
    };
    let all = fs::read_dir("/proc").unwrap().flatten();
    all.filter_map(|entry| of_ebb(entry.file_name().to_str()?.parse().ok()?))
        .collect()
}

/// Kills them; without any, as before there is a keeper, the first process. Answers when, and
/// whom.
pub fn kill_them(runtime: &Path, victims: Victims, first: u32) -> (Instant, Vec<String>) {
    let mut chosen = processes_of(runtime);
    chosen.retain(|process| victims.are(&process.name));
    if chosen.is_empty() {
        chosen.push(Process {
            pid: Pid::from_raw(first.cast_signed()),
            name: "the first".to_owned(),
        });
    }
    for process in &chosen {
        // It may have ended just now.
        let _ = kill(process.pid, Signal::SIGKILL);
    }
    let killed = Instant::now();
    (killed, chosen.into_iter().map(|it| it.name).collect())
}

/// Kills whoever is left; answers who that was.
pub fn kill_the_rest(runtime: &Path) -> Vec<String> {
    let left = processes_of(runtime);
    for process in &left {
        let _ = kill(process.pid, Signal::SIGKILL);
    }
    left.into_iter().map(|it| it.name).collect()
}
