// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach`, `status`, `top` and `detach` with the user backend, by an ordinary user: what
//! was set on the sockets, not how fast anything is.

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
use ebb_sockets::{CopiedSocket, Kind, sockets_of};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};
use support::{stderr, stdout};
use transfers::{home_link, path_with};

/// Below it is Ebb's first window only: by itself a connection begins with nearly 64 KiB, and
/// once it is let go the kernel may set so much again, as packets become longer.
const LIMITED_BYTES: u32 = 1 << 15;
const NOBODY: u32 = 65_534;

/// Reads nothing: the kernel raises the clamp of who reads.
const READER: &str = "
import socket, sys
s = socket.create_connection((sys.argv[1], int(sys.argv[2])))
print('ready', flush=True)
sys.stdin.read()
";

/// Nobody, if the tests run as root; without any capability either way.
fn as_nobody(mut setpriv: Command, words: &[&str]) -> Command {
    setpriv.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    setpriv.args([
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--no-new-privs",
        "--",
    ]);
    setpriv.args(words);
    setpriv
}

/// A program of nobody's that has one connection over an emulated link, and an Ebb to attach.
struct Scene {
    testbed: Testbed,
    program: Child,
    port: u16,
    runtime: tempfile::TempDir,
    is_over: Arc<AtomicBool>,
}

impl Scene {
    fn start() -> Self {
        let testbed = Testbed::start(vec![path_with(home_link())]).unwrap();
        let path = testbed.path(0);
        let listener = path.server().run_in(|| TcpListener::bind((SERVER_IPV4, 0)));
        let listener = listener.unwrap().unwrap();
        let port = listener.local_addr().unwrap().port();
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
        let (address, number) = (SERVER_IPV4.to_string(), port.to_string());
        let words = ["/usr/bin/python3", "-c", READER, &address, &number];
        let mut command = as_nobody(path.client().command("setpriv"), &words);
        let mut program = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut output = BufReader::new(program.stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let runtime = tempfile::tempdir().unwrap();
        std::os::unix::fs::chown(runtime.path(), Some(NOBODY), Some(NOBODY)).unwrap();
        Self {
            testbed,
            program,
            port,
            runtime,
            is_over,
        }
    }

    fn pid(&self) -> String {
        self.program.id().to_string()
    }

    /// `ebb` as nobody, where the program's connections are.
    fn ebb(&self, arguments: &[&str]) -> Output {
        let mut words = vec![env!("CARGO_BIN_EXE_ebb")];
        words.extend(arguments);
        let client = self.testbed.path(0).client();
        let mut command = as_nobody(client.command("setpriv"), &words);
        command.env("EBB_RUNTIME_DIR", self.runtime.path());
        command.stdin(Stdio::null()).output().unwrap()
    }

    fn says(&self, arguments: &[&str]) -> String {
        let output = self.ebb(arguments);
        assert!(
            output.status.success(),
            "{arguments:?}: {}",
            stderr(&output)
        );
        stdout(&output)
    }

    /// What a keeper answers to a request.
    fn ask(&self, pid: &str, request: &Value) -> Value {
        let socket = self.runtime.path().join(format!("process-{pid}.sock"));
        support::ask(&socket, request)
    }

    fn status(&self) -> Vec<Value> {
        let text = self.says(&["status", "--flows", "--json"]);
        serde_json::from_str(&text).unwrap()
    }

    fn socket(&self) -> CopiedSocket {
        let sockets = sockets_of(self.program.id()).unwrap();
        let mut tcp = sockets.filter(|it| it.kind() == Kind::Tcp);
        tcp.next().expect("the program has its connection")
    }

    fn is_limited(&self) -> bool {
        self.socket().window_clamp().unwrap() < LIMITED_BYTES
    }

    fn is_let_go(&self) -> bool {
        self.socket().window_clamp().unwrap() >= LIMITED_BYTES
    }

    /// The keeper and its guardian.
    fn keepers(&self) -> (Pid, Pid) {
        let keeper = self.status()[0]["keeper_pid"].as_i64().unwrap();
        let stat = std::fs::read_to_string(format!("/proc/{keeper}/stat")).unwrap();
        let parent = stat.rsplit_once(") ").unwrap().1.split(' ').nth(1).unwrap();
        let keeper = i32::try_from(keeper).unwrap();
        (
            Pid::from_raw(keeper),
            Pid::from_raw(parent.parse().unwrap()),
        )
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        let _ = self.ebb(&["detach", "--all"]);
        let _ = self.program.kill();
        let _ = self.program.wait();
    }
}

fn name_of(pid: Pid) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.unwrap_or_default().trim().to_owned()
}

