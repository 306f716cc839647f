// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transfers under Ebb over paths that lose, reorder, double and stop: nothing breaks that
//! plain TCP keeps whole, nothing stalls that plain TCP keeps going.
//!
//! Every transfer has a twin by plain TCP over a path of the same kind at the same time.

mod transfers;

#[path = "transfers/record.rs"]
mod record;

use ebb_lab::demo::Nginx;
use ebb_lab::emulator::{EmulatorReport, Path, PathSpec, SERVER_IPV6, Testbed};
use ebb_link::{Class, ClassStatistics, LinkStatistics, Nanos, Probability, QueueLimit};
use record::{Recording, record};
use std::net::{IpAddr, SocketAddr};
use transfers::{Findings, OURS, build_fetch, content, home_link, path_with, words, yielding};

/// Alone on the link a transfer takes at the most this times plain TCP's.
const MOST_TIMES: f64 = 2.0;
/// A pause in the arrivals may be this times plain TCP's longest, and this much longer: a
/// lossy path has retransmission timeouts at random, with Ebb and without.
const MOST_GAP_TIMES: f64 = 2.0;
const MOST_GAP_MORE_S: f64 = 1.0;

/// How long the receiver stops reading.
const PAUSE_S: f64 = 10.0;

const OURS_IPV6: SocketAddr = SocketAddr::new(IpAddr::V6(SERVER_IPV6), OURS.port());

/// A kind of path and what is transferred over it.
struct Case {
    name: &'static str,
    path: PathSpec,
    bytes: usize,
    /// More than one where chance decides.
    repetitions: usize,
    /// Seconds in which the receiver does not read, by intent.
    pause_s: f64,
    is_ipv6: bool,
    /// Whether the path was what its name says, by what the plain twin's link
    /// counted: under Ebb a queue may stay too short to be marked.
    is_as_named: fn(&ClassStatistics) -> bool,
}

#[test]
fn lossy_paths_neither_break_nor_stall_a_transfer() {
    let name = "lossy_paths_neither_break_nor_stall_a_transfer";
    if ebb_kernel::requires_root(name) {
        let cases = [loss(), reordering(), duplication()];
        transfers::expect_nothing_wrong(name, || compare(&cases));
    }
}

#[test]
fn unusual_peers_neither_break_nor_stall_a_transfer() {
    let name = "unusual_peers_neither_break_nor_stall_a_transfer";
    if ebb_kernel::requires_root(name) {
        let cases = [
            pausing_receiver(),
            without_timestamps(),
            without_window_scaling(),
            small_segments(),
            congestion_notification(),
            ipv6(),
        ];
        transfers::expect_nothing_wrong(name, || compare(&cases));
    }
}

fn usual(name: &'static str) -> Case {
    Case {
        name,
        path: path_with(home_link()),
        bytes: 8_000_000,
        repetitions: 1,
        pause_s: 0.0,
        is_ipv6: false,
        is_as_named: |link| link.delivered_pkts > 2_000,
    }
}

fn loss() -> Case {
    let mut forward = home_link();
    forward.loss = share(0.02);
    Case {
        path: path_with(forward),
        bytes: 1_500_000,
        repetitions: 4,
        is_as_named: |link| link.lost_pkts > 5,
        ..usual("2 % loss")
    }
}

fn reordering() -> Case {
    let mut forward = home_link();
    (forward.reorder, forward.reorder_delay) = (share(0.02), Nanos::from_millis(8));
    Case {
        path: path_with(forward),
        repetitions: 2,
        is_as_named: |link| link.reordered_pkts > 20,
        ..usual("2 % reordered by 8 ms")
    }
}

fn duplication() -> Case {
    let mut forward = home_link();
    forward.duplicate = share(0.02);
    Case {
        path: path_with(forward),
        repetitions: 2,
        is_as_named: |link| link.duplicated_pkts > 20,
        ..usual("2 % twice")
    }
}

fn pausing_receiver() -> Case {
    Case {
        bytes: 6_000_000,
        pause_s: PAUSE_S,
        ..usual("receiver stops reading for 10 s")
    }
}

fn without_timestamps() -> Case {
    let path = path_with(home_link()).with_server_sysctl("net.ipv4.tcp_timestamps", "0");
    Case {
        path,
        ..usual("sender without timestamps")
    }
}

fn without_window_scaling() -> Case {
    let path = path_with(home_link()).with_server_sysctl("net.ipv4.tcp_window_scaling", "0");
    Case {
        path,
        ..usual("sender without window scaling")
    }
}

fn small_segments() -> Case {
    let path = PathSpec {
        route_mss: Some(536),
        ..path_with(home_link())
    };
    // 536 bytes: more packets than with 1448.
    Case {
        path,
        is_as_named: |link| link.delivered_pkts > 7_000,
        ..usual("MSS 536")
    }
}

fn congestion_notification() -> Case {
    let mut forward = home_link();
    forward.ecn_threshold = Some(QueueLimit::Packets(40));
    let path = path_with(forward)
        .with_server_sysctl("net.ipv4.tcp_ecn", "1")
        .with_client_sysctl("net.ipv4.tcp_ecn", "1");
    Case {
        path,
        is_as_named: |link| link.marked_pkts > 0,
        ..usual("ECN")
    }
}

fn ipv6() -> Case {
    Case {
        is_ipv6: true,
        ..usual("IPv6")
    }
}

fn share(probability: f64) -> Probability {
    Probability::new(probability).unwrap()
}

/// One transfer: which case, plain or under Ebb, over which of the testbed's paths.
struct Job {
    case: usize,
    is_plain: bool,
}

