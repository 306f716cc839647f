// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A program with connections over a path, and an Ebb that governs them.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use ebb_kernel::cgroup::Cgroup;
use ebb_lab::emulator::{self, SERVER_IPV4, SERVER_IPV6};
use serde_json::{Value, json};

use crate::clamp::{Connections, DOWNLOAD, UPLOAD, Way};
use crate::point::Point;
use crate::support::{Ebb, stderr};
use crate::victims;

/// Debian's: what stands before it in a path may be a script that takes its time.
pub const PYTHON: &str = "/usr/bin/python3";
const PROGRAM: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/soak/program.py");
/// For what takes a moment on a machine that does nothing else.
const PATIENCE: Duration = Duration::from_secs(20);
/// Ebb's processes end so soon when what they govern has.
const GONE_WITHIN: Duration = Duration::from_secs(10);

/// The scene of a point; all of it is gone after [`Scene::clear`].
pub struct Scene<'a> {
    point: &'a Point,
    path: &'a emulator::Path,
    ebb: Ebb,
    cgroup: Cgroup,
    /// The program, or the `ebb run` that starts it.
    pub child: Child,
    lines: Receiver<String>,
    /// So often it was told to open connections, and has not answered.
    asked: usize,
    /// The program's number, once it is known.
    pub pid: Option<u32>,
}

impl<'a> Scene<'a> {
    /// Starts the program, or `ebb run` with it, and has it open its connections.
    pub fn start(point: &'a Point, path: &'a emulator::Path) -> Self {
        let ebb = Ebb::new();
        let name = format!("ebb-soak-{}-{}", std::process::id(), point.number);
        let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
        let mut words = Vec::new();
        if point.phase.is_of_run() {
            words.extend([env!("CARGO_BIN_EXE_ebb"), "run", "--backend"]);
            words.push(point.backend.name());
            words.extend(["--policy", point.policies[0][0]]);
            words.extend(["--upload-policy", point.policies[0][1], "--"]);
        }
        let server = match point.is_ipv6 {
            true => SERVER_IPV6.to_string(),
            false => SERVER_IPV4.to_string(),
        };
        words.extend([PYTHON, PROGRAM, &server]);
        let procs = cgroup.directory_path().join("cgroup.procs");
        let enter = format!("echo 0 > {}; exec \"$@\"", procs.display());
        let mut command = path.client().command("sh");
        command.args(["-c", &enter, "sh"]).args(words);
        command.envs(ebb.environment());
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(ebb.environment()[0].1.join("complaints")).unwrap())
            .spawn()
            .unwrap();
        let lines = lines_of(&mut child);
        let mut scene = Self {
            point,
            path,
            ebb,
            cgroup,
            child,
            lines,
            asked: 0,
            pid: None,
        };
        scene.open(point.sets);
        scene
    }

    /// Has the program open sets of connections. One that was never started does not hear it.
    pub fn open(&mut self, sets: usize) {
        self.asked += 1;
        let input = self.child.stdin.as_mut().unwrap();
        let _ = writeln!(input, "{sets}");
    }

    /// Whether the program says within a time that it has opened what it was told to once.
    pub fn is_heard_within(&mut self, time: Duration) -> bool {
        let Ok(line) = self.lines.recv_timeout(time) else {
            return false;
        };
        let number = line.strip_prefix("ready ").expect("it says nothing else");
        self.pid = Some(number.parse().unwrap());
        self.asked -= 1;
        true
    }

    /// Waits until it has opened all that it was told to.
    pub fn expect_ready(&mut self) -> Result<(), String> {
        while self.asked > 0 {
            if !self.is_heard_within(PATIENCE) {
                let said = fs::read_to_string(self.runtime().join("complaints"));
                let said = said.unwrap_or_default();
                return Err(format!(
                    "not connected after {PATIENCE:?}, or ended: {said}"
                ));
            }
        }
        Ok(())
    }

    pub fn runtime(&self) -> PathBuf {
        self.ebb.environment()[0].1.clone()
    }

    /// `ebb attach` with the first of the policies, or with the second.
    pub fn attach(&self, which: usize) -> Command {
        let mut command = self.ebb.command(["attach"]);
        self.path.client().move_child(&mut command);
        let [download, upload] = self.point.policies[which];
        command.args(["--backend", self.point.backend.name()]);
        command.args(["--policy", download, "--upload-policy", upload]);
        command.args(self.whose());
        quiet(command)
    }

    pub fn detach(&self) -> Command {
        let mut command = self.ebb.command(["detach"]);
        command.args(self.whose());
        quiet(command)
    }

    fn whose(&self) -> [String; 2] {
        match self.point.is_by_cgroup {
            true => ["--cgroup".into(), self.cgroup.path().display().to_string()],
            false => ["--pid".into(), self.pid.unwrap().to_string()],
        }
    }

    /// Attaches, and waits until connections are limited both ways.
    pub fn attach_and_settle(&self) -> Result<(), String> {
        let output = self.attach(0).stderr(Stdio::piped()).output().unwrap();
        if !output.status.success() {
            return Err(format!("ebb attach: {}", stderr(&output)));
        }
        self.settle()
    }

    /// Waits until a download and an upload are limited.
    pub fn settle(&self) -> Result<(), String> {
        let mut connections = Connections::of(self.pid.unwrap(), false);
        let deadline = Instant::now() + PATIENCE;
        let mut is_limited = [false; 2];
        while is_limited != [true; 2] {
            if Instant::now() > deadline {
                return Err(format!("not limited after {PATIENCE:?}: {is_limited:?}"));
            }
            std::thread::sleep(Duration::from_millis(10));
            connections.search();
            for watched in connections.all.values() {
                let look = watched.look();
                is_limited[0] |= watched.peer_port == DOWNLOAD && look.limit(Way::Down).is_some();
                is_limited[1] |= watched.peer_port == UPLOAD && look.limit(Way::Up).is_some();
            }
        }
        Ok(())
    }

    /// Sets the program's connections free and holds them back, until nobody listens.
    pub fn toggle(&self) -> impl FnOnce() + Send + use<> {
        let runtime = self.runtime();
        let pid = self.pid.unwrap();
        move || {
            let Some(socket) = socket_in(&runtime) else {
                return;
            };
            for to in ["free", "held"].into_iter().cycle() {
                let whose = json!({"process": {"pid": pid}});
                let request = json!({"switch": {"whose": whose, "to": to}});
                if ask(&socket, &request).is_err() {
                    return;
                }
            }
        }
    }

    /// Ends the program. What of Ebb does not end by itself, and is killed, is a problem.
    pub fn clear(mut self) -> Result<(), String> {
        if let Some(pid) = self.pid {
            let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        drop(self.child.stdin.take());
        let runtime = self.runtime();
        let deadline = Instant::now() + GONE_WITHIN;
        while !victims::processes_of(&runtime).is_empty() && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(50));
        }
        let left = victims::kill_the_rest(&runtime);
        // A program that Ebb had started as it was killed, and that nobody has heard of.
        let _ = fs::write(self.cgroup.directory_path().join("cgroup.kill"), "1");
        let _ = self.child.kill();
        let _ = self.child.wait();
        remove_all(&self.cgroup.directory_path());
        match left.is_empty() {
            true => Ok(()),
            false => Err(format!("these lived on: {left:?}")),
        }
    }
}

