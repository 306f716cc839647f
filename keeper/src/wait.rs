// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Waiting: for descriptors, until a moment.

use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use nix::errno::Errno;
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};

use crate::error::{Result, Trying};

/// What is waited for; whatever comes first ends it.
#[derive(Debug, Default)]
pub struct Wait<'a> {
    polled: Vec<PollFd<'a>>,
    until: Option<Instant>,
}

impl<'a> Wait<'a> {
    /// Nothing yet: it would wait for ever.
    pub fn new() -> Self {
        Self::default()
    }

    /// Until something can be read there, or its other end has gone.
    pub fn readable(&mut self, descriptor: &'a impl AsFd) -> &mut Self {
        self.add(descriptor.as_fd(), PollFlags::POLLIN)
    }

    /// Until something can be written there.
    pub fn writable(&mut self, descriptor: &'a impl AsFd) -> &mut Self {
        self.add(descriptor.as_fd(), PollFlags::POLLOUT)
    }

    /// The same, for a descriptor that is borrowed already.
    pub fn descriptor(&mut self, descriptor: BorrowedFd<'a>) -> &mut Self {
        self.add(descriptor, PollFlags::POLLIN)
    }

    /// Until this moment at the most.
    pub fn until(&mut self, moment: Instant) -> &mut Self {
        self.until = Some(self.until.map_or(moment, |until| until.min(moment)));
        self
    }

    /// Waits; a signal that is not blocked ends it as well.
    pub fn wait(&mut self) -> Result<()> {
        let timeout = match self.until {
            None => PollTimeout::NONE,
            Some(until) => timeout(until),
        };
        match poll(&mut self.polled, timeout) {
            Ok(_) | Err(Errno::EINTR) => Ok(()),
            Err(error) => Err(error).trying("poll"),
        }
    }

    fn add(&mut self, descriptor: BorrowedFd<'a>, wanted: PollFlags) -> &mut Self {
        self.polled.push(PollFd::new(descriptor, wanted));
        self
    }
}

/// Rounded up to a millisecond: a wait cut short would be a busy loop.
fn timeout(until: Instant) -> PollTimeout {
    let left = until.saturating_duration_since(Instant::now());
    PollTimeout::try_from(left.as_nanos().div_ceil(1_000_000)).unwrap_or(PollTimeout::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::unix::net::UnixStream;
    use std::time::Duration;

    #[test]
    fn whatever_comes_first_ends_it() {
        let (mut there, here) = UnixStream::pair().unwrap();
        let soon = Instant::now() + Duration::from_millis(20);
        let late = soon + Duration::from_secs(60);
        Wait::new()
            .readable(&here)
            .until(late)
            .until(soon)
            .wait()
            .unwrap();
        assert!(Instant::now() >= soon);
        Wait::new()
            .readable(&here)
            .writable(&there)
            .until(late)
            .wait()
            .unwrap();
        there.write_all(b"x").unwrap();
        Wait::new().until(late).readable(&here).wait().unwrap();
        assert!(Instant::now() < late);
    }
}
