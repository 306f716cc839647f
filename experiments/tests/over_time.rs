// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Measures that look at a run over time.
use ebb_experiments::{Comparison, Experiment, Place, Verdict};
use support::{SIMULATED, compare};

mod support;

// UDP of 2 Mbit/s in the first half of each two seconds on a link of 5; what is left has TCP.
const SCENARIO: &str = "\
duration = \"8s\"
sender = \"reno\"
tcp = { profile = \"linux\", timestamps = \"4ms\", receive_buffer = \"1MB\" }
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
end = [\"2s\", \"end\"]
[[flow]]
name = \"mine\"
receiver = \"vulture\"
during = [\"7s\", \"8s\"]
[[flow]]
name = \"wave\"
kind = \"udp-square-wave\"
rate = \"2mbit\"
period = \"2s\"
";

const HEAD: &str = "\
title = \"beside a wave\"
did = \"nothing: it is a test\"
runs = 2
quick_runs = 1
scenario = \"wave.toml\"

[[case]]
name = \"one\"

[[row]]
name = \"row\"
";

/// The row's value with this measure.
fn measured(row: &str) -> (f64, Verdict) {
    let comparison = compared(row);
    let cell = &comparison.cells[0];
    (cell.ours.unwrap(), cell.verdict)
}

fn compared(row: &str) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wave.toml"), SCENARIO).unwrap();
    let text = format!("{HEAD}{row}");
    let experiment = Experiment::parse("a/b", "b.toml", &text, folder.path());
    compare(&experiment.unwrap(), SIMULATED)
}

fn mistake(row: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("wave.toml"), SCENARIO).unwrap();
    let text = format!("{HEAD}{row}");
    let error = Experiment::parse("a/b", "b.toml", &text, folder.path()).unwrap_err();
    error.to_string()
}

#[test]
fn goodput_is_told_apart_by_whether_others_send() {
    let beside = |key: &str| {
        let (value, _) = measured(&format!(
            "measure = {{ kind = \"goodput\", flows = \"mine\", {key} = \"wave\" }}\n\
             paper = {{ one = 3.0 }}\n"
        ));
        value
    };
    let (while_active, while_silent) = (beside("while_active"), beside("while_silent"));
    // 5 or 3 Mbit/s, less headers; bins of 100 ms and the queue blur the borders.
    assert!((2.6..3.3).contains(&while_active), "{while_active}");
    assert!((4.4..4.9).contains(&while_silent), "{while_silent}");
}

#[test]
fn a_share_is_of_what_both_have() {
    let (share, _) = measured(
        "measure = { kind = \"share\", flows = \"wave\", others = \"mine\", while_active = \"wave\" }\n\
         paper = { one = 0.4 }\n",
    );
    assert!((0.3..0.45).contains(&share), "{share}");
}

#[test]
fn the_time_to_a_goodput_counts_from_the_given_instant() {
    let (seconds, _) = measured(
        "measure = { kind = \"time-to\", flows = \"mine\", rate = \"4400kbit\", from = \"4s\", bin = \"500ms\" }\n\
         paper = { one = 1 }\n",
    );
    // UDP sends until 5 s; the half second after it, or the next one, is TCP's.
    assert!((1.4..2.1).contains(&seconds), "{seconds}");
}

#[test]
fn windows_are_taken_in_bytes_and_a_difference_is_of_two_measures() {
    let window = |part: &str| {
        format!("{{ kind = \"window\", flows = \"mine\", part = \"{part}\", interval = \"end\" }}")
    };
    let value = |measure: String| {
        let row = format!("measure = {measure}\nunit = \"count\"\npaper = {{ one = \">= 1\" }}\n");
        measured(&row)
    };
    let (max, verdict) = value(window("max"));
    let (min, _) = value(window("min"));
    assert_eq!(verdict, Verdict::Green);
    // What the path and its queue hold is 28 segments of 1448 bytes.
    assert!((20_000.0..60_000.0).contains(&max), "{max}");
    assert!(min < max);
    let (difference, _) = value(format!(
        "{{ kind = \"difference\", of = {}, less = {} }}",
        window("max"),
        window("min")
    ));
    assert!((difference - (max - min)).abs() < 1e-6);
}

#[test]
fn a_law_that_observes_counts_variations_and_estimates_the_window() {
    let (share, _) = measured(
        "measure = { kind = \"variations\", flows = \"mine\", part = \"max-positive-share\" }\n\
         paper = { one = 0.5 }\n",
    );
    assert!(share > 0.0 && share <= 1.0, "{share}");
    let estimate =
        "{ kind = \"window\", flows = \"mine\", window = \"estimate\", interval = \"end\" }";
    let real = "{ kind = \"window\", flows = \"mine\", interval = \"end\" }";
    let (ratio, _) = measured(&format!(
        "measure = {{ kind = \"ratio\", over = {estimate}, under = {real} }}\npaper = {{ one = 1 }}\n"
    ));
    assert!((0.5..1.2).contains(&ratio), "{ratio}");
}

#[test]
fn a_picture_of_variations_has_a_bar_for_each_round_trip() {
    let picture = |series: &str, unit: &str| {
        let comparison = compared(&format!(
            "measure = {{ kind = \"variations\", flows = \"mine\", part = \"max-positive-share\" }}\n\
             unit = \"%\"\npaper = {{ one = 50 }}\n\
             [[plot]]\nform = \"time-bars\"\ny = {{ label = \"v\", unit = \"{unit}\" }}\n\
             [[plot.line]]\nname = \"v\"\nseries = \"{series}\"\nflow = \"mine\"\n",
        ));
        let points = comparison.pictures[0].curves[0].ours.clone();
        (comparison.cells[0].ours.unwrap(), points)
    };
    let (most, shares) = picture("positive-share", "%");
    let greatest = shares.iter().map(|point| point.y).fold(0.0, f64::max);
    // The picture has those before the interval, too.
    assert!(greatest >= most && greatest <= 100.0, "{greatest} {most}");
    assert!(shares.len() > 20, "{}", shares.len());
    let (_, sums) = picture("variation-sum", "jiffies");
    assert_eq!(sums.len(), shares.len());
}

#[test]
fn a_picture_over_time_has_bins_of_its_own_where_a_measure_needs_shorter_ones() {
    let comparison = compared(
        "measure = { kind = \"window\", flows = \"mine\", bin = \"100ms\" }\n\
         unit = \"count\"\npaper = { one = 1 }\n\
         [[plot]]\nform = \"time\"\nbin = \"1s\"\n\
         y = { label = \"goodput\", unit = \"Mbit/s\" }\n\
         [[plot.line]]\nname = \"wave\"\nseries = \"goodput\"\nflow = \"wave\"\n",
    );
    let points = &comparison.pictures[0].curves[0].ours;
    let at: Vec<&Place> = points.iter().map(|point| &point.x).collect();
    let middles: Vec<Place> = (0..8).map(|s| Place::Number(f64::from(s) + 0.5)).collect();
    assert_eq!(at, middles.iter().collect::<Vec<_>>());
    // UDP of 2 Mbit/s in each other second, less headers.
    assert!((1.7..2.0).contains(&points[2].y), "{points:?}");
    assert!(points[3].y < 0.2, "{points:?}");
}

#[test]
fn contradicting_keys_are_refused() {
    let error = mistake(
        "measure = { kind = \"goodput\", flows = \"mine\", while_active = \"wave\", while_silent = \"wave\" }\n\
         paper = { one = 1 }\n",
    );
    assert!(error.contains("only one of `while_active`"), "{error}");
    let error = mistake(
        "measure = { kind = \"goodput\", flows = \"mine\", while_active = \"waves\" }\n\
         paper = { one = 1 }\n",
    );
    assert!(error.contains("did you mean `wave`?"), "{error}");
    let error = mistake(
        "measure = { kind = \"window\", flows = \"mine\", bin = 0 }\npaper = { one = 1 }\n",
    );
    assert!(error.contains("must be longer than 0"), "{error}");
}

#[test]
fn a_receiver_that_may_shrink_its_window_yields_within_the_second() {
    let window_after = |shrinks: bool| {
        let (bytes, _) = measured(&format!(
            "measure = {{ kind = \"window\", flows = \"mine\", window = \"advertised\", part = \"last\" }}\n\
             unit = \"count\"\npaper = {{ one = 1 }}\n\
             [[case]]\nname = \"two\"\nset = [\"tcp.shrink_window={shrinks}\"]\n"
        ).replace("one = 1", "two = 1"));
        bytes
    };
    let (kept, shrunk) = (window_after(false), window_after(true));
    assert!(shrunk < 100_000.0, "{shrunk}");
    assert!(kept > 2.0 * shrunk, "{kept}, {shrunk}");
}