fn quiet(mut command: Command) -> Command {
    command.stdin(Stdio::null()).stdout(Stdio::null());
    command.stderr(Stdio::null());
    command
}

fn lines_of(child: &mut Child) -> Receiver<String> {
    let output = BufReader::new(child.stdout.take().unwrap());
    let (said, lines) = channel();
    std::thread::spawn(move || {
        for line in output.lines().map_while(Result::ok) {
            if said.send(line).is_err() {
                return;
            }
        }
    });
    lines
}

fn socket_in(runtime: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(runtime).ok()?.flatten();
    let is_socket = |path: &PathBuf| path.extension().is_some_and(|it| it == "sock");
    entries.map(|it| it.path()).find(is_socket)
}

/// As `support::ask`, of a keeper that may be killed meanwhile.
fn ask(socket: &Path, request: &Value) -> std::io::Result<()> {
    let mut stream = UnixStream::connect(socket)?;
    writeln!(stream, "{}", json!({ "ebb": 1, "message": request }))?;
    let mut reply = String::new();
    match BufReader::new(stream).read_line(&mut reply)? {
        0 => Err(std::io::ErrorKind::UnexpectedEof.into()),
        _ => Ok(()),
    }
}

/// A cgroup with those in it, as `ebb run` makes them, once their processes have ended.
fn remove_all(directory: &Path) {
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if entry.path().is_dir() {
            remove_all(&entry.path());
        }
    }
    let deadline = Instant::now() + GONE_WITHIN;
    while fs::remove_dir(directory).is_err() && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(20));
    }
}
