// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is late of a video, by its pre-buffering time.
use ebb_experiments::{Comparison, Experiment};
use support::{SIMULATED, compare};

mod support;

// A video of 800 kbit/s over a link that has 400 from 10 to 20 s: 250 kB short of it then, and
// back after 20 s more, or never by the end of the run.
const SCENARIO: &str = "\
duration = \"30s\"
sender = \"reno\"
[bottleneck]
rate = \"1mbit\"
rtt = \"20ms\"
queue = 20
[measure]
all = [\"0s\", \"end\"]
before = [\"0s\", \"10s\"]
[[flow]]
name = \"film\"
kind = \"video\"
rate = \"800kbit\"
packet = 1000
pre_buffer = [\"1s\", \"3s\", \"10s\"]
[[flow]]
name = \"other\"
kind = \"udp\"
rate = \"600kbit\"
packet = 1000
start = \"10s\"
stop = \"20s\"
";

const EXPERIMENT: &str = "\
title = \"a film\"
did = \"nothing: it is a test\"
runs = 1
scenario = \"film.toml\"

[[case]]
name = \"one\"

[[row]]
name = \"late, 1 s\"
measure = { kind = \"late-share\", flows = \"film\", pre_buffer = \"1s\" }
unit = \"share\"
paper = { one = 0.5 }

[[row]]
name = \"late, 3 s\"
measure = { kind = \"late-share\", flows = \"film\", pre_buffer = \"3s\" }
unit = \"share\"
paper = { one = 0.5 }

[[row]]
name = \"late, 10 s\"
measure = { kind = \"late-share\", flows = \"film\", pre_buffer = \"10s\" }
paper = { one = 0 }

[[row]]
name = \"late before\"
measure = { kind = \"late-share\", flows = \"film\", pre_buffer = \"1s\", interval = \"before\" }
precision = 0.1
paper = { one = 0 }
";

/// The experiment, of which a part is replaced.
fn read(right: &str, wrong: &str) -> Result<Experiment, String> {
    assert!(EXPERIMENT.contains(right), "{right}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("film.toml"), SCENARIO).unwrap();
    let text = EXPERIMENT.replacen(right, wrong, 1);
    let experiment = Experiment::parse("a/b", "b.toml", &text, folder.path());
    experiment.map_err(|error| error.to_string())
}

fn compared() -> Comparison {
    compare(&read("", "").unwrap(), SIMULATED)
}

#[test]
fn less_is_late_the_longer_a_client_buffers() {
    let comparison = compared();
    let ours: Vec<f64> = comparison.cells.iter().map(|it| it.ours.unwrap()).collect();
    let [after_1_s, after_3_s, after_10_s, before] = ours[..] else {
        panic!("{ours:?}");
    };
    // From some 12 s on all is late with 1 s; with 10 s nothing is, and nothing before UDP.
    assert!((0.4..0.7).contains(&after_1_s), "{ours:?}");
    assert!(after_3_s > 0.1 && after_3_s < after_1_s, "{ours:?}");
    assert_eq!([after_10_s, before], [0.0, 0.0]);
    // A tenth of nothing is nothing; the last row says how precise its paper is.
    assert_eq!(comparison.cells[2].within(), Some(0.0));
    let within = comparison.cells[3].within().unwrap();
    assert!((within - 0.1).abs() < 1e-9, "{within}");
}

#[test]
fn a_mistake_in_what_is_late_is_told_with_line_and_key() {
    let cases = [
        (
            ", pre_buffer = \"1s\"",
            "",
            "b.toml:11:11: [measure]: `pre_buffer` is missing; write pre_buffer = \"10s\"",
        ),
        (
            "pre_buffer = \"1s\"",
            "pre_buffer = \"2s\"",
            "b.toml:11:11: [[row]] late, 1 s: `measure`: in case `one` `pre_buffer`: 2 s is none of those \
             of the video `film`: 1, 3, 10 s",
        ),
        (
            "pre_buffer = \"1s\"",
            "pre_buffer = \"1\"",
            "b.toml:11:63: [measure]: `pre_buffer`: ",
        ),
        (
            "flows = \"film\"",
            "flows = \"other\"",
            "in case `one` flow: `other` is no video",
        ),
    ];
    for (right, wrong, told) in cases {
        let error = read(right, wrong).err();
        let error = error.unwrap_or_else(|| panic!("`{wrong}` is taken"));
        assert!(error.contains(told), "`{wrong}` is answered with:\n{error}");
    }
}
