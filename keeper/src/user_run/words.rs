// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the governor and the guardian tell `ebb run`.

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;

use crate::summary::Summary;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// One message.
#[derive(Debug, Serialize, Deserialize)]
pub enum Word {
    /// The command runs.
    Started {
        /// Its number.
        pid: i32,
    },
    /// The command could not be started.
    NotStarted {
        /// The exit status that shells give to this.
        status: u8,
        /// What the system said.
        errno: i32,
    },
    /// Ebb itself failed before.
    Failed {
        /// What happened.
        cause: String,
    },
    /// Something that people should know at once.
    Notice {
        /// The text.
        text: String,
    },
    /// The command was stopped, as at the terminal.
    Stopped {
        /// By which signal.
        signal: i32,
    },
    /// The command has ended.
    Ended {
        /// As a shell would give it.
        status: u8,
        /// What came of it; none: the policy ended before.
        summary: Option<Box<Summary>>,
    },
}

/// `ebb run`'s end.
#[derive(Debug)]
pub struct Listener {
    stream: UnixStream,
    text: Vec<u8>,
}

/// The others' end.
#[derive(Debug)]
pub struct Speaker(UnixStream);

/// What there is to hear.
#[derive(Debug)]
pub enum Heard {
    /// Nothing yet.
    Nothing,
    /// A word.
    Word(Word),
    /// Both others have gone.
    Gone,
}

/// A new line.
pub fn lay() -> Result<(Listener, Speaker)> {
    let (ours, theirs) = UnixStream::pair().context("socketpair")?;
    ours.set_nonblocking(true)?;
    theirs.set_nonblocking(true)?;
    let text = Vec::new();
    let listener = Listener { stream: ours, text };
    Ok((listener, Speaker(theirs)))
}

impl Listener {
    /// The next word, if there is one.
    pub fn next(&mut self) -> Result<Heard> {
        loop {
            if let Some(end) = self.text.iter().position(|byte| *byte == b'\n') {
                let line: Vec<u8> = self.text.drain(..=end).collect();
                let word = serde_json::from_slice(&line).context("a word of the governor")?;
                return Ok(Heard::Word(word));
            }
            let mut piece = [0; 4096];
            match (&self.stream).read(&mut piece) {
                Ok(0) => return Ok(Heard::Gone),
                Ok(length) => self.text.extend_from_slice(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Heard::Nothing);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => return Ok(Heard::Gone),
            }
        }
    }

    /// Tells the governor that it was heard to the end.
    pub fn say_done(&self) {
        // It may have ended by now.
        let _ = (&self.stream).write_all(b"done\n");
    }
}

impl AsFd for Listener {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

impl Speaker {
    /// Says a word; whether it is heard is not known.
    pub fn say(&self, word: &Word) {
        if let Ok(text) = serde_json::to_string(word) {
            let _ = (&self.0).write_all(format!("{text}\n").as_bytes());
        }
    }

    /// Whether `ebb run` has gone, and if so, whether it had heard the end.
    pub fn is_alone(&self) -> Option<bool> {
        let mut word = [0; 16];
        match (&self.0).read(&mut word) {
            Ok(0) => Some(false),
            Ok(_) => Some(true),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) => Some(false),
        }
    }
}

impl AsFd for Speaker {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_arrive_whole_and_the_end_of_the_others_is_noticed() {
        let (mut listener, speaker) = lay().unwrap();
        assert!(matches!(listener.next().unwrap(), Heard::Nothing));
        speaker.say(&Word::Started { pid: 7 });
        speaker.say(&Word::Stopped { signal: 20 });
        let first = listener.next().unwrap();
        assert!(matches!(first, Heard::Word(Word::Started { pid: 7 })));
        let second = listener.next().unwrap();
        assert!(matches!(second, Heard::Word(Word::Stopped { signal: 20 })));
        drop(speaker);
        assert!(matches!(listener.next().unwrap(), Heard::Gone));
    }

    #[test]
    fn it_is_known_whether_ebb_run_heard_the_end() {
        let (listener, speaker) = lay().unwrap();
        assert_eq!(speaker.is_alone(), None);
        listener.say_done();
        assert_eq!(speaker.is_alone(), Some(true));
        drop(listener);
        assert_eq!(speaker.is_alone(), Some(false));
    }
}
