// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb share`: who is to have what, and what becomes of it on real connections.

mod support;
mod transfers;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::until;
use ebb_lab::demo::Nginx;
use ebb_lab::emulator::{PathSpec, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;
use support::{Ebb, stderr, stdout};
use transfers::OURS;

#[test]
fn a_file_is_judged_without_root_and_mistakes_are_told_with_line_and_key() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.toml");
    let check = |text: &str| {
        fs::write(&file, text).unwrap();
        Ebb::new().output(["share", "--check", file.to_str().unwrap()])
    };
    let right = "[[program]]\nname = \"a\"\npid = 4242\n[[program]]\nname = \"b\"\nunit = \"b\"\n";
    let output = check(right);
    assert!(output.status.success(), "{}", stderr(&output));
    assert!(stdout(&output).ends_with("home.toml: right\n"));

    let output = check(&right.replace("unit = \"b\"", "minimum = \"3 apples\"\nunit = \"b\""));
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert!(
        said.contains("home.toml:6:") && said.contains("`minimum`"),
        "{said}"
    );
    let output = check("");
    assert!(stderr(&output).contains("write a [[program]] for each"));
    let missing = Ebb::new().output(["share", "--check", "/nonexistent.toml"]);
    assert!(
        stderr(&missing).contains("/nonexistent.toml: No such file"),
        "{missing:?}"
    );
}

#[test]
fn a_program_that_cannot_be_held_is_named_and_nothing_is_left() {
    if !ebb_kernel::requires_root("a_program_that_cannot_be_held_is_named_and_nothing_is_left") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.toml");
    let share = |second: &str| {
        let first = "[[program]]\nname = \"a\"\ncommand = [\"sleep\", \"60\"]\n";
        fs::write(
            &file,
            format!("{first}[[program]]\nname = \"b\"\n{second}\n"),
        )
        .unwrap();
        let output = Ebb::new().output(["share", file.to_str().unwrap()]);
        assert_eq!(output.status.code(), Some(1));
        stderr(&output)
    };
    let said = share("command = [\"no-such-command\"]");
    assert_eq!(
        said,
        "ebb: program `b`: no-such-command: command not found\n"
    );
    let said = share("cgroup = \"/no/such/cgroup\"");
    assert!(
        said.contains("program `b`: ") && said.contains("/no/such/cgroup"),
        "{said}"
    );
}

/// A cgroup of a name; it and its process end with this.
struct Named(Cgroup, Child);

impl Named {
    fn start(name: &str) -> Self {
        let cgroup = Cgroup::root().unwrap().create_child(name).unwrap();
        let enter = format!(
            "echo 0 > {}/cgroup.procs; exec sleep 60",
            cgroup.directory_path().display()
        );
        let child = Command::new("sh").args(["-c", &enter]).spawn().unwrap();
        until("it is in its cgroup", || {
            !cgroup.processes().unwrap().is_empty()
        });
        Self(cgroup, child)
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.1.kill();
        let _ = self.1.wait();
        let _ = self.0.remove();
    }
}

