// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The simulator beside the real kernel, on the same paths.
//!
//! `kernel/NAME.toml` is a scenario, `kernel/NAME.json` what Linux 6.18 did in it, over an
//! emulated link that was not disturbed:
//! `sudo ebb lab run --parallel 14 --out simulator/tests/kernel simulator/tests/kernel/*.toml`

use std::path::{Path, PathBuf};

use ebb_scenario::{Outcome, Results, Scenario};
use ebb_simulator::{Options, run};

/// How far means may be apart, beside what chance explains (two standard errors).
const GOODPUT_SHARE: f64 = 0.03;
const QUEUE_SHARE: f64 = 0.10;
const RETRANSMITTED_SHARE: f64 = 0.20;
/// Runs of the simulator; it is cheaper than the kernel.
const RUNS: u32 = 8;

/// What is held against the kernel, and how near it has to be.
type Quantity = (f64, fn(&Outcome) -> f64);
const QUANTITIES: [Quantity; 3] = [
    (GOODPUT_SHARE, |run| {
        run.flows[0].measures[0].goodput_bits_per_s / 1e6
    }),
    (QUEUE_SHARE, |run| {
        run.links[0].measures[0].queue_delay_ms.mean
    }),
    (RETRANSMITTED_SHARE, |run| {
        run.flows[0].measures[0].retransmitted_pkts as f64
    }),
];

/// Mean, and the square of its standard error.
fn mean_of(runs: &[Outcome], value: fn(&Outcome) -> f64) -> (f64, f64) {
    let count = runs.len() as f64;
    let mean = runs.iter().map(value).sum::<f64>() / count;
    let squares = runs.iter().map(|run| (value(run) - mean).powi(2));
    (mean, squares.sum::<f64>() / (count - 1.0) / count)
}

fn scenario_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel");
    let files = std::fs::read_dir(folder).unwrap().flatten();
    let mut files: Vec<_> = files
        .map(|entry| entry.path())
        .filter(|path| path.extension().is_some_and(|it| it == "toml"))
        .collect();
    files.sort();
    files
}

/// A line for people, and whether all of it is near enough.
fn compare(file: &Path) -> (String, bool) {
    let mut scenario = Scenario::read(file).unwrap();
    for flow in &mut scenario.flows {
        // The kernel has its own CUBIC.
        if flow.sender == "cubic" {
            flow.sender = "cubic:rules=1,hystart=2".into();
        }
    }
    let kernel = Results::read(&file.with_extension("json")).unwrap().runs;
    let simulator: Vec<Outcome> = (0..RUNS)
        .map(|number| {
            let options = Options {
                run: number,
                ..Options::default()
            };
            run(&scenario, options).unwrap()
        })
        .collect();
    let mut line = format!("{:26}", file.file_stem().unwrap().to_string_lossy());
    let mut is_near = true;
    for (share, value) in QUANTITIES {
        let (real, real_error) = mean_of(&kernel, value);
        let (simulated, simulated_error) = mean_of(&simulator, value);
        let by_chance = 2.0 * (real_error + simulated_error).sqrt();
        let is_far = (simulated - real).abs() > share * real + by_chance;
        is_near &= !is_far;
        let (off, mark) = (
            100.0 * (simulated - real) / real,
            if is_far { '!' } else { ' ' },
        );
        line += &format!("  {real:8.3} {simulated:8.3} {off:+6.1} %{mark}");
    }
    (line, is_near)
}

#[test]
fn goodput_queue_and_retransmissions_are_those_of_the_kernel() {
    let files = scenario_files();
    assert!(files.len() >= 12, "six paths with two laws: {files:?}");
    println!(
        "{:26}  goodput, Mbit/s             queue, ms",
        "kernel, simulator"
    );
    let compared: Vec<_> = std::thread::scope(|scope| {
        let running: Vec<_> = files
            .iter()
            .map(|file| scope.spawn(|| compare(file)))
            .collect();
        running.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for (line, _) in &compared {
        println!("{line}");
    }
    let apart: Vec<_> = compared
        .iter()
        .filter(|(_, is_near)| !is_near)
        .map(|(line, _)| line.as_str())
        .collect();
    assert!(apart.is_empty(), "too far apart:\n{}", apart.join("\n"));
}
