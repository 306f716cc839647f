// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One Ebb on each connection: who governs it says so to all others on this machine.
//!
//! The connections of a user's processes are claimed in a file of that user: a write lock on one
//! byte, whose place is the connection's number. So all claims together take one descriptor, they
//! go with whoever made them, and nobody but that user and root can make any.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, fchown};
use std::path::PathBuf;
use std::sync::Arc;

use nix::fcntl::{FcntlArg, fcntl};

/// What the policies of the kernel backend have as congestion controls: `ebb1_tcp_lp`.
const KERNEL_BACKEND: &str = "ebb";

/// Where everybody can make files that live as long as the machine runs.
const SHARED: &str = "/dev/shm";

/// The files in which claims are made, by user.
#[derive(Debug, Default)]
pub(crate) struct Claims {
    files: HashMap<u32, Option<Arc<File>>>,
    /// What is wrong with them, once each.
    notices: Vec<String>,
}

/// What only one Ebb can have at a time, and what goes with it.
#[derive(Debug)]
pub(crate) struct Claim {
    /// None: it cannot be said to others.
    file: Option<Arc<File>>,
    cookie: u64,
    /// Whose it is: a child of that process has the same open file.
    owner: u32,
}

impl Claims {
    /// Says that a connection of a user's process is ours; none if it is another's. Where it cannot
    /// be said, the connection is to yield all the same.
    pub(crate) fn claim(&mut self, cookie: u64, uid: u32) -> Option<Claim> {
        let notices = &mut self.notices;
        let file = self.files.entry(uid).or_insert_with(|| {
            let opened = open(uid);
            opened.map_err(|told| notices.push(told)).ok().map(Arc::new)
        });
        let file = file.clone();
        match file.as_ref().map(|file| lock(file, cookie, libc::F_WRLCK)) {
            Some(Err(nix::Error::EAGAIN | nix::Error::EACCES)) => None,
            Some(Err(_)) | None => Some(Claim::new(None, cookie)),
            Some(Ok(())) => Some(Claim::new(file, cookie)),
        }
    }

    /// What people should know, once each.
    pub(crate) fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }
}

impl Claim {
    fn new(file: Option<Arc<File>>, cookie: u64) -> Self {
        let owner = std::process::id();
        Self {
            file,
            cookie,
            owner,
        }
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if let Some(file) = &self.file
            && self.owner == std::process::id()
        {
            let _ = lock(file, self.cookie, libc::F_UNLCK);
        }
    }
}

/// The lock is the open file's, not the process's: another governor in this process is another one.
fn lock(file: &File, cookie: u64, kind: i32) -> nix::Result<()> {
    let lock = libc::flock {
        l_type: kind as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        // Sockets are counted from 1 on: the numbers end long before the places do.
        l_start: libc::off_t::try_from(cookie).unwrap_or(libc::off_t::MAX - 1),
        l_len: 1,
        l_pid: 0,
    };
    fcntl(file, FcntlArg::F_OFD_SETLK(&lock)).map(drop)
}

/// The file of a user, which is that user's alone; otherwise what is wrong with it.
fn open(uid: u32) -> Result<File, String> {
    let path = path_of(uid);
    let told = |what: String| {
        format!(
            "{}: {what}; another Ebb on the same connections is not noticed",
            path.display()
        )
    };
    let file = open_or_make(&path, uid).map_err(|error| told(error.to_string()))?;
    let found = file.metadata().map_err(|error| told(error.to_string()))?;
    match (found.is_file(), found.uid()) {
        (true, owner) if owner == uid => Ok(file),
        (true, owner) => Err(told(format!(
            "it is user {owner}'s, not user {uid}'s: remove it"
        ))),
        (false, _) => Err(told("it is no file: remove it".to_owned())),
    }
}

fn open_or_make(path: &PathBuf, uid: u32) -> io::Result<File> {
    let mut options = File::options();
    // What somebody else has put there is neither followed nor waited for.
    let options = options.read(true).write(true).mode(0o600);
    let options = options.custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK);
    match options.open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        opened => return opened,
    }
    match options.create_new(true).open(path) {
        // Another Ebb was faster.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            options.create_new(false).open(path)
        }
        Ok(file) if uid != nix::unistd::geteuid().as_raw() => {
            fchown(&file, Some(uid), None)?;
            Ok(file)
        }
        made => made,
    }
}

