// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Pages of an experiment with all that a page can have.
use std::path::{Path, PathBuf};

use ebb_experiments::{Engine, Experiment, Plan, Ran, Runner};
use ebb_report::pages::{self, Commands, Entry};

pub const SCENARIO: &str = "\
duration = \"4s\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
all = [\"0s\", \"end\"]
second = [\"1s\", \"2s\"]
[[flow]]
name = \"mine\"
start_spread = \"100ms\"
";

pub const EXPERIMENT: &str = "\
title = \"a <title> that is \\\"quoted\\\" & longer than a telephone is wide, on purpose\"
did = \"nothing: it is a test\"
assumed = [\"a_word_without_any_place_to_break_it_that_is_as_long_as_two_lines_of_a_telephone_are\"]
taken = [\"values are read off, to <one> digit\"]
engines = [\"sim\", \"lab\"]
runs = 3
scenario = \"scenario.toml\"

[lab]
quick_set = [\"duration=3s\"]

[[case]]
name = \"shallow\"

[[case]]
name = \"deep, with a name that fits into no column\"
set = [\"bottleneck.queue=80\"]

[[row]]
name = \"use\"
measure = { kind = \"utilisation\" }
paper = { \"shallow\" = 0.97, \"deep, with a name that fits into no column\" = 0.97 }

[[row]]
name = \"queueing\"
measure = { kind = \"queue-mean\" }
unit = \"ms\"
why = \"the paper's values are made up\"
paper = { \"shallow\" = \">= 1\", \"deep, with a name that fits into no column\" = 2.0 }

[[sweep]]
assumption = \"the queue is deep\"
key = \"bottleneck.queue\"
values = [5, 10, 20, 40, 80]
runs = 1

[[plot]]
title = \"waiting against depth\"
x = { label = \"depth\", unit = \"packets\", log = true }
y = { label = \"waiting\", unit = \"ms\" }
[[plot.line]]
name = \"CUBIC\"
row = \"queueing\"
x = [20, 80]

[[plot]]
form = \"bars\"
y = { label = \"use\", to = 1 }
[[plot.line]]
name = \"CUBIC\"
row = \"use\"

[[plot]]
form = \"time\"
y = { label = \"goodput\", unit = \"Mbit/s\", from = 0, to = 5 }
bin = \"100ms\"
[[plot.line]]
name = \"mine\"
case = \"shallow\"
series = \"goodput\"
flow = \"mine\"
upside_down = true
paper = [[0.5, 4], [3, 5]]
[[plot.mark]]
label = \"the <second> second\"
case = \"shallow\"
interval = \"second\"
[[plot.mark]]
label = \"a fifth\"
y = 1
[[plot.mark]]
label = \"a fifth\"
case = \"shallow\"
y = 2
interval = \"second\"
";

/// Pages of one experiment that was run, and of one that was not.
pub fn written(folder: &Path) -> [PathBuf; 2] {
    std::fs::write(folder.join("scenario.toml"), SCENARIO).unwrap();
    let file = folder.join("experiment.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let experiment = Experiment::read("paper/table-1", &file).unwrap();
    let other = Experiment::read("paper/table-2", &file).unwrap();
    let runner = Runner::default();
    // As if the lab had given what the simulator gives.
    let compare = |engine, is_quick| {
        let plan = Plan { engine, is_quick };
        let results = runner.simulate(&experiment.scenarios(plan), None).unwrap();
        experiment.compare(&Ran {
            plan,
            results: &results,
            simulated: (engine == Engine::Lab).then_some(results.as_slice()),
            disturbed: &[],
        })
    };
    let comparisons = vec![compare(Engine::Sim, false), compare(Engine::Lab, true)];
    let sweep = &experiment.sweeps[0];
    let influence = runner.influence(&experiment, sweep).unwrap();
    let entries = [
        Entry {
            experiment: &experiment,
            comparisons,
            influences: vec![influence],
            commands: commands(folder),
        },
        Entry {
            experiment: &other,
            comparisons: Vec::new(),
            influences: Vec::new(),
            commands: Commands::default(),
        },
    ];
    let pages = folder.join("pages");
    let index = pages::write(&entries, &pages).unwrap();
    [index, pages.join("paper/table-1.html")]
}

/// As the command line words them.
fn commands(folder: &Path) -> Commands {
    let run = format!("ebb sim run {}/scenario.toml", folder.display());
    let deep = format!("{run} \\\n    --set 'bottleneck.queue=80'");
    let whole = [
        "ebb reproduce paper/table-1",
        "sudo ebb reproduce paper/table-1 --engine lab",
        "ebb reproduce paper/table-1 --assumptions",
    ];
    Commands {
        whole: whole.map(str::to_owned).into(),
        cases: vec![
            ("shallow".to_owned(), run),
            (
                "deep, with a name that fits into no column".to_owned(),
                deep,
            ),
        ],
    }
}
