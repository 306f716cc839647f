// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A picture of each law in the standard scenario: its window, who got what, the queue.
//!
//! The pictures are text, so that a change of behaviour shows as a diff to be reviewed.
//! `INSTA_UPDATE=always cargo test -p ebb-simulator --test pictures` draws them again.

use std::fmt::Write as _;
use std::path::Path;

use ebb_algorithms::{LawInfo, Side, laws};
use ebb_scenario::{Outcome, Scenario};
use ebb_simulator::{Options, run};

const BAR_WIDTH: f64 = 40.0;
/// A bar of full width: the path and its queue hold 169 packets of 1448 bytes.
const FULL_BAR_BYTES: f64 = 200.0 * 1448.0;

fn standard_scenario(law: &LawInfo) -> Scenario {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures/standard.toml");
    let text = std::fs::read_to_string(&file).unwrap();
    let line = match law.side() {
        Side::Sender => format!("sender = \"{}\"", law.name),
        Side::Receiver => format!("receiver = \"{}\"", law.name),
    };
    let text = text
        .replace("# sender = \"LAW\" or receiver = \"LAW\"", &line)
        .replace("LAW", law.name);
    Scenario::parse("standard.toml", &text, Path::new("")).unwrap_or_else(|error| panic!("{error}"))
}

fn picture(law: &LawInfo, outcome: &Outcome) -> String {
    let [own, other] = &outcome.series.flows[..] else {
        panic!("two flows have time series")
    };
    let windows = match law.side() {
        Side::Sender => &own.cwnd_bytes,
        Side::Receiver => &own.rwnd_bytes,
    };
    let queue_ms = &outcome.series.links[0].queue_delay_ms;
    let mut text = format!(
        "  s  window, segments{:25}own   other  Mbit/s  queue, ms\n",
        ""
    );
    for second in 0..windows.len() {
        let window_bytes = windows[second].unwrap_or(0) as f64;
        let bar = (window_bytes / FULL_BAR_BYTES * BAR_WIDTH).min(BAR_WIDTH) as usize;
        let mbit_per_s = |rates: &[f64]| rates[second] / 1e6;
        // Writing to a string cannot fail.
        let _ = writeln!(
            text,
            "{:3} {:4.0} {:<40} {:5.2} {:5.2} {:10.1}",
            second + 1,
            (window_bytes / 1448.0).min(9999.0),
            "#".repeat(bar),
            mbit_per_s(&own.goodput_bits_per_s),
            mbit_per_s(&other.goodput_bits_per_s),
            queue_ms[second].unwrap_or(0.0),
        );
    }
    text
}

#[test]
fn every_law_behaves_in_the_standard_scenario_as_it_was_reviewed() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("pictures");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for law in laws() {
            let outcome = run(&standard_scenario(law), Options::default()).unwrap();
            insta::assert_snapshot!(law.name, picture(law, &outcome));
        }
    });
}
