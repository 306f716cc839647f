// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What very many connections cost: a process with 1,000, 3,000 and 10,000, to each of which a
//! kilobyte comes every second, attached to by either backend.
//!
//! ```text
//! sudo -E cargo bench -p ebb --bench connections
//! ```
//!
//! Processor time and memory are those of the keeper (and of its guardian), while nobody asks it;
//! the kernel's memory is what its slabs have grown by. Then what one answer to `ebb status --flows`
//! and one picture of `ebb top` cost, all processes together, the last connection being chosen. What a connection costs must not grow
//! by more than half from the fewest to the most: exits with 1 if missed.

#[path = "../../kernel/tests/support/mod.rs"]
mod cable;
#[path = "../tests/support/mod.rs"]
mod support;

use std::io::Write;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use cable::Cable;
use cable::many::Many;
use cable::process::role;
use serde_json::Value;
use support::{Ebb, stderr, stdout};

const COUNTS: [usize; 3] = [1_000, 3_000, 10_000];
const BACKENDS: [&str; 2] = ["kernel", "user"];
const PAUSE: Duration = Duration::from_secs(1);
const SETTLING: Duration = Duration::from_secs(3);
const MEASURED: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_secs(120);
const PICTURES: u32 = 5;
/// What a terminal sends for it.
const END_KEY: &[u8] = b"\x1b[F";
/// What a connection costs among the most, over what it costs among the fewest.
const MOST_GROWTH: f64 = 1.5;
/// A keeper costs this much without any connection, as does a picture of nothing.
const OWN_CPU: f64 = 0.005;
const OWN_KB: f64 = 12_000.0;
const OWN_MS: f64 = 100.0;

/// What one backend costs with so many connections.
struct Costs {
    connections: usize,
    /// The share of a core.
    keeper_cpu: f64,
    keeper_kb: f64,
    kernel_kb: f64,
    status_cpu_ms: f64,
    picture_cpu_ms: f64,
}

fn main() -> ExitCode {
    if std::env::var_os("EBB_TEST_ROLE").is_some() {
        role();
        return ExitCode::SUCCESS;
    }
    if !ebb_kernel::requires_root("the benchmark of very many connections") {
        return ExitCode::SUCCESS;
    }
    println!(
        "{:<7} {:>11} {:>13} {:>11} {:>11} {:>16} {:>14}",
        "backend",
        "connections",
        "keeper, cpu %",
        "keeper, MB",
        "kernel, MB",
        "status, cpu ms",
        "top, cpu ms"
    );
    let mut is_missed = false;
    for backend in BACKENDS {
        let costs = COUNTS.map(|count| {
            let costs = measure(backend, count);
            print(backend, &costs);
            costs
        });
        is_missed |= !is_linear(&costs[0], &costs[COUNTS.len() - 1]);
    }
    ExitCode::from(u8::from(is_missed))
}

fn print(backend: &str, costs: &Costs) {
    println!(
        "{backend:<7} {:>11} {:>13.2} {:>11.1} {:>11.1} {:>16.0} {:>14.0}",
        costs.connections,
        costs.keeper_cpu * 100.0,
        costs.keeper_kb / 1e3,
        costs.kernel_kb / 1e3,
        costs.status_cpu_ms,
        costs.picture_cpu_ms,
    );
}

/// Whether each connection of many costs what each of few does.
fn is_linear(few: &Costs, many: &Costs) -> bool {
    let grown = many.connections as f64 / few.connections as f64;
    let each = [
        ("processor time", few.keeper_cpu, many.keeper_cpu, OWN_CPU),
        ("memory", few.keeper_kb, many.keeper_kb, OWN_KB),
        ("status", few.status_cpu_ms, many.status_cpu_ms, OWN_MS),
        ("top", few.picture_cpu_ms, many.picture_cpu_ms, OWN_MS),
    ];
    let mut is_linear = true;
    for (what, few, many, own) in each {
        let most = own + few * grown * MOST_GROWTH;
        if many > most {
            eprintln!("missed: {what} is {many:.3}, and {most:.3} would be linear");
            is_linear = false;
        }
    }
    is_linear
}

fn measure(backend: &str, connections: usize) -> Costs {
    let (ebb, cable) = (Ebb::new(), Cable::new());
    let many = Many::lay(&cable, connections, PAUSE);
    let pid = many.server.id().to_string();
    let slabs_before_kb = slabs_kb();
    ebb.says(["attach", &format!("--backend={backend}"), "--pid", &pid]);
    let keeper = wait_until_governed(&ebb, connections);
    let kernel_kb = slabs_kb() - slabs_before_kb;
    std::thread::sleep(SETTLING);
    let (began, before) = (Instant::now(), cpu(&keeper));
    std::thread::sleep(MEASURED);
    let keeper_cpu = (cpu(&keeper) - before).as_secs_f64() / began.elapsed().as_secs_f64();
    let keeper_kb = keeper.iter().map(|pid| own_kb(*pid)).sum();
    let (status, status_cpu) = cpu_of(&keeper, ebb.command(["status", "--flows"]), &[]);
    assert!(status.lines().count() > connections, "{status}");
    let picture_cpu_ms = pictures(&ebb, &keeper);
    ebb.says(["detach", "--pid", &pid]);
    Costs {
        connections,
        keeper_cpu,
        keeper_kb,
        kernel_kb,
        // It looks twice, to know rates.
        status_cpu_ms: status_cpu.as_secs_f64() * 1e3 / 2.0,
        picture_cpu_ms,
    }
}