/// Runs all cases at once and finds what is wrong.
fn compare(cases: &[Case]) -> (Findings, EmulatorReport) {
    let folder = tempfile::tempdir().unwrap();
    let fetch = build_fetch(folder.path());
    std::fs::create_dir(folder.path().join("www")).unwrap();
    for (number, case) in cases.iter().enumerate() {
        let file = folder.path().join(format!("www/{number}"));
        std::fs::write(file, content(number as u64, case.bytes)).unwrap();
    }
    let jobs = jobs(cases);
    let paths = jobs
        .iter()
        .map(|job| cases[job.case].path.clone())
        .collect();
    let testbed = Testbed::start(paths).unwrap();
    let recordings: Vec<Recording> = std::thread::scope(|scope| {
        let start = |(number, job): (usize, &Job)| {
            let (path, case) = (testbed.path(number), &cases[job.case]);
            let command = command(&fetch.display().to_string(), job, case);
            let (own, root) = (format!("nginx-{number}"), folder.path());
            scope.spawn(move || transfer(path, case, &command, root, &own))
        };
        let running: Vec<_> = jobs.iter().enumerate().map(start).collect();
        let ended = running.into_iter().map(|running| running.join().unwrap());
        ended.collect()
    });
    let report = testbed.stop().unwrap();

    let mut findings = Findings::default();
    for (number, case) in cases.iter().enumerate() {
        let links: Vec<_> = report
            .paths
            .iter()
            .map(|path| &path.forward.statistics)
            .collect();
        let done: Vec<Done> = jobs
            .iter()
            .zip(&recordings)
            .zip(links)
            .filter(|((job, _), _)| job.case == number)
            .map(|((job, recording), link)| Done {
                is_plain: job.is_plain,
                recording,
                link,
            })
            .collect();
        judge(
            case,
            &content(number as u64, case.bytes),
            &done,
            &mut findings,
        );
    }
    (findings, report)
}

fn jobs(cases: &[Case]) -> Vec<Job> {
    let twins = |(case, of): (usize, &Case)| {
        (0..2 * of.repetitions).map(move |i| Job {
            case,
            is_plain: i % 2 == 0,
        })
    };
    cases.iter().enumerate().flat_map(twins).collect()
}

fn command(fetch: &str, job: &Job, case: &Case) -> Vec<String> {
    let path = format!("/{}", job.case);
    let server = if case.is_ipv6 { OURS_IPV6 } else { OURS };
    let url = format!("http://{server}{path}");
    let curl = words(["curl", "-sS", "--fail", "-N", &url]);
    let (address, port) = (OURS.ip().to_string(), OURS.port().to_string());
    let (after, pause) = ((case.bytes / 10).to_string(), case.pause_s.to_string());
    let pausing = words([fetch, &address, &port, &path, &after, &pause]);
    let plain = if case.pause_s > 0.0 { pausing } else { curl };
    if job.is_plain {
        plain
    } else {
        // Files arrive here: the law for sending would only make so many starts at once slower.
        let mut words = yielding(&plain);
        words.splice(2..2, ["--upload-policy", "none"].map(str::to_owned));
        words
    }
}

fn transfer(
    path: &Path,
    case: &Case,
    command: &[String],
    root: &std::path::Path,
    own: &str,
) -> Recording {
    let server = if case.is_ipv6 { OURS_IPV6 } else { OURS };
    let _nginx = Nginx::start(path.server(), &[server], root, own).unwrap();
    record(path.client(), command)
}

/// A transfer that is over, and its link.
struct Done<'a> {
    is_plain: bool,
    recording: &'a Recording,
    link: &'a LinkStatistics,
}

/// How long the transfers of one kind took.
struct Pace {
    /// Mean, without intended pauses.
    took_s: f64,
    longest_gap_s: f64,
}

impl Pace {
    fn of(done: &[Done], is_plain: bool, case: &Case) -> Self {
        let of_kind = || done.iter().filter(|done| done.is_plain == is_plain);
        let took_s: f64 = of_kind().map(|done| done.recording.took_s).sum();
        Self {
            took_s: took_s / case.repetitions as f64 - case.pause_s,
            longest_gap_s: of_kind()
                .map(|done| done.recording.longest_gap_s())
                .fold(0.0, f64::max),
        }
    }
}

/// Adds what is wrong with a case, as sentences.
fn judge(case: &Case, wanted: &[u8], done: &[Done], findings: &mut Findings) {
    let name = case.name;
    let problems = done
        .iter()
        .filter_map(|done| done.recording.check(wanted).err());
    findings
        .broken
        .extend(problems.map(|problem| format!("{name}: {problem}")));
    let is_as_named = |done: &&Done| (case.is_as_named)(done.link.class(Class::BestEffort));
    if let Some(other) = done
        .iter()
        .filter(|done| done.is_plain)
        .find(|done| !is_as_named(done))
    {
        findings
            .broken
            .push(format!("{name}: the path was not so: {:?}", other.link));
    }

    let (plain, ebb) = (Pace::of(done, true, case), Pace::of(done, false, case));
    let times = ebb.took_s / plain.took_s;
    eprintln!(
        "{name:32} plain {:5.1} s, gap {:4.1} s; ebb {:5.1} s, gap {:4.1} s; {times:.2} times",
        plain.took_s, plain.longest_gap_s, ebb.took_s, ebb.longest_gap_s
    );
    if times > MOST_TIMES {
        findings.slow.push(format!(
            "{name}: {:.1} s, plain {:.1} s",
            ebb.took_s, plain.took_s
        ));
    }
    if ebb.longest_gap_s > MOST_GAP_TIMES * plain.longest_gap_s + MOST_GAP_MORE_S {
        let (ebb_s, plain_s) = (ebb.longest_gap_s, plain.longest_gap_s);
        findings.slow.push(format!(
            "{name}: a gap of {ebb_s:.1} s, plain {plain_s:.1} s"
        ));
    }
}
