// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A minimum beside a greedy flow, over an emulated link: a socket that is given by itself has it for
//! itself, all that are given together have it together, and it may be changed while they transfer.

#[path = "../support/c.rs"]
mod c;
#[path = "../../../cli/tests/transfers/greedy.rs"]
mod greedy;

use std::net::TcpStream;
use std::ops::Range;
use std::process::Child;
use std::thread::sleep;
use std::time::{Duration, Instant};

use ebb::Options;
use ebb_host::testing::requires_root;
use ebb_lab::emulator::{DirectionReport, EmulatorReport, Path, PathSpec, SERVER_IPV4, Testbed};
use ebb_lab::judging::{Attempt, judge};
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};
use greedy::{Others, serve};

/// Less than best effort: the sockets.
const OURS: u16 = 8_081;
/// Best effort: one greedy flow.
const OTHERS: u16 = 8_080;

/// After a change, and how long it is measured then.
const SETTLES: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(5);

/// A floor aims at a quarter more, and what it owes is added: so it stays below its double
/// (docs/floor.md). *Units:* Mbit/s, of packets, of 10.
const CASES: [Case; 4] = [
    Case {
        name: "one download",
        sockets: Sockets::Download(1),
        minimum: "2mbit",
        has: 2.0..4.0,
    },
    Case {
        name: "one upload",
        sockets: Sockets::Upload,
        minimum: "2mbit",
        has: 2.0..4.0,
    },
    Case {
        name: "two downloads, each by itself",
        sockets: Sockets::Download(2),
        minimum: "1500kbit",
        has: 3.0..6.0,
    },
    Case {
        name: "two downloads together, in C",
        sockets: Sockets::Together,
        minimum: "1500kbit",
        has: 1.5..3.0,
    },
];
/// Without a minimum.
const YIELDS: Range<f64> = 0.0..2.0;

struct Case {
    name: &'static str,
    sockets: Sockets,
    minimum: &'static str,
    has: Range<f64>,
}

#[derive(Clone, Copy, PartialEq)]
enum Sockets {
    Download(usize),
    Upload,
    Together,
}

/// What transfers, until it is dropped.
enum Ours {
    Sockets(Vec<TcpStream>),
    Program(Child),
}

impl Ours {
    fn begin(path: &Path, case: &Case, program: &std::path::Path) -> Self {
        path.set_class(OURS, Class::LessThanBestEffort);
        let is_upload = case.sockets == Sockets::Upload;
        serve(
            path.server(),
            (SERVER_IPV4, OURS),
            move |it: &TcpStream| match is_upload {
                true => greedy::receive(it),
                false => greedy::send(it),
            },
        );
        let count = match case.sockets {
            Sockets::Download(count) => count,
            Sockets::Upload => 1,
            Sockets::Together => {
                let mut command = path.client().command(program);
                let (address, port) = (SERVER_IPV4.to_string(), OURS.to_string());
                let command = command.args([&address, &port, case.minimum]);
                return Self::Program(command.spawn().unwrap());
            }
        };
        let ours = Self::Sockets((0..count).map(|_| connect(path, is_upload)).collect());
        ours.set_minimum(case.minimum);
        ours
    }

    /// Of each socket of this process, from now on.
    fn set_minimum(&self, rate: &str) {
        let Self::Sockets(sockets) = self else {
            return;
        };
        let options = Options::new().minimum(rate).unwrap();
        for socket in sockets {
            ebb::background_with(socket, &options).unwrap();
        }
    }
}

impl Drop for Ours {
    fn drop(&mut self) {
        match self {
            Self::Sockets(sockets) => {
                for socket in sockets {
                    let _ = socket.shutdown(std::net::Shutdown::Both);
                }
            }
            Self::Program(child) => {
                let _ = child.kill();
                let _ = child.wait();
            }
        }
    }
}

fn connect(path: &Path, is_upload: bool) -> TcpStream {
    let connected = path
        .client()
        .run_in(|| TcpStream::connect((SERVER_IPV4, OURS)));
    let socket = connected.unwrap().unwrap();
    let moving = socket.try_clone().unwrap();
    std::thread::spawn(move || match is_upload {
        true => greedy::send(&moving),
        false => greedy::receive(&moving),
    });
    socket
}

/// 10 Mbit/s and RTT 40 ms: two flows have their fair shares of it within a few seconds.
fn path() -> PathSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(20));
    let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(40));
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(link.clone(), link)
    }
}

/// Runs all side by side; answers what is wrong.
fn measure(program: &std::path::Path) -> (EmulatorReport, Vec<String>) {
    let testbed = Testbed::start(vec![path(); CASES.len()]).unwrap();
    let pairs = testbed.paths().iter().zip(&CASES);
    let begin = |(path, case): (&Path, &Case)| {
        let others = match case.sockets {
            Sockets::Upload => Others::begin_upload(path, OTHERS),
            _ => Others::begin_download(path, OTHERS),
        };
        (Ours::begin(path, case, program), others)
    };
    let (ours, others): (Vec<Ours>, Vec<Others>) = pairs.map(begin).unzip();
    let settled = || {
        sleep(SETTLES);
        let from = Instant::now() - testbed.epoch_instant();
        sleep(MEASURED);
        [from, from + MEASURED]
    };
    let with = settled();
    ours.iter().for_each(|it| it.set_minimum("none"));
    let without = settled();
    let report = testbed.stop().unwrap();
    drop((ours, others));
    let mut wrong = Vec::new();
    for (case, path) in CASES.iter().zip(&report.paths) {
        let link = match case.sockets {
            Sockets::Upload => &path.reverse,
            _ => &path.forward,
        };
        wrong.extend(misses(case, "with", link, with, &case.has));
        if case.sockets != Sockets::Together {
            wrong.extend(misses(case, "without", link, without, &YIELDS));
        }
    }
    (report, wrong)
}

fn misses(
    case: &Case,
    how: &str,
    link: &DirectionReport,
    span: [Duration; 2],
    bounds: &Range<f64>,
) -> Option<String> {
    let rate = |class| {
        let at = |time: Duration| link.series.epoch + Nanos(time.as_nanos() as u64);
        let bytes = link.series.between(class, at(span[0]), at(span[1]));
        bytes.sent_bytes as f64 * 8e-6 / MEASURED.as_secs_f64()
    };
    let (ours, theirs) = (rate(Class::LessThanBestEffort), rate(Class::BestEffort));
    let told = format!(
        "{}, {how} {}: {ours:.2} Mbit/s beside {theirs:.2}",
        case.name, case.minimum
    );
    eprintln!("{told}");
    (!bounds.contains(&ours)).then_some(told)
}

#[test]
fn a_minimum_is_a_sockets_own_or_that_of_all_and_is_changed_live() {
    let name = "a_minimum_is_a_sockets_own_or_that_of_all_and_is_changed_live";
    if !requires_root(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = c::build_shared("tests/minimum/together.c", folder.path(), &[]);
    judge(name, || {
        let (report, wrong) = measure(&program);
        Attempt::over(&report, wrong)
    });
}
