// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Ebb is attached to on this machine, and how to speak to the processes that keep it so.
//!
//! Each of them has two files in the runtime directory: `ID.json` says what it does, and
//! `ID.sock` takes requests. Files whose socket nobody listens on are left over: the next
//! look removes them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use nix::fcntl::{Flock, FlockArg};

use crate::ebbd;
use crate::error::{Error, Result};
use crate::flow::FlowView;
use crate::protocol::{Desk, REPLY_WITHIN, Reply, Request, Room, ask, connect};

mod finding;
mod neighbours;
mod record;
mod registration;

pub(crate) use neighbours::{disarm, name_of as name_of_user};
pub use record::{Attached, Home, Neighbour, Record, Sharer};
pub use registration::Registration;

use neighbours::Patience;

/// The directory that holds the files.
#[derive(Debug, Clone)]
pub struct Registry {
    directory: PathBuf,
    /// With other users' keepers.
    patience: Arc<Mutex<Patience>>,
}

/// Other `ebb` commands wait while it lives.
#[derive(Debug)]
pub struct Lock {
    _file: Flock<File>,
}

impl Registry {
    /// What `EBB_RUNTIME_DIR` names; else `/run/ebb` for root, and for others `ebb` in their
    /// runtime directory or `/tmp/ebb-UID`. Made if need be, for its owner alone.
    ///
    /// *Errors:* it cannot be made, or it is somebody else's.
    pub fn open() -> Result<Self> {
        let own = nix::unistd::geteuid();
        let directory = match std::env::var_os("EBB_RUNTIME_DIR") {
            Some(directory) => directory.into(),
            None if own.is_root() => "/run/ebb".into(),
            None => directory_of_user(own.as_raw()),
        };
        let mut builder = fs::DirBuilder::new();
        if let Err(source) = builder.recursive(true).mode(0o700).create(&directory) {
            let what = match directory.exists() {
                true => "is no directory",
                false => "cannot be made",
            };
            let path = directory;
            return Err(Error::NoRuntimeDirectory { path, what, source });
        }
        let found = fs::symlink_metadata(&directory);
        let owner = found
            .map_err(|source| Error::file(&directory, source))?
            .uid();
        if owner != own.as_raw() && !own.is_root() {
            let path = directory;
            return Err(Error::OthersRuntimeDirectory { path, owner });
        }
        Ok(Self::at(&directory))
    }

