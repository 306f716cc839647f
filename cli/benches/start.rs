// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `ebb run` adds to the start of a command: `ebb run -- true` beside `true`.
//!
//! ```text
//! sudo -E cargo bench -p ebb --bench start
//! ```
//!
//! Each kind of run takes turns with the plain one. What is compared is processor time, that of
//! the keeper and of the kernel's verifier included, which hardly depends on what else the machine
//! does. The median of the ratios, pair by pair, must not be above 300 for any law: a plain run
//! takes about a millisecond. An ordinary user's run, which the service holds, is to take no more
//! than 15 ms more than `true`, by the clock and in the median of the pairs: its programs are loaded
//! already. Exits with 1 if missed.

#[path = "../tests/support/mod.rs"]
mod support;

use std::process::{Command, ExitCode, Stdio};
use std::time::Instant;

use ebb_algorithms::{Side, laws};
use nix::sys::signal::Signal;
use nix::sys::wait::wait;
use support::Ebb;
use support::users::{ADA, Users};

const MOST_RATIO: f64 = 300.0;
const PAIRS: usize = 9;
const MOST_MORE_MS: f64 = 15.0;
const PAIRS_OF_USER: usize = 41;

fn main() -> ExitCode {
    if !ebb_kernel::requires_root("the start benchmark") {
        return ExitCode::SUCCESS;
    }
    adopt_orphans();
    let ebb = Ebb::new();
    println!(
        "{:<40} {:>12} {:>12} {:>7} {:>14}",
        "ebb run …", "true, cpu ms", "run, cpu ms", "ratio", "starts within"
    );
    let ratios: Vec<f64> = kinds().iter().map(|kind| ratio(&ebb, kind)).collect();
    let worst = ratios.into_iter().fold(0.0, f64::max);
    let more_ms = more_of_user_ms();
    if worst > MOST_RATIO {
        eprintln!("missed: {worst:.0} is above {MOST_RATIO:.0}");
        return ExitCode::FAILURE;
    }
    if more_ms > MOST_MORE_MS {
        eprintln!("missed: {more_ms:.1} ms are more than {MOST_MORE_MS:.0}");
        return ExitCode::FAILURE;
    }
    ExitCode::SUCCESS
}

/// How much longer an ordinary user's run takes than `true`, where the service holds it.
fn more_of_user_ms() -> f64 {
    let users = Users::new("s");
    let service = users.serve();
    let mut plain = users.command(ADA, "true");
    let mut under = users.ebb(ADA, ["run", "--backend", "kernel", "--", "true"]);
    let wall_ms = |command: &mut Command| {
        let began = Instant::now();
        assert!(command.status().expect("it starts").success());
        1e3 * began.elapsed().as_secs_f64()
    };
    // The first one finds nothing in the caches.
    let mut pairs = (0..=PAIRS_OF_USER).map(|_| (wall_ms(&mut plain), wall_ms(&mut under)));
    pairs.next();
    let pairs: Vec<(f64, f64)> = pairs.collect();
    service.end(Signal::SIGTERM);
    let more_ms = median(pairs.iter().map(|(plain, under)| under - plain));
    let plain_ms = median(pairs.iter().map(|(plain, _)| *plain));
    println!(
        "an ordinary user's, by the service: {more_ms:.1} ms more than true ({plain_ms:.1} ms)"
    );
    more_ms
}

/// The options of each kind of run: the defaults, then each law of the kernel backend.
fn kinds() -> Vec<Vec<&'static str>> {
    let mut kinds = vec![vec![], vec!["--backend", "user"]];
    for law in laws() {
        kinds.push(match law.side() {
            Side::Receiver => vec!["--policy", law.name, "--upload-policy", "none"],
            Side::Sender => vec!["--upload-policy", law.name],
        });
    }
    kinds
}

/// What one run took.
struct Taken {
    /// Of all its processes, to the end of the last.
    cpu_ms: f64,
    /// Until the command was over.
    wall_ms: f64,
}

/// The median of the ratios of a run under Ebb and a plain one.
fn ratio(ebb: &Ebb, options: &[&str]) -> f64 {
    let mut under = ebb.command(["run"]);
    under.args(options).args(["--", "true"]);
    let pairs: Vec<(Taken, Taken)> = (0..PAIRS)
        .map(|_| (taken(&mut Command::new("true")), taken(&mut under)))
        .collect();
    let plain_ms = median(pairs.iter().map(|(plain, _)| plain.cpu_ms));
    let run_ms = median(pairs.iter().map(|(_, run)| run.cpu_ms));
    let wall_ms = median(pairs.iter().map(|(_, run)| run.wall_ms));
    let ratio = median(pairs.iter().map(|(plain, run)| run.cpu_ms / plain.cpu_ms));
    println!(
        "{:<40} {plain_ms:>12.2} {run_ms:>12.1} {ratio:>7.0} {wall_ms:>11.0} ms",
        options.join(" ")
    );
    ratio
}

fn taken(command: &mut Command) -> Taken {
    let cpu_before_ms = cpu_of_children_ms();
    let began = Instant::now();
    let status = command.stdin(Stdio::null()).status().expect("it starts");
    let wall_ms = 1e3 * began.elapsed().as_secs_f64();
    assert!(status.success(), "{command:?}");
    // The keeper outlives the command by a moment.
    while wait().is_ok() {}
    Taken {
        cpu_ms: cpu_of_children_ms() - cpu_before_ms,
        wall_ms,
    }
}

/// Processes whose parents end become this one's children, to be counted with them.
fn adopt_orphans() {
    // SAFETY: plain numbers; it concerns this process alone.
    let done = unsafe { libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

/// Processor time of all children that have ended, and of theirs.
fn cpu_of_children_ms() -> f64 {
    // SAFETY: zeroes are a valid value, which the call overwrites.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_CHILDREN, &mut usage);
        usage
    };
    let ms = |time: libc::timeval| time.tv_sec as f64 * 1e3 + time.tv_usec as f64 / 1e3;
    ms(usage.ru_utime) + ms(usage.ru_stime)
}

fn median(values: impl Iterator<Item = f64>) -> f64 {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
