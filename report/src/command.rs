// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The commands that run an experiment again.
use ebb_experiments::{Case, Engine, Experiment};

/// All of it on an engine that it names.
pub fn reproduce(experiment: &Experiment, engine: Engine) -> String {
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
pub fn run(experiment: &Experiment, case: &Case) -> String {
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
