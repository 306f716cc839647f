// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run --backend user`, by an ordinary user without any capability.

mod support;
mod transfers;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::process::{Child, Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use ebb_kernel::until;
use ebb_lab::emulator::{SERVER_IPV4, Testbed};
use ebb_lab::namespace::NamespaceHandle;
use ebb_sockets::{Kind, descendants_of, sockets_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::{Ebb, stderr, stdout};
use transfers::{build_fetch, home_link, path_with};

/// Below it is Ebb's first window only: by itself a connection begins with nearly 64 KiB, and
/// once it is let go the kernel may set so much again, as packets become longer.
const LIMITED_BYTES: u32 = 1 << 15;
/// What a container may take away.
const AS_NOBODY: [&str; 6] = [
    "--reuid=65534",
    "--regid=65534",
    "--clear-groups",
    "--bounding-set=-all",
    "--inh-caps=-all",
    "--no-new-privs",
];

/// Connects in a thread of its own, and reads nothing: the kernel raises the clamp of who reads.
const READER: &str = "
import socket, sys, threading
def read():
    s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
    print('ready', flush=True)
    threading.Event().wait()
threading.Thread(target=read, daemon=True).start()
sys.stdin.read()
sys.exit(7)
";

/// `ebb` as nobody, if the tests run as root; else as whoever runs them.
fn ebb(arguments: &[&str]) -> Command {
    with_prefix(Command::new("setpriv"), arguments)
}

fn with_prefix(mut setpriv: Command, arguments: &[&str]) -> Command {
    let program = env!("CARGO_BIN_EXE_ebb");
    if nix::unistd::geteuid().is_root() {
        setpriv.args(AS_NOBODY).arg("--").arg(program);
    } else {
        setpriv = Command::new(program);
    }
    setpriv.args(["run", "--backend", "user"]).args(arguments);
    setpriv
}

fn output(arguments: &[&str]) -> Output {
    ebb(arguments).stdin(Stdio::null()).output().unwrap()
}

#[test]
fn status_and_output_are_the_commands_own() {
    let ran = output(&["--summary", "--", "sh", "-c", "echo ran; exit 7"]);
    assert_eq!(
        (ran.status.code(), stdout(&ran).as_str()),
        (Some(7), "ran\n")
    );
    let told = stderr(&ran);
    assert!(told.contains("0 connections, policy sampled"), "{told}");
    assert!(told.trim_end().ends_with("user backend"), "{told}");
    let killed = output(&["--", "sh", "-c", "kill -TERM $$"]);
    assert_eq!(killed.status.code(), Some(128 + 15));
    let missing = output(&["--", "/no/such/command"]);
    assert_eq!(missing.status.code(), Some(127));
    assert!(stderr(&missing).contains("command not found"));
}

#[test]
fn the_user_backend_is_taken_where_there_is_no_privilege() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
    if nix::unistd::geteuid().is_root() {
        command = Command::new("setpriv");
        command.args(AS_NOBODY).arg(env!("CARGO_BIN_EXE_ebb"));
    }
    command.args(["run", "--summary", "--", "true"]);
    let ran = command.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("user backend"), "{}", stderr(&ran));
}

#[test]
fn laws_that_judge_packets_are_refused_by_name() {
    let refused = output(&["--policy", "vulture", "--", "echo", "ran"]);
    assert_eq!(refused.status.code(), Some(125));
    assert_eq!(stdout(&refused), "");
    let told = stderr(&refused);
    assert!(
        told.contains("'vulture'") && told.contains("sampled and paced"),
        "{told}"
    );
}

#[test]
fn a_setuid_command_is_refused_with_what_to_do() {
    let Some(program) = ["/usr/bin/su", "/bin/su", "/usr/bin/passwd"]
        .into_iter()
        .find(|file| std::path::Path::new(file).exists())
    else {
        return;
    };
    let refused = output(&["--", program, "--version"]);
    assert_eq!(refused.status.code(), Some(125));
    let told = stderr(&refused);
    assert!(told.contains("setuid") && told.contains("sudo"), "{told}");
    let told_to = output(&["--if-unavailable=run", "--", program, "--version"]);
    assert!(stderr(&told_to).contains("without any limit"));
}

#[test]
fn loopback_is_left_alone_and_said_so() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let script = "
import socket, sys, time
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])))
time.sleep(1)
";
    let ran = output(&["--summary", "--", "/usr/bin/python3", "-c", script, &port]);
    let told = stderr(&ran);
    assert!(told.contains("1 within this machine left alone"), "{told}");
}

