// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A keeper's desk: takes one request from each who connects, and answers it.
//!
//! Nobody is waited for: who is slow to ask, or to take the answer, delays neither others nor the
//! keeper, and is sent away when time is up.

use std::fs;
use std::io;
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};

use super::frame::LONGEST_REQUEST_BYTES;
use super::line::{Heard, Line};
use super::messages::{Reply, Request};
use crate::describe::describe;
use crate::error::{Result, Trying};
use crate::wait::Wait;

/// So many are attended to at once; more wait outside.
const MOST_VISITORS: usize = 64;
/// A request is one short line, and whoever asks waits for the answer.
const WITHIN: Duration = Duration::from_secs(5);
/// Whom nobody can be admitted to for the moment tries again after this.
const ADMITS_AGAIN_AFTER: Duration = Duration::from_millis(100);
/// A keeper that ends gives those who were answered so long to take it.
const CLOSES_WITHIN: Duration = Duration::from_millis(200);

/// Takes requests on a socket.
#[derive(Debug)]
pub struct Desk {
    listener: UnixListener,
    visitors: Vec<Visitor>,
    /// Visitors have numbers that are never used again.
    next_number: u64,
    /// Nobody can be admitted before, as where descriptors have run out.
    admits_from: Instant,
}

/// A request, and whose it is.
#[derive(Debug)]
pub struct Asked {
    /// What is asked for.
    pub request: Request,
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

#[derive(Debug)]
struct Visitor {
    number: u64,
    asker: Asker,
    line: Line<Reply, Request>,
    due: Instant,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The request is not complete.
    Asking,
    /// It was handed over, and is not answered.
    Asked,
    /// The answer is being sent.
    Answered,
    /// Nothing is left to be done.
    Over,
}

impl Desk {
    /// Opens one there, in place of one that was left.
    ///
    /// *Errors:* the socket cannot be made.
    pub fn open(path: &Path) -> io::Result<Self> {
        match fs::remove_file(path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        let listener = UnixListener::bind(path)?;
        listener.set_nonblocking(true)?;
        Ok(Self {
            listener,
            visitors: Vec::new(),
            next_number: 0,
            admits_from: Instant::now(),
        })
    }

    /// The next request that is complete, if there is one; to be answered by [`Self::answer`].
    pub fn next_request(&mut self) -> Option<Asked> {
        self.admit();
        let asked = self.visitors.iter_mut().find_map(Visitor::attend);
        self.visitors.retain(|visitor| visitor.stage != Stage::Over);
        asked
    }

    /// Answers a request; what cannot be sent at once follows.
    pub fn answer(&mut self, asked: &Asked, reply: &Reply) {
        let mut visitors = self.visitors.iter_mut();
        if let Some(visitor) = visitors.find(|visitor| visitor.number == asked.number) {
            visitor.answer(reply);
        }
    }

    /// Waits for whatever is to be done here.
    pub fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        let is_full = self.visitors.len() >= MOST_VISITORS;
        match Instant::now() < self.admits_from {
            true => drop(wait.until(self.admits_from)),
            false if is_full => {}
            false => drop(wait.readable(&self.listener)),
        }
        for visitor in &self.visitors {
            match visitor.stage {
                Stage::Answered => drop(wait.writable(&visitor.line)),
                _ => visitor.line.add_to(wait),
            }
            wait.until(visitor.due);
        }
    }

    fn admit(&mut self) {
        while self.visitors.len() < MOST_VISITORS && Instant::now() >= self.admits_from {
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
                Ok(visitor) => self.visitors.push(visitor),
                Err(error) => tracing::debug!("request: {error}"),
            }
            self.next_number += 1;
        }
    }
}

impl Drop for Desk {
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

impl Visitor {
    fn new(stream: UnixStream, number: u64) -> Result<Self> {
        let peer = getsockopt(&stream, sockopt::PeerCredentials).trying("SO_PEERCRED")?;
        Ok(Self {
            number,
            asker: Asker {
                uid: peer.uid(),
                gid: peer.gid(),
                pid: peer.pid(),
            },
            line: Line::over(stream, LONGEST_REQUEST_BYTES)?,
            due: Instant::now() + WITHIN,
            stage: Stage::Asking,
        })
    }

    /// Goes on with it; answers its request once that is complete.
    fn attend(&mut self) -> Option<Asked> {
        match self.stage {
            Stage::Asking => match self.line.hear() {
                Ok(Heard::Message(request)) => {
                    self.stage = Stage::Asked;
                    return Some(Asked {
                        request,
                        asker: self.asker,
                        number: self.number,
                    });
                }
                Ok(Heard::Nothing) => {}
                // Somebody looked whether we live.
                Ok(Heard::Gone) => self.stage = Stage::Over,
                Err(error) => {
                    let cause = describe(&error);
                    self.answer(&Reply::Refused { cause });
                }
            },
            Stage::Answered if self.line.flush().is_err() || !self.line.has_unsent() => {
                self.stage = Stage::Over;
            }
            Stage::Asked | Stage::Answered | Stage::Over => {}
        }
        if Instant::now() >= self.due {
            self.stage = Stage::Over;
        }
        None
    }

