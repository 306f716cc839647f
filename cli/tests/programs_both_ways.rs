// SPDX-License-Identifier: Apache-2.0 OR MIT
//! rsync, git and restic, sending and receiving at once under both backends beside greedy
//! transfers each way: all arrives at both ends, and what they send and what they receive is
//! held back. By what `ebb status` says, not by rates.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpStream;
use std::path::{Path as FilePath, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::until;
use ebb_lab::emulator::{EmulatorReport, Path, SERVER_IPV4, Testbed};
use ebb_lab::judging::{Attempt, judge};
use greedy::Others;
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Directions, Ebb, PATIENCE};
use transfers::{
    NOBODY, as_nobody, has_installed, home_link, open_folder, path_with, program, words,
};
use two_way::{OURS, PROGRAMS, Place, Program};

mod support;
mod transfers;

#[path = "transfers/greedy.rs"]
mod greedy;
#[path = "transfers/two_way.rs"]
mod two_way;

/// Everybody else comes when a program has the link, and stays until it was held back both ways.
const OTHERS: u16 = 8_080;
/// Alone each takes about 5 s.
const LIMIT: Duration = Duration::from_secs(60);

/// A program under Ebb, with its server.
struct Run<'a> {
    program: &'static Program,
    backend: &'static str,
    place: Place,
    path: &'a Path,
    folder: PathBuf,
    server: Child,
    child: Option<Child>,
    prepared: Instant,
}

impl<'a> Run<'a> {
    /// Makes its files and starts its server.
    fn prepare(
        program: &'static Program,
        backend: &'static str,
        path: &'a Path,
        root: &FilePath,
    ) -> Self {
        let folder = root.join(format!("{}-{backend}", program.name));
        let place = Place::make(&folder);
        (program.prepare)(&place);
        Others::expect(path, OTHERS);
        let words = (program.server)(&place);
        let mut server = transfers::program(path.server(), &words);
        let log = fs::File::create(folder.join("server-log")).unwrap();
        server
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        let server = server.spawn().unwrap();
        until("the server listens", || {
            let knock = || TcpStream::connect((SERVER_IPV4, OURS)).is_ok();
            path.server().run_in(knock).unwrap()
        });
        Self {
            program,
            backend,
            place,
            path,
            folder,
            server,
            child: None,
            prepared: Instant::now(),
        }
    }

    /// Starts it under Ebb.
    fn begin(&mut self, ebb: &Ebb) {
        let script = (self.program.script)();
        let mut command = under_ebb(self.path, self.backend, &self.place, &script);
        command
            .envs(ebb.environment())
            .env("HOME", &self.place.client);
        command.current_dir(&self.place.client);
        let log = fs::File::create(self.folder.join("log")).unwrap();
        command
            .stdin(Stdio::null())
            .stdout(log.try_clone().unwrap())
            .stderr(log);
        self.child = Some(command.spawn().unwrap());
    }

    fn name(&self) -> String {
        format!("{}, {} backend", self.program.name, self.backend)
    }

    fn directions(&self, ebb: &Ebb) -> Directions {
        ebb.directions(&self.place.client.display().to_string())
    }

    /// Has it transfer alone, then beside others until it was held back both ways, then to its
    /// end; answers what is wrong.
    fn go_through(&mut self, ebb: &Ebb) -> Option<String> {
        self.begin(ebb);
        let deadline = Instant::now() + PATIENCE;
        while self.directions(ebb).moving.len() < 2 {
            if Instant::now() > deadline || self.has_ended() {
                return Some("it did not go both ways".to_owned());
            }
        }
        self.tell("goes both ways");
        let others = Others::begin(self.path, OTHERS);
        let (deadline, mut held) = (Instant::now() + PATIENCE, BTreeSet::new());
        while held.len() < 2 {
            let seen = self.directions(ebb);
            held.extend(seen.held_back);
            if Instant::now() > deadline || self.has_ended() {
                let told = seen.told.join("\n");
                return Some(format!("held back only {held:?}, at last:\n{told}"));
            }
        }
        self.tell("held back both ways");
        drop(others);
        let problem = self.end();
        self.tell("through");
        problem
    }

    /// For whoever looks (`--nocapture`).
    fn tell(&self, what: &str) {
        let seconds = self.prepared.elapsed().as_secs_f64();
        eprintln!("{}: {what} after {seconds:.1} s", self.name());
    }

    fn has_ended(&mut self) -> bool {
        let child = self.child.as_mut().unwrap();
        child.try_wait().unwrap().is_some()
    }

    /// Waits until it is through; answers whether that was too late. All must have arrived, however
    /// late.
    fn end(&mut self) -> Option<String> {
        let began = Instant::now();
        let status = loop {
            match self.child.as_mut().unwrap().try_wait().unwrap() {
                Some(status) => break status,
                None if began.elapsed() > LIMIT => {
                    return Some(format!("not through after {LIMIT:?}"));
                }
                None => std::thread::sleep(Duration::from_millis(20)),
            }
        };
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        assert!(status.success(), "{}: {status}: {log}", self.name());
        let checked = (self.program.check)(&self.place);
        checked.unwrap_or_else(|problem| panic!("{}: {problem}", self.name()));
        None
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        for child in self.child.iter_mut().chain([&mut self.server]) {
            // `ebb run` passes it on.
            let _ = kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGTERM);
            let _ = child.wait();
        }
    }
}

/// The user backend is tried by somebody without any privilege.
fn under_ebb(path: &Path, backend: &str, place: &Place, script: &str) -> Command {
    let script = format!("cd {} && {{ {script}; }}", place.client.display());
    let ebb = [
        env!("CARGO_BIN_EXE_ebb"),
        "run",
        "--backend",
        backend,
        "--",
        "sh",
        "-c",
        &script,
    ];
    if backend == "kernel" {
        return program(path.client(), &words(ebb));
    }
    place.hand_to(NOBODY);
    program(path.client(), &as_nobody(&words(ebb)))
}

#[test]
fn rsync_git_and_restic_yield_both_ways_and_all_arrives() {
    let name = "rsync_git_and_restic_yield_both_ways_and_all_arrives";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let programs: Vec<_> = PROGRAMS
        .iter()
        .filter(|program| has_installed(program.name, program.needs))
        .collect();
    judge(name, || {
        let (wrong, report) = go_through(&programs);
        Attempt::over(&report, wrong)
    });
}

/// Has all go through side by side, under each backend; answers what is wrong.
fn go_through(programs: &[&'static Program]) -> (Vec<String>, EmulatorReport) {
    let folder = open_folder();
    let all: Vec<_> = programs
        .iter()
        .flat_map(|program| ["kernel", "user"].map(|backend| (*program, backend)))
        .collect();
    let testbed = Testbed::start(vec![path_with(home_link()); all.len()]).unwrap();
    let ebbs = ["kernel", "user"].map(|backend| (backend, Ebb::new()));
    for directory in ebbs[1].1.environment() {
        std::os::unix::fs::chown(directory.1, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let places = all.iter().zip(testbed.paths());
        let running = places.map(|((program, backend), path)| {
            let ebb = ebbs.iter().find(|ebb| ebb.0 == *backend).map(|ebb| &ebb.1);
            let root = folder.path();
            scope.spawn(move || {
                let mut run = Run::prepare(program, backend, path, root);
                let problem = run.go_through(ebb.unwrap());
                problem.map(|problem| format!("{}: {problem}", run.name()))
            })
        });
        let running: Vec<_> = running.collect();
        running
            .into_iter()
            .filter_map(|it| it.join().unwrap())
            .collect()
    });
    (wrong, testbed.stop().unwrap())
}
