// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach`, `ebb detach` and `kill -9` in the middle of downloads over an emulated link.
//!
//! What shows whether a download yields is the queue that it keeps: by itself CUBIC fills the
//! bottleneck's 86 packets, under Ebb it leaves them all but empty.

mod support;
mod transfers;

use std::fs::File;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_kernel::cgroup::Cgroup;
use ebb_lab::demo::Nginx;
use ebb_lab::emulator::{self, EmulatorReport, Testbed};
use ebb_lab::judging::{self, Attempt};
use ebb_link::{Class, Nanos};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use support::Ebb;
use transfers::{OURS, home_link, path_with, words};

/// Long enough for CUBIC to have filled the queue.
const START: Duration = Duration::from_secs(6);
/// What Ebb is given to lift what it set.
const WITHIN: Duration = Duration::from_secs(5);
/// The same where an older, larger window has to be used up first (3 MB are 2.4 s of the link)
/// and the link is to be found again.
const TAKEN_OVER_WITHIN: Duration = Duration::from_secs(9);
/// What is looked at then.
const LOOK: Duration = Duration::from_secs(2);

/// A full queue is 103 ms, an idle one 0; Ebb aims at 5 ms.
const FULL_MS: f64 = 40.0;
const EMPTY_MS: f64 = 15.0;

/// More than the link carries in the time of the test.
const FILE_BYTES: u64 = 200_000_000;

struct Download {
    curl: Child,
}

impl Download {
    fn start(path: &emulator::Path, under: &[&str]) -> Self {
        let url = format!("http://{OURS}/large");
        let curl = words(["curl", "-s", "--max-time", "60", "-o", "/dev/null", &url]);
        let all: Vec<String> = under
            .iter()
            .map(|word| (*word).to_owned())
            .chain(curl)
            .collect();
        let curl = transfers::program(path.client(), &all)
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        Self { curl }
    }
}

impl Drop for Download {
    fn drop(&mut self) {
        self.curl.kill().unwrap();
        self.curl.wait().unwrap();
    }
}

/// Waits, looks for a while, and answers the moments between which it looked.
fn look(wait: Duration) -> [Instant; 2] {
    std::thread::sleep(wait);
    let from = Instant::now();
    std::thread::sleep(LOOK);
    [from, Instant::now()]
}

/// What to expect of the queue between two moments.
struct Expected {
    what: &'static str,
    is_yielding: bool,
    look: [Instant; 2],
}

fn expect(what: &'static str, is_yielding: bool, wait: Duration) -> Expected {
    Expected {
        what,
        is_yielding,
        look: look(wait),
    }
}

fn attach_to_the_process(ebb: &Ebb, path: &emulator::Path) -> Vec<Expected> {
    let download = Download::start(path, &[]);
    let pid = download.curl.id().to_string();
    let mut seen = vec![expect("before attaching to the process", false, START)];
    ebb.says(["attach", "--pid", &pid]);
    seen.push(expect("attached to the process", true, TAKEN_OVER_WITHIN));
    assert!(
        ebb.says(["attach", "--pid", &pid, "--policy", "ebb:target_us=6000"])
            .contains("6000")
    );
    assert_eq!(
        ebb.says(["status"])
            .matches(&format!("process {pid}: "))
            .count(),
        1
    );
    ebb.says(["detach", "--pid", &pid]);
    seen.push(expect("detached from the process", false, WITHIN));
    seen
}

fn attach_to_the_cgroup(ebb: &Ebb, path: &emulator::Path) -> Vec<Expected> {
    let name = format!("ebb-attaching-{}", std::process::id());
    let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
    let directory = cgroup.directory_path();
    let enter = format!("echo 0 > {}/cgroup.procs; exec \"$@\"", directory.display());
    let download = Download::start(path, &["sh", "-c", &enter, "sh"]);
    let mut seen = vec![expect("before attaching to the cgroup", false, START)];
    ebb.says(["attach", "--cgroup", directory.to_str().unwrap()]);
    seen.push(expect("attached to the cgroup", true, TAKEN_OVER_WITHIN));
    // From the hierarchy's root, as /proc/PID/cgroup has it: the same cgroup.
    ebb.says(["detach", "--cgroup", cgroup.path().to_str().unwrap()]);
    seen.push(expect("detached from the cgroup", false, WITHIN));
    drop(download);
    cgroup.remove().unwrap();
    seen
}

