// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands that run an experiment again.
use ebb_experiments::{Case, Engine, Experiment};
use ebb_report::pages::Commands;

/// All that its page shows.
pub(super) fn commands(experiment: &Experiment) -> Commands {
    let engines = experiment.engines.iter();
    let mut whole: Vec<_> = engines
        .map(|engine| reproduce(experiment, *engine))
        .collect();
    if !experiment.sweeps.is_empty() {
        whole.push(format!("ebb reproduce {} --assumptions", experiment.id));
    }
    let cases = experiment.cases.iter();
    let cases = cases.map(|case| (case.name.clone(), run(experiment, case)));
    Commands {
        whole,
        cases: cases.collect(),
    }
}

/// All of it on an engine that it names.
pub(super) fn reproduce(experiment: &Experiment, engine: Engine) -> String {
    let id = &experiment.id;
    let is_usual = experiment.engines.first() == Some(&engine);
    match (engine, is_usual) {
        (Engine::Lab, true) => format!("sudo ebb reproduce {id}"),
        (Engine::Lab, false) => format!("sudo ebb reproduce {id} --engine lab"),
        (Engine::Sim, false) => format!("ebb reproduce {id} --engine sim"),
        (Engine::Sim | Engine::Analytic, _) => format!("ebb reproduce {id}"),
    }
}

/// One case alone, on the usual engine, with a line for each value that is set.
fn run(experiment: &Experiment, case: &Case) -> String {
    let is_usual = |engine| experiment.engines.first() == Some(&engine);
    let (run, of_lab) = match &case.lab {
        Some(lab) if is_usual(Engine::Lab) => ("sudo ebb lab run", lab.settings.as_slice()),
        _ => ("ebb sim run", Default::default()),
    };
    let mut command = format!("{run} {}", case.file.display());
    for setting in case.settings.iter().chain(of_lab) {
        command += &format!(" \\\n    --set '{setting}'");
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    const SCENARIO: &str = "\
duration = \"4s\"
[bottleneck]
rate = \"5mbit\"
rtt = \"20ms\"
queue = 20
[measure]
all = [\"0s\", \"end\"]
[[flow]]
name = \"mine\"
";

    const EXPERIMENT: &str = "\
title = \"a title\"
did = \"nothing: it is a test\"
engines = [\"sim\", \"lab\"]
runs = 3
scenario = \"scenario.toml\"
[lab]
set = [\"tcp.mss=960\"]
[[case]]
name = \"deep\"
set = [\"bottleneck.queue=80\"]
[[row]]
name = \"use\"
measure = { kind = \"utilisation\" }
paper = { \"deep\" = 0.97 }
[[sweep]]
assumption = \"the queue is deep\"
key = \"bottleneck.queue\"
values = [5, 10]
runs = 1
";

    fn commands_of(engines: &str) -> (Vec<String>, String) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("scenario.toml"), SCENARIO).unwrap();
        let file = folder.path().join("experiment.toml");
        let text = EXPERIMENT.replace("[\"sim\", \"lab\"]", engines);
        std::fs::write(&file, text).unwrap();
        let experiment = Experiment::read("paper/table-1", &file).unwrap();
        let Commands { whole, cases } = commands(&experiment);
        let folder = format!("{}/", folder.path().display());
        assert_eq!(cases.len(), 1);
        assert_eq!(cases[0].0, "deep");
        (whole, cases[0].1.replace(&folder, ""))
    }

    #[test]
    fn each_engine_has_its_command_and_a_case_that_of_the_usual_one() {
        let (whole, case) = commands_of("[\"sim\", \"lab\"]");
        let expected = [
            "ebb reproduce paper/table-1",
            "sudo ebb reproduce paper/table-1 --engine lab",
            "ebb reproduce paper/table-1 --assumptions",
        ];
        assert_eq!(whole, expected);
        let expected = "ebb sim run scenario.toml \\\n    --set 'bottleneck.queue=80'";
        assert_eq!(case, expected);
    }

    #[test]
    fn what_only_the_lab_runs_is_run_as_root_there() {
        let (whole, case) = commands_of("[\"lab\"]");
        assert_eq!(whole[0], "sudo ebb reproduce paper/table-1");
        let expected = "sudo ebb lab run scenario.toml \\\n    --set 'bottleneck.queue=80' \\\n    \
                        --set 'tcp.mss=960'";
        assert_eq!(case, expected);
    }
}
