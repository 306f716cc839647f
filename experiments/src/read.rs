// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the TOML file to an [`Experiment`]: docs/reproduce.md describes the language.
use std::path::{Path, PathBuf};

use ebb_scenario::reading::{Section, Source, unknown_name};
use ebb_scenario::{Scenario, ScenarioError, Setting};

use crate::experiment::LabScenario;
use crate::fitted::{self, Fit};
use crate::folder::Folder;
use crate::plot::Plot;
use crate::prepare::prepare;
use crate::read_plot::Known;
use crate::read_row::read_rows;
use crate::{Case, Chosen, Engine, Experiment, ExperimentError, Row, Sweep};

const MAX_RUNS: u32 = 10_000;
const ENGINES: [(&str, Engine); 3] = [
    ("sim", Engine::Sim),
    ("lab", Engine::Lab),
    ("analytic", Engine::Analytic),
];

impl Experiment {
    /// Reads the file of an experiment; scenarios that it names stand beside it.
    ///
    /// *Errors:* [`ExperimentError::File`] when it cannot be read, [`ExperimentError::Wrong`]
    /// with all that is wrong in it or in a scenario.
    pub fn read(id: &str, path: &Path) -> Result<Self, ExperimentError> {
        let text = std::fs::read_to_string(path).map_err(|source| ExperimentError::File {
            path: path.to_owned(),
            source,
        })?;
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(id, &path.display().to_string(), &text, folder)
    }

    /// Reads the text of an experiment's file. `file` is for messages, `folder` is where
    /// scenarios are.
    ///
    /// *Errors:* [`ExperimentError::Wrong`] with all that is wrong in it or in a scenario.
    pub fn parse(id: &str, file: &str, text: &str, folder: &Path) -> Result<Self, ExperimentError> {
        let Folder { is_own } = Folder::of(folder)?;
        let source = Source::new(file, text, folder);
        let experiment = source.root(|root| read_experiment(id, is_own, root));
        match (experiment.transpose()?.flatten(), source.into_problems()) {
            (Some(experiment), problems) if problems.is_empty() => Ok(experiment),
            (_, problems) => Err(ScenarioError::Problems(problems).into()),
        }
    }
}

fn read_experiment(
    id: &str,
    is_own: bool,
    root: &Section<'_, '_>,
) -> Result<Option<Experiment>, ExperimentError> {
    let head = Head::read(root);
    let (runs, quick_runs) = read_runs(root);
    let common = Common::read(root, &head.engines, quick_runs);
    let (mut cases, fits) = read_cases(root, &common, &head.engines)?;
    let rows = root.sections("row");
    let rows = rows.iter().flat_map(|row| read_rows(row, &cases, is_own));
    let rows: Vec<Row> = rows.collect();
    let (plots, sweeps) = read_plots(root, &mut cases, &rows, quick_runs);
    root.finish();
    let named = head.title.zip(head.did);
    let experiment = named.map(|(title, did)| Experiment {
        id: id.to_owned(),
        file: root.source.file.into(),
        is_own,
        title,
        did,
        assumed: head.assumed,
        taken: head.taken,
        engines: head.engines,
        runs,
        quick_runs,
        lab_quick_runs: common.lab.map_or(quick_runs, |lab| lab.quick_runs),
        chosen_runs: None,
        is_whole: true,
        cases,
        rows,
        plots,
        sweeps,
    });
    Ok(experiment.map(|experiment| fitted::with_second_column(experiment, &fits, root)))
}

/// What is said of an experiment.
struct Head {
    title: Option<String>,
    did: Option<String>,
    assumed: Vec<String>,
    taken: Vec<String>,
    engines: Vec<Engine>,
}

impl Head {
    fn read(root: &Section<'_, '_>) -> Self {
        Self {
            title: root.required("title", "\"one flow alone\""),
            did: root.required("did", "\"what the paper did\""),
            assumed: root.get_or("assumed", Vec::new()),
            taken: root.get_or("taken", Vec::new()),
            engines: read_engines(root),
        }
    }
}

/// All of them, and those of `--quick`.
fn read_runs(root: &Section<'_, '_>) -> (u32, u32) {
    let runs = root.number_or("runs", (1, MAX_RUNS), 10);
    let quick_runs = root.number_or("quick_runs", (1, MAX_RUNS), runs.min(2));
    if quick_runs > runs {
        root.wrong(
            "quick_runs",
            format!("more than the {runs} runs of the whole"),
        );
    }
    (runs, quick_runs)
}

