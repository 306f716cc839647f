// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The demo: what a download does to a person's pages and call, with and without Ebb.
//!
//! Everything is real but the link: nginx serves, curl loads the pages and the large file,
//! and datagrams pace like a call. Either everything is on one machine, or on the devices of a home
//! behind a router. [`run`] measures; showing it is the caller's affair.

mod call;
mod download;
mod gateway;
mod nginx;
mod numbers;
mod pages;
mod place;
mod session;

pub use call::{Call, INTERVAL as CALL_INTERVAL, PAYLOAD_BYTES as CALL_PAYLOAD_BYTES, Spoken};
pub use download::{Download, Received};
pub use gateway::Gateway;
pub use nginx::Nginx;
pub use numbers::Numbers;
pub use pages::{PAGE_BYTES, PAGE_INTERVAL, PAGE_OBJECTS, Page, Reader, write_page};
pub use place::BACKGROUND_DEVICES;
pub use session::{ONE_WAY_DELAY, Options, QUEUE_PKTS, RATE, Status, Yielding, run};

use crate::LabError;
use std::fmt::Display;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What can go wrong in the demo.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A program that the demo needs is not installed.
    #[error("{program} is not installed (apt-get install {package})")]
    Missing {
        /// The program.
        program: String,
        /// The Debian package that has it.
        package: String,
    },
    /// A program did not do what it was started for.
    #[error("{program}: {problem}")]
    Failed {
        /// The program, maybe with its arguments.
        program: String,
        /// What happened, with the program's own words.
        problem: String,
    },
    /// The lab could not set up its links.
    #[error(transparent)]
    Lab(#[from] LabError),
    /// The system refused.
    #[error("{what}: {source}")]
    Io {
        /// The file, address or thing.
        what: String,
        /// The system's answer.
        source: std::io::Error,
    },
}

impl Error {
    fn io(what: impl Display) -> impl FnOnce(std::io::Error) -> Self {
        move |source| Self::Io {
            what: what.to_string(),
            source,
        }
    }

    /// A program could not be started: because it is not there, or otherwise.
    fn start(program: &str, error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound if !program.contains('/') => Self::Missing {
                program: program.into(),
                package: program.into(),
            },
            _ => Self::io(program)(error),
        }
    }
}

/// Has a program end when the thread that started it does, whatever happens to Ebb.
pub(crate) fn ends_with_its_parent(mut command: Command) -> Command {
    let ask = || nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGTERM);
    // SAFETY: between fork and exec the closure only calls prctl(2), async-signal-safe.
    unsafe { command.pre_exec(move || ask().map_err(Into::into)) };
    command
}

/// Which part of the demo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PartKind {
    /// Only the person.
    Quiet,
    /// The person and plain downloads.
    Plain,
    /// The person and downloads that Ebb has yield.
    Ebb,
}

/// What was measured in one part.
#[derive(Clone, Debug)]
pub struct Part {
    /// Which part.
    pub kind: PartKind,
    /// How long it was planned to last, in seconds; a page that is late may make it longer.
    pub duration_s: f64,
    /// Pages in the order of their clicks.
    pub pages: Vec<Page>,
    /// The call's datagrams in the order in which they were sent.
    pub call: Vec<Spoken>,
    /// Who used the link, in stretches of equal length.
    pub shares: Vec<Share>,
    /// The bytes of all downloads together, if there was one.
    pub download: Option<Vec<Received>>,
}

/// Who used the link towards the person in one stretch of time.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Share {
    /// Begin of the stretch, in seconds since the part began; the first may begin before it.
    pub from_s: f64,
    /// Its end.
    pub until_s: f64,
    /// Rate of the pages and the call in bits per second, IP headers included.
    pub person_bits_per_s: f64,
    /// Rate of the downloads in bits per second, IP headers included.
    pub download_bits_per_s: f64,
}

/// The whole demo's measurements.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// How the download yielded in the third part: the backend and the policy.
    pub method: String,
    /// The three parts: quiet, plain, under Ebb.
    pub parts: Vec<Part>,
    /// Rate in bits per second of plain downloads on a link of their own.
    pub alone_plain_bits_per_s: f64,
    /// Rate in bits per second of downloads that Ebb has yield, on a link of their own.
    pub alone_ebb_bits_per_s: f64,
}
