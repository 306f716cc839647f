// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A line between two processes: messages each way, none of which anybody waits for by accident.

use std::io::{self, Read, Write};
use std::marker::PhantomData;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::{Decoder, LONGEST_REPLY_BYTES, encode};
use crate::error::{Error, Result, Trying};
use crate::wait::Wait;

/// One end of a line: what it says, what it hears.
///
/// What cannot be sent at once waits here, and goes on with whatever is said or flushed next; a
/// frame is sent whole, or breaks off because this end has gone.
#[derive(Debug)]
pub struct Line<Out, In> {
    stream: UnixStream,
    arrived: Decoder,
    unsent: Vec<u8>,
    has_failed: bool,
    kinds: PhantomData<fn(Out) -> In>,
}

/// What there is to hear.
#[derive(Debug, PartialEq)]
pub enum Heard<In> {
    /// Nothing yet.
    Nothing,
    /// This.
    Message(In),
    /// The other end has gone, after its last message.
    Gone,
}

impl<Out: Serialize, In: DeserializeOwned> Line<Out, In> {
    /// A new line.
    pub fn pair() -> Result<(Self, Line<In, Out>)>
    where
        In: Serialize,
        Out: DeserializeOwned,
    {
        let (ours, theirs) = UnixStream::pair().trying("socketpair")?;
        Ok((
            Self::over(ours, LONGEST_REPLY_BYTES)?,
            Line::over(theirs, LONGEST_REPLY_BYTES)?,
        ))
    }

    /// A line over a socket; longer frames than this are not heard.
    pub fn over(stream: UnixStream, limit_bytes: usize) -> Result<Self> {
        stream.set_nonblocking(true).trying("fcntl")?;
        Ok(Self {
            stream,
            arrived: Decoder::new(limit_bytes),
            unsent: Vec::new(),
            has_failed: false,
            kinds: PhantomData,
        })
    }

    /// Says something, without waiting until it is heard.
    ///
    /// *Errors:* the other end has gone.
    pub fn say(&mut self, message: &Out) -> Result<()> {
        self.unsent.extend_from_slice(&encode(message)?);
        self.flush()
    }

    /// The next message, if there is one.
    ///
    /// *Errors:* what arrived is none ([`Decoder::next_message`]), or breaks off.
    pub fn hear(&mut self) -> Result<Heard<In>> {
        loop {
            if let Some(message) = self.arrived.next_message()? {
                return Ok(Heard::Message(message));
            }
            let mut piece = [0; 4096];
            match (&self.stream).read(&mut piece) {
                Ok(length) if length > 0 => self.arrived.feed(&piece[..length]),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok(Heard::Nothing);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                _ => return self.arrived.end().map(|()| Heard::Gone),
            }
        }
    }

    /// Waits for the next message, and sends what waits meanwhile.
    ///
    /// *Errors:* as [`Self::hear`]; [`Error::HungUp`]; [`Error::Late`].
    pub fn hear_within(&mut self, within: Duration) -> Result<In> {
        let deadline = Instant::now() + within;
        loop {
            match self.hear()? {
                Heard::Message(message) => return Ok(message),
                Heard::Gone => return Err(Error::HungUp),
                Heard::Nothing if Instant::now() >= deadline => return Err(Error::Late { within }),
                Heard::Nothing => {}
            }
            self.flush()?;
            let mut wait = Wait::new();
            self.add_to(&mut wait);
            wait.until(deadline).wait()?;
        }
    }
}

impl<Out, In> Line<Out, In> {
    /// Sends what waits, as far as it is taken.
    ///
    /// *Errors:* the other end has gone; what waited is dropped.
    pub fn flush(&mut self) -> Result<()> {
        let mut sent = 0;
        while sent < self.unsent.len() && !self.has_failed {
            match (&self.stream).write(&self.unsent[sent..]) {
                Ok(length) if length > 0 => sent += length,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                // Half a frame may have been sent: nothing can follow it.
                _ => self.has_failed = true,
            }
        }
        self.unsent.drain(..sent);
        if self.has_failed {
            self.unsent.clear();
            return Err(Error::HungUp);
        }
        Ok(())
    }

    /// Whether something waits to be sent.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty()
    }

    /// How much of it.
    pub fn unsent_bytes(&self) -> usize {
        self.unsent.len()
    }

    /// Waits until everything is sent.
    ///
    /// *Errors:* the other end has gone; [`Error::Late`].
    pub fn flush_within(&mut self, within: Duration) -> Result<()> {
        let deadline = Instant::now() + within;
        loop {
            self.flush()?;
            if !self.has_unsent() {
                return Ok(());
            }
            if Instant::now() >= deadline {
                return Err(Error::Late { within });
            }
            Wait::new().writable(self).until(deadline).wait()?;
        }
    }

    /// Waits for whatever is to be done here: to hear, or to send what waits.
    pub fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        wait.readable(&self.stream);
        if self.has_unsent() {
            wait.writable(&self.stream);
        }
    }
}

impl<Out, In> AsFd for Line<Out, In> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Ends = (Line<String, u32>, Line<u32, String>);

    #[test]
    fn messages_arrive_whole_and_in_order_and_the_end_is_noticed() {
        let (mut here, mut there): Ends = Line::pair().unwrap();
        assert_eq!(here.hear().unwrap(), Heard::Nothing);
        there.say(&7).unwrap();
        there.say(&8).unwrap();
        assert_eq!(here.hear().unwrap(), Heard::Message(7));
        drop(there);
        assert_eq!(here.hear().unwrap(), Heard::Message(8));
        assert_eq!(here.hear().unwrap(), Heard::Gone);
        assert!(matches!(here.say(&"x".into()), Err(Error::HungUp)));
    }

    #[test]
    fn what_a_full_socket_does_not_take_follows_without_a_gap() {
        let (mut here, mut there): Ends = Line::pair().unwrap();
        let texts: Vec<String> = (0..2_000)
            .map(|n| format!("{n}{}", "x".repeat(999)))
            .collect();
        for text in &texts {
            here.say(text).unwrap();
        }
        assert!(here.has_unsent(), "2 MB are more than a socket takes");
        for text in &texts {
            loop {
                here.flush().unwrap();
                match there.hear().unwrap() {
                    Heard::Message(heard) => break assert_eq!(heard, *text),
                    Heard::Nothing => {}
                    Heard::Gone => panic!("nobody has gone"),
                }
            }
        }
        assert!(!here.has_unsent());
    }

    #[test]
    fn who_goes_in_the_middle_of_a_message_is_not_taken_for_one_who_is_done() {
        let (here, mut there): Ends = Line::pair().unwrap();
        (&here.stream).write_all(b"{\"ebb\":1,\"mess").unwrap();
        drop(here);
        assert!(matches!(there.hear(), Err(Error::BrokenOff)));
    }

    #[test]
    fn nobody_waits_for_longer_than_said_also_not_for_one_who_drips() {
        let (mut here, there): Ends = Line::pair().unwrap();
        let within = Duration::from_millis(200);
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                for byte in b"{\"ebb\":1,\"message\":77777777" {
                    (&there.stream).write_all(&[*byte]).unwrap();
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            assert!(matches!(here.hear_within(within), Err(Error::Late { .. })));
            assert!(began.elapsed() < within * 2);
        });
    }
}