    /// One in a directory that is there, and its owner's alone.
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
            patience: Arc::default(),
        }
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// Keeps other `ebb` commands from changing what is attached while the answer lives. Another
    /// user's lock is not waited for: who holds it may do so for ever.
    pub fn lock(&self) -> Result<Lock> {
        let path = self.directory.join("lock");
        // Root may look into others' directories: what they put there is not followed.
        let mut options = File::options();
        options
            .write(true)
            .create(true)
            .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
        let failed = |source| Error::file(&path, source);
        let file = options.open(&path).map_err(failed)?;
        let owner = fs::metadata(&self.directory).map_err(failed)?.uid();
        let how = match owner == nix::unistd::geteuid().as_raw() {
            true => FlockArg::LockExclusive,
            false => FlockArg::LockExclusiveNonblock,
        };
        match Flock::lock(file, how) {
            Ok(lock) => Ok(Lock { _file: lock }),
            Err((_, error)) => Err(Error::file(&path, error.into())),
        }
    }

    /// Everything that is attached now, oldest first; removes what dead keepers left.
    pub fn records(&self) -> Result<Vec<Record>> {
        let failed = |source| Error::file(&self.directory, source);
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let name = path.file_name().and_then(OsStr::to_str);
            if let Some(id) = name.and_then(|name| name.strip_suffix(".json")) {
                records.extend(self.read_living(id));
            }
        }
        records.sort_by_key(|record| (record.since_unix_s, record.keeper_pid));
        Ok(records)
    }

    /// Enters a keeper; from now on it can be found and asked.
    pub fn register(&self, record: Record) -> Result<Registration> {
        let socket = self.socket(&record.id);
        let desk =
            Desk::open(&socket, Room::OF_KEEPER).map_err(|source| Error::file(&socket, source))?;
        Registration::enter(self.clone(), record, desk)
    }

    /// Asks a keeper and waits until it has done it.
    pub fn ask(&self, record: &Record, request: &Request) -> Result<()> {
        match self.ask_for(record, request)? {
            Reply::Done => Ok(()),
            _ => Err(Error::no_answer(Error::OtherAnswer)),
        }
    }

    /// Asks a keeper for every connection that it knows.
    pub fn flows(&self, record: &Record) -> Result<Vec<FlowView>> {
        match self.ask_for(record, &Request::Flows)? {
            Reply::Flows(flows) => Ok(flows),
            _ => Err(Error::no_answer(Error::OtherAnswer)),
        }
    }

    fn ask_for(&self, record: &Record, request: &Request) -> Result<Reply> {
        let connected = match &record.home {
            Some(Home::Service { id }) => {
                let reply = ebbd::ask_keeper(id, request);
                return accepted(reply.map_err(Error::no_answer)?);
            }
            Some(Home::Neighbour(home)) => neighbours::connect_to(home),
            None => self.connect_to(&record.id),
        };
        let stream = connected.map_err(|error| match error {
            Error::File { source, .. } if is_of_nobody(&source) => Error::KeeperEnded,
            error => Error::no_answer(error),
        })?;
        let reply = match &record.home {
            Some(Home::Neighbour(home)) => {
                let patience = self.patience.lock();
                let mut patience = patience.unwrap_or_else(PoisonError::into_inner);
                patience.ask(home, stream, request)
            }
            _ => ask(stream, request, REPLY_WITHIN),
        };
        accepted(reply.map_err(Error::no_answer)?)
    }

    fn connect_to(&self, id: &str) -> Result<UnixStream> {
        let socket = self.socket(id);
        connect(&socket).map_err(|source| Error::file(&socket, source))
    }

    /// The record of that name, unless nobody listens any more.
    fn read_living(&self, id: &str) -> Option<Record> {
        let path = self.json(id);
        // A keeper may end while we look.
        let (text, _) = neighbours::text_of(&path)?;
        let mut record: Record = serde_json::from_slice(&text).ok()?;
        id.clone_into(&mut record.id);
        let socket = self.socket(id);
        match connect(&socket) {
            Ok(_) => Some(record),
            // Many ask it at once.
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Some(record),
            Err(error) => {
                tracing::info!("{}: left over ({error}), removed", path.display());
                remove(&path);
                remove(&socket);
                None
            }
        }
    }

    fn socket(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.sock"))
    }

    fn json(&self, id: &str) -> PathBuf {
        self.directory.join(format!("{id}.json"))
    }
}

fn accepted(reply: Reply) -> Result<Reply> {
    match reply {
        Reply::Refused { cause } => Err(Error::Refused { cause }),
        reply => Ok(reply),
    }
}

/// Whether a socket has gone, or has nobody who listens.
fn is_of_nobody(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionRefused, NotFound};
    matches!(error.kind(), NotFound | ConnectionRefused)
}

/// One that is not this user's (as under sudo or setpriv) is of no use.
fn directory_of_user(uid: u32) -> PathBuf {
    let runtime = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from);
    let is_own = |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.uid() == uid);
    match runtime.filter(is_own) {
        Some(runtime) => runtime.join("ebb"),
        None => std::env::temp_dir().join(format!("ebb-{uid}")),
    }
}

