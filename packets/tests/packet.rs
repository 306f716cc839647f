// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The parser of packets, compiled for this machine with AddressSanitizer and UBSan, under
//! libFuzzer (`fuzz/packet.c`): a fixed number of runs from a fixed seed. With `EBB_FUZZ_SECONDS`
//! set it goes on for so long, from another seed each time.

#[path = "../../algorithms/tests/support/fuzzer.rs"]
mod fuzzer;

use fuzzer::{clang, link, run};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The kernel aligns packets; here they end where a page does.
const FLAGS: &str = "-std=gnu11 -g -O1 -Wall -Wextra -Werror -Wno-unused-parameter \
    -fsanitize=fuzzer,address,undefined -fno-sanitize-recover=undefined -fno-sanitize=alignment";
const RUNS: u32 = 300_000;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz-packet")
}

/// The fuzzer, built once.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        std::fs::create_dir_all(folder()).unwrap();
        let program = folder().join("fuzzer");
        let packets = Path::new(env!("CARGO_MANIFEST_DIR"));
        let mut command = clang();
        command.args(FLAGS.split_whitespace());
        for headers in ["fuzz", "bpf", "../algorithms"] {
            command.arg("-I").arg(packets.join(headers));
        }
        link(
            command
                .arg(packets.join("fuzz/packet.c"))
                .arg("-o")
                .arg(&program),
        );
        program
    })
}

/// Searches for what breaks the parser; `planted` is a fault that is to be found.
fn fuzz(planted: Option<&str>, arguments: &[String]) -> (bool, String) {
    let prefix = folder().join(planted.unwrap_or("found"));
    let mut command = Command::new(program());
    command
        .args(["-max_len=256", "-timeout=20", "-rss_limit_mb=1024"])
        .arg(format!("-artifact_prefix={}-", prefix.display()))
        .args(arguments);
    if let Some(planted) = planted {
        command.env("EBB_FUZZ_PLANTED", planted);
    }
    let output = run(&mut command);
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    (output.status.success(), text)
}

fn fixed() -> Vec<String> {
    vec![format!("-runs={RUNS}"), "-seed=1".to_owned()]
}

#[test]
fn the_parser_reads_nothing_but_the_packet_and_finds_what_is_in_it() {
    let seconds = std::env::var("EBB_FUZZ_SECONDS").ok();
    let arguments =
        seconds.map_or_else(fixed, |seconds| vec![format!("-max_total_time={seconds}")]);
    let (is_clean, text) = fuzz(None, &arguments);
    let done = text.lines().rfind(|line| line.starts_with("Done"));
    assert!(
        is_clean && done.is_some(),
        "{}: {text}",
        program().display()
    );
    println!("packets: {}", done.unwrap_or_default());
}

#[test]
fn the_fuzzer_finds_a_look_behind_the_packet() {
    let (is_clean, text) = fuzz(Some("end"), &fixed());
    assert!(
        !is_clean && text.contains("AddressSanitizer: SEGV"),
        "{text}"
    );
    assert!(text.contains("packet.h"), "{text}");
}

#[test]
fn the_fuzzer_finds_a_timestamp_that_is_read_wrongly() {
    let (is_clean, text) = fuzz(Some("byte"), &fixed());
    assert!(
        !is_clean && text.contains("finding: another TSecr"),
        "{text}"
    );
}
