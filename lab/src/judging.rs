// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How tests judge figures of real time: one noisy moment of a machine is no verdict.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use crate::emulator::EmulatorReport;

/// Where each test's verdicts that were none are counted, from run to run.
const NOT_JUDGED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../target/tmp/not-judged");

/// So many runs in a row may pass without a verdict, and the next one may not.
const MOST_NOT_JUDGED: u32 = 2;

/// What one attempt at a measurement found.
#[derive(Debug, Default)]
pub struct Attempt {
    /// What is not as it must be; none if all is.
    pub wrong: Vec<String>,
    /// In what way the emulator itself was too late, if it was.
    pub disturbed: Option<String>,
}

impl Attempt {
    /// What was wrong over an emulator that reports this.
    pub fn over(report: &EmulatorReport, wrong: Vec<String>) -> Self {
        Self {
            wrong,
            disturbed: report.is_disturbed().then(|| report.summary()),
        }
    }
}

/// Measures, and is content if nothing is wrong. Otherwise two of three attempts decide, in
/// which those do not count that went wrong on an emulator that calls itself disturbed.
///
/// If too few count, a line on standard error says what is not judged.
///
/// # Panics
/// With what is wrong, if it was so twice; if the test was not judged in three runs in a row, on
/// this machine and from this folder: what is never judged holds nothing.
pub fn judge(name: &str, attempt: impl FnMut() -> Attempt) {
    judge_and_count(name, Path::new(NOT_JUDGED), attempt);
}

fn judge_and_count(name: &str, counts: &Path, attempt: impl FnMut() -> Attempt) {
    let file = counts.join(name.replace(|it: char| !it.is_ascii_alphanumeric(), "_"));
    let Some(not_judged) = reach_a_verdict(name, attempt) else {
        // There is none, mostly.
        let _ = fs::remove_file(file);
        return;
    };
    tell(&format!("{name}: not judged, {not_judged}"));
    let before = fs::read_to_string(&file).ok();
    let runs = before
        .and_then(|text| text.trim().parse().ok())
        .unwrap_or(0)
        + 1;
    let noted = fs::create_dir_all(counts).and_then(|()| fs::write(&file, runs.to_string()));
    if let Err(error) = noted {
        tell(&format!("{}: {error}: this is not counted", file.display()));
    }
    assert!(
        runs <= MOST_NOT_JUDGED,
        "{name}: not judged in {runs} runs in a row: run it alone on a machine that is idle"
    );
}

/// What there was of right and wrong, if that is not enough for a verdict.
fn reach_a_verdict(name: &str, mut attempt: impl FnMut() -> Attempt) -> Option<String> {
    let (mut right, mut missed) = (0, Vec::new());
    for _ in 0..3 {
        let Attempt { wrong, disturbed } = attempt();
        let wrong = wrong.join("\n");
        match disturbed {
            _ if wrong.is_empty() => right += 1,
            Some(how) => tell(&format!("{name}: {how}, does not count: {wrong}")),
            None => {
                tell(&format!("{name}: wrong: {wrong}"));
                missed.push(wrong);
            }
        }
        if right == 2 || (right == 1 && missed.is_empty()) {
            return None;
        }
        assert!(missed.len() < 2, "wrong twice: {}", missed.join("\n"));
    }
    Some(format!("{right} right and {} wrong", missed.len()))
}

/// Not by `eprintln!`: test harnesses keep that for failures. What this module's own tests judge is
/// no test, and is not to be counted as one.
fn tell(line: &str) {
    if cfg!(test) {
        eprintln!("{line}");
        return;
    }
    // A line that cannot be written is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(attempts: &[(bool, bool)]) -> usize {
        judged_after(&tempfile::tempdir().unwrap(), attempts)
    }

    fn judged_after(counts: &tempfile::TempDir, attempts: &[(bool, bool)]) -> usize {
        let mut made = 0;
        judge_and_count("a/test", counts.path(), || {
            let (is_wrong, is_disturbed) = attempts[made];
            made += 1;
            Attempt {
                wrong: is_wrong.then(|| "slow".to_owned()).into_iter().collect(),
                disturbed: is_disturbed.then(|| "late".to_owned()),
            }
        });
        made
    }

    #[test]
    fn what_is_right_at_once_is_measured_once() {
        assert_eq!(judged(&[(false, false)]), 1);
        assert_eq!(judged(&[(false, true)]), 1);
    }

    #[test]
    fn one_miss_is_outvoted_by_two_that_are_right() {
        assert_eq!(judged(&[(true, false), (false, false), (false, false)]), 3);
    }

    #[test]
    #[should_panic(expected = "wrong twice: slow")]
    fn two_misses_are_a_verdict() {
        judged(&[(true, false), (false, false), (true, false)]);
    }

    #[test]
    #[should_panic(expected = "a/test: not judged in 3 runs in a row")]
    fn no_verdict_in_three_runs_in_a_row_is_one() {
        let counts = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            judged_after(&counts, &[(true, true); 3]);
        }
    }

    #[test]
    fn a_verdict_in_between_begins_anew() {
        let counts = tempfile::tempdir().unwrap();
        for _ in 0..3 {
            judged_after(&counts, &[(true, true); 3]);
            judged_after(&counts, &[(true, true); 3]);
            judged_after(&counts, &[(false, false)]);
        }
    }

    #[test]
    fn a_disturbed_emulator_gives_no_verdict() {
        assert_eq!(judged(&[(true, true), (true, true), (true, true)]), 3);
        assert_eq!(judged(&[(true, true), (false, false)]), 2);
    }
}