/// Pictures and sweeps; scenarios record what rows and pictures need.
fn read_plots(
    root: &Section<'_, '_>,
    cases: &mut [Case],
    rows: &[Row],
    quick_runs: u32,
) -> (Vec<Plot>, Vec<Sweep>) {
    let known = Known::new(cases, rows, quick_runs);
    let plots = root.sections("plot");
    let plots: Vec<Plot> = plots.iter().filter_map(|plot| known.plot(plot)).collect();
    prepare(cases, rows, &plots);
    let known = Known::new(cases, rows, quick_runs);
    let sweeps = root.sections("sweep");
    let sweeps = sweeps.iter().filter_map(|sweep| known.sweep(sweep));
    (plots, sweeps.collect())
}

/// What holds for all cases.
struct Common {
    scenario: Option<String>,
    settings: Vec<String>,
    fit: Fit,
    chosen: Chosen,
    lab: Option<LabSettings>,
}

impl Common {
    fn read(root: &Section<'_, '_>, engines: &[Engine], quick_runs: u32) -> Self {
        Self {
            scenario: root.get("scenario"),
            settings: root.get_or("set", Vec::new()),
            fit: root.get("fitted"),
            chosen: root.choice("chosen", &Chosen::ALL).unwrap_or_default(),
            lab: read_lab(root, engines, quick_runs),
        }
    }
}

/// What is set in the lab, since no kernel has it otherwise.
struct LabSettings {
    settings: Vec<String>,
    quick_settings: Vec<String>,
    quick_runs: u32,
}

/// `engines = ["sim", "lab"]`, or `engine = "analytic"` for a single one.
fn read_engines(root: &Section<'_, '_>) -> Vec<Engine> {
    let single = root.choice("engine", &ENGINES);
    let engines = read_engine_list(root);
    match (single, engines) {
        (Some(_), Some(_)) => {
            root.wrong("engine", "there is `engines`, too; write only one of them");
            vec![Engine::Sim]
        }
        (Some(single), None) => vec![single],
        (None, Some(engines)) => engines,
        (None, None) => vec![Engine::Sim],
    }
}

fn read_engine_list(section: &Section<'_, '_>) -> Option<Vec<Engine>> {
    let names: Vec<String> = section.get("engines")?;
    let mut engines = Vec::new();
    for name in &names {
        match ENGINES.iter().find(|(known, _)| known == name) {
            Some((_, engine)) => engines.push(*engine),
            None => section.wrong(
                "engines",
                unknown_name(name, ENGINES.iter().map(|(known, _)| *known)),
            ),
        }
    }
    if names.is_empty() {
        section.wrong(
            "engines",
            "at least one is needed; write engines = [\"sim\"]",
        );
    }
    if engines.len() > 1 && engines.contains(&Engine::Analytic) {
        section.wrong("engines", "a formula is not run by another engine, too");
    }
    (!engines.is_empty()).then_some(engines)
}

fn read_lab(root: &Section<'_, '_>, engines: &[Engine], quick_runs: u32) -> Option<LabSettings> {
    let section = root.section("lab");
    if !engines.contains(&Engine::Lab) {
        if let Some(section) = section {
            section.finish();
            root.wrong("lab", "it needs engines = [\"sim\", \"lab\"]");
        }
        return None;
    }
    let Some(section) = section else {
        return Some(LabSettings {
            settings: Vec::new(),
            quick_settings: Vec::new(),
            quick_runs,
        });
    };
    let settings = LabSettings {
        settings: section.get_or("set", Vec::new()),
        quick_settings: section.get_or("quick_set", Vec::new()),
        quick_runs: section.number_or("quick_runs", (1, MAX_RUNS), quick_runs),
    };
    section.finish();
    Some(settings)
}

fn read_cases(
    root: &Section<'_, '_>,
    common: &Common,
    engines: &[Engine],
) -> Result<(Vec<Case>, Vec<Fit>), ExperimentError> {
    let mut cases: Vec<Case> = Vec::new();
    let mut fits = Vec::new();
    for section in root.sections("case") {
        let own: Fit = section.get("fitted");
        let case = read_case(&section, common)?;
        // A case's own is set after what holds for all.
        let both = common.fit.iter().chain(&own).flatten().cloned();
        let is_fitted = common.fit.is_some() || own.is_some();
        fits.extend(case.is_some().then(|| is_fitted.then(|| both.collect())));
        if cases
            .iter()
            .any(|known| case.as_ref().is_some_and(|case| case.name == known.name))
        {
            section.wrong("name", "another case has this name");
        }
        cases.extend(case);
    }
    if cases.is_empty() && !root.has("case") && engines != [Engine::Analytic] {
        root.wrong_here("[[case]] is missing: what is to be run?");
    }
    Ok((cases, fits))
}

