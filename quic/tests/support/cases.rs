// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A transfer by itself, beside CUBIC that was first, and beside CUBIC that comes second.

use std::fmt;
use std::time::{Duration, Instant};

use ebb_lab::emulator::{EmulatorReport, Path, PathReport, Testbed};
use ebb_link::Class;

use super::greedy::Others;
use super::transfer::Transfer;
use super::{OTHERS, OURS, path, share, wait_until};

/// Who comes second comes then.
pub const COMES_SECOND: Duration = Duration::from_secs(4);
/// Both have found their rate, and slow start is over.
pub const SETTLED: Duration = Duration::from_secs(10);
const END: Duration = Duration::from_secs(30);
/// The last half of a second is the end's.
pub const COUNTS_UNTIL: Duration = Duration::from_millis(29_500);

/// For so long both are there, as far as it counts.
pub const TOGETHER: Duration = COUNTS_UNTIL.saturating_sub(COMES_SECOND);

/// Who else is there.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Case {
    Alone,
    BesideTheFirst,
    BesideTheSecond,
}

pub const CASES: [Case; 3] = [Case::Alone, Case::BesideTheFirst, Case::BesideTheSecond];

/// What both had of the link.
#[derive(Clone, Copy, Debug)]
pub struct Parts {
    pub ours: f64,
    theirs: f64,
}

impl Parts {
    fn of(path: &PathReport, times: [Duration; 2]) -> Self {
        Self {
            ours: share(path, Class::LessThanBestEffort, times),
            theirs: share(path, Class::BestEffort, times),
        }
    }

    /// The others' share of what both had.
    pub fn theirs(&self) -> f64 {
        self.theirs / (self.theirs + self.ours)
    }
}

/// What came of a run.
#[derive(Clone, Copy, Debug)]
pub struct Had {
    pub case: Case,
    /// Since both are there.
    pub together: Parts,
    /// Since both have found their rate.
    pub settled: Parts,
}

impl fmt::Display for Had {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            together, settled, ..
        } = self;
        match self.case {
            Case::Alone => write!(f, "{:.3} of the link alone", settled.ours),
            _ => write!(
                f,
                "others had {:.3}, {:.3} once settled",
                together.theirs(),
                settled.theirs()
            ),
        }
    }
}

/// Runs all of these at once, each on a link of its own.
pub fn measure<A>(
    runs: &[(A, Case)],
    begin: impl Fn(&Path, &A, Duration) -> Transfer,
) -> (EmulatorReport, Vec<Had>) {
    let testbed = Testbed::start(vec![path(); runs.len()]).unwrap();
    for path in testbed.paths() {
        path.set_class(OURS, Class::LessThanBestEffort);
    }
    let (mut others, mut ours) = (Vec::new(), Vec::new());
    let began = Instant::now();
    for (path, (asked, case)) in testbed.paths().iter().zip(runs) {
        match case {
            Case::BesideTheFirst => others.push(Others::begin_download(path, OTHERS)),
            _ => ours.push(begin(path, asked, END)),
        }
    }
    wait_until(began + COMES_SECOND);
    for (path, (asked, case)) in testbed.paths().iter().zip(runs) {
        match case {
            Case::Alone => {}
            Case::BesideTheFirst => ours.push(begin(path, asked, END - COMES_SECOND)),
            Case::BesideTheSecond => others.push(Others::begin_download(path, OTHERS)),
        }
    }
    ours.into_iter().for_each(Transfer::join);
    drop(others);
    let began = began - testbed.epoch_instant();
    let report = testbed.stop().unwrap();
    eprintln!("{}", report.summary());
    let seen = report.paths.iter().zip(runs);
    let had = seen.map(|(path, (_, case))| had(path, *case, began));
    let had = had.collect();
    (report, had)
}

fn had(path: &PathReport, case: Case, began: Duration) -> Had {
    let since = |from| Parts::of(path, [from, COUNTS_UNTIL].map(|at| began + at));
    Had {
        case,
        together: since(COMES_SECOND),
        settled: since(SETTLED),
    }
}