#[test]
fn processes_that_live_on_are_told_and_signals_are_passed_on() {
    let ran = output(&[
        "--summary",
        "--",
        "sh",
        "-c",
        "setsid sleep 2 >/dev/null 2>&1 & exit 0",
    ]);
    assert_eq!(ran.status.code(), Some(0));
    assert!(
        stderr(&ran).contains("1 of its processes live on"),
        "{}",
        stderr(&ran)
    );
    let script = "trap 'echo caught; exit 3' USR1; echo ready; while :; do sleep 0.05; done";
    let mut command = ebb(&["--", "sh", "-c", script]);
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert_eq!(lines.next().unwrap().unwrap(), "ready");
    kill(Pid::from_raw(child.id().cast_signed()), Signal::SIGUSR1).unwrap();
    assert_eq!(lines.next().unwrap().unwrap(), "caught");
    assert_eq!(child.wait().unwrap().code(), Some(3));
}

/// A download over an emulated link, and the sockets of whoever does it.
struct Download {
    _testbed: Testbed,
    child: Child,
    is_over: Arc<AtomicBool>,
}

impl Download {
    /// Starts a command, given the server's address and port, under `ebb run` as nobody.
    fn start(words: &[&str]) -> Self {
        let as_nobody = |client: &NamespaceHandle| with_prefix(client.command("setpriv"), &["--"]);
        Self::start_as(as_nobody, words)
    }

