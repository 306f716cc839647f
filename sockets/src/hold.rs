// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a connection had before it was governed, known to a guardian who gives it back when
//! the governor cannot.

use std::collections::HashMap;
use std::io;
use std::os::fd::AsFd;

use ebb_host::{ProcessHandle, sockets_in};
use serde::{Deserialize, Serialize};

use crate::socket::{CopiedSocket, NO_CLAMP_BYTES};

/// What the program had set itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Own {
    /// `SO_MAX_PACING_RATE`, in bytes per second.
    pub pace_bytes_per_s: u64,
    /// `TCP_NOTSENT_LOWAT`.
    pub unsent_bytes: u32,
    /// The differentiated services field.
    pub traffic_class: u8,
}

/// A connection that may be limited, and where a copy of its socket is to be had.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hold {
    /// The socket's number, never used twice.
    pub cookie: u64,
    /// A process that has it.
    pub pid: u32,
    /// The descriptor there.
    pub descriptor: i32,
    /// What it had before.
    pub own: Own,
}

/// What a governor tells its guardian, each time before it does it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Note {
    /// A connection may be limited from now on, or is to be had elsewhere.
    Held(Hold),
    /// A connection has no limits any more.
    Free(u64),
}

/// All connections that may be limited, as a guardian knows them.
#[derive(Debug, Default)]
pub struct Holds(HashMap<u64, Hold>);

impl Holds {
    /// Takes note.
    pub fn hear(&mut self, note: Note) {
        match note {
            Note::Held(hold) => {
                self.0.insert(hold.cookie, hold);
            }
            Note::Free(cookie) => {
                self.0.remove(&cookie);
            }
        }
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing may be limited.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a connection is among them.
    pub fn knows(&self, cookie: u64) -> bool {
        self.0.contains_key(&cookie)
    }

    /// Gives every connection back what it had; answers how many there still were.
    pub fn lift(&self) -> usize {
        self.0.values().filter(|hold| hold.lift().is_ok()).count()
    }
}

impl Hold {
    pub(crate) fn lift(&self) -> io::Result<()> {
        let socket = self.socket()?;
        // One that is closed meanwhile needs nothing more.
        socket.set_window_clamp(NO_CLAMP_BYTES)?;
        self.own.restore(&socket)
    }

    /// The copy of the descriptor that was told, or of another one of that process.
    fn socket(&self) -> io::Result<CopiedSocket> {
        let process = ProcessHandle::open(self.pid)?;
        let is_it = |socket: &CopiedSocket| socket.cookie().is_ok_and(|it| it == self.cookie);
        let known = CopiedSocket::from_process(process.as_fd(), self.descriptor);
        if let Ok(socket) = known
            && is_it(&socket)
        {
            return Ok(socket);
        }
        let copies = sockets_in(self.pid)?.into_iter();
        let mut copies = copies.filter_map(|(descriptor, _)| {
            CopiedSocket::from_process(process.as_fd(), descriptor).ok()
        });
        copies
            .find(is_it)
            .ok_or_else(|| io::Error::from_raw_os_error(libc::EBADF))
    }
}

impl Own {
    /// What a program has set on its socket.
    ///
    /// *Errors:* it is no TCP socket.
    pub(crate) fn of(socket: &CopiedSocket) -> io::Result<Self> {
        Ok(Self {
            pace_bytes_per_s: socket.max_pace()?,
            unsent_bytes: socket.unsent_limit()?,
            traffic_class: socket.traffic_class().unwrap_or(0),
        })
    }

    /// Sets it again; a field that the program has changed meanwhile stays.
    pub(crate) fn restore(self, socket: &CopiedSocket) -> io::Result<()> {
        socket.set_max_pace(self.pace_bytes_per_s)?;
        socket.set_unsent_limit(self.unsent_bytes)?;
        socket.unmark_lower_effort(self.traffic_class)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::{AsRawFd, BorrowedFd};

    fn copy(stream: BorrowedFd<'_>) -> CopiedSocket {
        let own = ProcessHandle::open(std::process::id()).unwrap();
        CopiedSocket::from_process(own.as_fd(), stream.as_raw_fd()).unwrap()
    }

    #[test]
    fn what_a_program_had_set_is_given_back_and_no_more() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let socket = copy(stream.as_fd());
        socket.set_max_pace(5_000_000).unwrap();
        let own = Own::of(&socket).unwrap();
        let hold = Hold {
            cookie: socket.cookie().unwrap(),
            pid: std::process::id(),
            // Wrong, as after a dup: it is found all the same.
            descriptor: listener.as_raw_fd(),
            own,
        };
        let mut holds = Holds::default();
        holds.hear(Note::Held(hold.clone()));
        socket.set_window_clamp(10_000).unwrap();
        socket.set_max_pace(1_000).unwrap();
        socket.set_unsent_limit(65_536).unwrap();
        assert!(socket.mark_lower_effort().unwrap());
        assert_eq!(holds.lift(), 1);
        assert_eq!(socket.window_clamp().unwrap(), NO_CLAMP_BYTES);
        assert_eq!(Own::of(&socket).unwrap(), own);
        assert_eq!(own.pace_bytes_per_s, 5_000_000);

        // What was let go is nobody's business any more.
        socket.set_max_pace(1_000).unwrap();
        holds.hear(Note::Free(hold.cookie));
        assert_eq!(holds.lift(), 0);
        assert_eq!(socket.max_pace().unwrap(), 1_000);
    }
}
