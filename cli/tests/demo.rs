// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb demo`, short, but with everything in it.

use std::os::unix::process::CommandExt;
use std::process::{Command, Output};

use ebb_lab::judging::{Attempt, judge};

fn ebb(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The numbers of a line of the table, without their units.
fn numbers(output: &Output, line: &str) -> Vec<f64> {
    let printed = text(&output.stdout);
    let found = printed.lines().find(|printed| printed.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("no line \"{line}\" in:\n{printed}"));
    let cells = found[line.len()..].split_whitespace();
    cells.filter_map(|cell| cell.parse().ok()).collect()
}

#[test]
fn demo_measures_all_parts_and_writes_the_plot() {
    let name = "demo_measures_all_parts_and_writes_the_plot";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    judge(name, || {
        let folder = tempfile::tempdir().unwrap();
        let plot = folder.path().join("new/plot");
        let arguments = ["demo", "--seconds", "6", "--output", plot.to_str().unwrap()];
        let output = ebb(&arguments).output().unwrap();
        assert!(output.status.success(), "{}", text(&output.stderr));
        let progress = text(&output.stderr);
        assert_eq!(
            progress,
            "1/3 nobody else\n2/3 plain curl\n3/3 ebb run -- curl\n"
        );
        assert!(
            std::fs::read(plot.join("demo.png"))
                .unwrap()
                .starts_with(b"\x89PNG")
        );
        let svg = std::fs::read_to_string(plot.join("demo.svg")).unwrap();
        assert!(svg.contains("plain curl") && svg.contains("Delay of the call"));
        let is_disturbed = text(&output.stdout).contains("DISTURBED");
        Attempt {
            wrong: misses(&output),
            disturbed: is_disturbed.then(|| "disturbed".to_owned()),
        }
    });
}

/// What is not as it must be in the table.
fn misses(output: &Output) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |line: &str, holds: &dyn Fn(&[f64]) -> bool| {
        let values = numbers(output, line);
        if !holds(&values) {
            wrong.push(format!("{line}: {values:?}"));
        }
    };
    // Alone, a page takes five round trips and the time of its bytes: about 0.83 s.
    expect("page load, median", &|pages| {
        pages.len() == 3 && (0.7..1.1).contains(&pages[0])
    });
    expect("call delay, mean", &|delays| {
        delays.len() == 3 && delays.iter().all(|ms| (50.0..160.0).contains(ms))
    });
    for line in ["download beside the person", "download, nobody else"] {
        expect(line, &|rates| {
            rates.len() == 2 && rates.iter().all(|rate| (1.0..9.7).contains(rate))
        });
    }
    wrong
}

#[test]
fn demo_without_root_says_what_to_type() {
    let mut demo = ebb(&["demo"]);
    if nix::unistd::geteuid().is_root() {
        const NOBODY: u32 = 65534;
        demo.uid(NOBODY).gid(NOBODY);
    }
    let output = demo.output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(
        text(&output.stderr).contains("sudo make demo"),
        "{}",
        text(&output.stderr)
    );
}

#[test]
fn a_part_that_is_too_short_is_refused_with_the_bounds() {
    let output = ebb(&["demo", "--seconds", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("4..=600"),
        "{}",
        text(&output.stderr)
    );
}