#[test]
fn a_sharing_is_listed_with_who_shares_and_ends_by_detach() {
    if !ebb_kernel::requires_root("a_sharing_is_listed_with_who_shares_and_ends_by_detach") {
        return;
    }
    let own = std::process::id();
    let unit = Named::start(&format!("ebb-sharing-{own}.service"));
    let container = Named::start(&format!("docker-{own:064x}.scope"));
    let mut process = Fetch(Command::new("sleep").arg("60").spawn().unwrap());
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("home.toml");
    let write = |weight: u32| {
        let text = format!(
            "[[program]]\nname = \"a\"\ncommand = [\"sleep\", \"61\"]\nminimum = \"3mbit\"\npriority = 1\n\
             [[program]]\nname = \"b\"\npid = {}\nweight = {weight}\n\
             [[program]]\nname = \"c\"\nunit = \"ebb-sharing-{own}\"\n\
             [[program]]\nname = \"d\"\ncontainer = \"{own:064x}\"\nweight = 0\n",
            process.0.id()
        );
        fs::write(&file, text).unwrap();
    };
    write(2);
    let (ebb, path) = (Ebb::new(), file.to_str().unwrap());
    let mut sharing = Fetch(ebb.command(["share", path]).spawn().unwrap());
    let status = || ebb.says(["status"]);
    until("it is listed", || status().contains("ebb share "));
    let said = status();
    for line in [
        "  a: sleep 61; minimum 3 Mbit/s, priority 1, weight 1\n".to_owned(),
        format!("  b: process {}; priority 0, weight 2\n", process.0.id()),
        format!("  c: unit ebb-sharing-{own}; priority 0, weight 1\n"),
        format!("  d: container {own:064x}; priority 0, weight 0\n"),
    ] {
        assert!(said.contains(&line), "{line} is not in {said}");
    }
    let look = ebb.look("0.2");
    assert_eq!(look["attachments"][0]["target"]["kind"], "share");
    assert_eq!(look["silent"].as_array().unwrap().len(), 0, "{look}");

    write(5);
    let pid = Pid::from_raw(sharing.0.id().cast_signed());
    kill(pid, Signal::SIGHUP).unwrap();
    until("the other weight is listed", || {
        status().contains("weight 5\n")
    });
    process.0.kill().unwrap();
    process.0.wait().unwrap();
    until("who has ended is not listed", || {
        !status().contains("  b: ")
    });

    // One of them cannot be taken out, and the message says what can be done.
    let refused = ebb.output(["detach", "--unit", &format!("ebb-sharing-{own}")]);
    let said = stderr(&refused);
    assert!(
        said.contains("shares with others, as `c`: 'ebb detach --share "),
        "{said}"
    );
    assert!(
        ebb.says(["detach", "--share", path])
            .contains(": detached\n")
    );
    assert_eq!(status(), "nothing is attached\n");
    let attached = ebb.says(["attach", "--unit", &format!("ebb-sharing-{own}")]);
    assert!(
        attached.contains("ebb detach --unit"),
        "it was let go: {attached}"
    );
    ebb.says(["detach", "--all"]);
    // The command runs on, and is waited for.
    assert_eq!(sharing.0.try_wait().unwrap(), None);
    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(sharing.0.wait().unwrap().code(), Some(128 + 15));
    drop((unit, container));
}

/// Control periods of 100 ms.
const PERIODS_TO_SETTLE: u32 = 20;
const PERIODS: u32 = 20;

/// A download of a large file that runs beside.
struct Fetch(Child);

