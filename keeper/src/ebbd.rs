// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service ebbd, as ordinary users ask it: it holds policies by the kernel backend for what is
//! theirs.

use std::ffi::OsString;
use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::geteuid;
use serde_json::Value;

use crate::describe::describe;
use crate::error::{Error, Result};
use crate::policies::Policies;
use crate::protocol::{
    Held, HeldRecord, Mine, Order, REPLY_WITHIN, Reply, Request, ServiceReply, ServiceRequest, ask,
    connect,
};
use crate::registry::{Home, Record, disarm, name_of_user};
use crate::summary::Summary;
use crate::whose::Whose;

mod error;

pub use error::ServiceError;

/// Where it listens for everybody.
pub const SOCKET: &str = "/run/ebbd/socket";
/// Names another place.
pub const SOCKET_VARIABLE: &str = "EBB_SERVICE_SOCKET";
/// Policies that nobody has had yet take it a while.
const HELD_WITHIN: Duration = Duration::from_secs(10);
/// It is busy with letting others in.
const LETS_IN_WITHIN: Duration = Duration::from_secs(2);
const TRIES_AGAIN_AFTER: Duration = Duration::from_millis(10);
/// Of a command so much is told.
const MOST_OF_COMMAND_BYTES: usize = 1_000;

/// Where it listens for users: what EBB_SERVICE_SOCKET names, else the machine's own place. Whoever
/// has a runtime directory of his own (EBB_RUNTIME_DIR) has nothing to do with the machine's.
pub fn socket() -> Option<PathBuf> {
    if let Some(path) = std::env::var_os(SOCKET_VARIABLE) {
        return Some(path.into());
    }
    let is_apart = std::env::var_os("EBB_RUNTIME_DIR").is_some();
    (!is_apart).then(|| SOCKET.into())
}

/// Has it hold policies on a command that this process is going to start, from its first connection
/// on.
///
/// *Errors:* [`Error::AlreadyAttached`]; [`Error::CannotKeep`].
pub(crate) fn hold_command(
    words: &[OsString],
    policies: &Policies,
    is_watched: bool,
) -> Result<Held> {
    let words = shortened(words);
    hold(&Order::of(Mine::Command { words }, policies, is_watched))
}

/// Has it hold policies on what runs already.
///
/// *Errors:* as [`hold_command`].
pub(crate) fn hold_whose(whose: &Whose, policies: &Policies) -> Result<Held> {
    hold(&Order::of(mine(whose)?, policies, false))
}

fn hold(order: &Order) -> Result<Held> {
    let cannot = |error: Error| Error::CannotKeep {
        cause: describe(&error),
    };
    match tell(&ServiceRequest::Hold(order.clone()), HELD_WITHIN).map_err(cannot)? {
        ServiceReply::Held(held) => Ok(held),
        ServiceReply::AlreadyAttached { cause } => Err(Error::AlreadyAttached { cause }),
        ServiceReply::Refused { cause } => Err(Error::CannotKeep { cause }),
        _ => Err(cannot(Error::no_answer(Error::OtherAnswer))),
    }
}

/// Says that the command has ended; answers what came of it.
///
/// *Errors:* the service has ended, or knows nothing of it.
pub(crate) fn finish(id: &str) -> Result<Summary> {
    let id = id.to_owned();
    match tell(&ServiceRequest::Finish { id }, REPLY_WITHIN)? {
        ServiceReply::Summary(summary) => Ok(*summary),
        reply => Err(refused(reply)),
    }
}

/// What it holds for this user, or, for root, for all users but root; nothing where there is none.
pub(crate) fn records() -> Vec<Record> {
    records_by(&ServiceRequest::Records)
}

/// What it holds on this, or on what this is in.
pub(crate) fn find(whose: &Whose) -> Option<Record> {
    let found = records_by(&ServiceRequest::Find(mine(whose).ok()?));
    found.into_iter().next()
}

fn records_by(request: &ServiceRequest) -> Vec<Record> {
    match tell(request, REPLY_WITHIN) {
        Ok(ServiceReply::Records(records)) => records.into_iter().map(at_home).collect(),
        // Without it nothing is held there.
        Ok(reply) => nothing(&refused(reply)),
        Err(error) => nothing(&error),
    }
}