/// Answers the keeper's processes.
fn wait_until_governed(ebb: &Ebb, connections: usize) -> Vec<u32> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let seen = ebb.says(["status", "--flows", "--json"]);
        let seen: Value = serde_json::from_str(&seen).expect("JSON");
        let flows = seen[0]["flows"].as_array().expect("an attachment");
        let governed = flows
            .iter()
            .filter(|flow| flow["direction"] == "down")
            .count();
        if governed == connections {
            let keeper = seen[0]["keeper_pid"].as_u64().expect("a number") as u32;
            let guardian = parent_of(keeper).filter(|pid| name_of(*pid) == "ebb-guardian");
            return guardian.into_iter().chain([keeper]).collect();
        }
        assert!(Instant::now() < deadline, "{governed} of {connections}");
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// What one picture costs, on a terminal.
fn pictures(ebb: &Ebb, keeper: &[u32]) -> f64 {
    let top = format!(
        "stty rows 50 columns 120; exec {} top --count {PICTURES}",
        env!("CARGO_BIN_EXE_ebb")
    );
    let mut script = Command::new("script");
    script
        .args(["-qec", &top, "/dev/null"])
        .envs(ebb.environment());
    let (shown, cpu) = cpu_of(keeper, script, END_KEY);
    // Between words there may be a move of the cursor.
    assert!(shown.contains("PROGRAM"), "{shown}");
    cpu.as_secs_f64() * 1e3 / f64::from(PICTURES)
}

/// Runs a command in which something is typed; answers what it prints, and the processor time of it
/// and of the keeper that it asks.
fn cpu_of(keeper: &[u32], mut command: Command, typed: &[u8]) -> (String, Duration) {
    let before = cpu(keeper) + cpu_of_children();
    command.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.stderr(Stdio::piped()).spawn().expect("it starts");
    // Open until it has ended: the end of what is typed would end it.
    let mut input = child.stdin.take().expect("it is piped");
    input.write_all(typed).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    drop(input);
    assert!(output.status.success(), "{}", stderr(&output));
    let cpu = cpu(keeper) + cpu_of_children() - before;
    (stdout(&output), cpu)
}

fn cpu(pids: &[u32]) -> Duration {
    pids.iter().map(|pid| cpu_of_process(*pid)).sum()
}

/// Of all its threads, those that have ended included.
fn cpu_of_process(pid: u32) -> Duration {
    const TICK: Duration = Duration::from_millis(10);
    let text = std::fs::read_to_string(format!("/proc/{pid}/stat")).expect("it lives");
    let (_, fields) = text.rsplit_once(") ").expect("its name is in brackets");
    // Fields 14 and 15; the one behind the name is the third.
    let ticks = fields.split(' ').skip(11).take(2);
    let ticks: u32 = ticks
        .map(|ticks| ticks.parse::<u32>().expect("a number"))
        .sum();
    TICK * ticks
}

fn cpu_of_children() -> Duration {
    // SAFETY: the kernel fills in plain integers.
    let usage = unsafe {
        let mut usage = std::mem::zeroed::<libc::rusage>();
        libc::getrusage(libc::RUSAGE_CHILDREN, &raw mut usage);
        usage
    };
    let time = |it: libc::timeval| Duration::new(it.tv_sec as u64, it.tv_usec as u32 * 1_000);
    time(usage.ru_utime) + time(usage.ru_stime)
}

/// What is a process's own, not what it shares with `ebb` at large.
fn own_kb(pid: u32) -> f64 {
    field_kb(&format!("/proc/{pid}/status"), "RssAnon:")
}

fn slabs_kb() -> f64 {
    field_kb("/proc/meminfo", "Slab:")
}

fn field_kb(file: &str, name: &str) -> f64 {
    let text = std::fs::read_to_string(file).expect("/proc is mounted");
    let line = text.lines().find(|line| line.starts_with(name));
    line.and_then(|line| line.split_ascii_whitespace().nth(1)?.parse().ok())
        .expect("the kernel tells it")
}

fn parent_of(pid: u32) -> Option<u32> {
    let text = std::fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = text.lines().find(|line| line.starts_with("PPid:"))?;
    line.split_ascii_whitespace().nth(1)?.parse().ok()
}

fn name_of(pid: u32) -> String {
    let name = std::fs::read_to_string(format!("/proc/{pid}/comm"));
    name.unwrap_or_default().trim().to_owned()
}