/// Root has a folder in which nobody else can make anything. Whoever is called root in a user
/// namespace is meant by the number that those outside know.
fn path_of(uid: u32) -> PathBuf {
    let map = std::fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    match outside(&map, uid) {
        0 => "/run/ebb-claims-0".into(),
        outside => PathBuf::from(SHARED).join(format!("ebb-claims-{outside}")),
    }
}

/// The number of a user one user namespace further out.
fn outside(map: &str, uid: u32) -> u32 {
    let mapped = map.lines().find_map(|line| {
        let mut numbers = line.split_whitespace().map(str::parse::<u32>);
        let mut number = || numbers.next()?.ok();
        let (inner, outer, count) = (number()?, number()?, number()?);
        let at = uid.checked_sub(inner).filter(|at| *at < count)?;
        outer.checked_add(at)
    });
    mapped.unwrap_or(uid)
}

/// Whether a congestion control is a policy of the kernel backend's.
pub(crate) fn is_policy(name: &str) -> bool {
    let number = name.strip_prefix(KERNEL_BACKEND);
    number.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_host::testing::requires_root;

    fn own() -> u32 {
        nix::unistd::geteuid().as_raw()
    }

    #[test]
    fn a_connection_has_one_claim_at_a_time() {
        let cookie = (1 << 60) - u64::from(std::process::id());
        let (mut ours, mut others) = (Claims::default(), Claims::default());
        let first = ours.claim(cookie, own());
        assert!(first.as_ref().is_some_and(|claim| claim.file.is_some()));
        assert!(others.claim(cookie, own()).is_none());
        assert!(others.claim(cookie + 1, own()).is_some());
        drop(first);
        assert!(others.claim(cookie, own()).is_some());
        assert!(ours.take_notices().is_empty() && others.take_notices().is_empty());
    }

    #[test]
    fn a_file_that_is_somebody_elses_is_told_of_and_takes_no_connection_away() {
        let name = "a_file_that_is_somebody_elses_is_told_of_and_takes_no_connection_away";
        if !requires_root(name) {
            return;
        }
        let (user, squatter) = (61_237, 61_238);
        let path = path_of(user);
        let _ = std::fs::remove_file(&path);
        let squatted = File::create(&path).unwrap();
        fchown(&squatted, Some(squatter), None).unwrap();
        lock(&squatted, 7, libc::F_WRLCK).unwrap();
        let mut claims = Claims::default();
        assert!(
            claims
                .claim(7, user)
                .is_some_and(|claim| claim.file.is_none())
        );
        let told = claims.take_notices();
        let is_named = |told: &String| told.contains("it is user 61238's, not user 61237's");
        assert!(told.len() == 1 && told.iter().all(is_named), "{told:?}");
        assert!(claims.claim(8, user).is_some() && claims.take_notices().is_empty());

        // A link is not followed, also not to what would be right.
        std::fs::remove_file(&path).unwrap();
        std::os::unix::fs::symlink("/etc/passwd", &path).unwrap();
        assert!(open(user).unwrap_err().contains("Too many levels"));
        std::fs::remove_file(&path).unwrap();
        let made = open(user).unwrap().metadata().unwrap();
        assert_eq!((made.uid(), made.mode() & 0o777), (user, 0o600));
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn root_of_a_user_namespace_is_whoever_it_is_outside() {
        assert_eq!(outside("         0       1000          1\n", 0), 1000);
        assert_eq!(outside("0 1000 1\n1 100000 65536\n", 7), 100_006);
        assert_eq!(outside("0 0 4294967295\n", 1000), 1000);
        assert_eq!(outside("nonsense", 3), 3);
    }

    #[test]
    fn laws_that_anybody_may_select_are_no_policies() {
        assert!(is_policy("ebb1_tcp_lp") && is_policy("ebb12_ledbatpp"));
        assert!(!is_policy("ebb_reno") && !is_policy("cubic") && !is_policy("ebb"));
    }
}