#[test]
fn a_running_program_yields_from_attaching_to_detaching() {
    if !ebb_kernel::requires_root("a_running_program_yields_from_attaching_to_detaching") {
        return;
    }
    let scene = Scene::start();
    let pid = scene.pid();
    let told = scene.says(&["attach", "--pid", &pid]);
    assert!(
        told.contains("sampled, sending by paced (user backend)"),
        "{told}"
    );
    until("limited", || scene.is_limited());
    until("marked", || scene.socket().traffic_class().unwrap() == 4);

    // Attaching again is one attachment, with other parameters.
    let told = scene.says(&[
        "attach",
        "--pid",
        &pid,
        "--policy",
        "sampled:target_us=9000",
    ]);
    assert!(told.contains("target_us=9000"), "{told}");
    let status = scene.status();
    assert_eq!(status.len(), 1, "{status:?}");
    assert_eq!(status[0]["backend"], "user");
    assert_eq!(status[0]["policy"], "sampled:target_us=9000");
    let flows = status[0]["flows"].as_array().unwrap();
    let flow = flows
        .iter()
        .find(|flow| flow["direction"] == "down")
        .unwrap();
    assert_eq!(flow["peer"], format!("{SERVER_IPV4}:{}", scene.port));
    assert_eq!(flow["law"], "sampled");
    assert_eq!(flow["is_acting"], true);
    let program = flow["program"].as_str().unwrap();
    assert_eq!(program, format!("python3[{pid}]"));
    let text = scene.says(&["status", "--flows"]);
    assert!(
        text.contains("user backend") && text.contains(program),
        "{text}"
    );
    let top = scene.says(&["top", "--interval", "0.2"]);
    assert!(
        top.contains(program) && top.contains("down sampled"),
        "{top}"
    );

    // Switched off for a moment, as `ebb top` does it.
    assert_eq!(scene.ask(&pid, &json!({"set-observing": true})), "done");
    until("free", || scene.is_let_go());
    assert!(scene.says(&["status"]).contains("free for now"));
    assert_eq!(scene.ask(&pid, &json!({"set-observing": false})), "done");
    until("limited after that", || scene.is_limited());
    let process = |to: Value| {
        let whose = json!({"process": {"pid": scene.program.id()}});
        scene.ask(&pid, &json!({"switch": {"whose": whose, "to": to}}))
    };
    assert_eq!(process(json!("free")), "done");
    until("its process is free", || scene.is_let_go());
    let wrong = process(json!({"policy": "vulture"}));
    assert!(wrong.to_string().contains("sampled and paced"), "{wrong}");
    assert_eq!(process(json!("held")), "done");
    until("its process is limited", || scene.is_limited());

    let refused = scene.ebb(&["attach", "--pid", &pid, "--policy", "vulture"]);
    assert!(
        stderr(&refused).contains("sampled and paced"),
        "{}",
        stderr(&refused)
    );
    scene.says(&["detach", "--pid", &pid]);
    assert!(scene.is_let_go());
    assert_eq!(scene.socket().traffic_class().unwrap(), 0);
    assert!(scene.says(&["status"]).contains("nothing is attached"));
}

#[test]
fn limits_are_lifted_whoever_of_ebb_is_killed_or_stopped() {
    if !ebb_kernel::requires_root("limits_are_lifted_whoever_of_ebb_is_killed_or_stopped") {
        return;
    }
    let scene = Scene::start();
    let pid = scene.pid();
    scene.socket().set_max_pace(7_000_000).unwrap();
    scene.says(&["attach", "--pid", &pid]);
    until("limited", || scene.is_limited());
    let (keeper, guardian) = scene.keepers();
    assert_eq!(name_of(keeper), "ebb-keeper");
    assert_eq!(name_of(guardian), "ebb-guardian");
    kill(keeper, Signal::SIGSTOP).unwrap();
    let stopped = Instant::now();
    until("let go while stopped", || scene.is_let_go());
    assert!(
        stopped.elapsed() < Duration::from_millis(2_500),
        "{:?}",
        stopped.elapsed()
    );
    kill(keeper, Signal::SIGCONT).unwrap();
    until("limited again", || scene.is_limited());
    kill(keeper, Signal::SIGKILL).unwrap();
    let killed = Instant::now();
    until("let go", || scene.is_let_go());
    assert!(
        killed.elapsed() < Duration::from_secs(2),
        "{:?}",
        killed.elapsed()
    );
    // Its own, not the greatest.
    assert_eq!(scene.socket().max_pace().unwrap(), 7_000_000);
    assert!(scene.says(&["status"]).contains("nothing is attached"));
}

