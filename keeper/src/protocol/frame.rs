// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Frames: each a message in JSON, with the version of the protocol, on a line of its own.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// The version that is spoken here.
pub const VERSION: u64 = 1;
/// A request names a policy with all its parameters at the most.
pub const LONGEST_REQUEST_BYTES: usize = 1 << 16;
/// Ten thousand connections take less.
pub const LONGEST_REPLY_BYTES: usize = 1 << 24;

/// What has been read is given back once it is as much as this.
const WORTH_MOVING_BYTES: usize = 1 << 16;

/// What stands around a message.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Frame<T> {
    ebb: u64,
    message: T,
}

/// What of a frame has to be understood in every version.
#[derive(Deserialize)]
struct Head {
    ebb: u64,
}

/// A message as it is sent.
///
/// *Errors:* [`Error::NoMessage`] if JSON cannot say it, as a path that is not UTF-8.
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>> {
    let frame = Frame {
        ebb: VERSION,
        message,
    };
    let mut bytes = serde_json::to_vec(&frame).map_err(|source| Error::NoMessage { source })?;
    bytes.push(b'\n');
    Ok(bytes)
}

/// Finds messages in what arrives, in whatever pieces.
///
/// After an error there are no more of them: where the next one would begin is not known.
#[derive(Debug)]
pub struct Decoder {
    bytes: Vec<u8>,
    /// Up to here messages have been taken out.
    taken: usize,
    /// Up to here there is no end of a line.
    searched: usize,
    limit_bytes: usize,
    has_failed: bool,
}

impl Decoder {
    /// Nothing has arrived; no frame may be longer than this.
    pub fn new(limit_bytes: usize) -> Self {
        Self {
            bytes: Vec::new(),
            taken: 0,
            searched: 0,
            limit_bytes,
            has_failed: false,
        }
    }

    /// Takes what has arrived.
    pub fn feed(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next message, if all of it has arrived.
    ///
    /// *Errors:* [`Error::OtherVersion`], [`Error::NoMessage`], [`Error::TooLong`]; after any of
    /// them [`Error::BrokenOff`].
    pub fn next_message<T: DeserializeOwned>(&mut self) -> Result<Option<T>> {
        if self.has_failed {
            return Err(Error::BrokenOff);
        }
        let found = self
            .next_line()
            .and_then(|line| line.map(parse).transpose());
        self.has_failed = found.is_err();
        if self.taken > WORTH_MOVING_BYTES || self.taken == self.bytes.len() {
            self.bytes.drain(..self.taken);
            self.searched -= self.taken;
            self.taken = 0;
        }
        found
    }

    /// To be called when nothing more can arrive.
    ///
    /// *Errors:* [`Error::BrokenOff`] if that was in the middle of a frame.
    pub fn end(&self) -> Result<()> {
        match self.has_failed || self.taken < self.bytes.len() {
            true => Err(Error::BrokenOff),
            false => Ok(()),
        }
    }

    fn next_line(&mut self) -> Result<Option<&[u8]>> {
        let limit_bytes = self.limit_bytes;
        let unsearched = &self.bytes[self.searched..];
        let end = unsearched.iter().position(|byte| *byte == b'\n');
        self.searched = end.map_or(self.bytes.len(), |end| self.searched + end + 1);
        if self.searched - self.taken > limit_bytes {
            return Err(Error::TooLong { limit_bytes });
        }
        let Some(_) = end else {
            return Ok(None);
        };
        let line = &self.bytes[self.taken..self.searched];
        self.taken = self.searched;
        Ok(Some(line))
    }
}

/// First the version: of another one nothing else is understood.
fn parse<T: DeserializeOwned>(line: &[u8]) -> Result<T> {
    let no_message = |source| Error::NoMessage { source };
    let head: Head = serde_json::from_slice(line).map_err(no_message)?;
    if head.ebb != VERSION {
        return Err(Error::OtherVersion { theirs: head.ebb });
    }
    let frame: Frame<T> = serde_json::from_slice(line).map_err(no_message)?;
    Ok(frame.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decode(bytes: &[u8]) -> Result<Option<String>> {
        let mut decoder = Decoder::new(100);
        decoder.feed(bytes);
        decoder.next_message()
    }

    #[test]
    fn a_frame_is_a_line_of_json_with_the_version() {
        assert_eq!(
            encode(&"a\nb").unwrap(),
            b"{\"ebb\":1,\"message\":\"a\\nb\"}\n"
        );
        let text = decode(b"{\"ebb\":1,\"message\":\"a\\nb\"}\n").unwrap();
        assert_eq!(text.as_deref(), Some("a\nb"));
    }

    #[test]
    fn another_version_is_named_with_ours_whatever_its_messages_look_like() {
        let error = decode(b"{\"ebb\":7,\"body\":[1],\"checksum\":3}\n").unwrap_err();
        assert!(matches!(error, Error::OtherVersion { theirs: 7 }));
        let text = error.to_string();
        assert!(
            text.contains("version 7 ") && text.contains("version 1:"),
            "{text}"
        );
    }

    #[test]
    fn nothing_is_read_behind_an_error() {
        let mut decoder = Decoder::new(100);
        decoder.feed(b"what?\n{\"ebb\":1,\"message\":\"a\"}\n");
        assert!(matches!(
            decoder.next_message::<String>(),
            Err(Error::NoMessage { .. })
        ));
        assert!(matches!(
            decoder.next_message::<String>(),
            Err(Error::BrokenOff)
        ));
        assert!(decoder.end().is_err());
    }

    #[test]
    fn a_frame_that_is_too_long_is_refused_before_all_of_it_has_arrived() {
        let mut decoder = Decoder::new(100);
        decoder.feed(&[b' '; 100]);
        assert!(decoder.next_message::<String>().unwrap().is_none());
        decoder.feed(b" ");
        let error = decoder.next_message::<String>().unwrap_err();
        assert!(matches!(error, Error::TooLong { limit_bytes: 100 }));
    }
}
