// SPDX-License-Identifier: Apache-2.0 OR MIT
//! An experiment from its file to the stored comparison.
use ebb_experiments::{Catalogue, Comparison, Experiment, Verdict};
use ebb_scenario::Results;
use ebb_simulator::Options;

const SCENARIO: &str = "\
duration = \"4s\"
sender = \"reno\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
end = [\"2s\", \"end\"]
[[flow]]
name = \"mine\"
start_spread = \"100ms\"
[[flow]]
name = \"wave\"
kind = \"udp-square-wave\"
rate = \"2mbit\"
period = \"1s\"
";

// What is right: 5 Mbit/s, of which UDP takes 2 in the first half of each second. What the
// paper of the last row has is wrong on purpose.
const EXPERIMENT: &str = "\
title = \"beside a wave\"
did = \"nothing: it is a test\"
runs = 3
scenario = \"wave.toml\"

[[case]]
name = \"shallow\"

[[case]]
name = \"deep\"
set = [\"bottleneck.queue=80\"]

[[row]]
name = \"use\"
measure = { kind = \"utilisation\", interval = \"end\" }
paper = { shallow = 0.99, deep = 0.99 }

[[row]]
name = \"while it is silent\"
measure = { kind = \"goodput\", flows = \"mine\", interval = \"end\", of = \"5mbit\", period = \"1s\", phase_from = \"600ms\" }
paper = { shallow = 0.96 }

[[row]]
name = \"queueing\"
measure = { kind = \"queue-mean\", interval = \"end\" }
unit = \"ms\"
paper = { shallow = 1.0, deep = 2.0 }

[[row]]
name = \"deep to shallow\"
measure = { kind = \"ratio\", over = { kind = \"queue-mean\", case = \"deep\" }, under = { kind = \"queue-mean\", case = \"shallow\" } }
why = \"the paper's value is made up\"
paper = { deep = 0.5 }
";

fn compare(experiment: &Experiment) -> Comparison {
    let run = |scenario: ebb_scenario::Scenario| {
        let one = |run| {
            let options = Options {
                run,
                ..Options::default()
            };
            ebb_simulator::run(&scenario, options).unwrap()
        };
        Results {
            runs: (0..scenario.runs).map(one).collect(),
            scenario,
        }
    };
    let results: Vec<Results> = experiment.scenarios(false).into_iter().map(run).collect();
    experiment.compare(&results, false)
}

#[test]
fn an_experiment_is_run_judged_stored_and_read_again() {
    let folder = tempfile::tempdir().unwrap();
    let paper = folder.path().join("paper");
    std::fs::create_dir(&paper).unwrap();
    std::fs::write(paper.join("wave.toml"), SCENARIO).unwrap();
    std::fs::write(paper.join("wave-table.toml"), EXPERIMENT).unwrap();
    let catalogue = Catalogue::open(folder.path()).unwrap();
    assert_eq!(catalogue.ids().collect::<Vec<_>>(), ["paper/wave-table"]);

    let experiments = catalogue.read(&["paper".into()]).unwrap();
    let comparison = compare(&experiments[0]);
    let verdicts: Vec<_> = comparison.cells.iter().map(|cell| cell.verdict).collect();
    use Verdict::{Green, Red, Yellow};
    assert_eq!(
        verdicts,
        [Green, Green, Green, Yellow, Yellow, Red],
        "{comparison:#?}"
    );
    let last = comparison.cells.last().unwrap();
    assert_eq!(last.why.as_deref(), Some("the paper's value is made up"));
    assert!(last.ours.unwrap() > 1.0 && last.values.len() == 3);
    assert_eq!(compare(&experiments[0]), comparison);

    let out = folder.path().join("out");
    comparison.store(&out).unwrap();
    let stored = Comparison::stored(&out, "paper/wave-table").unwrap();
    assert_eq!(stored.as_ref(), Some(&comparison));
    assert_eq!(Comparison::stored(&out, "paper/other").unwrap(), None);
    let csv = std::fs::read_to_string(out.join("paper/wave-table.csv")).unwrap();
    let head = csv.lines().next().unwrap();
    for column in [
        "paper_share",
        "ours_ms",
        "ours_half_width_95_ms",
        "tolerance_share",
    ] {
        assert!(head.split(',').any(|known| known == column), "{head}");
    }
    assert_eq!(csv.lines().count(), 1 + comparison.cells.len());
}
