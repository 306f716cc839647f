// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A desk: takes one request from each who connects, and answers it.
//!
//! Nobody is waited for: who is slow to ask, or to take the answer, delays neither others nor who
//! keeps the desk, and is sent away when time is up. One user can be kept from having all of it.

use std::fs;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::messages::{Reply, Request};
use crate::wait::Wait;

mod paces;
mod visitor;

use paces::Paces;
use visitor::{Stage, Visitor};

/// A request is one short line, and whoever asks waits for the answer.
const WITHIN: Duration = Duration::from_secs(5);
/// Whom nobody can be admitted to for the moment tries again after this.
const ADMITS_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// So many are admitted before others are attended to.
const ADMITTED_AT_ONCE: usize = 64;
/// Who keeps the desk and ends gives those who were answered so long to take it.
const CLOSES_WITHIN: Duration = Duration::from_millis(200);
/// Who has not taken so much of what was answered is asked for nothing more.
const MOST_UNSENT_BYTES: usize = 1 << 20;

/// How many are attended to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Room {
    /// At once; more wait outside.
    pub visitors: usize,
    /// Of one user, at once; more are refused.
    pub of_one_user: usize,
    /// Requests of one user in a second, in the long run; none: as many as come. Those that
    /// come sooner wait.
    pub per_second: Option<u32>,
}

impl Room {
    /// A keeper's, whom nobody but its owner can reach.
    pub const OF_KEEPER: Self = Self {
        visitors: 64,
        of_one_user: 64,
        per_second: None,
    };
}

/// Takes requests on a socket.
#[derive(Debug)]
pub struct Desk<In = Request, Out = Reply> {
    listener: UnixListener,
    room: Room,
    paces: Paces,
    visitors: Vec<Visitor<In, Out>>,
    /// Visitors have numbers that are never used again.
    next_number: u64,
    /// Nobody can be admitted before, as where descriptors have run out.
    admits_from: Instant,
}

/// A request, and whose it is.
#[derive(Debug)]
pub struct Asked<In = Request> {
    /// What is asked for.
    pub request: In,
    /// Who asks.
    pub asker: Asker,
    number: u64,
}

/// Who asks, as of when it connected.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Asker {
    /// Its user, as this user namespace has it.
    pub uid: u32,
    /// Its group, likewise.
    pub gid: u32,
    /// Its process, as this process namespace has it.
    pub pid: i32,
}

/// An answer that can say that something is not done.
pub trait Refusal {
    /// Why, and what would be right.
    fn refusal(cause: String) -> Self;
}

impl<In: DeserializeOwned, Out: Serialize + Refusal> Desk<In, Out> {
    /// Opens one there, in place of one that was left.
    ///
    /// *Errors:* the socket cannot be made.
    pub fn open(path: &Path, room: Room) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            room,
            paces: Paces::default(),
            visitors: Vec::new(),
            next_number: 0,
            admits_from: Instant::now(),
        })
    }

    /// Goes on with more or less room.
    pub fn set_room(&mut self, room: Room) {
        self.room = room;
    }

    /// The next request that is complete, if there is one; to be answered by [`Self::answer`].
    pub fn next_request(&mut self) -> Option<Asked<In>> {
        self.admit();
        let mut found = None;
        for place in 0..self.visitors.len() {
            let has_to_wait = self.has_to_wait(&self.visitors[place]);
            if let Some(asked) = self.visitors[place].attend(has_to_wait) {
                found = Some(asked);
                break;
            }
        }
        self.visitors.retain(|visitor| visitor.stage != Stage::Over);
        found
    }

    /// Answers a request, unless who asked has hung up; what cannot be sent at once follows. Tells
    /// whether there was somebody to answer.
    pub fn answer(&mut self, asked: &Asked<In>, reply: &Out) -> bool {
        let mut visitors = self.visitors.iter_mut();
        let Some(visitor) = visitors.find(|visitor| visitor.number == asked.number) else {
            return false;
        };
        let took = visitor.since_asked();
        let is_there = visitor.answer(reply);
        self.note(asked, took);
        is_there
    }

    /// What stands for the one who asks: its connection, while that is there.
    pub fn connection(&self, asked: &Asked<In>) -> Option<BorrowedFd<'_>> {
        let mut visitors = self.visitors.iter();
        let visitor = visitors.find(|visitor| visitor.number == asked.number)?;
        Some(visitor.line.as_fd())
    }

    /// Waits for whatever is to be done here.
    pub fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        let is_full = self.visitors.len() >= self.room.visitors;
        match Instant::now() < self.admits_from {
            true => drop(wait.until(self.admits_from)),
            false if is_full => {}
            false => drop(wait.readable(&self.listener)),
        }
        for visitor in &self.visitors {
            match visitor.stage {
                Stage::Answered => drop(wait.writable(&visitor.line)),
                // It may have said something: that waits with it.
                Stage::Asking if self.has_to_wait(visitor) => {
                    if let Some(due) = self.paces.due(visitor.asker.uid) {
                        wait.until(due);
                    }
                }
                _ => visitor.line.add_to(wait),
            }
            wait.until(visitor.due);
        }
    }

    fn admit(&mut self) {
        for _ in 0..ADMITTED_AT_ONCE {
            if self.visitors.len() >= self.room.visitors || Instant::now() < self.admits_from {
                return;
            }
            let stream = match self.listener.accept() {
                Ok((stream, _)) => stream,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                // It would be said again at once.
                Err(error) => {
                    tracing::debug!("request: {error}");
                    self.admits_from = Instant::now() + ADMITS_AGAIN_AFTER;
                    return;
                }
            };
            // Whoever asks and hangs up is no concern of the policies.
            match Visitor::new(stream, self.next_number) {
                Ok(visitor) => self.welcome(visitor),
                Err(error) => tracing::debug!("request: {error}"),
            }
            self.next_number += 1;
        }
    }

    fn welcome(&mut self, mut visitor: Visitor<In, Out>) {
        let uid = visitor.asker.uid;
        let of_one = self.visitors.iter().filter(|it| it.asker.uid == uid);
        let most = self.room.of_one_user;
        if of_one.count() < most {
            self.visitors.push(visitor);
            return;
        }
        visitor.answer(&Out::refusal(format!(
            "you have {most} connections here already, which is the most: wait for their answers"
        )));
    }

    /// Whether a request of a visitor is not to be taken yet: its user asks too often, or takes no
    /// answers.
    fn has_to_wait(&self, visitor: &Visitor<In, Out>) -> bool {
        if self.room.per_second.is_none() || visitor.stage != Stage::Asking {
            return false;
        }
        let uid = visitor.asker.uid;
        let own = self.visitors.iter().filter(|it| it.asker.uid == uid);
        let unsent_bytes: usize = own.map(|it| it.line.unsent_bytes()).sum();
        self.paces.due(uid).is_some() || unsent_bytes > MOST_UNSENT_BYTES
    }

    fn note(&mut self, asked: &Asked<In>, took: Duration) {
        if let Some(per_second) = self.room.per_second {
            self.paces.note(asked.asker.uid, per_second, took);
        }
    }
}

impl<In, Out> Drop for Desk<In, Out> {
    /// Who was answered is to have the answer.
    fn drop(&mut self) {
        let due = Instant::now() + CLOSES_WITHIN;
        let answered = self.visitors.iter_mut();
        for visitor in answered.filter(|visitor| visitor.stage == Stage::Answered) {
            let left = due.saturating_duration_since(Instant::now());
            let _ = visitor.line.flush_within(left);
        }
    }
}

#[cfg(test)]
mod tests;
