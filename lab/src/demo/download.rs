// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A download by a real program that writes to a pipe, so that every byte is counted on arrival.

use super::{Error, ends_with_its_parent};
use crate::namespace::NamespaceHandle;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use std::io::Read;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// How long a program may take to end after it was asked to.
const END_LIMIT: Duration = Duration::from_secs(3);

/// Bytes that arrived, summed up since the start, at a time in seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Received {
    /// Seconds since the part began.
    pub at_s: f64,
    /// All bytes until then.
    pub total_bytes: u64,
}

/// A download in progress.
#[derive(Debug)]
pub struct Download {
    child: Child,
    command: String,
    reader: JoinHandle<Vec<Received>>,
    complaints: JoinHandle<String>,
    total_bytes: Arc<AtomicU64>,
}

impl Download {
    /// Starts `command` (program and arguments) in `namespace`; it must write what it gets to stdout.
    ///
    /// *Errors:* the program cannot be started.
    pub fn start(
        namespace: &NamespaceHandle,
        command: &[String],
        start: Instant,
    ) -> Result<Self, Error> {
        let mut child = ends_with_its_parent(namespace.command(&command[0]))
            .args(&command[1..])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Error::start(&command[0], error))?;
        let total_bytes = Arc::new(AtomicU64::new(0));
        let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
        let counter = total_bytes.clone();
        let reader = std::thread::spawn(move || count(stdout, start, &counter));
        let complaints = std::thread::spawn(move || {
            let mut text = String::new();
            if let Some(mut stderr) = stderr {
                // What cannot be read cannot be told either.
                let _ = stderr.read_to_string(&mut text);
            }
            text
        });
        Ok(Self {
            child,
            command: command.join(" "),
            reader,
            complaints,
            total_bytes,
        })
    }

    /// Bytes that arrived so far.
    pub fn total_bytes(&self) -> u64 {
        self.total_bytes.load(Ordering::Relaxed)
    }

    /// Stops the download and tells when its bytes arrived.
    ///
    /// *Errors:* the program had ended by itself: the download was to be longer than this.
    pub fn end(mut self) -> Result<Vec<Received>, Error> {
        let had_ended = matches!(self.child.try_wait(), Ok(Some(_)));
        self.stop();
        let panicked = |_| Error::Failed {
            program: self.command.clone(),
            problem: "panicked".into(),
        };
        let received = self.reader.join().map_err(panicked)?;
        let complaints = self.complaints.join().map_err(panicked)?;
        if had_ended {
            let words = complaints
                .trim()
                .lines()
                .last()
                .unwrap_or("without a word")
                .to_owned();
            let problem = format!("ended before it was asked to: {words}");
            return Err(Error::Failed {
                program: self.command,
                problem,
            });
        }
        Ok(received)
    }

    /// Asks the program to end, then insists.
    fn stop(&mut self) {
        // A process that is gone already needs no signal.
        let _ = kill(Pid::from_raw(self.child.id() as i32), Signal::SIGTERM);
        let asked = Instant::now();
        while asked.elapsed() < END_LIMIT {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// What arrived of several downloads, as if they were one.
pub fn together(downloads: Vec<Vec<Received>>) -> Vec<Received> {
    let arrivals = downloads.iter().flat_map(|received| {
        let before = [0]
            .into_iter()
            .chain(received.iter().map(|it| it.total_bytes));
        let news = received.iter().zip(before);
        news.map(|(it, before_bytes)| (it.at_s, it.total_bytes - before_bytes))
    });
    let mut arrivals: Vec<_> = arrivals.collect();
    arrivals.sort_by(|one, other| one.0.total_cmp(&other.0));
    let mut total_bytes = 0;
    let sum = |(at_s, bytes)| {
        total_bytes += bytes;
        Received { at_s, total_bytes }
    };
    arrivals.into_iter().map(sum).collect()
}

/// Mean rate from the start to `until_s`, in bits per second.
pub fn mean_bits_per_s(received: &[Received], until_s: f64) -> f64 {
    let before = received.partition_point(|received| received.at_s <= until_s);
    let bytes = before
        .checked_sub(1)
        .map_or(0, |last| received[last].total_bytes);
    bytes as f64 * 8.0 / until_s
}

fn count(stdout: Option<impl Read>, start: Instant, total_bytes: &AtomicU64) -> Vec<Received> {
    let mut received = Vec::new();
    let Some(mut stdout) = stdout else {
        return received;
    };
    let mut buffer = vec![0; 1 << 16];
    let mut total = 0;
    while let Ok(length @ 1..) = stdout.read(&mut buffer) {
        total += length as u64;
        total_bytes.store(total, Ordering::Relaxed);
        received.push(Received {
            at_s: start.elapsed().as_secs_f64(),
            total_bytes: total,
        });
    }
    received
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_add_up_in_the_order_of_their_bytes() {
        let received = |list: &[(f64, u64)]| {
            let one = |&(at_s, total_bytes)| Received { at_s, total_bytes };
            list.iter().map(one).collect::<Vec<_>>()
        };
        let first = received(&[(1.0, 100), (3.0, 300)]);
        let second = received(&[(2.0, 1000), (4.0, 1001)]);
        let sum = received(&[(1.0, 100), (2.0, 1100), (3.0, 1300), (4.0, 1301)]);
        assert_eq!(together(vec![first, second]), sum);
        assert_eq!(together(vec![]), []);
    }
}
