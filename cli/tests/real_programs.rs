// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that people use, each under Ebb, each beside a greedy flow: what they transfer
//! arrives whole, and they yield.

mod transfers;

#[path = "transfers/programs.rs"]
mod programs;

use ebb_lab::demo::Nginx;
use ebb_lab::emulator::{EmulatorReport, Path, Testbed};
use ebb_lab::namespace::NamespaceHandle;
use ebb_link::{Class, Nanos};
use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use programs::{Program, Server, Site, all};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};
use transfers::{Findings, OTHERS, OURS, UPLOADS, ebb, home_link, path_with, run, words, yielding};

/// The greedy flow comes when the program has the link, and stays so long.
const ALONE: Duration = Duration::from_secs(3);
const TOGETHER: Duration = Duration::from_secs(9);
/// The greedy flow's start is not counted: it has to find its rate.
const SETTLING: Duration = Duration::from_secs(2);
/// A transfer that is not through by then is stuck: alone it takes about 8 s.
const LIMIT: Duration = Duration::from_secs(60);

/// Ebb's share beside a greedy CUBIC flow is a few percent; plain TCP's is about half.
const MOST_SHARE: f64 = 0.15;
const PLAIN_SHARE_AT_LEAST: f64 = 0.25;

#[test]
fn real_programs_arrive_whole_and_yield() {
    let name = "real_programs_arrive_whole_and_yield";
    if ebb_kernel::requires_root(name) {
        transfers::expect_nothing_wrong(name, try_all);
    }
}

fn try_all() -> (Findings, EmulatorReport) {
    let folder = tempfile::tempdir().unwrap();
    let site = Site::make(folder.path());
    let programs = all(&site);
    let testbed = Testbed::start(vec![path_with(home_link()); programs.len()]).unwrap();
    let runs: Vec<Run> = std::thread::scope(|scope| {
        let start = |(path, program)| scope.spawn(move || beside_a_greedy_flow(path, program));
        let running: Vec<_> = testbed.paths().iter().zip(&programs).map(start).collect();
        let ended = running.into_iter().map(|running| running.join().unwrap());
        ended.collect()
    });
    let epoch = testbed.epoch_instant();
    let report = testbed.stop().unwrap();

    let mut findings = Findings::default();
    for (index, (program, run)) in programs.iter().zip(runs).enumerate() {
        let share = share(&report, index, run.greedy_start - epoch);
        let name = program.name;
        eprintln!(
            "{name:32} {:5.1} s, share {share:.3}",
            run.took.as_secs_f64()
        );
        let is_right = if program.is_plain {
            share > PLAIN_SHARE_AT_LEAST
        } else {
            share < MOST_SHARE
        };
        if !is_right {
            findings
                .slow
                .push(format!("{name}: its share was {share:.3}"));
        }
        match run.problem {
            Some(Problem::Stuck(sockets)) => {
                let stuck = format!("{name}: not through after {LIMIT:?}\n{sockets}");
                findings.stuck.push(stuck);
            }
            Some(Problem::Broken(how)) => findings.broken.push(format!("{name}: {how}")),
            None => {}
        }
    }
    (findings, report)
}

enum Problem {
    /// It is not through after [`LIMIT`]: what both ends know of its connections.
    Stuck(String),
    Broken(String),
}

struct Run {
    greedy_start: Instant,
    took: Duration,
    problem: Option<Problem>,
}

fn beside_a_greedy_flow(path: &Path, program: &Program) -> Run {
    for ours in [OURS, UPLOADS] {
        path.set_class(ours.port(), Class::LessThanBestEffort);
    }
    let nginx = Nginx::start(
        path.server(),
        &[OURS, OTHERS],
        &program.site.root,
        program.name,
    );
    let _nginx = nginx.unwrap();
    (program.prepare)(path);

    let start = Instant::now();
    let transfer = begin(path, program);
    std::thread::sleep(ALONE);
    let greedy_start = Instant::now();
    let greedy = words([
        "curl",
        "-s",
        "--max-time",
        &TOGETHER.as_secs().to_string(),
        "-o",
    ]);
    let url = format!("http://{OTHERS}/large");
    let greedy = [greedy, words(["/dev/null", &url])].concat();
    let greedy = transfers::program(path.client(), &greedy).status().unwrap();
    let mut problem = end(path, transfer, program, start).err();
    let took = start.elapsed();
    // 28: its time was up, as it should be.
    if greedy.code() != Some(28) {
        problem = Some(Problem::Broken(format!(
            "the greedy flow ended by itself: {greedy}"
        )));
    }
    Run {
        greedy_start,
        took,
        problem,
    }
}