    /// The same, given how `ebb run` is started.
    fn start_as(prefix: impl Fn(&NamespaceHandle) -> Command, words: &[&str]) -> Self {
        let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
        let path = testbed.path(0);
        let listener = path.server().run_in(|| TcpListener::bind((SERVER_IPV4, 0)));
        let listener = listener.unwrap().unwrap();
        let port = listener.local_addr().unwrap().port().to_string();
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let timeout = Some(Duration::from_millis(200));
            stream.set_write_timeout(timeout).unwrap();
            while !told.load(Ordering::Relaxed) {
                if let Err(error) = stream.write(&[1; 65_536])
                    && error.kind() != std::io::ErrorKind::WouldBlock
                {
                    return;
                }
            }
        });
        let address = SERVER_IPV4.to_string();
        let words = words.iter().map(|word| match *word {
            "ADDRESS" => address.as_str(),
            "PORT" => port.as_str(),
            word => word,
        });
        let child = prefix(path.client())
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            _testbed: testbed,
            child,
            is_over,
        }
    }

    /// The clamps of all connections that the command has.
    fn clamps(&self) -> Vec<u32> {
        let family = descendants_of(self.child.id());
        let sockets = family
            .iter()
            .flat_map(|pid| sockets_of(*pid).into_iter().flatten());
        let tcp = sockets.filter(|socket| socket.kind() == Kind::Tcp && socket.ends().is_some());
        tcp.filter_map(|socket| socket.window_clamp().ok())
            .collect()
    }

    fn is_limited(&self) -> bool {
        self.clamps().iter().any(|clamp| *clamp < LIMITED_BYTES)
    }

    fn is_let_go(&self) -> bool {
        let clamps = self.clamps();
        !clamps.is_empty() && clamps.iter().all(|clamp| *clamp >= LIMITED_BYTES)
    }

    fn process(&self, name: &str) -> Pid {
        let named = |pid: &u32| {
            let own = std::fs::read_to_string(format!("/proc/{pid}/comm"));
            own.is_ok_and(|own| own.trim() == name)
        };
        let found = descendants_of(self.child.id()).into_iter().find(named);
        Pid::from_raw(found.expect(name).cast_signed())
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        for pid in descendants_of(self.child.id()) {
            let _ = kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL);
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn a_killed_governor_limits_nobody_and_the_status_still_arrives() {
    if !ebb_kernel::requires_root("a_killed_governor_limits_nobody_and_the_status_still_arrives") {
        return;
    }
    let mut download = Download::start(&["/usr/bin/python3", "-c", READER, "ADDRESS", "PORT"]);
    until("limited", || download.is_limited());
    kill(download.process("ebb-governor"), Signal::SIGKILL).unwrap();
    let killed = Instant::now();
    until("let go", || download.is_let_go());
    assert!(
        killed.elapsed() < Duration::from_secs(2),
        "{:?}",
        killed.elapsed()
    );
    drop(download.child.stdin.take());
    assert_eq!(download.child.wait().unwrap().code(), Some(7));
}

#[test]
fn a_stopped_governor_limits_nobody_and_goes_on_later() {
    if !ebb_kernel::requires_root("a_stopped_governor_limits_nobody_and_goes_on_later") {
        return;
    }
    let download = Download::start(&["/usr/bin/python3", "-c", READER, "ADDRESS", "PORT"]);
    until("limited", || download.is_limited());
    let governor = download.process("ebb-governor");
    kill(governor, Signal::SIGSTOP).unwrap();
    let stopped = Instant::now();
    until("let go", || download.is_let_go());
    assert!(
        stopped.elapsed() < Duration::from_millis(2_500),
        "{:?}",
        stopped.elapsed()
    );
    kill(governor, Signal::SIGCONT).unwrap();
    until("limited again", || download.is_limited());
}

#[test]
fn a_killed_ebb_run_limits_nobody_and_leaves_the_command_alone() {
    if !ebb_kernel::requires_root("a_killed_ebb_run_limits_nobody_and_leaves_the_command_alone") {
        return;
    }
    let mut download = Download::start(&["/usr/bin/python3", "-c", READER, "ADDRESS", "PORT"]);
    until("limited", || download.is_limited());
    let family = descendants_of(download.child.id());
    let command = *family.last().unwrap();
    download.child.kill().unwrap();
    let killed = Instant::now();
    let is_let_go = || {
        let sockets = sockets_of(command).into_iter().flatten();
        let mut tcp = sockets.filter(|socket| socket.kind() == Kind::Tcp);
        tcp.any(|socket| {
            socket
                .window_clamp()
                .is_ok_and(|clamp| clamp >= LIMITED_BYTES)
        })
    };
    until("let go", is_let_go);
    assert!(
        killed.elapsed() < Duration::from_secs(2),
        "{:?}",
        killed.elapsed()
    );
    let command = Pid::from_raw(command.cast_signed());
    kill(command, None).expect("the command runs on");
    kill(command, Signal::SIGKILL).unwrap();
}

/// No shared library to preload, and a shell that forks before.
#[test]
fn a_static_program_behind_forks_is_governed() {
    if !ebb_kernel::requires_root("a_static_program_behind_forks_is_governed") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = build_fetch(folder.path());
    for path in [folder.path(), &program] {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::Permissions::from_mode(0o755);
        std::fs::set_permissions(path, mode).unwrap();
    }
    let script = format!(
        "( ( {} ADDRESS PORT /x >/dev/null ) & wait )",
        program.display()
    );
    let script = script.replace("ADDRESS", "$0").replace("PORT", "$1");
    let download = Download::start(&["sh", "-c", &script, "ADDRESS", "PORT"]);
    until("limited", || download.is_limited());
}

/// `ebb run` as a container's first process, root there as in most, without any capability.
fn in_a_container(client: &NamespaceHandle) -> Command {
    let mut unshare = client.command("unshare");
    unshare.args(["--user", "--map-root-user", "--pid", "--fork"]);
    unshare.args(["--kill-child", "--mount-proc", "--", "setpriv"]);
    unshare.args(["--bounding-set=-all", "--inh-caps=-all", "--no-new-privs"]);
    unshare.args(["--", env!("CARGO_BIN_EXE_ebb"), "run", "--"]);
    unshare
}

#[test]
fn in_a_container_without_any_capability_a_download_is_governed() {
    if !ebb_kernel::requires_root("in_a_container_without_any_capability_a_download_is_governed") {
        return;
    }
    let ebb = Ebb::new();
    let start = |client: &NamespaceHandle| {
        let mut command = in_a_container(client);
        command.envs(ebb.environment());
        command
    };
    let mut download = Download::start_as(
        start,
        &["/usr/bin/python3", "-c", READER, "ADDRESS", "PORT"],
    );
    until("limited", || download.is_limited());
    let governor = download.process("ebb-governor");
    let status = std::fs::read_to_string(format!("/proc/{governor}/status")).unwrap();
    for name in ["CapPrm", "CapBnd"] {
        let line = format!("{name}:\t0000000000000000");
        assert!(status.contains(&line), "{status}");
    }
    for kind in ["user", "pid", "mnt"] {
        let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/{kind}")).unwrap();
        assert_ne!(namespace(&governor.to_string()), namespace("self"));
    }
    drop(download.child.stdin.take());
    assert_eq!(download.child.wait().unwrap().code(), Some(7));
}