fn remove(path: &Path) {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!("{}: cannot be removed: {error}", path.display());
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::describe::describe;
    use crate::held::InForce;
    use std::os::unix::net::UnixListener;

    fn registry() -> (tempfile::TempDir, Registry) {
        let directory = tempfile::tempdir().unwrap();
        let registry = Registry::at(directory.path());
        (directory, registry)
    }

    fn in_force(policy: &str) -> InForce {
        InForce {
            policy: policy.to_owned(),
            ..InForce::default()
        }
    }

    fn record(id: &str) -> Record {
        let attached = Attached::Process { pid: 7 };
        Record::new(attached, id.to_owned(), Backend::Kernel, in_force("ebb"))
    }

    #[test]
    fn a_registered_keeper_is_listed_until_it_goes() {
        let (_directory, registry) = registry();
        let record = record("a");
        let registration = registry.register(record.clone()).unwrap();
        assert_eq!(registry.records().unwrap(), [record]);
        drop(registration);
        assert_eq!(registry.records().unwrap(), []);
    }

    #[test]
    fn what_a_killed_keeper_left_is_swept() {
        let (directory, registry) = registry();
        // As after `kill -9`: the socket is closed, both files stay.
        drop(UnixListener::bind(registry.socket("a")).unwrap());
        fs::write(
            registry.json("a"),
            serde_json::to_vec(&record("a")).unwrap(),
        )
        .unwrap();
        assert_eq!(registry.records().unwrap(), []);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn what_others_put_into_their_directory_is_neither_followed_nor_removed_elsewhere() {
        let (directory, registry) = registry();
        let (outside, theirs) = (tempfile::tempdir().unwrap(), directory.path());
        let target = outside.path().join("precious");
        fs::write(&target, "x").unwrap();
        std::os::unix::fs::symlink(&target, theirs.join("lock")).unwrap();
        let error = registry.lock().unwrap_err();
        assert!(describe(&error).contains("lock: "), "{error}");
        assert_eq!(fs::read(&target).unwrap(), b"x");

        // A record of another name than its file's is that of its file.
        let name = outside.path().file_name().unwrap().to_str().unwrap();
        let record = record(&format!("../{name}/precious"));
        let socket = outside.path().join("precious.sock");
        fs::write(&socket, "").unwrap();
        fs::write(registry.json("a"), serde_json::to_vec(&record).unwrap()).unwrap();
        assert_eq!(registry.records().unwrap(), []);
        assert!(socket.exists());
    }

    #[test]
    fn a_request_is_answered_with_what_came_of_it() {
        let (_directory, registry) = registry();
        let record = record("a");
        let mut registration = registry.register(record.clone()).unwrap();
        let asker = registry.clone();
        let asking = std::thread::spawn(move || {
            let answers = [Request::SetPolicy("vulture".into()), Request::Detach]
                .map(|request| asker.ask(&record, &request).map_err(|it| it.to_string()));
            assert_eq!(answers, [Ok(()), Err("cannot".to_owned())]);
        });
        while !asking.is_finished() {
            while let Some(asked) = registration.next_request() {
                let reply = match &asked.request {
                    Request::SetPolicy(policy) => {
                        registration.set_in_force(in_force(policy)).unwrap();
                        Reply::Done
                    }
                    _ => Reply::Refused {
                        cause: "cannot".to_owned(),
                    },
                };
                registration.answer(&asked, &reply);
            }
        }
        asking.join().unwrap();
        assert_eq!(registry.records().unwrap()[0].policy, "vulture");
    }

    #[test]
    fn who_is_told_that_it_is_let_go_finds_it_no_more() {
        let (_directory, registry) = registry();
        let record = record("a");
        let mut registration = registry.register(record.clone()).unwrap();
        let (asker, again) = (registry.clone(), record.clone());
        let asking = std::thread::spawn(move || {
            asker.ask(&again, &Request::Detach).unwrap();
            assert_eq!(asker.records().unwrap(), []);
            asker.register(again).unwrap()
        });
        while !asking.is_finished() {
            while let Some(asked) = registration.next_request() {
                registration.withdraw();
                registration.set_in_force(in_force("vulture")).unwrap();
                registration.answer(&asked, &Reply::Done);
            }
        }
        let next = asking.join().unwrap();
        drop(registration);
        assert_eq!(registry.records().unwrap(), [record]);
        drop(next);
        assert_eq!(registry.records().unwrap(), []);
    }

    #[test]
    fn asking_where_nobody_keeps_anything_is_an_error() {
        let (_directory, registry) = registry();
        let error = registry.ask(&record("a"), &Request::Detach).unwrap_err();
        assert_eq!(describe(&error), "its keeper has ended");
        let home = Neighbour {
            directory: registry.directory.clone(),
            uid: nix::unistd::getuid().as_raw(),
            id: "a".to_owned(),
        };
        let others = Record {
            home: Some(Home::Neighbour(home)),
            ..record("a")
        };
        let error = registry.ask(&others, &Request::Detach).unwrap_err();
        assert_eq!(describe(&error), "its keeper has ended");
    }
}
