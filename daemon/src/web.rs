// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A small server of HTTP for this machine: one thread, which no visitor holds up, and which never
//! waits for whoever keeps the rules.
//!
//! A connection is for one request. Its bytes, its time and the number of those who are attended to
//! are bounded: who is slow is sent away, and, where there is no room, whoever has an answer, or has
//! been asking for the longest.

use std::io::{self, Read as _};
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_keeper::{Wait, describe};

mod answer;
mod request;
mod visitor;

pub(crate) use answer::{Answer, Status};
pub(crate) use request::{Method, Request};
use visitor::{Stream, Visitor};

/// So many are attended to at once, at each place.
const MOST_VISITORS: usize = 64;
/// Whom nobody can be admitted to for the moment tries again after this.
const ADMITS_AGAIN_AFTER: Duration = Duration::from_millis(100);

/// What is answered.
pub(crate) type Site = Box<dyn Fn(&Request) -> Answer + Send>;

/// Where visitors come to, and what they find there.
pub(crate) struct Place {
    listener: Listener,
    site: Site,
    visitors: Vec<Visitor>,
    /// Nobody can be admitted before, as where descriptors have run out.
    admits_from: Instant,
}

enum Listener {
    /// For this machine; any program of it may connect, and any page in its browsers.
    Loopback(TcpListener),
    /// For whom the file system lets connect; the file goes with it.
    Local(UnixListener, PathBuf),
}

/// A server, for as long as it lives.
#[derive(Debug)]
pub(crate) struct Server {
    /// Closed when the thread is to end.
    stop: Option<UnixStream>,
    thread: Option<JoinHandle<()>>,
}

impl Place {
    /// At a port of this machine. Answers where, since port 0 means any.
    ///
    /// *Errors:* it cannot be had.
    pub(crate) fn at_loopback(address: SocketAddr, site: Site) -> io::Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind(address)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        Ok((Self::new(Listener::Loopback(listener), site), address))
    }

    /// At a socket in the file system, in place of one that was left.
    ///
    /// *Errors:* it cannot be made.
    pub(crate) fn at_path(path: &Path, site: Site) -> io::Result<Self> {
        match std::fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        let listener = Listener::Local(listener, path.to_path_buf());
        Ok(Self::new(listener, site))
    }

    fn new(listener: Listener, site: Site) -> Self {
        Self {
            listener,
            site,
            visitors: Vec::new(),
            admits_from: Instant::now(),
        }
    }

    fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        match Instant::now() < self.admits_from {
            true => drop(wait.until(self.admits_from)),
            false => drop(wait.readable(&self.listener)),
        }
        for visitor in &self.visitors {
            visitor.add_to(wait);
        }
    }

    fn attend(&mut self) {
        let is_loopback = self.is_loopback();
        for visitor in &mut self.visitors {
            visitor.attend(&self.site, is_loopback);
        }
        self.visitors.retain(|visitor| !visitor.is_over());
        self.admit();
    }

    fn is_loopback(&self) -> bool {
        matches!(self.listener, Listener::Loopback(_))
    }

    /// Some only: those who are here already are to be attended to meanwhile.
    fn admit(&mut self) {
        for _ in 0..MOST_VISITORS {
            if Instant::now() < self.admits_from {
                return;
            }
            match self.listener.accept() {
                Ok(stream) => self.let_in(stream),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It would be said again at once.
                Err(error) => {
                    tracing::debug!("visitor: {error}");
                    self.admits_from = Instant::now() + ADMITS_AGAIN_AFTER;
                }
            }
        }
    }

    /// Who asks at once is answered at once, whoever comes next.
    fn let_in(&mut self, stream: Stream) {
        let mut visitor = Visitor::new(stream);
        visitor.attend(&self.site, self.is_loopback());
        if visitor.is_over() {
            return;
        }
        if self.visitors.len() >= MOST_VISITORS {
            // They stand in the order in which they came.
            let mut places = self.visitors.iter();
            let leaves = places.position(Visitor::is_leaving);
            let asks = || self.visitors.iter().position(Visitor::is_asking);
            self.visitors.remove(leaves.or_else(asks).unwrap_or(0));
        }
        self.visitors.push(visitor);
    }
}

impl Listener {
    fn accept(&self) -> io::Result<Stream> {
        let stream = match self {
            Self::Loopback(listener) => Stream::Loopback(listener.accept()?.0),
            Self::Local(listener, _) => Stream::Local(listener.accept()?.0),
        };
        stream.set_nonblocking()?;
        Ok(stream)
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Loopback(listener) => listener.as_fd(),
            Self::Local(listener, _) => listener.as_fd(),
        }
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        if let Self::Local(_, path) = self {
            let _ = std::fs::remove_file(path);
        }
    }
}

impl Server {
    /// Serves these places from now on.
    ///
    /// *Errors:* there are no descriptors, or no thread.
    pub(crate) fn begin(places: Vec<Place>) -> io::Result<Self> {
        let (stop, told) = UnixStream::pair()?;
        told.set_nonblocking(true)?;
        let builder = std::thread::Builder::new().name("ebbd-web".to_owned());
        let thread = builder.spawn(move || serve(places, &told))?;
        Ok(Self {
            stop: Some(stop),
            thread: Some(thread),
        })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stop = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn serve(mut places: Vec<Place>, stop: &UnixStream) {
    loop {
        let mut wait = Wait::new();
        wait.readable(stop);
        for place in &places {
            place.add_to(&mut wait);
        }
        if let Err(error) = wait.wait() {
            tracing::error!(
                "metrics and the page are not served any more: {}",
                describe(&error)
            );
            return;
        }
        if has_ended(stop) {
            return;
        }
        for place in &mut places {
            place.attend();
        }
    }
}

/// Nothing is said there: it ends.
fn has_ended(mut stop: &UnixStream) -> bool {
    let heard = stop.read(&mut [0]);
    !heard.is_err_and(|error| error.kind() == io::ErrorKind::WouldBlock)
}

#[cfg(test)]
mod tests;
