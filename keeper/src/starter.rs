// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The line between who starts a keeper and the keeper.

use std::path::PathBuf;
use std::time::Duration;

use crate::error::{Error, Result};
use crate::protocol::{FromKeeper, FromStarter, Heard, Line};
use crate::summary::Summary;

/// Loading takes well under a second; a busy machine may take longer.
const START_WITHIN: Duration = Duration::from_secs(60);
/// The command has ended: its caller must not wait long for a keeper that hangs.
const SUMMARY_WITHIN: Duration = Duration::from_secs(3);

/// The starter's end.
#[derive(Debug)]
pub struct StarterEnd(Line<FromStarter, FromKeeper>);

/// The keeper's end.
pub type KeeperEnd = Line<FromKeeper, FromStarter>;

/// A policy that is active.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Started {
    /// On this cgroup, if on one.
    pub cgroup: Option<PathBuf>,
    /// What people should know of it.
    pub notices: Vec<String>,
}

/// What a keeper knows of its starter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Starter {
    /// It is there.
    Waits,
    /// It has heard the end, or knows it.
    IsDone,
    /// It has ended, or was killed, without a word.
    HasGone,
}

/// A new line.
pub fn lay() -> Result<(StarterEnd, KeeperEnd)> {
    let (starter, keeper) = Line::pair()?;
    Ok((StarterEnd(starter), keeper))
}

/// Says that the policy is active, after what people should know of it.
///
/// *Errors:* the starter has gone.
pub fn say_ready(
    line: &mut KeeperEnd,
    cgroup: Option<PathBuf>,
    notices: Vec<String>,
) -> Result<()> {
    for text in notices {
        line.say(&FromKeeper::Notice { text })?;
    }
    line.say(&FromKeeper::Ready { cgroup })
}

/// What has become of the starter.
pub fn look_at_starter(line: &mut KeeperEnd) -> Starter {
    match line.hear() {
        Ok(Heard::Nothing) => Starter::Waits,
        Ok(Heard::Message(FromStarter::Done)) => Starter::IsDone,
        Ok(Heard::Gone) | Err(_) => Starter::HasGone,
    }
}

impl StarterEnd {
    /// Waits until the policy is active.
    ///
    /// *Errors:* [`Error::AlreadyAttached`]; [`Error::CannotKeep`]; [`Error::KeeperDied`].
    pub fn wait_for_start(&mut self) -> Result<Started> {
        let mut notices = Vec::new();
        loop {
            let said = self.0.hear_within(START_WITHIN);
            return match said.map_err(Error::keeper_died)? {
                FromKeeper::Notice { text } => {
                    notices.push(text);
                    continue;
                }
                FromKeeper::Ready { cgroup } => Ok(Started { cgroup, notices }),
                FromKeeper::AlreadyAttached { cause } => Err(Error::AlreadyAttached { cause }),
                FromKeeper::Refused { cause } => Err(Error::CannotKeep { cause }),
                _ => Err(Error::keeper_died(Error::OtherAnswer)),
            };
        }
    }

    /// Tells the keeper that the command has ended; answers what came of it.
    ///
    /// *Errors:* it has gone, or does not answer.
    pub fn finish(mut self) -> Result<Summary> {
        self.0.say(&FromStarter::Done)?;
        match self.0.hear_within(SUMMARY_WITHIN)? {
            FromKeeper::Summary(summary) => Ok(*summary),
            _ => Err(Error::OtherAnswer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_keeper_hears_when_its_starter_is_done_and_when_it_is_gone() {
        let (mut starter, mut keeper) = lay().unwrap();
        assert_eq!(look_at_starter(&mut keeper), Starter::Waits);
        let cgroup = Some(PathBuf::from("/a"));
        let ready = FromKeeper::Ready {
            cgroup: cgroup.clone(),
        };
        let text = "what is sent does not yield".to_owned();
        keeper
            .say(&FromKeeper::Notice { text: text.clone() })
            .unwrap();
        keeper.say(&ready).unwrap();
        let notices = vec![text];
        let started = Started { cgroup, notices };
        assert_eq!(starter.wait_for_start().unwrap(), started);
        let summary = Summary {
            connections: 3,
            ..Summary::default()
        };
        keeper.say(&FromKeeper::Summary(Box::new(summary))).unwrap();
        assert_eq!(starter.finish().unwrap().connections, 3);
        assert_eq!(look_at_starter(&mut keeper), Starter::IsDone);
        assert_eq!(look_at_starter(&mut keeper), Starter::HasGone);
    }

    #[test]
    fn a_starter_learns_that_its_keeper_has_died() {
        let (mut starter, keeper) = lay().unwrap();
        drop(keeper);
        let error = starter.wait_for_start().unwrap_err();
        assert!(error.to_string().contains("died while starting"), "{error}");
        assert!(starter.finish().is_err());
    }
}
