// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose service runs: there is one for each directory of records.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::fcntl::{Flock, FlockArg};

use crate::error::{Error, Result};

/// In the directory of the records: who has locked it is the service, its number is in it.
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
        // The number in it is that of one who has ended, and somebody else's by now.
        Ok(_) => Ok(None),
        Err((mut file, Errno::EWOULDBLOCK)) => {
            let mut text = String::new();
            file.read_to_string(&mut text).map_err(failed)?;
            Ok(text.trim().parse().ok())
        }
        Err((_, error)) => Err(failed(error.into())),
    }
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
    let number = format!("{}\n", std::process::id());
    let written = lock
        .set_len(0)
        .and_then(|()| lock.write_all(number.as_bytes()));
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
