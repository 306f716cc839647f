// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pictures in the form of papers: curves upside down, bars on each other, and dashed lines.
use ebb_experiments::{DashedLine, Engine, Experiment, Picture, Plan};
use support::compare;

mod support;

const SCENARIO: &str = "\
duration = \"4s\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
all = [\"0s\", \"end\"]
during = [\"1s\", \"3s\"]
[[flow]]
name = \"mine\"
";

const EXPERIMENT: &str = "\
title = \"head to head\"
did = \"nothing: it is a test\"
engines = [\"sim\", \"lab\"]
runs = 1
scenario = \"one.toml\"

[lab]
quick_set = [\"duration=2s\", \"measure.during=['500ms', '1s']\"]

[[case]]
name = \"one\"

[[row]]
name = \"goodput\"
measure = { kind = \"goodput\", flows = \"mine\" }
paper = { one = 4.8 }

[[plot]]
form = \"time\"
y = { label = \"goodput\", unit = \"Mbit/s\", from = 0, to = 5 }

[[plot.line]]
name = \"mine\"
series = \"goodput\"
flow = \"mine\"
upside_down = true

[[plot.mark]]
label = \"begins, ends\"
interval = \"during\"

[[plot.mark]]
label = \"division\"
y = 3
interval = \"during\"

[[plot.mark]]
label = \"all\"
y = 4.8

[[plot]]
form = \"bars\"
y = { label = \"goodput\" }

[[plot.line]]
name = \"mine\"
row = \"goodput\"
";

/// The experiment, of which a part is replaced.
fn read(right: &str, wrong: &str) -> Result<Experiment, String> {
    assert!(EXPERIMENT.contains(right), "{right}");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("one.toml"), SCENARIO).unwrap();
    let text = EXPERIMENT.replacen(right, wrong, 1);
    let experiment = Experiment::parse("a/b", "b.toml", &text, folder.path());
    experiment.map_err(|error| error.to_string())
}

fn picture(engine: Engine) -> Picture {
    let plan = Plan {
        engine,
        is_quick: true,
    };
    let comparison = compare(&read("", "").unwrap(), plan);
    comparison.pictures[0].clone()
}

#[test]
fn marks_are_where_the_interval_is_in_what_was_run() {
    for (engine, from_s, to_s) in [(Engine::Sim, 1.0, 3.0), (Engine::Lab, 0.5, 1.0)] {
        let upright = |x| DashedLine::Upright {
            label: "begins, ends".into(),
            x,
        };
        let level = |label: &str, y, from_to| DashedLine::Level {
            label: label.into(),
            y,
            from_to,
        };
        let picture = picture(engine);
        let marks = [
            upright(from_s),
            upright(to_s),
            level("division", 3.0, Some([from_s, to_s])),
            level("all", 4.8, None),
        ];
        assert_eq!(picture.marks, marks);
        assert!(picture.curves[0].is_upside_down);
        let text = serde_json::to_string(&picture).unwrap();
        assert_eq!(serde_json::from_str::<Picture>(&text).unwrap(), picture);
    }
}

#[test]
fn what_was_stored_before_there_were_marks_can_be_read() {
    let mut picture = picture(Engine::Sim);
    picture.marks.clear();
    picture.curves[0].is_upside_down = false;
    let text = serde_json::to_string(&picture).unwrap();
    assert!(
        !text.contains("marks") && !text.contains("upside"),
        "{text}"
    );
    assert_eq!(serde_json::from_str::<Picture>(&text).unwrap(), picture);
}

#[test]
fn lines_of_one_stack_stand_on_each_other_and_others_alone() {
    let lines =
        "row = \"goodput\"\nstack = \"all\"\n[[plot.line]]\nname = \"too\"\nrow = \"goodput\"\n";
    let experiment = read("row = \"goodput\"\n", lines).unwrap();
    let plan = Plan {
        engine: Engine::Sim,
        is_quick: true,
    };
    let picture = compare(&experiment, plan).pictures[1].clone();
    let stacks: Vec<_> = picture
        .curves
        .iter()
        .map(|it| it.stack.as_deref())
        .collect();
    assert_eq!(stacks, [Some("all"), None]);
    let text = serde_json::to_string(&picture).unwrap();
    assert_eq!(text.matches("stack").count(), 1, "{text}");
    assert_eq!(serde_json::from_str::<Picture>(&text).unwrap(), picture);
}

#[test]
fn a_mistake_in_a_mark_or_an_upside_down_curve_is_told_with_line_and_key() {
    let cases = [
        (
            "label = \"begins, ends\"\n",
            "",
            "b.toml:28:1: [[mark]]: `label` is missing",
        ),
        (
            "label = \"begins, ends\"\ninterval = \"during\"",
            "label = \"begins, ends\"",
            "b.toml:28:1: [[mark]]: `interval` is missing, or `y`",
        ),
        (
            "interval = \"during\"",
            "interval = \"durign\"",
            "b.toml:30:12: [[mark]]: `interval`: there is no `durign`; did you mean `during`?",
        ),
        ("y = 3\n", "y = \"three\"\n", "b.toml:34:5: [[mark]]: `y`: "),
        (
            "y = 4.8\n",
            "y = 4.8\nx = 3\n",
            "b.toml:40:1: [[mark]]: `x`: unknown key",
        ),
        (
            "interval = \"during\"",
            "interval = \"during\"\ncase = \"two\"",
            "[[mark]]: `case`: there is no `two`",
        ),
        (
            "row = \"goodput\"\n",
            "row = \"goodput\"\n[[plot.mark]]\nlabel = \"a\"\ninterval = \"during\"\n",
            "`interval`: only pictures over time have intervals",
        ),
        (
            ", from = 0, to = 5",
            ", from = 0",
            "b.toml:26:15: [[line]] mine: `upside_down`: it hangs from the end of the y axis",
        ),
        (
            "row = \"goodput\"\n",
            "row = \"goodput\"\nupside_down = true\n",
            "`upside_down`: bars stand on their axis",
        ),
        (
            "upside_down = true",
            "stack = \"all\"",
            "b.toml:26:9: [[line]] mine: `stack`: only bars stand on each other",
        ),
        (
            "y = { label = \"goodput\" }\n\n[[plot.line]]\nname = \"mine\"\n",
            "y = { label = \"goodput\", log = true }\n[[plot.line]]\nname = \"mine\"\nstack = \"all\"\n",
            "`stack`: bars cannot stand on each other if the y axis is logarithmic",
        ),
    ];
    for (right, wrong, told) in cases {
        let error = read(right, wrong).err();
        let error = error.unwrap_or_else(|| panic!("`{wrong}` is taken"));
        assert!(error.contains(told), "`{wrong}` is answered with:\n{error}");
    }
}
