// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What other users' Ebbs do here, for root alone.
//!
//! Everything in their directories is theirs to write: nothing there is followed, waited for
//! or removed, and a request is only sent to a process of the same user.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Read;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::time::Instant;

use nix::sys::socket::{getsockopt, sockopt};
use nix::unistd::{Uid, User};
use serde_json::Value;

use super::{Home, Neighbour, Record};
use crate::error::{Error, Result};
use crate::protocol::{REPLY_WITHIN, Reply, Request, ask, connect};

/// A record of a long command has some hundred bytes.
const LARGEST_RECORD_BYTES: u64 = 1 << 16;

/// More of one user are not looked at.
const MOST_RECORDS: usize = 256;

/// How long each user's keepers may keep us waiting, all together: a user may have many of them.
#[derive(Debug, Default)]
pub struct Patience(HashMap<u32, Instant>);

impl Patience {
    /// Asks a keeper of that user.
    ///
    /// *Errors:* those of [`ask`]; [`Error::Late`] at once if all of that user's time is used up. It
    /// comes back second for second.
    pub fn ask(
        &mut self,
        home: &Neighbour,
        stream: UnixStream,
        request: &Request,
    ) -> Result<Reply> {
        let began = Instant::now();
        let used_until = self.0.get(&home.uid).copied().unwrap_or(began).max(began);
        let left = REPLY_WITHIN.saturating_sub(used_until - began);
        if left.is_zero() {
            return Err(Error::Late {
                within: REPLY_WITHIN,
            });
        }
        let reply = ask(stream, request, left);
        // By the time that it is over, so long again.
        self.0.insert(home.uid, used_until + 2 * began.elapsed());
        reply.and_then(disarmed)
    }
}

/// What other users attached, and where each is asked.
pub fn records() -> Vec<Record> {
    let mut records = Vec::new();
    for (uid, directory) in homes() {
        let entries = fs::read_dir(&directory).into_iter().flatten();
        let names = entries.flatten().map(|entry| entry.file_name());
        let ids = names.filter_map(|name| Some(name.to_str()?.strip_suffix(".json")?.to_owned()));
        let places = ids.map(|id| Neighbour {
            directory: directory.clone(),
            uid,
            id,
        });
        records.extend(places.take(MOST_RECORDS).filter_map(read));
    }
    records
}

/// The runtime directories of all users but root, where they are by default.
fn homes() -> impl Iterator<Item = (u32, PathBuf)> {
    let below = |directory: &str| {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        entries.map(|entry| entry.path())
    };
    let in_session = below("/run/user").filter_map(|path| {
        let uid = path.file_name()?.to_str()?.parse().ok()?;
        Some((uid, path.join("ebb")))
    });
    let without = below("/tmp").filter_map(|path| {
        let uid = path.file_name()?.to_str()?.strip_prefix("ebb-")?;
        Some((uid.parse().ok()?, path))
    });
    let all = in_session.chain(without);
    all.filter(|(uid, path)| *uid != 0 && belongs_to(path, *uid))
}

/// Whether it is a directory that this user made and nobody else can write to.
fn belongs_to(path: &Path, uid: u32) -> bool {
    fs::symlink_metadata(path)
        .is_ok_and(|it| it.is_dir() && it.uid() == uid && it.mode() & 0o022 == 0)
}

/// The record there, if its keeper lives.
fn read(home: Neighbour) -> Option<Record> {
    let path = home.directory.join(format!("{}.json", home.id));
    let (text, owner) = text_of(&path)?;
    if owner != home.uid {
        return None;
    }
    let mut told = serde_json::from_slice(&text).ok()?;
    disarm(&mut told);
    let mut record: Record = serde_json::from_value(told).ok()?;
    connect_to(&home).ok()?;
    let user = name_of(home.uid);
    record.id = format!("{user}:{}", home.id);
    record.user = Some(user);
    record.home = Some(Home::Neighbour(home));
    Some(record)
}

/// What a file says, and whose it is; nothing if it is something else than a file.
pub fn text_of(path: &Path) -> Option<(Vec<u8>, u32)> {
    let flags = libc::O_NOFOLLOW | libc::O_NONBLOCK;
    let mut options = OpenOptions::new();
    let file = options.read(true).custom_flags(flags).open(path).ok()?;
    let about = file.metadata().ok()?;
    if !about.is_file() {
        return None;
    }
    let mut text = Vec::new();
    file.take(LARGEST_RECORD_BYTES)
        .read_to_end(&mut text)
        .ok()?;
    Some((text, about.uid()))
}

/// A reply without what terminals obey.
fn disarmed(mut told: Value) -> Result<Reply> {
    disarm(&mut told);
    serde_json::from_value(told).map_err(|source| Error::NoMessage { source })
}

