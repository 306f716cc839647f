// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the rates of links vary: generated, not recorded. What each kind is made of says
//! docs/varying-rates.md.
use std::fmt::Write as _;

use ebb_scenario::{Seeds, Stream};

/// The seed of the files in `experiments/score/`.
pub const RATES_SEED: u64 = 20_261_123;
/// How long they are before they begin again.
const PERIOD_MS: u64 = 60_000;

/// A kind of link: the name of its file without `.rates`, what it is, and how it is drawn.
struct Kind {
    name: &'static str,
    title: &'static str,
    draw: fn(&mut Stream) -> Vec<(u64, f64)>,
}

const KINDS: [Kind; 5] = [
    Kind {
        name: "lte",
        title: "LTE, a phone that is carried about: fading, shadows, a handover every 20 s or so",
        draw: |random| LTE.draw(random),
    },
    Kind {
        name: "lte-driving",
        title: "LTE in a car: faster, deeper, cells of 8 s",
        draw: |random| LTE_DRIVING.draw(random),
    },
    Kind {
        name: "5g",
        title: "5G, mid band: a fast cell, and somebody who walks between it and the phone",
        draw: fifth_generation,
    },
    Kind {
        name: "wifi",
        title: "Wi-Fi, 802.11n with two streams of 20 MHz: the sender's choice among its rates",
        draw: wifi,
    },
    Kind {
        name: "satellite",
        title: "satellites near the earth: another one every 15 s",
        draw: satellite,
    },
];

/// The files of rates, drawn with this seed: name and text, the same text each time.
pub fn draw_rates(seed: u64) -> Vec<(String, String)> {
    let file = |kind: &Kind| {
        let mut random = Seeds::new(seed).stream("rates", kind.name);
        let mut text = format!(
            "# SPDX-License-Identifier: Apache-2.0 OR MIT\n# {}.\n\
             # Drawn: cargo run -q -p ebb-experiments --example draw_rates -- {seed}\n",
            kind.title
        );
        let mut last = None;
        for (at_ms, mbit_per_s) in (kind.draw)(&mut random) {
            let kbit_per_s = (mbit_per_s * 1e3).round() as u64;
            if last.replace(kbit_per_s) != Some(kbit_per_s) {
                let rate = match kbit_per_s {
                    0 => "0".to_owned(),
                    kbit_per_s => format!("{kbit_per_s}kbit"),
                };
                let _ = writeln!(text, "{at_ms} {rate}");
            }
        }
        let _ = writeln!(text, "{PERIOD_MS} end");
        (format!("{}.rates", kind.name), text)
    };
    KINDS.iter().map(file).collect()
}

/// A cell: two log-normal processes that forget, for fading and for shadows, and handovers in
/// which nothing is sent.
struct Cell {
    median_mbit: f64,
    most_mbit: f64,
    fading: Process,
    shadows: Process,
    /// Mean time from one handover to the next, and how long it takes, evenly.
    handover_every_s: f64,
    handover_ms: [f64; 2],
}

const LTE: Cell = Cell {
    median_mbit: 12.0,
    most_mbit: 40.0,
    fading: Process {
        deviation: 0.25,
        memory_ms: 400.0,
    },
    shadows: Process {
        deviation: 0.4,
        memory_ms: 6_000.0,
    },
    handover_every_s: 20.0,
    handover_ms: [50.0, 200.0],
};

const LTE_DRIVING: Cell = Cell {
    median_mbit: 9.0,
    most_mbit: 40.0,
    fading: Process {
        deviation: 0.45,
        memory_ms: 150.0,
    },
    shadows: Process {
        deviation: 0.6,
        memory_ms: 2_500.0,
    },
    handover_every_s: 8.0,
    handover_ms: [100.0, 600.0],
};

const CELL_STEP_MS: u64 = 50;

impl Cell {
    fn draw(&self, random: &mut Stream) -> Vec<(u64, f64)> {
        let (mut fading, mut shadow) = (0.0, 0.0);
        let mut next_handover_ms = exponential(random, self.handover_every_s * 1e3);
        let mut silent_until_ms = 0.0;
        let mut rates = Vec::new();
        for at_ms in (0..PERIOD_MS).step_by(CELL_STEP_MS as usize) {
            fading = self.fading.next(random, fading, CELL_STEP_MS);
            shadow = self.shadows.next(random, shadow, CELL_STEP_MS);
            if at_ms as f64 >= next_handover_ms {
                let [least, most] = self.handover_ms;
                silent_until_ms = at_ms as f64 + least + random.unit() * (most - least);
                next_handover_ms += exponential(random, self.handover_every_s * 1e3);
            }
            let rate = (self.median_mbit * f64::exp(fading + shadow)).min(self.most_mbit);
            let is_silent = (at_ms as f64) < silent_until_ms;
            rates.push((at_ms, if is_silent { 0.0 } else { rate }));
        }
        rates
    }
}

