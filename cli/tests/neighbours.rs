// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Several users on one machine: root sees and ends what others attached, they only their own; and
//! one who stands in for the service.

mod support;

use std::fs::{self, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use ebb_kernel::requires_root;
use nix::sys::socket::{Backlog, listen};
use serde_json::Value;
use support::users::{self, BOB, Users, as_user};
use support::{Running, stderr, stdout};

/// Users that nobody else is, without names.
const ADA: u32 = 61_234;
const BEN: u32 = 61_235;

/// `ebb` of a user where its runtime directory is the usual one.
fn ebb(user: u32, arguments: &[&str]) -> Command {
    let mut command = Command::new("setpriv");
    command.arg(format!("--reuid={user}"));
    command.arg(format!("--regid={user}"));
    command.args(["--clear-groups", "--"]);
    command.arg(env!("CARGO_BIN_EXE_ebb")).args(arguments);
    for name in ["EBB_RUNTIME_DIR", "XDG_RUNTIME_DIR", "TMPDIR"] {
        command.env_remove(name);
    }
    command
}

fn output(user: u32, arguments: &[&str]) -> Output {
    let mut command = ebb(user, arguments);
    command.stdin(Stdio::null()).output().unwrap()
}

fn says(user: u32, arguments: &[&str]) -> String {
    let output = output(user, arguments);
    assert!(
        output.status.success(),
        "{arguments:?}: {}",
        stderr(&output)
    );
    stdout(&output)
}

/// Goes with the test.
struct Directory(PathBuf);

impl Drop for Directory {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn usual_directory(user: u32) -> Directory {
    Directory(PathBuf::from(format!("/tmp/ebb-{user}")))
}

#[test]
fn root_sees_and_ends_what_others_attached_and_they_only_their_own() {
    if !ebb_kernel::requires_root("root_sees_and_ends_what_others_attached_and_they_only_their_own")
    {
        return;
    }
    let (of_ada, _of_ben) = (usual_directory(ADA), usual_directory(BEN));
    let script = "echo ready; echo $$ >&2; cat";
    let mut command = ebb(ADA, &["run", "--", "sh", "-c", script]);
    let mut running = Running::start(command.stderr(Stdio::piped()));
    let mut shell = String::new();
    let told = running.child.stderr.take().unwrap();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(told), &mut shell).unwrap();
    let shell = shell.trim();

    assert!(says(0, &["status"]).contains(&format!("ebb run -- sh -c {script} of {ADA}: sampled")));
    let look: Value = serde_json::from_str(&says(0, &["status", "--flows", "--json"])).unwrap();
    let is_adas = |record: &&Value| record["user"].as_str() == Some("61234");
    let record = look.as_array().unwrap().iter().find(is_adas).unwrap();
    assert_eq!(record["backend"], "user");

    // Ben neither sees nor ends it, also where he knows where to look.
    assert_eq!(says(BEN, &["status"]), "nothing is attached\n");
    assert!(stderr(&output(BEN, &["detach", "--pid", shell])).contains("nothing is attached"));
    for arguments in [["status"].as_slice(), &["detach", "--all"]] {
        let mut command = ebb(BEN, arguments);
        let output = command.env("EBB_RUNTIME_DIR", &of_ada.0).output().unwrap();
        assert_eq!(output.status.code(), Some(1));
        assert!(stderr(&output).contains(of_ada.0.to_str().unwrap()));
    }
    assert!(says(ADA, &["status"]).contains("ebb run -- sh"));

    // What only looks like a user's directory is not looked into.
    let _false_one = Directory(PathBuf::from("/tmp/ebb-61236"));
    fs::create_dir_all("/tmp/ebb-61236").unwrap();
    for ending in ["json", "sock"] {
        let of_run = fs::read_dir(&of_ada.0)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let file = of_run.filter(|path| path.extension().is_some_and(|it| it == ending));
        for file in file {
            let to = format!("/tmp/ebb-61236/{}", file.file_name().unwrap().display());
            std::os::unix::fs::symlink(file, to).unwrap();
        }
    }
    assert!(!says(0, &["status"]).contains("of 61236"));

    let said = says(0, &["detach", "--pid", shell]);
    assert!(said.contains(&format!(" of {ADA}: detached")), "{said}");
    assert_eq!(says(ADA, &["status"]), "nothing is attached\n");
    assert!(!says(0, &["status"]).contains(&format!("of {ADA}")));
    // It runs on without limits.
    drop(running.child.stdin.take());
    assert_eq!(running.status(), Some(0));
}

#[test]
fn who_stands_in_for_the_service_is_refused_by_name_and_told_nothing() {
    let name = "who_stands_in_for_the_service_is_refused_by_name_and_told_nothing";
    if !requires_root(name) {
        return;
    }
    let users = Users::new("i");
    let listener = UnixListener::bind(users.socket()).unwrap();
    fs::set_permissions(users.socket(), Permissions::from_mode(0o777)).unwrap();
    // Who asks for the peer's credentials is told who has called listen(2) last.
    as_user(BOB, || listen(&listener, Backlog::new(8).unwrap()).unwrap());
    let by_name = format!("{}: user {BOB} listens there", users.socket().display());

    let refused = users.output(users::ADA, ["run", "--backend", "kernel", "--", "true"]);
    assert_eq!(refused.status.code(), Some(125));
    assert!(stderr(&refused).contains(&by_name), "{}", stderr(&refused));
    // Nobody is worse off.
    let ran = users.output(users::ADA, ["run", "--summary", "--", "true"]);
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(stderr(&ran).contains("user backend"), "{}", stderr(&ran));
    let status = users.output(users::ADA, ["status", "--json"]);
    assert_eq!(stdout(&status), "[]\n");
    assert!(stderr(&status).contains(&by_name), "{}", stderr(&status));
    assert_eq!(users.root_sees(), Vec::<Value>::new());

    listener.set_nonblocking(true).unwrap();
    let mut asked = 0;
    while let Ok((mut stream, _)) = listener.accept() {
        let mut told = Vec::new();
        stream.set_nonblocking(false).unwrap();
        stream.read_to_end(&mut told).unwrap();
        assert!(told.is_empty(), "{}", String::from_utf8_lossy(&told));
        asked += 1;
    }
    assert!(asked >= 2, "asked {asked} times");
}