/// The processes of a transfer: the one that ends with it, and maybe a server.
struct Transfer {
    main: Child,
    _server: Option<RunningServer>,
}

/// Ends when it is dropped.
enum RunningServer {
    Run(Child),
    Attached(Nginx),
}

impl Drop for RunningServer {
    fn drop(&mut self) {
        match self {
            // `ebb run` passes the signal on, and ends with its command.
            Self::Run(child) => {
                let pid = Pid::from_raw(child.id() as i32);
                kill(pid, Signal::SIGTERM).unwrap();
                child.wait().unwrap();
            }
            Self::Attached(nginx) => {
                run(&mut ebb(["detach", "--pid", &nginx.pid().to_string()]));
            }
        }
    }
}

fn begin(path: &Path, program: &Program) -> Transfer {
    let under_ebb = |words: &[String]| {
        if program.is_plain {
            words.to_vec()
        } else {
            yielding(words)
        }
    };
    let Some(server) = &program.server else {
        let main = start(path.client(), program, &under_ebb(&program.command), "log");
        return Transfer {
            main,
            _server: None,
        };
    };
    let server = match server {
        Server::Run(words) => RunningServer::Run(start(
            path.client(),
            program,
            &under_ebb(words),
            "server-log",
        )),
        Server::AttachNginx => {
            let nginx = Nginx::start(path.client(), &[UPLOADS], &program.folder, "nginx").unwrap();
            run(&mut ebb(["attach", "--pid", &nginx.pid().to_string()]));
            RunningServer::Attached(nginx)
        }
    };
    wait_for_uploads(path);
    Transfer {
        main: start(path.server(), program, &program.command, "log"),
        _server: Some(server),
    }
}

fn start(namespace: &NamespaceHandle, program: &Program, words: &[String], log: &str) -> Child {
    let log = File::create(program.folder.join(log)).unwrap();
    transfers::program(namespace, words)
        .current_dir(&program.folder)
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log)
        .process_group(0)
        .spawn()
        .unwrap_or_else(|error| panic!("{words:?}: {error}"))
}

fn wait_for_uploads(path: &Path) {
    let knock = || std::net::TcpStream::connect(UPLOADS).is_ok();
    let started = Instant::now();
    while !path.client().run_in(knock).unwrap() {
        assert!(
            started.elapsed() < Duration::from_secs(30),
            "nobody listens at {UPLOADS}"
        );
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Waits until the transfer is through and looks at what arrived.
fn end(
    path: &Path,
    mut transfer: Transfer,
    program: &Program,
    start: Instant,
) -> Result<(), Problem> {
    let status = loop {
        match transfer.main.try_wait().unwrap() {
            Some(status) => break status,
            None if start.elapsed() > LIMIT => {
                let sockets = sockets(path);
                transfer.main.kill().unwrap();
                transfer.main.wait().unwrap();
                return Err(Problem::Stuck(sockets));
            }
            None => std::thread::sleep(Duration::from_millis(20)),
        }
    };
    if !status.success() {
        let log = std::fs::read_to_string(program.folder.join("log")).unwrap_or_default();
        return Err(Problem::Broken(format!("{status}: {}", log.trim())));
    }
    // What a program left running goes on after it has ended.
    while let Err(problem) = (program.check)() {
        if !program.is_left_running || start.elapsed() > LIMIT {
            return Err(Problem::Broken(problem));
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// All connections as both ends have them, and as Ebb has: twice, to tell what moves.
fn sockets(path: &Path) -> String {
    let mut told = String::new();
    for _ in 0..2 {
        for namespace in [path.server(), path.client()] {
            told += &run(namespace.command("ss").arg("-tinmo"));
        }
        told += &run(&mut ebb(["status", "--flows"]));
        std::thread::sleep(Duration::from_secs(1));
    }
    told
}

/// The program's share of what passed the bottleneck while the greedy flow was there.
fn share(report: &EmulatorReport, path: usize, greedy_start: Duration) -> f64 {
    let series = &report.paths[path].forward.series;
    let at = |time: Duration| series.epoch + Nanos(time.as_nanos() as u64);
    let (from, until) = (at(greedy_start + SETTLING), at(greedy_start + TOGETHER));
    let bytes = |class| series.between(class, from, until).sent_bytes as f64;
    let ours = bytes(Class::LessThanBestEffort);
    ours / (ours + bytes(Class::BestEffort))
}
