// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How tests judge figures of real time: one noisy moment of a machine is no verdict.

use std::io::Write as _;

/// What one attempt at a measurement found.
#[derive(Debug, Default)]
pub struct Attempt {
    /// What is not as it must be; none if all is.
    pub wrong: Vec<String>,
    /// In what way the emulator itself was too late, if it was.
    pub disturbed: Option<String>,
}

/// Measures, and is content if nothing is wrong. Otherwise two of three attempts decide, in
/// which those do not count that went wrong on an emulator that calls itself disturbed.
///
/// If too few count, a line on standard error says what is not judged.
///
/// # Panics
/// With what is wrong, if it was so twice.
pub fn judge(name: &str, mut attempt: impl FnMut() -> Attempt) {
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
            return;
        }
        assert!(missed.len() < 2, "wrong twice: {}", missed.join("\n"));
    }
    tell(&format!(
        "{name}: not judged, {right} right and {} wrong",
        missed.len()
    ));
}

/// Not by `eprintln!`: test harnesses keep that for failures.
fn tell(line: &str) {
    // A line that cannot be written is no reason to fail.
    let _ = writeln!(std::io::stderr(), "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(attempts: &[(bool, bool)]) -> usize {
        let mut made = 0;
        judge("test", || {
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
    fn a_disturbed_emulator_gives_no_verdict() {
        assert_eq!(judged(&[(true, true), (true, true), (true, true)]), 3);
        assert_eq!(judged(&[(true, true), (false, false)]), 2);
    }
}
