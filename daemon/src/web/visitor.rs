// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Somebody who has connected: asks once, is answered, and goes.

use std::io::{self, Read as _, Write as _};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ebb_keeper::Wait;

use super::Site;
use super::answer::{Answer, Status};
use super::request::{LONGEST_BODY_BYTES, LONGEST_HEAD_BYTES, Method, Read, read};

/// A request is short, and whoever asks waits for the answer.
const ASKS_WITHIN: Duration = Duration::from_secs(5);
/// An answer is taken within.
const TAKES_WITHIN: Duration = Duration::from_secs(10);
/// What comes behind a request is read for so long, and so much of it: to hang up on it could take
/// the answer back.
const LISTENS_FOR: Duration = Duration::from_millis(500);
const LISTENS_TO_BYTES: usize = 1 << 20;

pub(super) enum Stream {
    Loopback(TcpStream),
    Local(UnixStream),
}

pub(super) struct Visitor {
    stream: Stream,
    stage: Stage,
    due: Instant,
}

enum Stage {
    /// This is what has come.
    Asking(Vec<u8>),
    /// The answer, and how much of it has been taken.
    Answered(Vec<u8>, Arc<[u8]>, usize),
    /// So much was read that is of no use.
    Leaving(usize),
    Over,
}

impl Visitor {
    pub(super) fn new(stream: Stream) -> Self {
        Self {
            stream,
            stage: Stage::Asking(Vec::new()),
            due: Instant::now() + ASKS_WITHIN,
        }
    }

    pub(super) fn is_asking(&self) -> bool {
        matches!(self.stage, Stage::Asking(_))
    }

    /// Whether it has been given the answer.
    pub(super) fn is_leaving(&self) -> bool {
        matches!(self.stage, Stage::Leaving(_))
    }

    pub(super) fn is_over(&self) -> bool {
        matches!(self.stage, Stage::Over)
    }

    pub(super) fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        match self.stage {
            Stage::Answered(..) => drop(wait.writable(&self.stream)),
            _ => drop(wait.readable(&self.stream)),
        }
        wait.until(self.due);
    }

    /// Goes on with it, as far as that can be without waiting.
    pub(super) fn attend(&mut self, site: &Site, is_loopback: bool) {
        if let Stage::Asking(said) = &mut self.stage {
            let has_come = hear(&mut self.stream, said);
            match (has_come, read(said)) {
                (Err(_), _) | (Ok(false), Read::Partly) => self.stage = Stage::Over,
                (Ok(true), Read::Partly) => {}
                (Ok(_), Read::Refused(status, why)) => {
                    self.answer(&Answer::refusal(status, &why), false);
                }
                (Ok(_), Read::Whole(request)) => {
                    let answer = match is_loopback && !request.is_for_this_machine() {
                        true => Answer::refusal(Status::Misdirected, ELSEWHERE),
                        false => site(&request),
                    };
                    self.answer(&answer, request.method == Method::Head);
                }
            }
        }
        self.go_on();
        // What has come in time counts, also where nobody had the time to look at it.
        if Instant::now() >= self.due {
            self.stage = Stage::Over;
        }
    }

    fn answer(&mut self, answer: &Answer, without_body: bool) {
        let body = match without_body {
            true => Arc::from([]),
            false => Arc::clone(&answer.body),
        };
        self.stage = Stage::Answered(answer.head(), body, 0);
        self.due = Instant::now() + TAKES_WITHIN;
    }

    /// Sends what can be sent of an answer, and hears out who is leaving.
    fn go_on(&mut self) {
        if let Stage::Answered(head, body, taken) = &mut self.stage {
            match send(&mut self.stream, head, body, taken) {
                Ok(false) => return,
                Err(_) => self.stage = Stage::Over,
                Ok(true) => {
                    self.stream.hang_up();
                    self.stage = Stage::Leaving(0);
                    self.due = Instant::now() + LISTENS_FOR;
                }
            }
        }
        if let Stage::Leaving(heard) = &mut self.stage
            && has_left(&mut self.stream, heard)
        {
            self.stage = Stage::Over;
        }
    }
}

const ELSEWHERE: &str = "this is asked for as 127.0.0.1, [::1] or localhost, and by no other name";

/// Reads what has come; whether more may come.
fn hear(stream: &mut Stream, said: &mut Vec<u8>) -> io::Result<bool> {
    let mut some = [0; 4096];
    // More than this is refused, whatever follows.
    while said.len() <= LONGEST_HEAD_BYTES + LONGEST_BODY_BYTES {
        match stream.read(&mut some) {
            Ok(0) => return Ok(false),
            Ok(read) => said.extend_from_slice(&some[..read]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(true),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Whether nothing more comes, or too much has come already.
fn has_left(stream: &mut Stream, heard: &mut usize) -> bool {
    let mut unused = [0; 4096];
    loop {
        match stream.read(&mut unused) {
            Ok(0) => return true,
            Ok(read) => *heard += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return error.kind() != io::ErrorKind::WouldBlock,
        }
        if *heard > LISTENS_TO_BYTES {
            return true;
        }
    }
}

/// Sends what can be sent; whether all of it has been.
fn send(stream: &mut Stream, head: &[u8], body: &[u8], taken: &mut usize) -> io::Result<bool> {
    while *taken < head.len() + body.len() {
        let rest = match head.get(*taken..) {
            Some(rest) if !rest.is_empty() => rest,
            _ => &body[*taken - head.len()..],
        };
        match stream.write(rest) {
            Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
            Ok(sent) => *taken += sent,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

impl Stream {
    pub(super) fn set_nonblocking(&self) -> io::Result<()> {
        match self {
            Self::Loopback(stream) => stream.set_nonblocking(true),
            Self::Local(stream) => stream.set_nonblocking(true),
        }
    }

    /// Nothing more is said.
    fn hang_up(&self) {
        // Who has gone already hears nothing.
        let _ = match self {
            Self::Loopback(stream) => stream.shutdown(Shutdown::Write),
            Self::Local(stream) => stream.shutdown(Shutdown::Write),
        };
    }

    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Loopback(stream) => stream.read(into),
            Self::Local(stream) => stream.read(into),
        }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Loopback(stream) => stream.write(bytes),
            Self::Local(stream) => stream.write(bytes),
        }
    }
}

impl AsFd for Stream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Loopback(stream) => stream.as_fd(),
            Self::Local(stream) => stream.as_fd(),
        }
    }
}