pub(crate) fn disarm(told: &mut Value) {
    match told {
        Value::String(text) if text.contains(char::is_control) => {
            *text = text.replace(char::is_control, "\u{fffd}");
        }
        Value::Array(all) => all.iter_mut().for_each(disarm),
        Value::Object(all) => all.values_mut().for_each(disarm),
        _ => {}
    }
}

/// A connection to a keeper of this user, and to nobody else.
///
/// *Errors:* nobody listens there, or somebody else does; it is busy.
pub fn connect_to(home: &Neighbour) -> Result<UnixStream> {
    let path = home.directory.join(format!("{}.sock", home.id));
    let failed = |source| Error::file(&path, source);
    let stream = connect(&path).map_err(failed)?;
    let peer = getsockopt(&stream, sockopt::PeerCredentials);
    let owner = peer.map_err(|error| failed(error.into()))?.uid();
    if owner != home.uid {
        return Err(Error::OthersSocket { path, owner });
    }
    Ok(stream)
}

/// The user's name, or number where it has none.
pub(crate) fn name_of(uid: u32) -> String {
    match User::from_uid(Uid::from_raw(uid)) {
        Ok(Some(user)) => user.name,
        _ => uid.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::held::InForce;
    use crate::registry::{Attached, Registry};
    use std::io::Write;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;
    use std::time::Duration;

    fn home(folder: &Path, id: &str) -> Neighbour {
        Neighbour {
            directory: folder.to_path_buf(),
            uid: nix::unistd::getuid().as_raw(),
            id: id.to_owned(),
        }
    }

    fn record() -> Record {
        let attached = Attached::Run {
            command: vec!["printf".to_owned(), "\u{1b}[2J".to_owned()],
            cgroup: None,
        };
        Record::new(attached, "a".to_owned(), Backend::User, InForce::default())
    }

    #[test]
    fn a_record_is_read_with_its_user_while_somebody_keeps_it() {
        let folder = tempfile::tempdir().unwrap();
        let registration = Registry::at(folder.path()).register(record()).unwrap();
        let seen = read(home(folder.path(), "a")).unwrap();
        let user = name_of(nix::unistd::getuid().as_raw());
        assert_eq!(
            seen.to_string(),
            format!("ebb run -- printf \u{fffd}[2J of {user}")
        );
        assert_eq!(seen.name(), "a");
        assert_eq!(seen.id, format!("{user}:a"));
        drop(registration);
        assert_eq!(read(home(folder.path(), "a")), None);
    }

    /// A keeper that has asked for all that it can get, and says a byte now and then.
    fn drip(listener: &UnixListener, keepers: usize) {
        let mut streams: Vec<_> = (0..keepers).map(|_| listener.accept().unwrap().0).collect();
        let mut text = b"{\"ebb\":1,\"message\":\"".to_vec();
        text.extend([b'x'; 10_000]);
        for byte in text {
            streams.retain_mut(|stream| stream.write_all(&[byte]).is_ok());
            if streams.is_empty() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn keepers_that_drip_bytes_cost_one_deadline_however_many_they_are() {
        let folder = tempfile::tempdir().unwrap();
        let listener = UnixListener::bind(folder.path().join("a.sock")).unwrap();
        let home = home(folder.path(), "a");
        let mut patience = Patience::default();
        std::thread::scope(|scope| {
            scope.spawn(|| drip(&listener, 1));
            let began = Instant::now();
            for _ in 0..20 {
                let stream = connect_to(&home).unwrap();
                let asked = patience.ask(&home, stream, &Request::Flows);
                assert!(matches!(asked, Err(Error::Late { .. })));
            }
            let took = began.elapsed();
            assert!(REPLY_WITHIN <= took && took < REPLY_WITHIN * 2, "{took:?}");
        });
        // It is no other user's fault.
        let other = Neighbour { uid: 1, ..home };
        let (ours, theirs) = UnixStream::pair().unwrap();
        (&theirs)
            .write_all(b"{\"ebb\":1,\"message\":\"done\"}\n")
            .unwrap();
        assert_eq!(
            patience.ask(&other, ours, &Request::Flows).unwrap(),
            Reply::Done
        );
    }

    #[test]
    fn what_points_elsewhere_or_is_somebody_elses_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let _registration = Registry::at(folder.path()).register(record()).unwrap();
        for ending in ["json", "sock"] {
            let [from, to] = ["a", "b"].map(|name| folder.path().join(format!("{name}.{ending}")));
            symlink(from, to).unwrap();
        }
        assert_eq!(read(home(folder.path(), "b")), None);
        let own = home(folder.path(), "a");
        let uid = own.uid + 1;
        let other = Neighbour { uid, ..own };
        assert!(
            connect_to(&other)
                .unwrap_err()
                .to_string()
                .contains("listens there")
        );
        assert_eq!(read(other), None);
        assert!(!belongs_to(folder.path(), uid));
    }
}