/// What is wrong with the values that are set is told at `set`, what is wrong in the
/// scenario itself by its own file and line.
fn read_case(section: &Section<'_, '_>, common: &Common) -> Result<Option<Case>, ExperimentError> {
    let name: Option<String> = section.required("name", "\"cubic\"");
    let path = scenario_file(section, common);
    let own: Vec<String> = section.get_or("set", Vec::new());
    let engines = read_engine_list(section);
    let chosen = section.choice("chosen", &Chosen::ALL);
    section.finish();
    let Some(path) = path else { return Ok(None) };
    Scenario::read(&path)?;
    let is_in_lab = engines.is_none_or(|engines| engines.contains(&Engine::Lab));
    let files = CaseFiles {
        file: &path,
        settings: common.settings.iter().chain(&own).cloned().collect(),
        lab: common.lab.as_ref().filter(|_| is_in_lab),
    };
    let scenarios = files.read();
    let scenarios = scenarios.map_err(|error| section.wrong("set", error.to_string()));
    Ok((|| {
        let (scenario, lab) = scenarios.ok()?;
        Some(Case {
            name: name?,
            policy: None,
            is_needed: true,
            file: path.clone(),
            settings: files.settings,
            chosen: chosen.unwrap_or(common.chosen),
            is_second: false,
            scenario,
            lab,
        })
    })())
}

/// Where its scenario stands; none: it is not there, which is noted.
fn scenario_file(section: &Section<'_, '_>, common: &Common) -> Option<PathBuf> {
    let Some(file) = section.get("scenario").or(common.scenario.clone()) else {
        section
            .wrong_here("`scenario` is missing, here or at the top; write scenario = \"a.toml\"");
        return None;
    };
    let path = section.source.folder.join(file);
    if !path.is_file() {
        section.wrong("scenario", format!("there is no file {}", path.display()));
        return None;
    }
    Some(path)
}

/// What the scenarios of a case are read from.
struct CaseFiles<'c> {
    file: &'c Path,
    settings: Vec<String>,
    lab: Option<&'c LabSettings>,
}

impl CaseFiles<'_> {
    fn read(&self) -> Result<(Scenario, Option<LabScenario>), ScenarioError> {
        let read = |more: &[&[String]]| {
            let texts = self.settings.iter().chain(more.iter().copied().flatten());
            let all: Result<Vec<Setting>, _> = texts.map(|text| text.parse()).collect();
            Scenario::read_with(self.file, &all?)
        };
        let scenario = read(&[])?;
        let lab = match self.lab {
            None => None,
            Some(lab) => Some(LabScenario {
                settings: lab.settings.clone(),
                quick_settings: lab.quick_settings.clone(),
                whole: read(&[&lab.settings])?,
                quick: read(&[&lab.settings, &lab.quick_settings])?,
            }),
        };
        Ok((scenario, lab))
    }
}

impl Case {
    /// The same with more values set, after all others.
    ///
    /// *Errors:* [`ScenarioError`]: it cannot be set, or the scenario is wrong then.
    pub(crate) fn with_settings(&self, settings: &[Setting]) -> Result<Self, ScenarioError> {
        let more = || settings.iter().map(ToString::to_string);
        let lab = self.lab.as_ref().map(|lab| LabSettings {
            settings: lab.settings.iter().cloned().chain(more()).collect(),
            quick_settings: lab.quick_settings.iter().cloned().chain(more()).collect(),
            quick_runs: 0,
        });
        let files = CaseFiles {
            file: &self.file,
            settings: self.settings.iter().cloned().chain(more()).collect(),
            lab: lab.as_ref(),
        };
        let (scenario, lab) = files.read()?;
        let mut case = Self {
            settings: files.settings,
            scenario,
            lab,
            ..self.clone()
        };
        let (bin, has_flow_series) = (self.scenario.bin, self.scenario.has_flow_series);
        for scenario in case.scenarios_mut() {
            scenario.has_flow_series = has_flow_series;
            scenario.bin = if has_flow_series {
                bin
            } else {
                scenario.duration
            };
        }
        Ok(case)
    }
}
