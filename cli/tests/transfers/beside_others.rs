// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that go both ways for as long as they may, side by side: alone first, then beside
//! greedy transfers each way.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ebb_lab::emulator::{EmulatorReport, Path, PathReport, SERVER_IPV4, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::Class;

use crate::greedy::{Others, serve};
use crate::support::Ebb;
use crate::transfers::{home_link, path_with, program, rate};

/// Less than best effort: what runs under Ebb.
pub const OURS: u16 = 8_081;
/// Best effort: everybody else, three transfers each way, from the fourth second on after all
/// that runs under Ebb is connected.
const OTHERS: u16 = 8_080;
const OTHERS_BEGIN: Duration = Duration::from_secs(4);
const END: Duration = Duration::from_secs(14);
/// When what is there alone, and what is there beside others, is measured.
const ALONE_SPAN: [Duration; 2] = [Duration::from_secs(2), OTHERS_BEGIN];
const TOGETHER_SPAN: [Duration; 2] = [Duration::from_secs(9), END];

/// Of 10 Mbit/s each way: what both ways have alone after two seconds.
const ALONE: f64 = 3.0;
/// From here on the link is full. It need not be: three transfers overshoot together, and wait for
/// acknowledgements behind the queue of the other way; whoever yields takes what they leave.
const FULL: f64 = 8.5;
/// What is ours of a full link, as a part of what is theirs: one more like them would have a third.
const LARGEST_PART: f64 = 0.25;

/// A program and how it comes under Ebb: it connects to [`OURS`], says `ready`, and transfers
/// until its standard input ends.
pub struct Run {
    pub name: String,
    pub words: Vec<String>,
    /// What of its words no other run has: `ebb status` is asked then, too.
    pub known_by: Option<String>,
}

/// What came of all runs.
struct Measured {
    report: EmulatorReport,
    /// When all that runs under Ebb was connected, since the emulator began.
    began: Duration,
    /// The directions in which each was seen to be held back by others.
    held_back: Vec<BTreeSet<String>>,
}

/// Judges that all these yield both ways to others, and have something of the link before.
/// `talk` is what the server does with a connection.
pub fn expect_yielding(test: &str, ebb: &Ebb, runs: &[Run], talk: fn(&TcpStream)) {
    judge(test, || {
        let measured = measure(ebb, runs, talk);
        let mut wrong = Vec::new();
        let paths = measured.report.paths.iter().zip(&measured.held_back);
        for (run, (path, held_back)) in runs.iter().zip(paths) {
            wrong.extend(what_is_wrong(&run.name, path, measured.began));
            if run.known_by.is_some() && held_back.len() < 2 {
                let told = format!("{}: held back only {held_back:?}", run.name);
                eprintln!("{told}");
                wrong.push(told);
            }
        }
        Attempt::over(&measured.report, wrong)
    });
}

fn measure(ebb: &Ebb, runs: &[Run], talk: fn(&TcpStream)) -> Measured {
    let testbed = Testbed::start(vec![path_with(home_link()); runs.len()]).unwrap();
    let mut yielding = Vec::new();
    for (path, run) in testbed.paths().iter().zip(runs) {
        path.set_class(OURS, Class::LessThanBestEffort);
        serve(path.server(), (SERVER_IPV4, OURS), talk);
        Others::expect(path, OTHERS);
        yielding.push(Yielding::start(path, ebb, run));
    }
    let all = yielding.iter_mut().zip(runs);
    all.for_each(|(yielding, run)| yielding.wait(&run.name));
    let began = Instant::now();
    wait_until(began + OTHERS_BEGIN);
    let paths = testbed.paths().iter();
    let others: Vec<Others> = paths.map(|path| Others::begin(path, OTHERS)).collect();
    wait_until(began + TOGETHER_SPAN[0]);
    let held_back = look_until(began + END, ebb, runs);
    let began = began - testbed.epoch_instant();
    let report = testbed.stop().unwrap();
    drop(others);
    Measured {
        report,
        began,
        held_back,
    }
}

fn wait_until(time: Instant) {
    std::thread::sleep(time.saturating_duration_since(Instant::now()));
}

/// Asks `ebb status` again and again in which directions each is held back.
fn look_until(time: Instant, ebb: &Ebb, runs: &[Run]) -> Vec<BTreeSet<String>> {
    let mut held_back = vec![BTreeSet::new(); runs.len()];
    while Instant::now() < time {
        for (run, held_back) in runs.iter().zip(&mut held_back) {
            if let Some(part) = &run.known_by
                && held_back.len() < 2
            {
                held_back.extend(ebb.directions(part).held_back);
            }
        }
        wait_until(time.min(Instant::now() + Duration::from_millis(250)));
    }
    held_back
}

/// What of its rates is not as it must be.
fn what_is_wrong(name: &str, path: &PathReport, began: Duration) -> Vec<String> {
    let (mut wrong, mut both_alone) = (Vec::new(), 0.0);
    for (way, direction) in [("down", &path.forward), ("up", &path.reverse)] {
        let rate = |class, span: [Duration; 2]| rate(direction, class, span.map(|at| began + at));
        let alone = rate(Class::LessThanBestEffort, ALONE_SPAN);
        let beside = rate(Class::LessThanBestEffort, TOGETHER_SPAN);
        let others = rate(Class::BestEffort, TOGETHER_SPAN);
        let told = format!(
            "{name}, {way}: alone {alone:.2} Mbit/s, beside others {beside:.2}, those {others:.2}"
        );
        eprintln!("{told}");
        both_alone += alone;
        if beside + others > FULL && beside > LARGEST_PART * others {
            wrong.push(told);
        }
    }
    if both_alone < ALONE {
        wrong.push(format!("{name}: alone {both_alone:.2} Mbit/s"));
    }
    wrong
}

struct Yielding(Child);

impl Yielding {
    fn start(path: &Path, ebb: &Ebb, run: &Run) -> Self {
        let mut command = program(path.client(), &run.words);
        command.envs(ebb.environment());
        let streams = command.stdin(Stdio::piped()).stdout(Stdio::piped());
        Self(streams.spawn().unwrap())
    }

    /// Waits until it is connected.
    fn wait(&mut self, name: &str) {
        let mut line = [0; 6];
        let output = self.0.stdout.as_mut().unwrap();
        let read = output.read_exact(&mut line);
        read.unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(&line, b"ready\n", "{name}");
    }
}

impl Drop for Yielding {
    fn drop(&mut self) {
        // It reads its input to the end.
        drop(self.0.stdin.take());
        let _ = self.0.wait();
    }
}