fn kill_everything_of_ebb(ebb: &Ebb, path: &emulator::Path) -> Vec<Expected> {
    let program = env!("CARGO_BIN_EXE_ebb");
    let runtime = format!("EBB_RUNTIME_DIR={}", ebb.environment()[0].1.display());
    let download = Download::start(path, &["env", &runtime, program, "run", "--"]);
    let mut seen = vec![expect("under ebb run", true, START)];
    let status = ebb.says(["status", "--json"]);
    let status: serde_json::Value = serde_json::from_str(&status).unwrap();
    let is_run = |record: &&serde_json::Value| record["target"]["kind"] == "run";
    let run = status.as_array().unwrap().iter().find(is_run).unwrap();
    let keeper = i32::try_from(run["keeper_pid"].as_i64().unwrap()).unwrap();
    let cgroup = Cgroup::at(run["target"]["cgroup"].as_str().unwrap()).unwrap();
    for pid in [keeper, download.curl.id().cast_signed()] {
        kill(Pid::from_raw(pid), Signal::SIGKILL).unwrap();
    }
    seen.push(expect(
        "after kill -9 of ebb run and its keeper",
        false,
        WITHIN,
    ));
    for pid in cgroup.processes().unwrap() {
        kill(Pid::from_raw(pid.cast_signed()), Signal::SIGKILL).unwrap();
    }
    cgroup.remove().unwrap();
    seen
}

#[test]
fn downloads_yield_from_attaching_to_detaching_and_are_free_when_ebb_is_killed() {
    let name = "downloads_yield_from_attaching_to_detaching_and_are_free_when_ebb_is_killed";
    // Changes of the kernel backend's laws are looked at, too.
    if !ebb_kernel::requires_feature(name, "callback-flags") {
        return;
    }
    judging::judge(name, measure);
}

fn measure() -> Attempt {
    let folder = tempfile::tempdir().unwrap();
    make_site(folder.path());
    let testbed = Testbed::start(vec![path_with(home_link()); 3]).unwrap();
    let servers = ["pid", "cgroup", "kill"]
        .iter()
        .zip(testbed.paths())
        .map(|(name, path)| Nginx::start(path.server(), &[OURS], folder.path(), name).unwrap());
    let servers: Vec<Nginx> = servers.collect();
    let ebb = Ebb::new();
    let seen = std::thread::scope(|scope| {
        let (ebb, paths) = (&ebb, testbed.paths());
        let running = [
            scope.spawn(move || attach_to_the_process(ebb, &paths[0])),
            scope.spawn(move || attach_to_the_cgroup(ebb, &paths[1])),
            scope.spawn(move || kill_everything_of_ebb(ebb, &paths[2])),
        ];
        running.map(|running| running.join().unwrap())
    });
    drop(servers);
    let epoch = testbed.epoch_instant();
    let report = &testbed.stop().unwrap();
    let wrong: Vec<String> = (0..)
        .zip(&seen)
        .flat_map(|(path, seen)| {
            seen.iter()
                .filter_map(move |one| judge(report, path, epoch, one))
        })
        .collect();
    Attempt::over(report, wrong)
}

fn judge(report: &EmulatorReport, path: usize, epoch: Instant, seen: &Expected) -> Option<String> {
    let at = |instant: Instant| {
        Nanos(report.epoch.0 + u64::try_from((instant - epoch).as_nanos()).unwrap())
    };
    let series = &report.paths[path].forward.series;
    let [from, until] = seen.look;
    let bin = series.between(Class::BestEffort, at(from), at(until));
    let waiting_ms = bin.waiting.mean_ns().unwrap_or(0.0) / 1e6;
    let mbit_per_s = bin.sent_bytes as f64 * 8.0 / (until - from).as_secs_f64() / 1e6;
    let told = format!(
        "{}: queue {waiting_ms:.1} ms, {mbit_per_s:.2} Mbit/s",
        seen.what
    );
    eprintln!("{told}");
    let is_right = match seen.is_yielding {
        true => waiting_ms < EMPTY_MS,
        false => waiting_ms > FULL_MS,
    };
    // Alone on its link, a download has all of it either way.
    (!is_right || mbit_per_s < 9.0).then(|| format!("{told}; {}", report.summary()))
}

fn make_site(folder: &Path) {
    let www = folder.join("www");
    std::fs::create_dir_all(&www).unwrap();
    File::create(www.join("large"))
        .unwrap()
        .set_len(FILE_BYTES)
        .unwrap();
    // nginx's workers give up root.
    use std::os::unix::fs::PermissionsExt;
    for directory in [folder, &www] {
        std::fs::set_permissions(directory, PermissionsExt::from_mode(0o755)).unwrap();
    }
}
