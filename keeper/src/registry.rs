// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What Ebb is attached to on this machine, and how to speak to the processes that keep it so.
//!
//! Each of them has two files in the runtime directory: `ID.json` says what it does, and
//! `ID.sock` takes requests. Files whose socket nobody listens on are left over: the next
//! look removes them.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read as _, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use nix::fcntl::{Flock, FlockArg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::backend::Backend;
use crate::flow_view::Direction;

mod neighbours;
mod registration;

pub use registration::Registration;

/// A reply takes a few milliseconds; whoever takes longer hangs.
const REPLY_WITHIN: Duration = Duration::from_secs(5);
/// Ten thousand connections take less.
const LARGEST_REPLY_BYTES: u64 = 1 << 24;

/// The directory that holds the files.
#[derive(Debug, Clone)]
pub struct Runtime {
    directory: PathBuf,
}

/// One attachment, as its keeper describes it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Names the files: one for each target.
    pub id: String,
    /// What it is attached to.
    pub target: Target,
    /// How the policies reach the connections.
    #[serde(default)]
    pub backend: Backend,
    /// The policy in its shortest form.
    pub policy: String,
    /// The policy for what is sent, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub upload_policy: Option<String>,
    /// What is sent keeps the code point that it has.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps_code_point: bool,
    /// It watches only: nothing yields.
    #[serde(default)]
    pub is_observing: bool,
    /// The process that keeps it attached.
    pub keeper_pid: u32,
    /// Seconds since 1970.
    pub since_unix_s: u64,
    /// Whose it is, if it is another user's.
    #[serde(default, skip_deserializing, skip_serializing_if = "Option::is_none")]
    pub user: Option<String>,
    /// Where it is asked, if it is another user's.
    #[serde(skip)]
    pub home: Option<Home>,
}

/// Where another user's keeper is found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Home {
    /// The user's runtime directory.
    pub directory: PathBuf,
    /// The user's number.
    pub uid: u32,
    /// The record's name there.
    pub id: String,
}

/// What a policy is attached to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Target {
    /// A command that `ebb run` started.
    Run {
        /// The command's words.
        command: Vec<String>,
        /// Its own cgroup, from the root of the hierarchy; the user backend makes none.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cgroup: Option<PathBuf>,
    },
    /// A process.
    Process {
        /// Its number.
        pid: u32,
    },
    /// Everything in a cgroup.
    Cgroup {
        /// The cgroup, from the root of the hierarchy.
        cgroup: PathBuf,
    },
    /// The connections of a TCP port, at either end.
    Port {
        /// Its number.
        port: u16,
    },
    /// Programs that share what arrives.
    Share {
        /// The file that says how.
        file: PathBuf,
        /// Those that share.
        programs: Vec<Sharer>,
    },
    /// Whoever selects them: sender laws as congestion controls.
    Laws {
        /// The names that TCP_CONGESTION takes.
        names: Vec<String>,
    },
}

/// One of those that share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sharer {
    /// Its name in the file.
    pub name: String,
    /// Whose connections, in words: `process 7`, `unit backup`, a command.
    pub who: String,
    /// The cgroup that it is, or is in.
    pub cgroup: PathBuf,
    /// The process, where it is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pid: Option<u32>,
    /// Minimum, priority and weight, in words.
    pub wanted: String,
}

/// What a keeper can be asked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Request {
    /// Lift everything and keep nothing attached any more.
    Detach,
    /// Go on with another policy.
    SetPolicy(String),
    /// Go on with another policy for what is sent, or begin with one.
    SetUploadPolicy(String),
    /// Watch only, or act again.
    SetObserving(bool),
    /// Switch some of the connections only.
    Switch {
        /// Which.
        whose: Part,
        /// To what.
        to: Switch,
    },
    /// Tell of every connection: [`crate::flow_view::FlowView`]s.
    Flows,
}

/// Some of the connections of an attachment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Part {
    /// One connection, one way.
    Connection {
        /// Its socket's number.
        cookie: u64,
        /// Which way.
        direction: Direction,
    },
    /// Those of a process, now and later.
    Process {
        /// Its number.
        pid: u32,
    },
}

/// What some connections can be switched to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Switch {
    /// No limit.
    Free,
    /// Limits again.
    Held,
    /// Another policy, for the way that its law is for.
    Policy(String),
}