    fn answer(&mut self, reply: &Reply) {
        self.due = Instant::now() + WITHIN;
        self.stage = match self.line.say(reply) {
            Ok(()) if self.line.has_unsent() => Stage::Answered,
            Ok(()) => Stage::Over,
            Err(error) => {
                tracing::debug!("request: {error}");
                Stage::Over
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{REPLY_WITHIN, ask, connect};
    use std::io::{Read, Write};

    fn desk() -> (tempfile::TempDir, Desk, std::path::PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("a.sock");
        let desk = Desk::open(&path).unwrap();
        (directory, desk, path)
    }

    /// Answers so many requests.
    fn serve(desk: &mut Desk, mut count: usize, reply: &Reply) {
        while count > 0 {
            let mut wait = Wait::new();
            desk.add_to(&mut wait);
            wait.wait().unwrap();
            while let Some(asked) = desk.next_request() {
                assert_eq!(asked.asker.uid, nix::unistd::geteuid().as_raw());
                assert_eq!(asked.asker.pid, std::process::id().cast_signed());
                desk.answer(&asked, reply);
                count -= 1;
            }
        }
    }

    #[test]
    fn nobody_waits_for_those_who_say_nothing_or_half_of_something() {
        let (_directory, mut desk, path) = desk();
        let silent = connect(&path).unwrap();
        let mut slow = connect(&path).unwrap();
        slow.write_all(b"{\"ebb\":1,").unwrap();
        let (began, asking) = (Instant::now(), path.clone());
        let asking = std::thread::spawn(move || {
            ask::<Reply>(connect(&asking).unwrap(), &Request::Flows, REPLY_WITHIN).unwrap()
        });
        serve(&mut desk, 1, &Reply::Done);
        assert_eq!(asking.join().unwrap(), Reply::Done);
        assert!(began.elapsed() < WITHIN / 2);
        assert_eq!(desk.visitors.len(), 2);
        // The slow one is answered in the end, the silent one is sent away.
        slow.write_all(b"\"message\":\"detach\"}\n").unwrap();
        serve(&mut desk, 1, &Reply::Done);
        assert_eq!(desk.visitors.len(), 1);
        desk.visitors[0].due = Instant::now();
        assert!(desk.next_request().is_none());
        assert_eq!(desk.visitors.len(), 0);
        drop(silent);
    }

    #[test]
    fn what_is_not_understood_is_answered_so_in_words() {
        let (_directory, mut desk, path) = desk();
        for (said, answer) in [
            ("detach\n", "no message of version 1"),
            ("{\"ebb\":9,\"message\":\"flows\"}\n", "it speaks version 9"),
            (
                "{\"ebb\":1,\"message\":\"burn\"}\n",
                "unknown variant `burn`",
            ),
        ] {
            let mut stream = connect(&path).unwrap();
            stream.write_all(said.as_bytes()).unwrap();
            assert!(desk.next_request().is_none());
            let mut text = String::new();
            stream.set_nonblocking(false).unwrap();
            // What it had to say more is not read.
            let _ = stream.read_to_string(&mut text);
            assert!(text.contains(answer), "{said}: {text}");
        }
        let mut flood = connect(&path).unwrap();
        let much = vec![b'x'; LONGEST_REQUEST_BYTES + 1];
        let writing = std::thread::spawn(move || {
            flood.set_nonblocking(false).unwrap();
            let _ = flood.write_all(&much);
            let mut text = String::new();
            let _ = flood.read_to_string(&mut text);
            text
        });
        while !writing.is_finished() {
            assert!(desk.next_request().is_none());
        }
        let text = writing.join().unwrap();
        assert!(text.contains("more than 65536 bytes"), "{text}");
    }

    #[test]
    fn an_answer_that_is_taken_slowly_arrives_whole_also_from_one_who_ends() {
        let (_directory, mut desk, path) = desk();
        let cause = "x".repeat(2_000_000);
        let reply = Reply::Refused { cause };
        let taking = std::thread::spawn(move || {
            let mut line: Line<Request, Reply> =
                Line::over(connect(&path).unwrap(), 1 << 24).unwrap();
            line.say(&Request::Flows).unwrap();
            std::thread::sleep(Duration::from_millis(50));
            line.hear_within(WITHIN).unwrap()
        });
        serve(&mut desk, 1, &reply);
        assert!(desk.visitors.iter().any(|it| it.line.has_unsent()));
        drop(desk);
        assert_eq!(taking.join().unwrap(), reply);
    }

    #[test]
    fn more_visitors_than_there_is_room_for_wait_outside_and_come_in_later() {
        let (_directory, mut desk, path) = desk();
        let mut outside: Vec<_> = (0..MOST_VISITORS + 3)
            .map(|_| connect(&path).unwrap())
            .collect();
        assert!(desk.next_request().is_none());
        assert_eq!(desk.visitors.len(), MOST_VISITORS);
        let last = outside.pop().unwrap();
        let mut last: Line<Request, Reply> = Line::over(last, 1 << 16).unwrap();
        last.say(&Request::Detach).unwrap();
        assert!(desk.next_request().is_none());
        drop(outside);
        serve(&mut desk, 1, &Reply::Done);
        assert_eq!(last.hear_within(WITHIN).unwrap(), Reply::Done);
    }
}
