// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The demo's table and figure say what was measured, and claim no more.

use ebb_lab::demo::{Outcome, Page, Part, PartKind, Received, Share, Spoken};
use ebb_report::image;

use super::super::words::{GATEWAY, RUN};
use super::{figure, table};

fn part(kind: PartKind, load_s: f64, delay_ms: f64) -> Part {
    let share = |index: i32| Share {
        from_s: f64::from(index) * 0.1 - 0.03,
        until_s: f64::from(index + 1) * 0.1 - 0.03,
        person_bits_per_s: 1e6,
        download_bits_per_s: if kind == PartKind::Quiet { 0.0 } else { 8e6 },
    };
    let spoken = |index: i32| Spoken {
        sent_s: f64::from(index) * 0.02,
        delay_ms: (index % 100 != 99 || kind == PartKind::Quiet).then_some(delay_ms),
    };
    Part {
        kind,
        duration_s: 10.0,
        pages: [0.0, 2.0, 4.0]
            .map(|start_s| Page { start_s, load_s })
            .to_vec(),
        call: (0..500).map(spoken).collect(),
        shares: (0..101).map(share).collect(),
        download: (kind != PartKind::Quiet).then(|| {
            vec![Received {
                at_s: 9.0,
                total_bytes: 9_000_000,
            }]
        }),
    }
}

fn outcome(ebb_load_s: f64) -> Outcome {
    Outcome {
        method: "the user backend, policy sampled".into(),
        parts: vec![
            part(PartKind::Quiet, 0.8, 51.0),
            part(PartKind::Plain, 1.6, 140.0),
            part(PartKind::Ebb, ebb_load_s, 55.0),
        ],
        alone_plain_bits_per_s: 9.4e6,
        alone_ebb_bits_per_s: 9.3e6,
    }
}

#[test]
fn table_has_every_figure_and_fits_the_terminal() {
    let printed = table(&outcome(0.85), &RUN, &["A note.".into()]).to_string();
    let cells = |start: &str| {
        let line = printed
            .lines()
            .find(|line| line.starts_with(start))
            .unwrap();
        line[start.len()..]
            .split("  ")
            .map(str::trim)
            .filter(|c| !c.is_empty())
            .collect::<Vec<_>>()
    };
    assert_eq!(cells("page load, median"), ["0.80 s", "1.60 s", "0.85 s"]);
    assert_eq!(cells("call delay, mean"), ["51.0 ms", "140 ms", "55.0 ms"]);
    assert_eq!(cells("call loss"), ["0.0 %", "1.0 %", "1.0 %"]);
    assert_eq!(
        cells("download beside the person"),
        ["-", "7.20 Mbit/s", "7.20 Mbit/s"]
    );
    assert_eq!(
        cells("download, nobody else"),
        ["-", "9.40 Mbit/s", "9.30 Mbit/s"]
    );
    assert!(printed.ends_with("A note.\n"));
    let of_gateway = table(&outcome(0.85), &GATEWAY, &[]).to_string();
    for printed in [printed, of_gateway] {
        let fits = printed.lines().all(|line| line.chars().count() <= 80);
        assert!(fits, "{printed}");
    }
}

#[test]
fn figure_claims_that_ebb_spares_the_person_only_when_it_did() {
    let svg = |load_s, words| image::svg(&figure(&outcome(load_s), words)).unwrap();
    for (words, claim, otherwise) in [
        (
            &RUN,
            "ebb run -- curl takes only what is left",
            "0.80 s alone, 1.60 s beside curl, 1.40 s beside ebb run -- curl",
        ),
        (
            &GATEWAY,
            "behind ebb gateway they give way",
            "0.80 s alone, 1.60 s beside downloads, 1.40 s beside downloads behind ebb gateway",
        ),
    ] {
        assert!(svg(0.85, words).contains(claim));
        assert!(!svg(1.4, words).contains(claim));
        assert!(svg(1.4, words).contains(otherwise));
    }
}

#[test]
fn figure_draws_the_download_above_the_person_in_its_own_colour() {
    let svg = image::svg(&figure(&outcome(0.85), &RUN)).unwrap();
    for colour in ["#767676", "#D55E00", "#0072B2"] {
        assert!(
            svg.contains(&format!("fill=\"{colour}\"")),
            "{colour} is missing"
        );
    }
    assert!(svg.contains("mean 140 ms, 1.0 % lost") && svg.contains("mean 51 ms, none lost"));
}