impl Runtime {
    /// What `EBB_RUNTIME_DIR` names; else `/run/ebb` for root, and for others `ebb` in their
    /// runtime directory or `/tmp/ebb-UID`. Made if need be, for its owner alone.
    ///
    /// Errors: it cannot be made, or it is somebody else's.
    pub fn open() -> Result<Self> {
        let own = nix::unistd::geteuid();
        let directory = match std::env::var_os("EBB_RUNTIME_DIR") {
            Some(directory) => directory.into(),
            None if own.is_root() => "/run/ebb".into(),
            None => directory_of_user(own.as_raw()),
        };
        let mut builder = fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&directory);
        made.with_context(|| {
            let what = match directory.exists() {
                true => "is no directory",
                false => "cannot be made",
            };
            format!(
                "{}: {what}; EBB_RUNTIME_DIR is to name a directory of your own",
                directory.display()
            )
        })?;
        let owner = fs::symlink_metadata(&directory)
            .with_context(|| directory.display().to_string())?
            .uid();
        if owner != own.as_raw() && !own.is_root() {
            bail!(
                "{}: belongs to user {owner}; EBB_RUNTIME_DIR names another directory",
                directory.display()
            );
        }
        Ok(Self { directory })
    }

    /// A runtime in a directory that is there.
    #[cfg(test)]
    pub fn at(directory: &Path) -> Self {
        Self {
            directory: directory.to_path_buf(),
        }
    }

    /// Keeps other `ebb` commands from changing what is attached while the answer lives.
    pub fn lock(&self) -> Result<Flock<File>> {
        let path = self.directory.join("lock");
        let file = File::create(&path).with_context(|| path.display().to_string())?;
        Flock::lock(file, FlockArg::LockExclusive)
            .map_err(|(_, error)| error)
            .with_context(|| path.display().to_string())
    }

    /// Everything that is attached now, oldest first; removes what dead keepers left.
    pub fn records(&self) -> Result<Vec<Record>> {
        let context = || self.directory.display().to_string();
        let mut records = Vec::new();
        for entry in fs::read_dir(&self.directory).with_context(context)? {
            let path = entry.with_context(context)?.path();
            if path
                .extension()
                .is_some_and(|extension| extension == "json")
            {
                records.extend(self.read_living(&path));
            }
        }
        records.sort_by_key(|record| (record.since_unix_s, record.keeper_pid));
        Ok(records)
    }

    /// The same, and for root after its own what other users attached, unless `EBB_RUNTIME_DIR`
    /// names the directory to look at.
    pub fn all_records(&self) -> Result<Vec<Record>> {
        let mut records = self.records()?;
        if nix::unistd::geteuid().is_root() && std::env::var_os("EBB_RUNTIME_DIR").is_none() {
            records.extend(neighbours::records());
        }
        Ok(records)
    }

    /// Enters a keeper; from now on it can be found and asked.
    pub fn register(&self, record: Record) -> Result<Registration> {
        let socket = self.socket(&record.id);
        remove(&socket);
        let listener = UnixListener::bind(&socket).with_context(|| socket.display().to_string())?;
        listener.set_nonblocking(true)?;
        let registration = Registration {
            runtime: self.clone(),
            record,
            listener,
            is_withdrawn: false,
        };
        registration.write()?;
        Ok(registration)
    }

    /// Asks a keeper and waits until it has done it.
    pub fn ask(&self, record: &Record, request: &Request) -> Result<()> {
        self.ask_for(record, request)
    }

    /// Asks a keeper for something and waits for it; who asks knows what it keeps.
    pub fn ask_for<T: DeserializeOwned>(&self, record: &Record, request: &Request) -> Result<T> {
        let context = "the keeper does not answer";
        let connected = match &record.home {
            Some(home) => neighbours::connect_to(home),
            None => UnixStream::connect(self.socket(&record.id)).map_err(Into::into),
        };
        let mut stream = match connected {
            Err(error) if is_of_nobody(&error) => bail!("its keeper has ended"),
            connected => connected.context(context)?,
        };
        stream.set_read_timeout(Some(REPLY_WITHIN))?;
        stream.set_write_timeout(Some(REPLY_WITHIN))?;
        stream.write_all(format!("{}\n", serde_json::to_string(request)?).as_bytes())?;
        let mut reply = String::new();
        BufReader::new(stream.take(LARGEST_REPLY_BYTES))
            .read_line(&mut reply)
            .context(context)?;
        let mut reply: Value = serde_json::from_str(&reply).context(context)?;
        if record.home.is_some() {
            neighbours::disarm(&mut reply);
        }
        match serde_json::from_value::<Result<T, String>>(reply).context(context)? {
            Ok(answer) => Ok(answer),
            Err(cause) => bail!(cause),
        }
    }

    /// The record in a file, unless nobody listens any more.
    fn read_living(&self, path: &Path) -> Option<Record> {
        // A keeper may end while we look.
        let record: Record = serde_json::from_slice(&fs::read(path).ok()?).ok()?;
        let socket = self.socket(&record.id);
        match UnixStream::connect(&socket) {
            Ok(_) => Some(record),
            Err(error) => {
                tracing::info!("{}: left over ({error}), removed", path.display());
                remove(path);
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

impl Record {
    /// Its name where it was registered.
    pub fn name(&self) -> &str {
        self.home.as_ref().map_or(&self.id, |home| &home.id)
    }

    /// A record of this process and this moment, of the kernel backend.
    pub fn new(target: Target, id: String, policy: &str, upload_policy: Option<String>) -> Self {
        let since = std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap_or_default();
        Self {
            id,
            target,
            backend: Backend::Kernel,
            policy: policy.to_owned(),
            upload_policy,
            keeps_code_point: false,
            is_observing: false,
            keeper_pid: std::process::id(),
            since_unix_s: since.as_secs(),
            user: None,
            home: None,
        }
    }
}

/// What it is attached to, and whose it is if it is another user's.
impl std::fmt::Display for Record {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.user {
            None => self.target.fmt(formatter),
            Some(user) => write!(formatter, "{} of {user}", self.target),
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Run { command, .. } => write!(formatter, "ebb run -- {}", command.join(" ")),
            Self::Process { pid } => write!(formatter, "process {pid}"),
            Self::Cgroup { cgroup } => write!(formatter, "cgroup {}", cgroup.display()),
            Self::Port { port } => write!(formatter, "port {port}"),
            Self::Share { file, .. } => write!(formatter, "ebb share {}", file.display()),
            Self::Laws { names } => write!(formatter, "congestion controls {}", names.join(", ")),
        }
    }
}

/// Whether a socket has gone, or has nobody who listens.
fn is_of_nobody(error: &anyhow::Error) -> bool {
    let cause = error.root_cause();
    let errno = cause.downcast_ref::<nix::Error>().copied();
    let of_system = cause.downcast_ref::<io::Error>();
    let errno = errno.or_else(|| Some(nix::Error::from_raw(of_system?.raw_os_error()?)));
    matches!(errno, Some(nix::Error::ENOENT | nix::Error::ECONNREFUSED))
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
    use crate::describe::describe;

    fn runtime() -> (tempfile::TempDir, Runtime) {
        let directory = tempfile::tempdir().unwrap();
        let runtime = Runtime {
            directory: directory.path().to_path_buf(),
        };
        (directory, runtime)
    }

    fn record(id: &str) -> Record {
        Record::new(Target::Process { pid: 7 }, id.to_owned(), "ebb", None)
    }

    #[test]
    fn a_registered_keeper_is_listed_until_it_goes() {
        let (_directory, runtime) = runtime();
        let registration = runtime.register(record("a")).unwrap();
        assert_eq!(runtime.records().unwrap(), [record("a")]);
        drop(registration);
        assert_eq!(runtime.records().unwrap(), []);
    }

    #[test]
    fn what_a_killed_keeper_left_is_swept() {
        let (directory, runtime) = runtime();
        // As after `kill -9`: the socket is closed, both files stay.
        drop(UnixListener::bind(runtime.socket("a")).unwrap());
        fs::write(runtime.json("a"), serde_json::to_vec(&record("a")).unwrap()).unwrap();
        assert_eq!(runtime.records().unwrap(), []);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_request_is_answered_with_what_came_of_it() {
        let (_directory, runtime) = runtime();
        let mut registration = runtime.register(record("a")).unwrap();
        let asker = runtime.clone();
        let asking = std::thread::spawn(move || {
            let answers = [Request::SetPolicy("vulture".into()), Request::Detach].map(|request| {
                asker
                    .ask(&record("a"), &request)
                    .map_err(|error| error.to_string())
            });
            assert_eq!(answers, [Ok(()), Err("cannot".to_owned())]);
        });
        while !asking.is_finished() {
            registration.answer(|registration, request| match request {
                Request::SetPolicy(policy) => registration
                    .set_policies(&policy, None)
                    .map(|()| Value::Null),
                _ => bail!("cannot"),
            });
        }
        asking.join().unwrap();
        assert_eq!(runtime.records().unwrap()[0].policy, "vulture");
    }

    #[test]
    fn who_is_told_that_it_is_let_go_finds_it_no_more() {
        let (_directory, runtime) = runtime();
        let mut registration = runtime.register(record("a")).unwrap();
        let asker = runtime.clone();
        let asking = std::thread::spawn(move || {
            asker.ask(&record("a"), &Request::Detach).unwrap();
            assert_eq!(asker.records().unwrap(), []);
            asker.register(record("a")).unwrap()
        });
        while !asking.is_finished() {
            registration.answer(|registration, _| {
                registration.withdraw();
                registration.set_observing(true)?;
                Ok(Value::Null)
            });
        }
        let next = asking.join().unwrap();
        drop(registration);
        assert_eq!(runtime.records().unwrap(), [record("a")]);
        drop(next);
        assert_eq!(runtime.records().unwrap(), []);
    }

    #[test]
    fn asking_where_nobody_keeps_anything_is_an_error() {
        let (_directory, runtime) = runtime();
        let error = runtime.ask(&record("a"), &Request::Detach).unwrap_err();
        assert_eq!(describe(&error), "its keeper has ended");
        let home = Home {
            directory: runtime.directory.clone(),
            uid: nix::unistd::getuid().as_raw(),
            id: "a".to_owned(),
        };
        let others = Record {
            home: Some(home),
            ..record("a")
        };
        let error = runtime.ask(&others, &Request::Detach).unwrap_err();
        assert_eq!(describe(&error), "its keeper has ended");
    }
}
