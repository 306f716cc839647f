// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control groups (version 2): find the hierarchy, make a group, move processes.
//!
//! The hierarchy may be mounted at `/sys/fs/cgroup` (unified), below it (hybrid), or
//! nowhere (under `ip netns exec`, in containers): then a private mount is made.

use crate::error::{Error, Result};
use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

mod hierarchy;

pub use hierarchy::mount_point;
use hierarchy::{Hierarchy, hierarchy};

/// How long [`Cgroup::remove`] waits for processes that are ending.
const REMOVE_WITHIN: Duration = Duration::from_secs(1);

/// One control group, held open: it stays the same one even if it is removed.
#[derive(Debug, Clone)]
pub struct Cgroup {
    hierarchy: Arc<Hierarchy>,
    /// From the root of the mounted hierarchy: `/` or `/a/b`.
    path: PathBuf,
    directory: Arc<File>,
}

impl Cgroup {
    /// The root of the hierarchy that this process sees.
    ///
    /// *Errors*: [`Error::NoCgroup2`] if there is none and none can be made.
    pub fn root() -> Result<Self> {
        Self::open(hierarchy()?, PathBuf::from("/"))
    }

    /// The group of a path, either in the file system (`/sys/fs/cgroup/a`) or from the
    /// hierarchy's root (`/a`, as `/proc/PID/cgroup` has it).
    ///
    /// *Errors*: [`Error::NotACgroup`] if it is neither.
    pub fn at(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let hierarchy = hierarchy()?;
        let inside = match path.canonicalize() {
            Ok(real) => real
                .strip_prefix(&hierarchy.mount)
                .map(Path::to_path_buf)
                .ok(),
            Err(_) => None,
        };
        let relative = inside.unwrap_or_else(|| path.to_path_buf());
        let relative = Path::new("/").join(relative);
        let directory = below(&hierarchy.mount, &relative);
        if !directory.join("cgroup.procs").exists() {
            return Err(Error::NotACgroup {
                path: path.to_path_buf(),
                mount: hierarchy.mount.clone(),
            });
        }
        Self::open(hierarchy, relative)
    }

    /// The group of a path from the hierarchy's root, as somebody says who is not to be trusted:
    /// nothing else is looked at.
    ///
    /// *Errors*: [`Error::NotACgroup`], also where `..` is in it.
    pub fn below_root(path: &Path) -> Result<Self> {
        let hierarchy = hierarchy()?;
        let mut parts = path.components();
        let is_plain = parts.next() == Some(Component::RootDir)
            && parts.all(|part| matches!(part, Component::Normal(_)));
        match is_plain && below(&hierarchy.mount, path).join("cgroup.procs").exists() {
            true => Self::open(hierarchy, path.to_path_buf()),
            false => Err(Error::NotACgroup {
                path: path.to_path_buf(),
                mount: hierarchy.mount.clone(),
            }),
        }
    }

    /// The group that a process is in.
    ///
    /// *Errors*: [`Error::NoProcess`].
    pub fn of_process(pid: u32) -> Result<Self> {
        let path = ebb_host::cgroup_of(pid)?.ok_or_else(|| Error::NoCgroup2 {
            source: io::Error::new(io::ErrorKind::NotFound, "no line 0:: in /proc/PID/cgroup"),
        })?;
        Self::open(hierarchy()?, path)
    }

    /// Makes a group below this one.
    pub fn create_child(&self, name: &str) -> Result<Self> {
        let path = self.path.join(name);
        let directory = below(&self.hierarchy.mount, &path);
        fs::create_dir(&directory).map_err(|source| Error::Cgroup {
            path: path.clone(),
            action: "create it",
            source,
        })?;
        Self::open(Arc::clone(&self.hierarchy), path)
    }

    /// Makes a group below this one that the calling process will use and remove: `prefix` and
    /// the process's number, then `-` and `number` where a process makes several. First removes
    /// what processes that were killed have left of that prefix.
    ///
    /// *Errors*: [`Error::Cgroup`], also if an earlier process of the same number left one in
    /// which processes live.
    pub fn create_own_child(&self, prefix: &str, number: Option<u32>) -> Result<Self> {
        self.remove_left_over(prefix);
        let own = format!("{prefix}{}", std::process::id());
        let name = number.map_or_else(|| own.clone(), |number| format!("{own}-{number}"));
        // Of an earlier process of our number. Fails, as it should, while processes live there.
        if let Ok(earlier) = Self::open(Arc::clone(&self.hierarchy), self.path.join(&name)) {
            earlier.remove_if_empty();
        }
        self.create_child(&name)
    }

    /// Removes the groups that [`Self::create_own_child`] made for processes which have ended,
    /// unless other processes live there.
    fn remove_left_over(&self, prefix: &str) {
        let entries = fs::read_dir(self.directory_path()).into_iter().flatten();
        for entry in entries.flatten() {
            let name = entry.file_name();
            let is_left_over =
                owner_in_name(&name, prefix).is_some_and(|pid| !ebb_host::exists(pid));
            let path = self.path.join(&name);
            if is_left_over && let Ok(group) = Self::open(Arc::clone(&self.hierarchy), path) {
                group.remove_if_empty();
            }
        }
    }

    fn remove_if_empty(&self) {
        let is_empty = self.processes().is_ok_and(|processes| processes.is_empty());
        // Somebody may move in just now: then it is theirs.
        if is_empty && let Err(error) = remove_tree(&self.directory_path()) {
            tracing::debug!("cgroup {}: left over: {error}", self.path.display());
        }
    }

    /// Moves a process, with all its threads, into this group.
    ///
    /// Connections that it has stay with the group in which they were made.
    pub fn add_process(&self, pid: u32) -> Result<()> {
        self.procs_file()?
            .write_all(pid.to_string().as_bytes())
            .map_err(|source| self.error("move a process into it", source))
    }