fn nothing(error: &Error) -> Vec<Record> {
    let told = format!(
        "the service does not tell what it holds: {}",
        describe(error)
    );
    match error {
        Error::OthersSocket { .. } => tracing::warn!("{told}"),
        _ => tracing::info!("{told}"),
    }
    Vec::new()
}

fn at_home(held: HeldRecord) -> Record {
    let mut record = held.record;
    let id = record.id.clone();
    if held.user != geteuid().as_raw() {
        let user = name_of_user(held.user);
        record.id = format!("{user}:{id}");
        record.user = Some(user);
    }
    record.home = Some(Home::Service { id });
    record
}

/// Asks for something that it holds.
///
/// *Errors:* it does not answer.
pub(crate) fn ask_keeper(id: &str, request: &Request) -> Result<Reply> {
    let (id, request) = (id.to_owned(), request.clone());
    match tell(&ServiceRequest::Ask { id, request }, REPLY_WITHIN)? {
        ServiceReply::Answer(reply) => Ok(reply),
        reply => Err(refused(reply)),
    }
}

/// One request, and its answer.
fn tell(request: &ServiceRequest, within: Duration) -> Result<ServiceReply> {
    let path = socket().ok_or(ServiceError::NotAsked)?;
    let stream = connect_to(&path)?;
    if !geteuid().is_root() {
        return ask(stream, request, within);
    }
    // What users have said is in it.
    let mut told: Value = ask(stream, request, within)?;
    disarm(&mut told);
    serde_json::from_value(told).map_err(|source| Error::NoMessage { source })
}

/// A connection to root's service, and to nobody else's.
fn connect_to(path: &Path) -> Result<UnixStream> {
    let deadline = Instant::now() + LETS_IN_WITHIN;
    let no_service = |source| ServiceError::None {
        path: path.to_path_buf(),
        source,
    };
    let stream = loop {
        match connect(path) {
            Err(error)
                if error.kind() == io::ErrorKind::WouldBlock && Instant::now() < deadline =>
            {
                std::thread::sleep(TRIES_AGAIN_AFTER);
            }
            connected => break connected.map_err(no_service)?,
        }
    };
    let peer = getsockopt(&stream, sockopt::PeerCredentials);
    let owner = peer.map_err(|error| no_service(error.into()))?.uid();
    if owner != 0 {
        let path = path.to_path_buf();
        return Err(Error::OthersSocket { path, owner });
    }
    Ok(stream)
}

fn refused(reply: ServiceReply) -> Error {
    match reply {
        ServiceReply::Refused { cause } => Error::Refused { cause },
        _ => Error::OtherAnswer,
    }
}

/// As it is named to the service.
fn mine(whose: &Whose) -> Result<Mine> {
    Ok(match whose {
        Whose::Process(pid) => Mine::Process {
            pid: *pid,
            // Of one that has ended there is none.
            started_ticks: ebb_host::started_ticks(*pid).unwrap_or(0),
        },
        Whose::Cgroup(cgroup) => Mine::Cgroup {
            cgroup: cgroup.path().to_path_buf(),
            number: cgroup.id(),
        },
        Whose::Port(port) => return Err(Error::NoPorts { port: *port }),
    })
}

/// The beginning of a command: a request has little room.
fn shortened(words: &[OsString]) -> Vec<String> {
    let mut left = MOST_OF_COMMAND_BYTES;
    let mut told = Vec::new();
    for word in words {
        let word = word.to_string_lossy();
        let cut = word.floor_char_boundary(left.min(word.len()));
        left -= cut;
        if cut < word.len() {
            told.push(format!("{}…", &word[..cut]));
            break;
        }
        told.push(word.into_owned());
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_command_as_much_is_told_as_there_is_room_for() {
        let words = ["rm".into(), "ö".repeat(2_000).into(), "x".into()];
        let told = shortened(&words);
        assert_eq!((told.len(), told[0].as_str()), (2, "rm"));
        assert!(told[1].ends_with("ö…") && told[1].len() < MOST_OF_COMMAND_BYTES + 4);
        assert_eq!(shortened(&["a".into(), "b".into()]), ["a", "b"]);
    }
}
