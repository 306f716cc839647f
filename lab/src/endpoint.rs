// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starts and steers the worker process of [`crate::traffic`].
//!
//! The worker is this very program, started again with `EBB_LAB_WORKER_MODE` set: before
//! anything else it must call [`become_worker_if_asked`]. Test programs, whose `main` is not
//! ours, do so in a constructor.

use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::traffic::{self, GO_PREFIX, PlacedFlows, READY, TrafficError, WorkerResult};

const MODE_VARIABLE: &str = "EBB_LAB_WORKER_MODE";
const PROGRAM_VARIABLE: &str = "EBB_LAB_WORKER";

static CAN_BE_WORKER: AtomicBool = AtomicBool::new(false);

/// To be called at the start of `main`, or before it: in a worker process it never returns.
pub fn become_worker_if_asked() {
    CAN_BE_WORKER.store(true, Ordering::Relaxed);
    if std::env::var_os(MODE_VARIABLE).is_none() {
        return;
    }
    // Dies with the thread that started it: the lab waits for it there.
    let _ = nix::sys::prctl::set_pdeathsig(nix::sys::signal::Signal::SIGKILL);
    match traffic::work() {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(1);
        }
    }
}

/// The worker process with the flows of one wave of experiments. Dropping it ends it.
#[derive(Debug)]
pub struct Endpoints {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Endpoints {
    /// Starts the worker and waits until all sockets exist. The calling thread must
    /// outlive the worker.
    ///
    /// *Errors:* the worker cannot be started, or a socket cannot be made.
    pub fn prepare(placed: &PlacedFlows) -> Result<Self, TrafficError> {
        let program = worker_program()?;
        let mut child = Command::new(&program)
            .env(MODE_VARIABLE, "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|source| TrafficError::Spawn { program, source })?;
        let input = child.stdin.take().expect("stdin is piped");
        let output = BufReader::new(child.stdout.take().expect("stdout is piped"));
        let mut endpoints = Self {
            child,
            input,
            output,
        };
        let text = serde_json::to_string(placed)
            .map_err(|error| TrafficError::Worker(format!("writing the flows: {error}")))?;
        endpoints.tell(&text)?;
        let answer = endpoints.answer()?;
        if answer.trim() == READY {
            Ok(endpoints)
        } else {
            Err(TrafficError::Worker(format!(
                "unexpected answer `{answer}`"
            )))
        }
    }

    /// The worker process, which has all sockets.
    pub fn process_id(&self) -> u32 {
        self.child.id()
    }

    /// Lets the flows begin at a time on `CLOCK_MONOTONIC`. *Units:* ns.
    ///
    /// *Errors:* the worker has gone.
    pub fn start(&mut self, epoch_ns: u64) -> Result<(), TrafficError> {
        self.tell(&format!("{GO_PREFIX}{epoch_ns}"))
    }

    /// Waits for the end and answers what became of the flows.
    ///
    /// *Errors:* the worker failed.
    pub fn finish(mut self) -> Result<WorkerResult, TrafficError> {
        let text = self.answer()?;
        serde_json::from_str(&text)
            .map_err(|error| TrafficError::Worker(format!("reading results: {error}")))
    }

    fn tell(&mut self, text: &str) -> Result<(), TrafficError> {
        let written = writeln!(self.input, "{text}").and_then(|()| self.input.flush());
        written.map_err(|error| self.complaint(&error.to_string()))
    }

    fn answer(&mut self) -> Result<String, TrafficError> {
        let mut text = String::new();
        match self.output.read_line(&mut text) {
            Ok(0) => Err(self.complaint("it ended without an answer")),
            Ok(_) => Ok(text),
            Err(error) => Err(self.complaint(&error.to_string())),
        }
    }

    /// What the worker itself says about its failure, else what was noticed here.
    fn complaint(&mut self, noticed: &str) -> TrafficError {
        let _ = self.child.kill();
        let said = self
            .child
            .stderr
            .take()
            .and_then(|stderr| std::io::read_to_string(stderr).ok())
            .unwrap_or_default();
        match said.trim() {
            "" => TrafficError::Worker(noticed.to_owned()),
            said => TrafficError::Worker(said.to_owned()),
        }
    }
}

impl Drop for Endpoints {
    fn drop(&mut self) {
        // It may have ended already; either way it must not stay as a zombie.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn worker_program() -> Result<PathBuf, TrafficError> {
    if let Some(program) = std::env::var_os(PROGRAM_VARIABLE) {
        return Ok(program.into());
    }
    match CAN_BE_WORKER.load(Ordering::Relaxed) {
        true => Ok("/proc/self/exe".into()),
        // It would run itself, and that again.
        false => Err(TrafficError::Worker(format!(
            "this program is no worker: it does not begin with become_worker_if_asked(); or \
             {PROGRAM_VARIABLE} has to name one that does"
        ))),
    }
}
