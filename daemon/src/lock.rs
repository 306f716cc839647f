// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose service runs: there is one for each directory of records.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ebb_host::{lives_still, started_ticks};
use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Result};

/// In the directory of the records: who has locked it is the service. In it are its number, and when
/// it started: until it has written them, those of one who has ended are there, whose number may be
/// somebody else's by now.
const LOCK: &str = "ebbd.lock";
/// Who asks whether a service runs has the lock for a moment.
const ASKED_WITHIN: Duration = Duration::from_millis(200);

/// The number of the process that is the service of a directory of records; none: none runs, or it
/// has only just been started.
///
/// *Errors:* [`Error::File`]: the file that it locks cannot be read.
pub fn service_of(records: &Path) -> Result<Option<u32>> {
    let path = records.join(LOCK);
    let failed = |source| Error::file(&path, source);
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file.map_err(failed)?,
    };
    match Flock::lock(file, FlockArg::LockSharedNonblock) {
        Ok(_) => Ok(None),
        Err((mut file, Errno::EWOULDBLOCK)) => {
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(failed)?;
            Ok(living(&text))
        }
        Err((_, error)) => Err(failed(error.into())),
    }
}

/// The process that is written there, if it lives.
fn living(text: &str) -> Option<u32> {
    let (number, started) = text.trim().split_once(' ')?;
    let (number, started) = (number.parse().ok()?, started.parse().ok()?);
    lives_still(number, started).then_some(number)
}

/// Is the service of a directory from now on.
///
/// *Errors:* [`Error::RunsAlready`]; [`Error::File`].
pub(crate) fn lock(records: &Path) -> Result<Flock<File>> {
    let path = records.join(LOCK);
    let failed = |source| Error::file(&path, source);
    let mut options = File::options();
    let file = options.write(true).create(true).truncate(false).open(&path);
    let mut file = file.map_err(failed)?;
    let due = Instant::now() + ASKED_WITHIN;
    let mut lock = loop {
        match Flock::lock(file, FlockArg::LockExclusiveNonblock) {
            Ok(lock) => break lock,
            Err((unlocked, Errno::EWOULDBLOCK)) if Instant::now() < due => file = unlocked,
            Err((_, Errno::EWOULDBLOCK)) => return Err(Error::RunsAlready { path }),
            Err((_, error)) => return Err(failed(error.into())),
        }
        sleep(Duration::from_millis(10));
    };
    let pid = std::process::id();
    let started = started_ticks(pid).unwrap_or_default();
    let text = format!("{pid} {started}\n");
    let written = lock
        .set_len(0)
        .and_then(|()| lock.write_all(text.as_bytes()));
    written.map_err(failed)?;
    Ok(lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_counts_while_the_file_is_locked() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(service_of(folder.path()).unwrap(), None);
        let held = lock(folder.path()).unwrap();
        assert_eq!(service_of(folder.path()).unwrap(), Some(std::process::id()));
        // As it is when a service has locked the file and not written yet: the number is in use
        // again, the process is another one.
        let of_former = format!("{} 7\n", std::process::id());
        std::fs::write(folder.path().join(LOCK), of_former).unwrap();
        assert_eq!(service_of(folder.path()).unwrap(), None);
        let again = lock(folder.path()).unwrap_err().to_string();
        assert!(again.contains("another ebbd runs already"), "{again}");
        drop(held);
        assert!(
            std::fs::read_to_string(folder.path().join(LOCK))
                .unwrap()
                .len()
                > 1
        );
        assert_eq!(service_of(folder.path()).unwrap(), None);
    }
}
