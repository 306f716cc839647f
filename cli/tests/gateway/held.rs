// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whether a transfer that has the link for itself is held: one that is leaves the queue empty.

use std::time::{Duration, Instant};

use ebb_lab::emulator::{EmulatorReport, SERVER_IPV4};
use ebb_lab::judging::Attempt;
use ebb_link::{Class, Nanos};

use crate::home::Home;
use crate::{BACKGROUND, LINK_MBIT_PER_S, TAKES, mean};

/// Long enough for CUBIC to fill the queue, and for a lease to be over.
pub const START: Duration = Duration::from_secs(6);
const LOOK: Duration = Duration::from_secs(2);
/// A full queue is 103 ms, an idle one 0; Ebb aims at 5 ms.
pub const FULL_MS: f64 = 40.0;
pub const EMPTY_MS: f64 = 15.0;
/// Of a download: until after a look.
const SECONDS: u32 = 10;

/// A time in which the queue is looked at.
#[derive(Clone, Copy)]
pub struct Look {
    from: Instant,
    until: Instant,
}

impl Look {
    /// From now on.
    pub fn begin() -> Self {
        let from = Instant::now();
        std::thread::sleep(LOOK);
        let until = Instant::now();
        Self { from, until }
    }

    /// How long packets waited then on one way, of a report whose testbed began at `epoch`.
    pub fn waiting_ms(&self, epoch: Instant, report: &EmulatorReport, way: Way) -> f64 {
        let at = |instant: Instant| {
            Nanos(report.epoch.0 + u64::try_from((instant - epoch).as_nanos()).unwrap())
        };
        let path = &report.paths[0];
        let direction = match way {
            Way::Download => &path.forward,
            Way::Upload => &path.reverse,
        };
        let bin = direction
            .series
            .between(Class::BestEffort, at(self.from), at(self.until));
        bin.waiting.mean_ns().unwrap_or(0.0) / 1e6
    }
}

/// To the home or from it.
#[derive(Clone, Copy, Debug)]
pub enum Way {
    Download,
    Upload,
}

/// What a transfer came to that had the link for itself.
pub struct Alone {
    pub waiting_ms: f64,
    pub mbit_per_s: f64,
    pub report: EmulatorReport,
}

/// Transfers over IPv4; not a byte may be wrong. `meanwhile` is done once it is under way.
pub fn alone(home: Home, way: Way, meanwhile: impl FnOnce(&Home)) -> Alone {
    let port = match way {
        Way::Download => BACKGROUND,
        Way::Upload => TAKES,
    };
    let transfer = home.devices[0].transfer(&SERVER_IPV4.to_string(), port, SECONDS);
    std::thread::sleep(START);
    let look = Look::begin();
    meanwhile(&home);
    let seconds = transfer.seconds();
    let epoch = home.testbed().epoch_instant();
    let report = home.stop();
    Alone {
        waiting_ms: look.waiting_ms(epoch, &report, way),
        mbit_per_s: mean(&seconds, 5, 9),
        report,
    }
}

impl Alone {
    /// It has to be held and have all of the link, or to be left alone and fill the queue.
    pub fn judge(&self, what: &str, is_held: bool) -> Attempt {
        self.judge_by(what, is_held, 0.93 * LINK_MBIT_PER_S)
    }

    /// As [`Self::judge`], where it can have no more of the link than this.
    pub fn judge_by(&self, what: &str, is_held: bool, least_mbit_per_s: f64) -> Attempt {
        let (waiting_ms, mbit_per_s) = (self.waiting_ms, self.mbit_per_s);
        eprintln!("{what}: queue {waiting_ms:.1} ms, {mbit_per_s:.2} Mbit/s");
        let is_right = match is_held {
            true => waiting_ms <= EMPTY_MS,
            false => waiting_ms >= FULL_MS,
        };
        let mut wrong = Vec::new();
        if !is_right {
            let should = if is_held { "held" } else { "left alone" };
            wrong.push(format!(
                "{what}: queue {waiting_ms:.1} ms, should be {should}"
            ));
        }
        if mbit_per_s < least_mbit_per_s {
            wrong.push(format!("{what}: {mbit_per_s:.2} Mbit/s"));
        }
        Attempt::over(&self.report, wrong)
    }
}
