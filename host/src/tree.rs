// SPDX-License-Identifier: Apache-2.0 OR MIT
//! All processes, their threads, and who descends from whom.

use crate::error::Result;
use crate::process::{open, parent_of, require};
use std::collections::HashSet;

/// The numbers of all processes that can be seen.
pub fn all_processes() -> Vec<u32> {
    let processes = procfs::process::all_processes();
    let found = processes.into_iter().flatten().flatten();
    found.map(|process| process.pid().cast_unsigned()).collect()
}

/// The numbers of a process's threads; none if it is not there.
pub fn threads_of(pid: u32) -> Vec<u32> {
    let threads = open(pid).and_then(|process| process.tasks());
    let found = threads.into_iter().flatten().flatten();
    found.map(|thread| thread.tid.cast_unsigned()).collect()
}

/// The children of a process; those that have ended and were not waited for are among them.
pub fn children_of(pid: u32) -> Vec<u32> {
    let mut found = Vec::new();
    let threads = open(pid).and_then(|process| process.tasks());
    // Children are listed by the thread that made them.
    for thread in threads.into_iter().flatten().flatten() {
        match thread.children() {
            Ok(children) => found.extend(children),
            // The thread has ended, and its children are another's.
            Err(_) => return children_by_parent(pid),
        }
    }
    found
}

/// For kernels without the list of children (CONFIG_PROC_CHILDREN).
fn children_by_parent(pid: u32) -> Vec<u32> {
    let mut found = all_processes();
    found.retain(|number| parent_of(*number) == Some(pid));
    found
}

/// All processes that descend from one, itself not included; those that have ended and were
/// not waited for are among them.
///
/// *Shape*: parents before their children.
pub fn descendants_of(pid: u32) -> Vec<u32> {
    let mut found = children_of(pid);
    let mut next = 0;
    while let Some(parent) = found.get(next).copied() {
        next += 1;
        found.extend(children_of(parent));
    }
    found
}

/// Processes and all that descend from them, each once.
///
/// *Errors*: [`crate::Error::NoProcess`] if one of them is not there.
pub fn with_descendants(pids: &[u32]) -> Result<Vec<u32>> {
    for pid in pids {
        require(*pid)?;
    }
    let mut known = HashSet::new();
    let family = |pid: &u32| std::iter::once(*pid).chain(descendants_of(*pid));
    let mut found: Vec<u32> = pids.iter().flat_map(family).collect();
    found.retain(|pid| known.insert(*pid));
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};
    use std::time::{Duration, Instant};

    #[test]
    fn descendants_are_found_through_shells_and_their_children() {
        let mut child = Command::new("sh")
            .args(["-c", "sleep 5 & sleep 5 & wait"])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let deadline = Instant::now() + Duration::from_secs(5);
        while descendants_of(child.id()).len() < 2 {
            assert!(Instant::now() < deadline);
        }
        let found = descendants_of(child.id());
        assert_eq!(found.len(), 2);
        assert!(found.iter().all(|pid| parent_of(*pid) == Some(child.id())));
        let family = with_descendants(&[child.id(), found[1]]).unwrap();
        assert_eq!(family, [child.id(), found[0], found[1]], "each once");
        for pid in found {
            // SAFETY: plain numbers; the process is the shell's, which has not waited for it.
            unsafe { libc::kill(pid.cast_signed(), libc::SIGKILL) };
        }
        child.wait().unwrap();
    }

    #[test]
    fn the_slow_way_finds_the_same_children() {
        let mut child = Command::new("sleep").arg("5").spawn().unwrap();
        let own = std::process::id();
        assert!(children_by_parent(own).contains(&child.id()));
        assert!(descendants_of(own).contains(&child.id()));
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn every_thread_of_this_process_is_listed() {
        let (told, hears) = std::sync::mpsc::channel();
        let (stay, stays) = std::sync::mpsc::channel::<()>();
        let thread = std::thread::spawn(move || {
            // SAFETY: takes nothing, cannot fail.
            told.send(unsafe { libc::gettid() }.cast_unsigned())
                .unwrap();
            let _ = stays.recv();
        });
        let number = hears.recv().unwrap();
        let own = std::process::id();
        let threads = threads_of(own);
        assert!(
            threads.contains(&number) && threads.contains(&own),
            "{threads:?}"
        );
        drop(stay);
        thread.join().unwrap();
    }
}
