// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A search, led by coverage, for calls that break a law: libFuzzer over the laws' own C, a
//! fixed number of runs from a fixed seed and the corpus in `fuzz/corpus`. With
//! `EBB_FUZZ_SECONDS` set it goes on for so long with each law, from another seed each time,
//! and keeps what it learns in `target/tmp/fuzz/learned`; `EBB_FUZZ_LAW` picks one law. With
//! `EBB_FUZZ_MEMORY` set laws and hosts are compiled with AddressSanitizer and UBSan instead.

#[path = "support/fuzzer.rs"]
mod fuzzer;

use ebb_algorithms::{LawInfo, Side, counter_laws, laws};
use fuzzer::{clang, link, run};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The checks: undefined behaviour, and products that do not fit (see `fuzz/checks.c`).
const CHECKS: &[&str] = &[
    "-fsanitize=undefined,unsigned-integer-overflow",
    "-fno-sanitize-recover=undefined",
    "-fsanitize-recover=unsigned-integer-overflow",
    "-fsanitize-minimal-runtime",
    "-fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp",
];
/// The same where memory is looked after, too, for which the runtime of the rest is too small.
const MEMORY_CHECKS: &[&str] = &[
    "-fsanitize=address,undefined",
    "-fno-sanitize-recover=undefined",
    "-fsanitize-coverage=inline-8bit-counters,pc-table,indirect-calls,trace-cmp",
];
const FILES: [(&str, bool); 10] = [
    ("fuzz/checks.c", false),
    ("fuzz/laws.c", false),
    ("fuzz/receiver.c", false),
    ("fuzz/recovery.c", false),
    ("fuzz/recovery_range.c", false),
    ("fuzz/recovery_sender.c", false),
    ("fuzz/sender.c", false),
    ("fuzz/subject.c", false),
    ("fuzz/planted.c", true),
    ("native.c", true),
];
const RUNS_PER_LAW: u32 = 10_000;
const RUNS_FOR_PLANTED: u32 = 1_000_000;
/// Each with one bad segment, in a connection of 58 seconds.
const RECOVERIES_PER_LAW: u32 = 400;

fn checks_memory() -> bool {
    std::env::var_os("EBB_FUZZ_MEMORY").is_some()
}

fn folder() -> PathBuf {
    let name = if checks_memory() {
        "fuzz-memory"
    } else {
        "fuzz"
    };
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

fn compile(file: &str, object: &Path, flags: &[&str]) {
    let output = run(clang()
        .args(["-std=gnu11", "-g", "-O1", "-Wall", "-Wextra", "-Werror"])
        .args([Path::new("-I"), &source("")])
        .args(flags)
        .args([Path::new("-c"), &source(file), Path::new("-o"), object]));
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{file}: {errors}");
}

/// The fuzzer, built once: the checks are for the laws, not for what calls them, but those of
/// memory, which whoever calls may have given away.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::fs::create_dir_all(folder()).unwrap();
        let objects: Vec<PathBuf> = FILES
            .iter()
            .map(|(file, is_checked)| {
                let object = folder().join(file.replace('/', "-")).with_extension("o");
                let checks = match (checks_memory(), is_checked) {
                    (true, _) => MEMORY_CHECKS,
                    (false, true) => CHECKS,
                    (false, false) => &[],
                };
                compile(file, &object, checks);
                object
            })
            .collect();
        let program = folder().join("fuzzer");
        link(
            clang()
                .arg(match checks_memory() {
                    true => "-fsanitize=fuzzer,address,undefined",
                    false => "-fsanitize=fuzzer",
                })
                .args(&objects)
                .arg("-o")
                .arg(&program),
        );
        program
    })
}

fn fuzz(law: &str, arguments: &[String]) -> Output {
    let prefix = folder().join(format!("{law}-"));
    run(Command::new(program())
        .env("EBB_FUZZ_LAW", law)
        .args(["-max_len=512", "-timeout=20", "-rss_limit_mb=1024"])
        .arg(format!("-artifact_prefix={}", prefix.display()))
        .args(arguments))
}

