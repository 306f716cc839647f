// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Transfers in batches, each beside two twins by plain TCP over paths of the same chance. A batch
//! whose emulator was disturbed is done again.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier, OnceLock};
use std::time::{Duration, Instant};

use ebb_lab::emulator::{self, DEVICE, SERVER_IPV4, Testbed};

use crate::point::Backend;
use crate::scene::PYTHON;
use crate::server::{PORT, Server};
use crate::settings::Settings;
use crate::support::Ebb;
use crate::transfer::{CONTENT_BYTES, Harm, Transfer};
use crate::transfers::content;

const CLIENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/soak/client.py");
/// One after the other over one path.
const OVER_ONE_PATH: usize = 12;
/// A disturbed batch is done so often where times are judged; the last one counts in any case.
const MOST_ATTEMPTS: usize = 3;
/// Of fewer transfers the slowest of a hundred is chance: of these only the bytes are judged.
pub const JUDGED_FROM: usize = 1_000;
/// Whatever takes longer hangs.
const PATIENCE: Duration = Duration::from_secs(70);
/// The MTU of both ends, one after the other. IPv6 needs the least of them.
const MTUS: [u16; 4] = [1_280, 1_500, 1_400, 1_500];
const MTU_EVERY: Duration = Duration::from_millis(200);

/// A transfer by one of the three.
#[derive(Clone, Debug)]
struct Crossing {
    took_s: f64,
    /// `right`, or what was wrong.
    results: Vec<String>,
}

/// A transfer and its twins.
#[derive(Clone, Debug)]
pub struct Triple {
    pub transfer: Transfer,
    pub backend: Backend,
    pub harm: Harm,
    pub ebb_s: f64,
    pub plain_s: f64,
    /// By plain TCP once more: how far apart two are anyway.
    pub again_s: f64,
    pub problems: Vec<String>,
}

/// All of them, and what is to be known of the emulator.
#[derive(Default)]
pub struct Crossed {
    pub triples: Vec<Triple>,
    pub batches: usize,
    /// So many attempts were disturbed, and did not count.
    pub repeated: usize,
    /// So many were disturbed at each attempt.
    pub disturbed: usize,
    pub lateness: Vec<String>,
}

impl Triple {
    /// How many times longer it took than it must without harm.
    pub fn slowness(&self) -> f64 {
        self.ebb_s / self.transfer.ideal_s()
    }

    /// The same of its first twin.
    pub fn slowness_of_plain(&self) -> f64 {
        self.plain_s / self.transfer.ideal_s()
    }

    /// The same of its second one.
    pub fn slowness_of_again(&self) -> f64 {
        self.again_s / self.transfer.ideal_s()
    }
}

/// Transfers that cross paths of one kind, one after the other.
struct Lane {
    backend: Backend,
    harm: Harm,
    transfers: Vec<Transfer>,
}

/// Makes all transfers.
pub fn run(settings: &Settings) -> Crossed {
    let mut crossed = Crossed::default();
    let lanes = lanes(settings);
    let attempts = match settings.numbers.len() {
        ..JUDGED_FROM => 1,
        JUDGED_FROM.. => MOST_ATTEMPTS,
    };
    for batch in lanes.chunks(settings.parallel) {
        crossed.batches += 1;
        for attempt in 1..=attempts {
            let (triples, report) = cross(settings, batch);
            let is_broken = triples.iter().any(|it| !it.problems.is_empty());
            let summary = report.summary();
            if report.is_disturbed() && !is_broken && attempt < attempts {
                crossed.repeated += 1;
                eprintln!("once more: {summary}");
                continue;
            }
            crossed.disturbed += usize::from(report.is_disturbed());
            crossed.lateness.push(summary);
            crossed.triples.extend(triples);
            break;
        }
        eprintln!("{} transfers", crossed.triples.len());
    }
    crossed
}

/// Numbers that follow one another have the same path, so that one alone has it as well.
fn lanes(settings: &Settings) -> Vec<Lane> {
    let lane_of = |number: &u64| *number / OVER_ONE_PATH as u64;
    let groups = settings.numbers.chunk_by(|a, b| lane_of(a) == lane_of(b));
    groups
        .map(|numbers| {
            let lane = usize::try_from(lane_of(&numbers[0])).unwrap();
            Lane {
                backend: [Backend::Kernel, Backend::User][lane % 2],
                harm: Harm::ALL[lane % Harm::ALL.len()],
                transfers: numbers
                    .iter()
                    .map(|it| Transfer::draw(settings, *it))
                    .collect(),
            }
        })
        .collect()
}

