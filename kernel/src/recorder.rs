// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Writes what the programs report of a law's calls into a trace file.

use crate::error::{Error, Result};
use crate::sys;
use crate::trace::{TraceWriter, record_bytes};
use ebb_algorithms::Policy;
use libbpf_rs::{MapHandle, RingBufferBuilder};
use std::io;
use std::os::fd::BorrowedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

/// A thread that empties the programs' buffer into a file.
#[derive(Debug)]
pub(crate) struct Recorder {
    path: PathBuf,
    is_stopping: Arc<AtomicBool>,
    thread: JoinHandle<io::Result<()>>,
}

impl Recorder {
    pub(crate) fn start(path: PathBuf, policy: &Policy, map: BorrowedFd<'_>) -> Result<Self> {
        let failed = |source| trace_error(&path, source);
        let writer = TraceWriter::create(&path, policy)?;
        let map = sys::map_info(map)
            .and_then(|info| MapHandle::from_map_id(info.id).map_err(io::Error::other))
            .map_err(failed)?;
        let is_stopping = Arc::new(AtomicBool::new(false));
        let stopping = Arc::clone(&is_stopping);
        let length = record_bytes(policy.law().side());
        let thread = std::thread::Builder::new()
            .spawn(move || record(writer, length, &map, &stopping))
            .map_err(failed)?;
        Ok(Self {
            path,
            is_stopping,
            thread,
        })
    }

    /// Writes what is left and closes the file.
    pub(crate) fn finish(self) -> Result<()> {
        self.is_stopping.store(true, Ordering::Release);
        self.thread
            .join()
            .unwrap_or_else(|_| Err(io::Error::other("the recording thread panicked")))
            .map_err(|source| trace_error(&self.path, source))
    }
}

fn trace_error(path: &Path, source: io::Error) -> Error {
    Error::Trace {
        path: path.to_path_buf(),
        source,
    }
}

fn record(
    mut writer: TraceWriter,
    length: usize,
    map: &MapHandle,
    is_stopping: &AtomicBool,
) -> io::Result<()> {
    let mut written = Ok(());
    {
        let mut builder = RingBufferBuilder::new();
        builder
            .add(map, |bytes| match bytes.get(..length) {
                Some(bytes) if written.is_ok() => {
                    written = writer.write_raw(bytes);
                    0
                }
                _ => 0,
            })
            .map_err(io::Error::other)?;
        let buffer = builder.build().map_err(io::Error::other)?;
        while !is_stopping.load(Ordering::Acquire) {
            let polled = buffer.poll_raw(Duration::from_millis(50));
            if polled < 0 && polled != -libc::EINTR {
                sys::check(polled)?;
            }
        }
        buffer.consume().map_err(io::Error::other)?;
    }
    written?;
    writer.finish()
}