/// A process that forgets what it was, around 0.
struct Process {
    deviation: f64,
    memory_ms: f64,
}

impl Process {
    fn next(&self, random: &mut Stream, value: f64, step_ms: u64) -> f64 {
        let kept = f64::exp(-(step_ms as f64) / self.memory_ms);
        value * kept + self.deviation * (1.0 - kept * kept).sqrt() * normal(random)
    }
}

/// A line of sight for 4 s in the mean, and none for 1 s, with a sixth of the rate.
fn fifth_generation(random: &mut Stream) -> Vec<(u64, f64)> {
    const STEP_MS: u64 = 20;
    const SEEN: (f64, f64) = (200.0, 4_000.0);
    const HIDDEN: (f64, f64) = (35.0, 1_000.0);
    let fading = Process {
        deviation: 0.15,
        memory_ms: 100.0,
    };
    let (mut state, mut value) = (SEEN, 0.0);
    let mut until_ms = exponential(random, state.1);
    let mut rates = Vec::new();
    for at_ms in (0..PERIOD_MS).step_by(STEP_MS as usize) {
        if at_ms as f64 >= until_ms {
            state = if state == SEEN { HIDDEN } else { SEEN };
            until_ms = at_ms as f64 + exponential(random, state.1);
        }
        value = fading.next(random, value, STEP_MS);
        rates.push((at_ms, state.0 * f64::exp(value)));
    }
    rates
}

/// A walk over the rates of the standard, a step in 200 ms in the mean, and seldom a leap.
fn wifi(random: &mut Stream) -> Vec<(u64, f64)> {
    /// MCS 8 to 15 with a guard interval of 400 ns. *Units:* Mbit/s.
    const LADDER: [f64; 8] = [14.4, 28.9, 43.3, 57.8, 86.7, 115.6, 130.0, 144.4];
    const STEP_MS: f64 = 200.0;
    const LEAP: f64 = 0.03;
    let mut place = 5;
    let mut at_ms = 0.0;
    let mut rates = Vec::new();
    while at_ms < PERIOD_MS as f64 {
        rates.push((at_ms as u64, LADDER[place]));
        at_ms += exponential(random, STEP_MS).max(1.0);
        let draw = random.unit();
        place = if draw < LEAP {
            (random.unit() * 3.0) as usize
        } else if draw < 0.5 {
            place.saturating_sub(1)
        } else {
            (place + 1).min(LADDER.len() - 1)
        };
    }
    rates
}

/// Another satellite every 15 s: nothing is sent for 60 ms, and its share is another one.
fn satellite(random: &mut Stream) -> Vec<(u64, f64)> {
    const EVERY_MS: u64 = 15_000;
    const SILENT_MS: u64 = 60;
    const STEP_MS: u64 = 100;
    const SHARE_MBIT: [f64; 2] = [25.0, 110.0];
    let fading = Process {
        deviation: 0.1,
        memory_ms: 1_000.0,
    };
    let mut value = 0.0;
    let mut rates = Vec::new();
    for start_ms in (0..PERIOD_MS).step_by(EVERY_MS as usize) {
        let [least, most] = SHARE_MBIT;
        let share = least * (most / least).powf(random.unit());
        let mut at_ms = start_ms;
        if start_ms > 0 {
            rates.push((start_ms, 0.0));
            at_ms += SILENT_MS;
        }
        while at_ms < start_ms + EVERY_MS {
            value = fading.next(random, value, STEP_MS);
            rates.push((at_ms, share * f64::exp(value)));
            at_ms += STEP_MS;
        }
    }
    rates
}

fn exponential(random: &mut Stream, mean: f64) -> f64 {
    // Above 0, so that the logarithm is finite.
    -mean * (1.0 - random.unit()).ln()
}

/// Box and Muller.
fn normal(random: &mut Stream) -> f64 {
    let radius = exponential(random, 2.0).sqrt();
    radius * (std::f64::consts::TAU * random.unit()).cos()
}
