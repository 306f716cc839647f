// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sockets of processes: which they are, copies of them, and who has a TCP port's.

use crate::handle::ProcessHandle;
use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use procfs::FromBufReadSI;
use procfs::net::{TcpNetEntries, TcpState};
use std::collections::HashSet;
use std::ffi::{CStr, CString};
use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::os::fd::{AsRawFd, OwnedFd, RawFd};

/// Few programs have more of them, and each number that is tried costs a microsecond.
const GUESSED_DESCRIPTORS: RawFd = 4_096;

/// The sockets of a process: descriptor and inode.
///
/// The one reader of /proc here that is not the procfs crate's: that takes more than twice as
/// long, and the user backend asks for all sockets up to forty times a second.
///
/// *Errors*: the process has ended, or it is not ours to look into.
pub fn sockets_in(pid: u32) -> io::Result<Vec<(RawFd, u64)>> {
    let opened = Dir::open(
        format!("/proc/{pid}/fd").as_str(),
        OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC,
        Mode::empty(),
    );
    let mut directory = match opened {
        Err(Errno::EMFILE | Errno::ENFILE) => return Ok(sockets_by_number(pid)),
        opened => opened?,
    };
    let raw = directory.as_raw_fd();
    let mut sockets = Vec::new();
    for entry in directory.iter().flatten() {
        let name = entry.file_name();
        if let Some(inode) = socket_inode(raw, name)
            && let Some(descriptor) = name.to_str().ok().and_then(|text| text.parse().ok())
        {
            sockets.push((descriptor, inode));
        }
    }
    Ok(sockets)
}

/// The same without a descriptor to list them with: what cannot be copied then can be counted.
fn sockets_by_number(pid: u32) -> Vec<(RawFd, u64)> {
    let inode = |descriptor: &RawFd| {
        let link = CString::new(format!("/proc/{pid}/fd/{descriptor}")).ok()?;
        Some((*descriptor, socket_inode(libc::AT_FDCWD, &link)?))
    };
    (0..GUESSED_DESCRIPTORS)
        .filter_map(|it| inode(&it))
        .collect()
}

/// The inode of the socket that a link of a descriptor directory names, if it names one.
fn socket_inode(directory: RawFd, name: &CStr) -> Option<u64> {
    let mut target = [0_u8; 40];
    // SAFETY: the name is a C string, the buffer as long as is said.
    let length = unsafe {
        libc::readlinkat(
            directory,
            name.as_ptr(),
            target.as_mut_ptr().cast(),
            target.len(),
        )
    };
    let target = target.get(..usize::try_from(length).ok()?)?;
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

/// The inode of a socket of this process, by its descriptor.
///
/// *Errors*: it is not open, or no socket.
pub fn inode_of(descriptor: RawFd) -> io::Result<u64> {
    // SAFETY: zeroes are a valid `stat`, which the kernel fills in.
    let status = unsafe {
        let mut status = std::mem::zeroed::<libc::stat>();
        if libc::fstat(descriptor, &raw mut status) != 0 {
            return Err(io::Error::last_os_error());
        }
        status
    };
    match status.st_mode & libc::S_IFMT {
        libc::S_IFSOCK => Ok(status.st_ino),
        _ => Err(io::Error::from_raw_os_error(libc::ENOTSOCK)),
    }
}

/// Copies of the sockets of a process, each made when it is asked for, so that a process with
/// more of them than we may have descriptors can be walked over. Those that cannot be copied are
/// passed over. A connection lives as long as its copy.
///
/// *Errors*: the process has ended, or it is not ours to look into.
pub fn copies_of_sockets(pid: u32) -> io::Result<impl Iterator<Item = OwnedFd>> {
    let process = ProcessHandle::open(pid)?;
    let sockets = sockets_in(pid)?.into_iter();
    Ok(sockets.filter_map(move |(descriptor, _)| process.copy_descriptor(descriptor).ok()))
}

/// The inodes of the TCP sockets in this network namespace that have a port at one end, but for
/// those that only wait to be forgotten and those that nobody has accepted yet.
pub fn sockets_of_port(port: u16) -> HashSet<u64> {
    let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
    let found = tables.into_iter().filter_map(|table| {
        // Read in small pieces, a long table costs more by the pieces.
        let table = BufReader::with_capacity(1 << 16, File::open(table).ok()?);
        Some(sockets_of_port_in(table, port))
    });
    found.flatten().collect()
}

fn sockets_of_port_in(table: impl BufRead, port: u16) -> Vec<u64> {
    let entries = TcpNetEntries::from_buf_read(table, procfs::current_system_info());
    let entries = entries.map_or_else(|_| Vec::new(), |entries| entries.0);
    let of_port = entries.into_iter().filter(|entry| {
        let ports = [entry.local_address.port(), entry.remote_address.port()];
        // One that nobody has accepted yet has no inode.
        ports.contains(&port) && entry.inode > 0 && entry.state != TcpState::TimeWait
    });
    of_port.map(|entry| entry.inode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;

    const TABLE: &str = "\
  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode
   0: 00000000:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000  1000        0 111 1
   1: 0100007F:1F90 0100007F:C001 01 00000000:00000000 00:00000000 00000000  1000        0 222 1
   2: 0100007F:C001 0100007F:1F90 01 00000000:00000000 00:00000000 00000000  1000        0 333 1
   3: 0100007F:C002 0100007F:1F90 06 00000000:00000000 00:00000000 00000000     0        0 0 3
   4: 0100007F:0016 0100007F:C003 01 00000000:00000000 00:00000000 00000000     0        0 444 1
";

    #[test]
    fn a_port_is_looked_for_at_both_ends() {
        let found = |table: &str, port| sockets_of_port_in(table.as_bytes(), port);
        assert_eq!(found(TABLE, 8080), [111, 222, 333]);
        assert_eq!(found(TABLE, 22), [444]);
        assert_eq!(found("", 22), []);
        assert_eq!(found("head\nnonsense\n", 22), []);
    }

    #[test]
    fn sockets_are_found_by_their_numbers_as_well() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let own = std::process::id();
        let inode =
            |found: Vec<(RawFd, u64)>| found.into_iter().find(|it| it.0 == listener.as_raw_fd());
        let found = inode(sockets_by_number(own));
        assert!(found.is_some());
        assert_eq!(inode_of(listener.as_raw_fd()).ok(), found.map(|it| it.1));
        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert!(inode_of(file.as_raw_fd()).is_err() && inode_of(-1).is_err());
        assert_eq!(found, inode(sockets_in(own).unwrap()));
    }

    #[test]
    fn sockets_are_told_from_other_descriptors_and_copied_one_by_one() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let own = std::process::id();
        let found = sockets_in(own).unwrap();
        let inode = |found: &[(RawFd, u64)]| {
            let is_it = |(descriptor, _): &&(RawFd, u64)| *descriptor == listener.as_raw_fd();
            found.iter().find(is_it).map(|(_, inode)| *inode)
        };
        let inode = inode(&found).expect("it is a socket");
        assert!(
            found
                .iter()
                .all(|(descriptor, _)| *descriptor > 2 || *descriptor == 0)
        );
        assert!(sockets_of_port(port).contains(&inode));

        let copies = copies_of_sockets(own).unwrap();
        let mut ports = copies.filter_map(|copy| TcpListener::from(copy).local_addr().ok());
        assert!(ports.any(|address| address.port() == port));
    }
}
