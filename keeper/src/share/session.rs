// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sharing while it goes on: requests, signals, programs that end.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};

use super::arrangement::Arrangement;
use super::sharing::{Report, Sharing};
use crate::describe::describe;
use crate::error::Result;
use crate::post::Post;
use crate::signals::{self, Arrived, Signals, ToServer};
use crate::wait::Wait;

/// Commands may take so long to end when they are asked to.
const END_PATIENCE: Duration = Duration::from_secs(3);

/// Programs that share, until they have ended.
pub struct Session {
    post: Post<Sharing>,
    signals: Signals,
    /// Not told yet.
    events: VecDeque<Event>,
}

/// What happens while programs share.
#[derive(Clone, Debug, PartialEq)]
pub enum Event {
    /// A control period has passed.
    Period(Report),
    /// Somebody asks for other wishes: [`Session::set_arrangement`].
    ReadAgain,
    /// A command has ended with a status that is not 0.
    CommandFailed {
        /// Its name in the arrangement.
        name: String,
        /// The status.
        status: i32,
    },
    /// A command was ended by a signal.
    CommandKilled {
        /// Its name in the arrangement.
        name: String,
        /// The signal.
        signal: Signal,
    },
    /// All programs have ended, or a signal ended them.
    Over {
        /// The exit status that says so.
        status: u8,
    },
}

impl Session {
    /// Puts the law on all programs of an arrangement, which is that of a file, and starts those that are
    /// commands.
    ///
    /// *Errors:* one of them cannot be; nothing is held then.
    pub fn begin(file: PathBuf, arrangement: Arrangement) -> Result<Self> {
        let signals = Signals::receive()?;
        let sharing = Sharing::begin(file, arrangement, signals.original_mask())?;
        let attached = sharing.attached();
        let mut post = Post::new(Box::new(sharing));
        let id = format!("share-{}", std::process::id());
        if let Err(error) = attached.and_then(|it| post.register(it, id)) {
            post.held().terminate();
            return Err(error);
        }
        Ok(Self {
            post,
            signals,
            events: VecDeque::new(),
        })
    }

    /// Shares until something happens. Nothing happens after [`Event::Over`].
    ///
    /// *Errors:* the kernel does not do what it did before.
    pub fn next_event(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                return Ok(event);
            }
            self.work()?;
        }
    }

    /// Takes other wishes from an arrangement with the same programs.
    ///
    /// *Errors:* they are other ones, and nothing has changed.
    pub fn set_arrangement(&mut self, arrangement: Arrangement) -> Result<()> {
        self.post.held().set_arrangement(arrangement)?;
        self.tell();
        Ok(())
    }

    fn work(&mut self) -> Result<()> {
        let mut wait = Wait::new();
        wait.readable(&self.signals);
        self.post.work(wait)?;
        let report = self.post.held().take_report();
        self.events.extend(report.map(Event::Period));
        while let Some(arrived) = self.signals.next()? {
            if let Some(status) = self.obey(arrived)? {
                self.end(arrived)?;
                self.events.push_back(Event::Over { status });
                return Ok(());
            }
        }
        self.reap();
        if self.post.held().forget_ended() {
            self.tell();
        }
        if self.post.held().is_over() {
            self.events.push_back(Event::Over { status: 0 });
        }
        Ok(())
    }

    /// *Returns:* the exit status if it is to end.
    fn obey(&mut self, arrived: Arrived) -> Result<Option<u8>> {
        match arrived.tells_server() {
            ToServer::ReadAgain => self.events.push_back(Event::ReadAgain),
            ToServer::End { status } => return Ok(Some(status)),
            ToServer::Nothing if arrived.signal == Signal::SIGTSTP => {
                signals::stop_like(arrived.signal)?;
            }
            ToServer::Nothing => {}
        }
        Ok(None)
    }

    /// Lets `ebb status` know of other wishes, and of who is left.
    fn tell(&mut self) {
        let attached = self.post.held().attached();
        if let Err(error) = attached.and_then(|it| self.post.set_attached(it)) {
            tracing::warn!("{}", describe(&error));
        }
    }

    fn reap(&mut self) {
        while let Ok(status) = waitpid(None, Some(WaitPidFlag::WNOHANG)) {
            let Some(pid) = status.pid() else { return };
            let name = self.post.held().note_end(pid);
            let event = match (name, status) {
                (Some(name), WaitStatus::Exited(_, status)) if status != 0 => {
                    Event::CommandFailed { name, status }
                }
                (Some(name), WaitStatus::Signaled(_, signal, _)) => {
                    Event::CommandKilled { name, signal }
                }
                _ => continue,
            };
            self.events.push_back(event);
        }
    }

    /// Lets go of everything; commands end with us.
    fn end(&mut self, arrived: Arrived) -> Result<()> {
        // Keys at the terminal have reached them already.
        if !arrived.is_from_kernel {
            self.post.held().terminate();
        }
        let asked = Instant::now();
        while asked.elapsed() < END_PATIENCE && self.post.held().has_children() {
            let soon = Instant::now() + Duration::from_millis(50);
            Wait::new().readable(&self.signals).until(soon).wait()?;
            while self.signals.next()?.is_some() {}
            self.reap();
        }
        Ok(())
    }
}
