// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Starting `ebb` in tests: each with a runtime directory of its own.

// Each test program uses its own part of this.
#![allow(dead_code)]

pub mod hosts;
pub mod machine;
pub mod serving;
pub mod users;

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::time::Duration;

use nix::sys::signal::{SigHandler, Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

/// A machine may be busy with other tests: patience costs nothing where all is well.
pub const PATIENCE: Duration = Duration::from_secs(20);

/// What says that a connection goes this way, and is no acknowledgement of the other one.
const BYTES: u64 = 30_000;

/// `ebb` with a runtime directory that no other test sees.
pub struct Ebb {
    runtime: tempfile::TempDir,
}

/// In which directions a command transfers, as `ebb status` tells.
#[derive(Default)]
pub struct Directions {
    /// Its connections carry more than acknowledgements.
    pub moving: BTreeSet<String>,
    /// One that does is held back.
    pub held_back: BTreeSet<String>,
    /// What is told of each of them.
    pub told: Vec<String>,
}

/// A command under `ebb run` that has said that it is ready.
pub struct Running {
    pub child: Child,
    pub output: BufReader<ChildStdout>,
}

impl Ebb {
    pub fn new() -> Self {
        Self {
            runtime: tempfile::tempdir().unwrap(),
        }
    }

    pub fn command<const N: usize>(&self, arguments: [&str; N]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
        command
            .args(arguments)
            .env("EBB_RUNTIME_DIR", self.runtime.path())
            .env("EBB_STATE_DIR", self.runtime.path().join("state"))
            .env_remove("EBB_LOG");
        command
    }

    /// What makes any `ebb` use this one's runtime directory.
    pub fn environment(&self) -> [(&'static str, PathBuf); 1] {
        [("EBB_RUNTIME_DIR", self.runtime.path().to_path_buf())]
    }

    pub fn output<const N: usize>(&self, arguments: [&str; N]) -> Output {
        self.command(arguments)
            .stdin(Stdio::null())
            .output()
            .unwrap()
    }

    /// What it prints; it must succeed.
    pub fn says<const N: usize>(&self, arguments: [&str; N]) -> String {
        let output = self.output(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stdout(&output)
    }

    /// One look of `ebb top --json`, with rates over so many seconds.
    pub fn look(&self, seconds: &str) -> Value {
        let text = self.says(["top", "--json", "--count", "1", "--interval", seconds]);
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"))
    }

    /// The directions of the command in whose words `part` is; none if there is none.
    pub fn directions(&self, part: &str) -> Directions {
        let seen: Value =
            serde_json::from_str(&self.says(["status", "--flows", "--json"])).unwrap();
        let mut commands = seen.as_array().unwrap().iter();
        let command = commands.find(|it| it["target"]["command"].to_string().contains(part));
        let mut directions = Directions::default();
        for flow in command.map_or(&[][..], |it| it["flows"].as_array().unwrap()) {
            if flow["payload_bytes"].as_u64().unwrap() < BYTES {
                continue;
            }
            directions.told.push(flow.to_string());
            let direction = flow["direction"].as_str().unwrap();
            directions.moving.insert(direction.to_owned());
            if flow["is_acting"] == true && flow["reason"] != "" {
                directions.held_back.insert(direction.to_owned());
            }
        }
        directions
    }

    /// Starts `sh -c script` under `ebb run`, in a process group of its own, as shells do;
    /// returns when the script has printed `ready`.
    pub fn run_script(&self, script: &str) -> Running {
        use std::os::unix::process::CommandExt;
        let mut command = self.command(["run", "--", "sh", "-c", script]);
        // What the caller of the tests ignores, as under nohup, no shell could trap.
        let stop_ignoring = || {
            for signal in [Signal::SIGHUP, Signal::SIGINT, Signal::SIGQUIT] {
                // SAFETY: no handler is installed.
                unsafe { nix::sys::signal::signal(signal, SigHandler::SigDfl) }?;
            }
            Ok(())
        };
        // SAFETY: it only makes system calls.
        unsafe { command.pre_exec(stop_ignoring) };
        Running::start(command.process_group(0))
    }
}

impl Running {
    pub fn start(command: &mut Command) -> Self {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let mut running = Self { child, output };
        assert_eq!(running.line(), "ready");
        running
    }

    pub fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Sends a signal to `ebb` alone.
    pub fn send(&self, signal: Signal) {
        kill(self.pid(), signal).unwrap();
    }

    /// Sends a signal to `ebb` and its command, as the terminal does.
    pub fn send_to_group(&self, signal: Signal) {
        kill(Pid::from_raw(-self.pid().as_raw()), signal).unwrap();
    }

    /// Writes it an empty line.
    pub fn go_on(&mut self) {
        let input = self.child.stdin.as_mut().unwrap();
        input.write_all(b"\n").unwrap();
    }

    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    pub fn status(&mut self) -> Option<i32> {
        self.child.wait().unwrap().code()
    }
}

/// Asks a keeper on its socket, as docs/protocol.md has it.
pub fn ask(socket: &Path, request: &Value) -> Value {
    let mut stream = UnixStream::connect(socket).unwrap();
    let frame = json!({ "ebb": 1, "message": request });
    stream.write_all(format!("{frame}\n").as_bytes()).unwrap();
    let mut reply = String::new();
    BufReader::new(stream).read_line(&mut reply).unwrap();
    let mut reply: Value = serde_json::from_str(&reply).unwrap();
    assert_eq!(reply["ebb"], 1);
    reply["message"].take()
}

pub fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// The cgroup of a process, from the root of the version 2 hierarchy; none if it has ended.
pub fn cgroup_of(pid: u32) -> Option<PathBuf> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/cgroup")).ok()?;
    text.lines()
        .find_map(|line| line.strip_prefix("0::"))
        .map(PathBuf::from)
}
