// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A cgroup of the test's own with a limit, in whichever hierarchy this machine has the controller.

use std::fs;
use std::io::{self, Write};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// What a controller's limit is called, in both versions.
struct Controller {
    name: &'static str,
    /// A file and its value, version 2.
    unified: (&'static str, String),
    /// Version 1.
    legacy: (&'static str, String),
}

/// Everything in it is killed at the end.
pub struct Limited {
    directory: PathBuf,
}

impl Limited {
    /// So many processes and threads at the most.
    pub fn processes(most: u32) -> Self {
        Self::new(&Controller {
            name: "pids",
            unified: ("pids.max", most.to_string()),
            legacy: ("pids.max", most.to_string()),
        })
    }

    /// So much memory.
    pub fn memory(most_bytes: u64) -> Self {
        Self::new(&Controller {
            name: "memory",
            unified: ("memory.max", most_bytes.to_string()),
            legacy: ("memory.limit_in_bytes", most_bytes.to_string()),
        })
    }

    /// So much of one processor, in hundredths.
    pub fn processor(percent: u32) -> Self {
        let quota_us = percent * 1_000;
        Self::new(&Controller {
            name: "cpu",
            unified: ("cpu.max", format!("{quota_us} 100000")),
            legacy: ("cpu.cfs_quota_us", quota_us.to_string()),
        })
    }

    fn new(controller: &Controller) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("ebb-test-{}-{number}", std::process::id());
        let (root, (file, value)) = match legacy_mount(controller.name) {
            Some(mount) => (mount, &controller.legacy),
            None => (unified_root(controller.name), &controller.unified),
        };
        let directory = root.join(name);
        fs::create_dir(&directory).unwrap();
        let limited = Self { directory };
        limited.set(file, value);
        limited
    }

    /// Allows another number of processes.
    pub fn set_processes(&self, most: usize) {
        self.set("pids.max", &most.to_string());
    }

    /// The command, and all that it starts, will be in it.
    pub fn start_in(&self, command: &mut Command) {
        let processes = self.directory.join("cgroup.procs");
        let mut processes = fs::File::options().write(true).open(processes).unwrap();
        // SAFETY: it only makes system calls.
        unsafe { command.pre_exec(move || processes.write_all(b"0")) };
    }

    /// Processes in it and, where it is of version 2, below.
    pub fn pids(&self) -> Vec<i32> {
        pids_below(&self.directory)
    }

    /// How many processes and threads are in it.
    pub fn tasks(&self) -> usize {
        let text = fs::read_to_string(self.directory.join("pids.current")).unwrap();
        text.trim().parse().unwrap()
    }

    fn set(&self, file: &str, value: &str) {
        let path = self.directory.join(file);
        fs::write(&path, value).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }
}

impl Drop for Limited {
    fn drop(&mut self) {
        for _ in 0..100 {
            for pid in self.pids() {
                let _ = kill(Pid::from_raw(pid), Signal::SIGKILL);
            }
            if remove(&self.directory).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{}: left behind", self.directory.display());
    }
}

/// Where a controller of version 1 is mounted.
fn legacy_mount(controller: &str) -> Option<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap();
    let mut mounts = mounts
        .lines()
        .map(|line| line.split(' ').collect::<Vec<_>>());
    let is_it = |mount: &Vec<&str>| {
        mount[2] == "cgroup" && mount[3].split(',').any(|option| option == controller)
    };
    mounts.find(is_it).map(|mount| PathBuf::from(mount[1]))
}

/// The root of version 2, which hands the controller on to what is below.
fn unified_root(controller: &str) -> PathBuf {
    let root = ebb_kernel::cgroup::Cgroup::root().unwrap().directory_path();
    let handed_on = root.join("cgroup.subtree_control");
    fs::write(&handed_on, format!("+{controller}"))
        .unwrap_or_else(|error| panic!("no cgroup controller '{controller}': {error}"));
    root
}

fn pids_below(directory: &Path) -> Vec<i32> {
    let own = fs::read_to_string(directory.join("cgroup.procs")).unwrap_or_default();
    let own = own.lines().filter_map(|line| line.parse().ok());
    let below = groups_in(directory).flat_map(|group| pids_below(&group));
    own.chain(below).collect()
}

fn remove(directory: &Path) -> io::Result<()> {
    groups_in(directory).try_for_each(|group| remove(&group))?;
    fs::remove_dir(directory)
}

fn groups_in(directory: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(directory).into_iter().flatten().flatten();
    entries
        .map(|entry| entry.path())
        .filter(|path| path.is_dir())
}
