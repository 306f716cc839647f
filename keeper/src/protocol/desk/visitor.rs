// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One who has connected.

use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::super::frame::LONGEST_REQUEST_BYTES;
use super::super::line::{Heard, Line};
use super::{Asked, Asker, Refusal, WITHIN};
use crate::describe::describe;
use crate::error::{Result, Trying};

const TOO_OFTEN: &str = "you ask for more than one user may at a time, and take no answers or wait \
    for too many: try again in a while";

#[derive(Debug)]
pub(super) struct Visitor<In, Out> {
    pub(super) number: u64,
    pub(super) asker: Asker,
    pub(super) line: Line<Out, In>,
    pub(super) due: Instant,
    pub(super) stage: Stage,
    asked: Instant,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The request is not complete.
    Asking,
    /// It was handed over, and is not answered.
    Asked,
    /// The answer is being sent.
    Answered,
    /// Nothing is left to be done.
    Over,
}

impl<In: DeserializeOwned, Out: Serialize + Refusal> Visitor<In, Out> {
    pub(super) fn new(stream: UnixStream, number: u64) -> Result<Self> {
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
            asked: Instant::now(),
        })
    }

    /// Goes on with it; answers its request once that is complete, unless it has to wait.
    pub(super) fn attend(&mut self, has_to_wait: bool) -> Option<Asked<In>> {
        match self.stage {
            Stage::Asking if has_to_wait && Instant::now() >= self.due => {
                self.answer(&Out::refusal(TOO_OFTEN.to_owned()));
            }
            Stage::Asking if has_to_wait => {}
            Stage::Asking => match self.line.hear() {
                Ok(Heard::Message(request)) => {
                    self.stage = Stage::Asked;
                    self.asked = Instant::now();
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
                    self.answer(&Out::refusal(describe(&error)));
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

    /// How long it has been waiting for its answer.
    pub(super) fn since_asked(&self) -> Duration {
        self.asked.elapsed()
    }

    /// Whether it has not hung up.
    pub(super) fn answer(&mut self, reply: &Out) -> bool {
        self.due = Instant::now() + WITHIN;
        let said = self.line.say(reply);
        self.stage = match self.line.has_unsent() {
            true => Stage::Answered,
            false => Stage::Over,
        };
        if let Err(error) = &said {
            tracing::debug!("request: {error}");
        }
        said.is_ok()
    }
}