    /// The file that moves a process here when its number is written; `0` moves the
    /// writer, which a child does between fork and exec.
    pub fn procs_file(&self) -> Result<File> {
        OpenOptions::new()
            .write(true)
            .open(self.directory_path().join("cgroup.procs"))
            .map_err(|source| self.error("open cgroup.procs", source))
    }

    /// The processes in this group and in those below it.
    pub fn processes(&self) -> Result<Vec<u32>> {
        let mut pids = Vec::new();
        collect_processes(&self.directory_path(), &mut pids)
            .map_err(|source| self.error("list its processes", source))?;
        pids.sort_unstable();
        pids.dedup();
        Ok(pids)
    }

    /// Whether the group is still there.
    pub fn exists(&self) -> bool {
        self.directory_path().join("cgroup.procs").exists()
            && fs::metadata(self.directory_path()).is_ok_and(|found| found.ino() == self.id())
    }

    /// Removes the group and those below it, waiting up to a second for processes that
    /// are ending. A group that is gone already is no error.
    pub fn remove(&self) -> Result<()> {
        let deadline = Instant::now() + REMOVE_WITHIN;
        loop {
            match remove_tree(&self.directory_path()) {
                Ok(()) => return Ok(()),
                Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
                Err(error) if Instant::now() > deadline => {
                    return Err(self.error("remove it", error));
                }
                Err(_) => std::thread::sleep(Duration::from_millis(10)),
            }
        }
    }

    /// The path from the hierarchy's root, as `/proc/PID/cgroup` has it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The directory in the file system; valid in this process only if the mount is
    /// private.
    pub fn directory_path(&self) -> PathBuf {
        below(&self.hierarchy.mount, &self.path)
    }

    /// The kernel's number for it, never used twice.
    pub fn id(&self) -> u64 {
        self.directory.metadata().map_or(0, |found| found.ino())
    }

    /// Whose it is: a user's to whom it is delegated, or root's.
    ///
    /// *Errors*: [`Error::Cgroup`].
    pub fn owner(&self) -> Result<u32> {
        let about = self.directory.metadata();
        Ok(about
            .map_err(|source| self.error("look at it", source))?
            .uid())
    }

    /// The groups above, up to the root.
    pub(crate) fn ancestors(&self) -> Vec<Self> {
        let above = self.path.ancestors().skip(1);
        let open = |path: &Path| Self::open(Arc::clone(&self.hierarchy), path.to_path_buf());
        above.filter_map(|path| open(path).ok()).collect()
    }

    /// The groups below; those that vanish meanwhile are passed over.
    pub(crate) fn descendants(&self) -> Vec<Self> {
        let entries = fs::read_dir(self.directory_path()).into_iter().flatten();
        let directories = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
        let mut found = Vec::new();
        for directory in directories {
            let path = self.path.join(directory.file_name());
            if let Ok(group) = Self::open(Arc::clone(&self.hierarchy), path) {
                found.extend(group.descendants());
                found.push(group);
            }
        }
        found
    }

    fn open(hierarchy: Arc<Hierarchy>, path: PathBuf) -> Result<Self> {
        let directory =
            File::open(below(&hierarchy.mount, &path)).map_err(|source| Error::Cgroup {
                path: path.clone(),
                action: "open it",
                source,
            })?;
        Ok(Self {
            hierarchy,
            path,
            directory: Arc::new(directory),
        })
    }

    fn error(&self, action: &'static str, source: io::Error) -> Error {
        Error::Cgroup {
            path: self.path.clone(),
            action,
            source,
        }
    }
}

impl AsFd for Cgroup {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.directory.as_fd()
    }
}

/// The process that a group was made for, by its name: `prefix`, PID, and maybe `-NUMBER`.
fn owner_in_name(name: &OsStr, prefix: &str) -> Option<u32> {
    let rest = name.to_str()?.strip_prefix(prefix)?;
    let (pid, number) = rest.split_once('-').unwrap_or((rest, "0"));
    number.parse::<u32>().ok()?;
    pid.parse().ok()
}

fn below(mount: &Path, path: &Path) -> PathBuf {
    match path.strip_prefix("/") {
        Ok(relative) => mount.join(relative),
        Err(_) => mount.join(path),
    }
}

fn collect_processes(directory: &Path, pids: &mut Vec<u32>) -> io::Result<()> {
    // Reading fails in a threaded group: its processes are listed above it.
    if let Ok(text) = fs::read_to_string(directory.join("cgroup.procs")) {
        // 0 stands for a process that this PID namespace cannot see.
        let listed = text.lines().filter_map(|line| line.parse::<u32>().ok());
        pids.extend(listed.filter(|pid| *pid != 0));
    }
    for child in fs::read_dir(directory)?.flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            // A group may vanish while we walk.
            let _ = collect_processes(&child.path(), pids);
        }
    }
    Ok(())
}

fn remove_tree(directory: &Path) -> io::Result<()> {
    for child in fs::read_dir(directory)?.flatten() {
        if child.file_type().is_ok_and(|kind| kind.is_dir()) {
            remove_tree(&child.path())?;
        }
    }
    fs::remove_dir(directory)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_owner_of_a_group_is_in_its_name() {
        let owner = |name: &str| owner_in_name(OsStr::new(name), "ebb-run-");
        assert_eq!(owner("ebb-run-42"), Some(42));
        assert_eq!(owner("ebb-run-42-7"), Some(42));
        for other in [
            "ebb-run-",
            "ebb-run-x",
            "ebb-run-42.scope",
            "ebb-run-42-x",
            "ebb-lab-42",
        ] {
            assert_eq!(owner(other), None, "{other}");
        }
    }
}