impl Drop for Fetch {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn fetch(path: &ebb_lab::emulator::Path) -> Fetch {
    let words = curl();
    let mut command = transfers::program(path.client(), &words);
    Fetch(command.stdout(Stdio::null()).spawn().unwrap())
}

fn curl() -> Vec<String> {
    let url = format!("http://{OURS}/large");
    ["curl", "--noproxy", "*", "-sS", "-o", "/dev/null", &url]
        .map(str::to_owned)
        .to_vec()
}

#[test]
fn two_downloads_share_by_weight_until_told_otherwise() {
    if ebb_kernel::requires_root("two_downloads_share_by_weight_until_told_otherwise") {
        judge(
            "two_downloads_share_by_weight_until_told_otherwise",
            share_by_weight,
        );
    }
}

/// 10 Mbit/s, one weight of a process that runs, three of a command: rates in one of the last
/// control periods, and that targets are 1:3 whatever the machine does.
fn share_by_weight() -> Attempt {
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("www")).unwrap();
    let large = fs::File::create(folder.path().join("www/large")).unwrap();
    large.set_len(1 << 30).unwrap();
    let link = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(10),
        Nanos::from_millis(10),
        QueueLimit::Packets(40),
    );
    let path = PathSpec::new(link.clone(), link);
    let path = path.with_client_sysctl("net.ipv4.tcp_rmem", "4096 131072 131072");
    let testbed = Testbed::start(vec![path]).unwrap();
    let path = testbed.path(0);
    let _nginx = Nginx::start(path.server(), &[OURS], folder.path(), "server").unwrap();
    let small = fetch(path);
    let file = folder.path().join("home.toml");
    write_file(&file, small.0.id(), 1);

    let ebb = Ebb::new();
    let mut command = ebb.command(["share", "--watch", file.to_str().unwrap()]);
    path.client().move_child(&mut command);
    let mut sharing = command.stdout(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(sharing.stdout.take().unwrap()).lines();
    let mut next = |what: &str, is_it: &dyn Fn(&str) -> bool| {
        let began = Instant::now();
        loop {
            let line = lines.next().unwrap().unwrap();
            if is_it(&line) {
                return line;
            }
            assert!(
                began.elapsed() < Duration::from_secs(20),
                "never {what}: {line}"
            );
        }
    };
    next("held", &|line| line.contains("holding"));
    // What was advertised while they were free is to be used up.
    for _ in 0..PERIODS_TO_SETTLE {
        next("a line", &|_| true);
    }
    let (mut small_rate, mut large_rate) = (0.0, 0.0);
    for _ in 0..PERIODS {
        let [(small, _), (large, _)] = rates(&next("a line", &|_| true));
        small_rate += small / f64::from(PERIODS);
        large_rate += large / f64::from(PERIODS);
    }
    let seen = ebb.says(["status", "--flows", "--json"]);
    let seen: Value = serde_json::from_str(&seen).unwrap();
    let flows = seen[0]["flows"].as_array().unwrap();
    assert_eq!(flows.len(), 2, "{seen}");
    assert!(flows.iter().all(|flow| flow["law"] == "rate"), "{seen}");
    let line = next("held", &|line| line.contains("holding"));
    let [(_, small_target), (_, large_target)] = rates(&line);
    assert!(
        (2.9..3.1).contains(&(large_target / small_target)),
        "{line}"
    );
    let mut wrong = Vec::new();
    if !(2.0..4.5).contains(&(large_rate / small_rate)) || small_rate + large_rate < 7.5 {
        wrong.push(format!("{small_rate:.2} and {large_rate:.2} Mbit/s"));
    }

    // Another wish, by a signal: all are free, then targets are 1:1.
    write_file(&file, small.0.id(), 3);
    let pid = Pid::from_raw(sharing.id().cast_signed());
    kill(pid, Signal::SIGHUP).unwrap();
    next("free", &|line| line.contains("all free"));
    let line = next("held", &|line| line.contains("holding"));
    let [(_, small_target), (_, large_target)] = rates(&line);
    assert!(
        (0.9..1.1).contains(&(large_target / small_target)),
        "{line}"
    );

    kill(pid, Signal::SIGTERM).unwrap();
    assert_eq!(sharing.wait().unwrap().code(), Some(128 + 15));
    until("nobody is held", || {
        let own = fs::read_dir(own_cgroup()).unwrap().flatten();
        let name = format!("ebb-share-{pid}-");
        !own.into_iter()
            .any(|entry| entry.file_name().to_string_lossy().starts_with(&name))
    });
    let report = testbed.stop().unwrap();
    Attempt::over(&report, wrong)
}

fn own_cgroup() -> std::path::PathBuf {
    let own = Cgroup::of_process(std::process::id()).unwrap();
    own.directory_path()
}

fn write_file(file: &Path, pid: u32, weight: u32) {
    let words = curl().join("\", \"");
    let text = format!(
        "period = \"100ms\"\n[[program]]\nname = \"small\"\npid = {pid}\nweight = {weight}\n\
         [[program]]\nname = \"large\"\ncommand = [\"{words}\"]\nweight = 3\n"
    );
    fs::write(file, text).unwrap();
}

/// What `small` and `large` received, and what they are held at. *Units:* Mbit/s.
fn rates(line: &str) -> [(f64, f64); 2] {
    ["small ", "large "].map(|name| {
        let rest = line.split_once(name).unwrap_or_else(|| panic!("{line}")).1;
        let mut words = rest.split_whitespace();
        let mut number = || words.next().unwrap().parse().unwrap_or(f64::NAN);
        let rate = number();
        number();
        (rate, number())
    })
}
