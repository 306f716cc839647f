// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network namespaces of processes.

use crate::mounts::mounts;
use crate::tree::threads_of;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

/// A network namespace that a thread is in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NetworkNamespace {
    /// Its number, which no other has while anybody is in it or holds it open.
    pub inode: u64,
    path: PathBuf,
}

impl NetworkNamespace {
    /// Holds it open: it lives as long as the file, whoever leaves it.
    ///
    /// *Errors*: the thread has ended, or it is mounted there no more; there is no descriptor left.
    pub fn open(&self) -> io::Result<File> {
        let file = File::open(&self.path)?;
        // Something else stands there by now: an empty file where it was mounted, or another one.
        if file.metadata()?.ino() != self.inode {
            return Err(io::ErrorKind::NotFound.into());
        }
        Ok(file)
    }
}

/// The network namespaces of a process's threads, one for each thread; threads that end
/// meanwhile are passed over.
pub fn network_namespaces_of(pid: u32) -> impl Iterator<Item = NetworkNamespace> {
    threads_of(pid).into_iter().filter_map(move |thread| {
        let path = PathBuf::from(format!("/proc/{pid}/task/{thread}/ns/net"));
        let inode = fs::metadata(&path).ok()?.ino();
        Some(NetworkNamespace { inode, path })
    })
}

/// The network namespaces that are mounted, as `ip netns` does it: they live without processes.
pub fn mounted_network_namespaces() -> impl Iterator<Item = NetworkNamespace> {
    let mounted = mounts().into_iter().filter(|mount| mount.kind == "nsfs");
    mounted.filter_map(|mount| {
        let inode = mount.root.strip_prefix("net:[")?.strip_suffix(']')?;
        Some(NetworkNamespace {
            inode: inode.parse().ok()?,
            path: mount.directory,
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_it_was_mounted_is_not_taken_for_it() {
        // `ip netns` leaves an empty file for a moment.
        let place = tempfile::NamedTempFile::new().unwrap();
        let gone = NetworkNamespace {
            inode: 4_026_532_000,
            path: place.path().to_owned(),
        };
        let error = gone.open().unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn threads_of_one_process_share_a_namespace_that_can_be_held() {
        let found: Vec<_> = network_namespaces_of(std::process::id()).collect();
        let first = found.first().expect("this thread's");
        assert!(found.iter().all(|namespace| namespace.inode == first.inode));
        let held = first.open().unwrap();
        assert_eq!(held.metadata().unwrap().ino(), first.inode);
        assert_eq!(network_namespaces_of(4_194_305).count(), 0);
    }
}