fn cross(settings: &Settings, batch: &[Lane]) -> (Vec<Triple>, emulator::EmulatorReport) {
    let content = shared_content();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("content");
    std::fs::write(&file, content.as_slice()).unwrap();
    let mut specs = Vec::new();
    for lane in batch {
        let chance = settings.seed.wrapping_add(lane.transfers[0].number);
        for _twin in 0..3 {
            // The emulator adds the path's number: twins have the same chance.
            specs.push(lane.harm.path(chance.wrapping_sub(specs.len() as u64)));
        }
    }
    let testbed = Testbed::start(specs).unwrap();
    let start = Barrier::new(testbed.paths().len());
    let triples = std::thread::scope(|scope| {
        let begin = |(number, path): (usize, _)| {
            let lane = &batch[number / 3];
            let backend = number.is_multiple_of(3).then_some(lane.backend);
            let (file, content, start) = (&file, &content, &start);
            scope.spawn(move || walk(path, lane, backend, file, content, start))
        };
        let running: Vec<_> = testbed.paths().iter().enumerate().map(begin).collect();
        let mut walked = running.into_iter().map(|it| it.join().unwrap());
        let mut triples = Vec::new();
        for lane in batch {
            let three = [(); 3].map(|()| walked.next().unwrap());
            triples.extend(together(lane, &three));
        }
        triples
    });
    (triples, testbed.stop().unwrap())
}

fn shared_content() -> Arc<Vec<u8>> {
    static CONTENT: OnceLock<Arc<Vec<u8>>> = OnceLock::new();
    Arc::clone(CONTENT.get_or_init(|| Arc::new(content(1, CONTENT_BYTES))))
}

fn together(lane: &Lane, [ebb, plain, again]: &[Vec<Crossing>; 3]) -> Vec<Triple> {
    let twins = ebb.iter().zip(plain).zip(again);
    let triple = |(transfer, ((ebb, plain), again)): (&Transfer, _)| {
        let all: [(&str, &Crossing); 3] = [("ebb", ebb), ("plain", plain), ("again", again)];
        let wrong = all.iter().flat_map(|(who, it)| {
            let wrong = it.results.iter().filter(|result| *result != "right");
            wrong.map(move |result| format!("{who}: {result}"))
        });
        Triple {
            transfer: transfer.clone(),
            backend: lane.backend,
            harm: lane.harm,
            ebb_s: ebb.took_s,
            plain_s: plain.took_s,
            again_s: again.took_s,
            problems: wrong.collect(),
        }
    };
    lane.transfers.iter().zip(twins).map(triple).collect()
}

/// Makes the transfers of a lane over a path, under Ebb if there is a backend.
fn walk(
    path: &emulator::Path,
    lane: &Lane,
    backend: Option<Backend>,
    file: &Path,
    content: &Arc<Vec<u8>>,
    start: &Barrier,
) -> Vec<Crossing> {
    let server = Server::start(path, content);
    let mut client = Client::start(path, backend, file);
    // What all this costs is over when packets begin to count.
    start.wait();
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        if lane.harm.changes_mtu() {
            scope.spawn(|| change_mtu(path, &is_over));
        }
        let crossed = lane.transfers.iter().map(|it| client.transfer(it, &server));
        let crossed = crossed.collect();
        is_over.store(true, Ordering::Relaxed);
        crossed
    })
}

fn change_mtu(path: &emulator::Path, is_over: &AtomicBool) {
    for mtu in MTUS.iter().cycle() {
        if is_over.load(Ordering::Relaxed) {
            return;
        }
        for end in [path.server(), path.client()] {
            end.ip(&format!("link set {DEVICE} mtu {mtu}\n")).unwrap();
        }
        std::thread::sleep(MTU_EVERY);
    }
}

/// A running client.py; it ends when this is dropped.
struct Client {
    child: Child,
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    _ebb: Ebb,
}

impl Client {
    fn start(path: &emulator::Path, backend: Option<Backend>, file: &Path) -> Self {
        let ebb = Ebb::new();
        let (address, port) = (SERVER_IPV4.to_string(), PORT.to_string());
        let client = [PYTHON, CLIENT, &address, &port, file.to_str().unwrap()];
        let mut command = match backend {
            Some(backend) => {
                let mut command = ebb.command(["run", "--backend", backend.name(), "--"]);
                path.client().move_child(&mut command);
                command
            }
            None => path.client().command("env"),
        };
        command
            .args(client)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        let (said, lines) = channel();
        std::thread::spawn(move || {
            let mut lines = output.lines().map_while(Result::ok);
            while lines.next().is_some_and(|line| said.send(line).is_ok()) {}
        });
        assert_eq!(lines.recv_timeout(PATIENCE).as_deref(), Ok("ready"));
        let input = child.stdin.take();
        Self {
            child,
            input,
            lines,
            _ebb: ebb,
        }
    }

    /// Makes one transfer; it is over when both ends say so.
    fn transfer(&mut self, transfer: &Transfer, server: &Server) -> Crossing {
        let start = Instant::now();
        writeln!(self.input.as_mut().unwrap(), "{}", transfer.words()).unwrap();
        let number = transfer.number;
        let ends = [
            self.lines.recv_timeout(PATIENCE).map(|line| {
                let result = line.strip_prefix(&format!("{number} "));
                result.map_or(line.clone(), str::to_owned)
            }),
            server
                .verdicts
                .recv_timeout(PATIENCE)
                .map(|(of, result)| match of == number {
                    true => result,
                    false => format!("the server speaks of {of}"),
                }),
        ];
        Crossing {
            took_s: start.elapsed().as_secs_f64(),
            results: ends
                .map(|end| end.unwrap_or_else(|error| error.to_string()))
                .into(),
        }
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        drop(self.input.take());
        let _ = self.child.wait();
    }
}
