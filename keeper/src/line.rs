// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The line between `ebb run` or `ebb attach` and the keeper that it forked off.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use crate::summary::Summary;
use anyhow::{Context, Result};
use serde::{Deserialize, Serialize};

/// Loading takes well under a second; a busy machine may take longer.
const START_WITHIN: Duration = Duration::from_secs(60);
/// The command has ended: its caller must not wait long for a keeper that hangs.
const SUMMARY_WITHIN: Duration = Duration::from_secs(3);

/// A keeper's first word.
#[derive(Debug, Serialize, Deserialize)]
pub enum Start {
    /// The policy is active; on which cgroup.
    Ready(PathBuf),
    /// Another Ebb acts on these connections already.
    AlreadyAttached(String),
    /// It cannot be done, and why.
    Refused(String),
}

/// The starter's end.
#[derive(Debug)]
pub struct StarterEnd(BufReader<UnixStream>);

/// The keeper's end.
#[derive(Debug)]
pub struct KeeperEnd(UnixStream);

/// What a keeper may hear of its starter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Heard {
    /// The command has ended.
    Done,
    /// The starter has ended, or was killed, without a word.
    Gone,
}

/// A new line.
pub fn lay() -> Result<(StarterEnd, KeeperEnd)> {
    let (starter, keeper) = UnixStream::pair().context("socketpair")?;
    keeper.set_nonblocking(true)?;
    Ok((StarterEnd(BufReader::new(starter)), KeeperEnd(keeper)))
}

impl StarterEnd {
    /// Waits for the keeper's first word.
    pub fn wait_for_start(&mut self) -> Result<Start> {
        self.receive(START_WITHIN)
            .context("the keeper of the policy died while starting")
    }

    /// Tells the keeper that the command has ended; answers what came of it.
    pub fn finish(mut self) -> Result<Summary> {
        self.0.get_mut().write_all(b"done\n")?;
        self.receive(SUMMARY_WITHIN)
    }

    fn receive<T: for<'a> Deserialize<'a>>(&mut self, within: Duration) -> Result<T> {
        self.0.get_ref().set_read_timeout(Some(within))?;
        let mut text = String::new();
        self.0.read_line(&mut text)?;
        Ok(serde_json::from_str(&text)?)
    }
}

impl KeeperEnd {
    /// What the starter has let hear since, if anything.
    pub fn heard(&self) -> Option<Heard> {
        let mut word = [0; 16];
        match (&self.0).read(&mut word) {
            Ok(0) => Some(Heard::Gone),
            Ok(_) => Some(Heard::Done),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => None,
            Err(_) => Some(Heard::Gone),
        }
    }

    /// Says something to the starter.
    pub fn say(&self, word: &impl Serialize) -> Result<()> {
        let text = serde_json::to_string(word)?;
        (&self.0)
            .write_all(format!("{text}\n").as_bytes())
            .context("the line to the starter")
    }
}

impl AsFd for KeeperEnd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_hears_when_its_starter_is_done_and_when_it_is_gone() {
        let (mut starter, keeper) = lay().unwrap();
        assert_eq!(keeper.heard(), None);
        keeper.say(&Start::Ready("/a".into())).unwrap();
        assert!(
            matches!(starter.wait_for_start().unwrap(), Start::Ready(path) if path == std::path::Path::new("/a"))
        );
        keeper
            .say(&Summary {
                connections: 3,
                ..Summary::default()
            })
            .unwrap();
        assert_eq!(starter.finish().unwrap().connections, 3);
        assert_eq!(
            (keeper.heard(), keeper.heard()),
            (Some(Heard::Done), Some(Heard::Gone))
        );
    }

    #[test]
    fn a_starter_learns_that_its_keeper_has_died() {
        let (mut starter, keeper) = lay().unwrap();
        drop(keeper);
        assert!(
            starter
                .wait_for_start()
                .unwrap_err()
                .to_string()
                .contains("died while starting")
        );
        assert!(starter.finish().is_err());
    }
}