/// Searches a law; answers what was found.
fn search(law: &LawInfo) -> Result<(), String> {
    let corpus = source(match law.side() {
        Side::Receiver => "fuzz/corpus/receiver",
        Side::Sender => "fuzz/corpus/sender",
    });
    let seconds = std::env::var("EBB_FUZZ_SECONDS").ok();
    // The fuzzer adds to the first folder that it is given.
    let learned = folder().join(if seconds.is_some() { "learned" } else { "new" });
    let learned = learned.join(law.name);
    if seconds.is_none() && learned.exists() {
        std::fs::remove_dir_all(&learned).unwrap();
    }
    std::fs::create_dir_all(&learned).unwrap();
    let mut arguments = vec![learned.display().to_string(), corpus.display().to_string()];
    match seconds {
        None => arguments.extend([format!("-runs={RUNS_PER_LAW}"), "-seed=1".to_owned()]),
        Some(seconds) => arguments.push(format!("-max_total_time={seconds}")),
    }
    let output = fuzz(law.name, &arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    match text.lines().rfind(|line| line.starts_with("Done")) {
        Some(done) if output.status.success() => {
            println!("{}: {done}", law.name);
            Ok(())
        }
        _ => Err(format!(
            "{name}: run it again with EBB_FUZZ_LAW={name} {} FILE\n{text}",
            program().display(),
            name = law.name,
        )),
    }
}

#[test]
fn the_fuzzer_finds_nothing_in_any_law() {
    program();
    let wanted = std::env::var("EBB_FUZZ_LAW").ok();
    let chosen: Vec<&LawInfo> = laws()
        .iter()
        .chain(counter_laws())
        .filter(|law| wanted.as_deref().is_none_or(|wanted| wanted == law.name))
        .collect();
    assert!(!chosen.is_empty(), "EBB_FUZZ_LAW={wanted:?}: no such law");
    by_two(&chosen, search);
}

/// Two at a time; nothing may be found in any.
fn by_two(laws: &[&LawInfo], search: fn(&LawInfo) -> Result<(), String>) {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut found = Vec::new();
        while let Some(law) = laws.get(next.fetch_add(1, Ordering::Relaxed)) {
            found.extend(search(law).err());
        }
        found
    };
    let found: Vec<String> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        workers
            .into_iter()
            .flat_map(|worker| worker.join().expect("a search does not panic"))
            .collect()
    });
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// A law's runs with one bad segment each; with `EBB_FUZZ_SECONDS` for so long.
fn recover(law: &str) -> Output {
    let mut arguments = vec!["-max_len=32".to_owned(), "-len_control=0".to_owned()];
    match std::env::var("EBB_FUZZ_SECONDS") {
        Err(_) => arguments.extend([format!("-runs={RECOVERIES_PER_LAW}"), "-seed=1".to_owned()]),
        Ok(seconds) => arguments.push(format!("-max_total_time={seconds}")),
    }
    run(Command::new(program())
        .env("EBB_FUZZ_LAW", law)
        .env("EBB_FUZZ_RECOVERY", "1")
        .arg(format!(
            "-artifact_prefix={}",
            folder().join(format!("{law}-recovery-")).display()
        ))
        .args(arguments))
}

#[test]
fn every_law_recovers_from_one_bad_segment() {
    program();
    let laws: Vec<&LawInfo> = laws().iter().chain(counter_laws()).collect();
    by_two(&laws, |law| {
        let output = recover(law.name);
        let text = String::from_utf8_lossy(&output.stderr);
        match output.status.success() {
            true => Ok(()),
            false => Err(format!("{}: {text}", law.name)),
        }
    });
}

#[test]
fn the_fuzzer_finds_a_planted_law_that_does_not_recover() {
    let output = recover("planted-stuck");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "nothing found: {text}");
    assert!(
        text.contains("finding: broken rule: planted-stuck, alone"),
        "{text}"
    );
}

/// The fuzzer itself: faults behind a sequence of three events, of which it is told nothing.
#[track_caller]
fn finds(law: &str, finding: &str) {
    let arguments = [format!("-runs={RUNS_FOR_PLANTED}"), "-seed=3".to_owned()];
    let output = fuzz(law, &arguments);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success(), "nothing found: {text}");
    assert!(text.contains(&format!("finding: {finding}")), "{text}");
}

#[test]
fn the_fuzzer_finds_a_planted_product_that_does_not_fit() {
    // It is no undefined behaviour, and those checks have no other.
    if checks_memory() {
        return;
    }
    finds("planted-overflow", "undefined behaviour: mul_overflow");
}

#[test]
fn the_fuzzer_finds_a_planted_window_of_zero() {
    finds(
        "planted-zero-window",
        "broken rule: planted-zero-window: window of 0 segments",
    );
}

#[test]
fn the_fuzzer_finds_a_planted_local_that_is_not_set() {
    finds(
        "planted-unset-local",
        "broken rule: planted-unset-local: the same calls give two states",
    );
}

#[test]
fn the_fuzzer_finds_a_planted_write_behind_the_state() {
    finds(
        "planted-write-behind",
        "broken rule: planted-write-behind wrote behind its state",
    );
}