#[test]
fn a_keeper_ends_with_the_program_and_without_its_guardian_goes_on() {
    if !ebb_kernel::requires_root("a_keeper_ends_with_the_program_and_without_its_guardian_goes_on")
    {
        return;
    }
    let mut scene = Scene::start();
    let pid = scene.pid();
    scene.says(&["attach", "--pid", &pid]);
    until("limited", || scene.is_limited());
    let (keeper, guardian) = scene.keepers();
    kill(guardian, Signal::SIGKILL).unwrap();
    assert_eq!(scene.status().len(), 1);
    scene.program.kill().unwrap();
    scene.program.wait().unwrap();
    until("the keeper has ended", || name_of(keeper) != "ebb-keeper");
    assert!(scene.says(&["status"]).contains("nothing is attached"));
}

#[test]
fn other_users_processes_are_refused_by_name() {
    if !ebb_kernel::requires_root("other_users_processes_are_refused_by_name") {
        return;
    }
    let scene = Scene::start();
    let own = std::process::id().to_string();
    let refused = scene.ebb(&["attach", "--pid", &own]);
    assert_eq!(refused.status.code(), Some(1));
    let told = stderr(&refused);
    assert!(
        told.contains("root's") && told.contains("sudo ebb attach"),
        "{told}"
    );
    let gone = scene.ebb(&["attach", "--pid", "4194304"]);
    assert!(
        stderr(&gone).contains("process 4194304: "),
        "{}",
        stderr(&gone)
    );
    assert!(scene.says(&["status"]).contains("nothing is attached"));
}

#[test]
fn a_port_is_governed_and_two_ebbs_share_one_connection_in_peace() {
    if !ebb_kernel::requires_root("a_port_is_governed_and_two_ebbs_share_one_connection_in_peace") {
        return;
    }
    let scene = Scene::start();
    let (pid, port) = (scene.pid(), scene.port.to_string());
    let told = scene.says(&["attach", "--port", &port]);
    assert!(
        told.starts_with(&format!("port {port} yields by sampled")),
        "{told}"
    );
    until("limited", || scene.is_limited());
    scene.says(&["attach", "--port", &port]);
    scene.says(&["attach", "--pid", &pid]);
    let status = scene.status();
    // Those of one second come in any order.
    let count_of = |kind: &str| {
        let mut records = status.iter();
        let record = records.find(|record| record["target"]["kind"] == kind);
        record.unwrap()["flows"].as_array().unwrap().len()
    };
    // One keeper has the connection, both ways; the other waits for it.
    let counts = ["port", "process"].map(count_of);
    assert_eq!(counts, [2, 0], "{status:?}");
    scene.says(&["detach", "--port", &port]);
    until("taken over", || scene.is_limited());
    scene.says(&["detach", "--pid", &pid]);
    assert!(scene.is_let_go());
}

#[test]
fn a_command_under_ebb_run_is_listed_changed_and_detached() {
    if !ebb_kernel::requires_root("a_command_under_ebb_run_is_listed_changed_and_detached") {
        return;
    }
    let scene = Scene::start();
    let words = ["run", "--", "sh", "-c", "echo ready; read -r line; exit 3"];
    let mut all = vec![env!("CARGO_BIN_EXE_ebb")];
    all.extend(words);
    let client = scene.testbed.path(0).client();
    let mut command = as_nobody(client.command("setpriv"), &all);
    command.env("EBB_RUNTIME_DIR", scene.runtime.path());
    let mut running = support::Running::start(&mut command);
    until("listed", || scene.status().len() == 1);
    let record = scene.status()[0].clone();
    assert_eq!(record["target"]["kind"], "run");
    assert_eq!(record["target"]["command"][0], "sh");
    let governor = u32::try_from(record["keeper_pid"].as_u64().unwrap()).unwrap();
    let shell = ebb_sockets::descendants_of(governor)[0].to_string();
    // Part of the command: no attachment of its own.
    scene.says(&["attach", "--pid", &shell, "--policy", "sampled:low_us=4000"]);
    let status = scene.status();
    assert_eq!(status.len(), 1);
    assert_eq!(status[0]["policy"], "sampled:low_us=4000");
    scene.says(&["detach", "--all"]);
    assert!(scene.says(&["status"]).contains("nothing is attached"));
    running
        .child
        .stdin
        .take()
        .unwrap()
        .write_all(b"go\n")
        .unwrap();
    assert_eq!(running.status(), Some(3));
}
