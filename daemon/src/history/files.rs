// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The files of the history: one for each hour, a line of JSON for each minute.
//!
//! A line is written at once and never again, so that whoever is killed has told all of it or
//! nothing; what a loss of power tore is passed over. There are so many files at the most, each of
//! them of so many bytes.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread::JoinHandle;

use super::Minute;
use crate::error::{Error, Result};

/// An hour more than is read: the first one is over only in part.
const MOST_FILES: usize = 25;
/// All together they have no more than 50 MB.
const MOST_BYTES_OF_FILE: u64 = 2_000_000;
const HOUR_S: u64 = 3_600;
const READ_S: u64 = 24 * HOUR_S;
const ENDING: &str = "jsonl";
/// Minutes that wait for the disk at the most; what comes then is lost.
const MOST_WAITING: usize = 10;

/// A thread that writes, for as long as this lives.
#[derive(Debug)]
pub(super) struct Keeper {
    /// Closed when the thread is to end.
    lines: Option<SyncSender<(u64, String)>>,
    thread: Option<JoinHandle<()>>,
}

impl Keeper {
    /// Keeps minutes in a folder from now on.
    ///
    /// *Errors:* the folder cannot be made; there is no thread.
    pub(super) fn begin(folder: PathBuf) -> Result<Self> {
        let mut builder = DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(&folder);
        made.map_err(|source| Error::file(&folder, source))?;
        let (lines, waiting) = sync_channel(MOST_WAITING);
        let builder = std::thread::Builder::new().name("ebbd-history".to_owned());
        let thread = builder.spawn(move || write_all(&folder, &waiting));
        Ok(Self {
            lines: Some(lines),
            thread: Some(thread.map_err(Error::NoHistory)?),
        })
    }

    pub(super) fn keep(&self, minute: &Minute) {
        let Ok(text) = serde_json::to_string(minute) else {
            return;
        };
        let lines = self.lines.as_ref();
        if lines.is_some_and(|lines| lines.try_send((minute.at_unix_s, text)).is_err()) {
            tracing::warn!("a minute of the history is lost: the disk is too slow");
        }
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        self.lines = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn write_all(folder: &Path, waiting: &Receiver<(u64, String)>) {
    let mut is_told = false;
    for (at_unix_s, text) in waiting {
        let written = append(folder, at_unix_s / HOUR_S, &text);
        if let Err(error) = &written
            && !is_told
        {
            tracing::warn!("{}: history is not kept: {error}", folder.display());
        }
        is_told = written.is_err();
    }
}

fn append(folder: &Path, hour: u64, text: &str) -> io::Result<()> {
    let path = folder.join(format!("{hour}.{ENDING}"));
    if !path.exists() {
        make_room(folder, hour)?;
    }
    let mut options = File::options();
    let options = options.read(true).append(true).create(true).mode(0o600);
    let mut file = options.open(&path)?;
    let length = file.metadata()?.len();
    // What was torn ends here.
    let end = if ends_torn(&mut file, length)? {
        "\n"
    } else {
        ""
    };
    let line = format!("{end}{text}\n");
    if length + line.len() as u64 > MOST_BYTES_OF_FILE {
        let full = format!("{} has {MOST_BYTES_OF_FILE} bytes", path.display());
        return Err(io::Error::other(full));
    }
    file.write_all(line.as_bytes())
}

fn ends_torn(file: &mut File, length: u64) -> io::Result<bool> {
    if length == 0 {
        return Ok(false);
    }
    let mut last = [0];
    file.seek(SeekFrom::End(-1))?;
    file.read_exact(&mut last)?;
    Ok(last != *b"\n")
}

/// The files that are farthest from this hour go; some may be of times to come, if the clock was
/// wrong.
fn make_room(folder: &Path, hour: u64) -> io::Result<()> {
    let mut hours = hours_in(folder)?;
    hours.sort_unstable_by_key(|other| hour.abs_diff(*other));
    for other in hours.into_iter().skip(MOST_FILES - 1) {
        fs::remove_file(folder.join(format!("{other}.{ENDING}")))?;
    }
    Ok(())
}

fn hours_in(folder: &Path) -> io::Result<Vec<u64>> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path()));
    let hours = paths.map(|path: io::Result<PathBuf>| {
        let path = path?;
        let is_ours = path.extension().is_some_and(|it| it == ENDING);
        let stem = path.file_stem().filter(|_| is_ours);
        Ok(stem.and_then(|stem| stem.to_str()?.parse().ok()))
    });
    let hours: io::Result<Vec<Option<u64>>> = hours.collect();
    Ok(hours?.into_iter().flatten().collect())
}

/// What is known of the 24 hours before a moment, in its order; nothing where nothing was kept.
/// *Units:* seconds since 1970.
///
/// *Errors:* [`Error::File`]: the folder or a file cannot be read.
pub fn read_history(folder: &Path, now_unix_s: u64) -> Result<Vec<Minute>> {
    let failed = |path: &Path, source| Error::file(path, source);
    let hours = match hours_in(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        hours => hours.map_err(|source| failed(folder, source))?,
    };
    let from = now_unix_s.saturating_sub(READ_S);
    let mut minutes = Vec::new();
    for hour in hours {
        if !(from / HOUR_S..=now_unix_s / HOUR_S).contains(&hour) {
            continue;
        }
        let path = folder.join(format!("{hour}.{ENDING}"));
        let text = read_bounded(&path).map_err(|source| failed(&path, source))?;
        let lines = text.split(|sign| *sign == b'\n');
        minutes.extend(lines.filter_map(|line| serde_json::from_slice::<Minute>(line).ok()));
    }
    minutes.retain(|minute| minute.at_unix_s > from && minute.at_unix_s <= now_unix_s);
    minutes.sort_by_key(|minute| minute.at_unix_s);
    Ok(minutes)
}

/// One that has been removed meanwhile has nothing.
fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        file => drop(file?.take(MOST_BYTES_OF_FILE).read_to_end(&mut text)?),
    }
    Ok(text)
}

#[cfg(test)]
mod tests;
