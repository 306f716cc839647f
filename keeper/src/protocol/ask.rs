// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asking a keeper: one connection, one request, one reply, one deadline for all of it.

use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::Duration;

use nix::sys::socket::{
    AddressFamily, SockFlag, SockType, UnixAddr, connect as connect_to, socket,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::frame::LONGEST_REPLY_BYTES;
use super::line::Line;
use crate::error::Result;

/// A reply takes a few milliseconds; whoever takes longer hangs.
pub const REPLY_WITHIN: Duration = Duration::from_secs(5);

/// A connection to whoever listens there, who is not waited for.
///
/// *Errors:* nobody listens there; who does is too busy to be connected with (`EAGAIN`).
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let flags = SockFlag::SOCK_CLOEXEC | SockFlag::SOCK_NONBLOCK;
    let socket = socket(AddressFamily::Unix, SockType::Stream, flags, None)?;
    connect_to(socket.as_raw_fd(), &UnixAddr::new(path)?)?;
    Ok(socket.into())
}

/// Asks, and waits so long for the whole answer, as a [`super::Reply`] or as plain JSON.
///
/// *Errors:* those of [`Line::hear_within`].
pub fn ask<In: Serialize, T: DeserializeOwned>(
    stream: UnixStream,
    request: &In,
    within: Duration,
) -> Result<T> {
    let mut line: Line<&In, T> = Line::over(stream, LONGEST_REPLY_BYTES)?;
    line.say(&request)?;
    line.hear_within(within)
}
