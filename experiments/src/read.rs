// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the TOML file to an [`Experiment`]: docs/reproduce.md describes the language.
use std::path::Path;

use ebb_link::Nanos;
use ebb_scenario::reading::{FromValue, Section, Source, unknown_name};
use ebb_scenario::{Scenario, ScenarioError, Setting};
use toml::de::{DeTable, DeValue};

use crate::read_measure::{Reader, check};
use crate::unit::UNITS;
use crate::{
    Bound, Case, Dimension, Engine, Experiment, ExperimentError, Measure, PaperValue, Row,
    Tolerance,
};

const MAX_RUNS: u32 = 10_000;
const ENGINES: [(&str, Engine); 2] = [("sim", Engine::Sim), ("analytic", Engine::Analytic)];

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
        let source = Source::new(file, text, folder);
        let experiment = match DeTable::parse(text) {
            Ok(table) => {
                let root = Section::new(&source, table.get_ref(), 0..0, "");
                read_experiment(id, &root)?
            }
            Err(error) => {
                let end = text.len()..text.len();
                source.problem(error.span().unwrap_or(end), error.message());
                None
            }
        };
        match (experiment, source.into_problems()) {
            (Some(experiment), problems) if problems.is_empty() => Ok(experiment),
            (_, problems) => Err(ScenarioError::Problems(problems).into()),
        }
    }
}

fn read_experiment(
    id: &str,
    root: &Section<'_, '_>,
) -> Result<Option<Experiment>, ExperimentError> {
    let title = root.required("title", "\"one flow alone\"");
    let did = root.required("did", "\"what the paper did\"");
    let assumed = root.get_or("assumed", Vec::new());
    let engine = root.choice("engine", &ENGINES).unwrap_or(Engine::Sim);
    let runs = root.number_or("runs", (1, MAX_RUNS), 10);
    let quick_runs = root.number_or("quick_runs", (1, MAX_RUNS), runs.min(2));
    if quick_runs > runs {
        root.wrong(
            "quick_runs",
            format!("more than the {runs} runs of the whole"),
        );
    }
    let scenario: Option<String> = root.get("scenario");
    let settings = root.get_or("set", Vec::new());
    let mut cases: Vec<Case> = Vec::new();
    for section in root.sections("case") {
        let case = read_case(&section, scenario.as_deref(), &settings)?;
        if cases
            .iter()
            .any(|known| case.as_ref().is_some_and(|case| case.name == known.name))
        {
            section.wrong("name", "another case has this name");
        }
        cases.extend(case);
    }
    if cases.is_empty() && !root.has("case") && engine == Engine::Sim {
        root.wrong_here("[[case]] is missing: what is to be run?");
    }
    let mut rows = Vec::new();
    for section in root.sections("row") {
        rows.extend(read_row(&section, &cases));
    }
    root.finish();
    prepare(&mut cases, &rows);
    Ok((|| {
        Some(Experiment {
            id: id.to_owned(),
            title: title?,
            did: did?,
            assumed,
            engine,
            runs,
            quick_runs,
            cases,
            rows,
        })
    })())
}

/// What is wrong with the values that are set is told at `set`, what is wrong in the
/// scenario itself by its own file and line.
fn read_case(
    section: &Section<'_, '_>,
    default: Option<&str>,
    common: &[String],
) -> Result<Option<Case>, ExperimentError> {
    let name: Option<String> = section.required("name", "\"cubic\"");
    let file = section.get("scenario").or(default.map(str::to_owned));
    let own = section.get_or("set", Vec::new());
    section.finish();
    let Some(file) = file else {
        section
            .wrong_here("`scenario` is missing, here or at the top; write scenario = \"a.toml\"");
        return Ok(None);
    };
    let path = section.source.folder.join(&file);
    if !path.is_file() {
        section.wrong("scenario", format!("there is no file {}", path.display()));
        return Ok(None);
    }
    Scenario::read(&path)?;
    let settings: Result<Vec<Setting>, _> =
        common.iter().chain(&own).map(|text| text.parse()).collect();
    let scenario = settings.and_then(|settings| Scenario::read_with(&path, &settings));
    match (name, scenario) {
        (Some(name), Ok(scenario)) => Ok(Some(Case { name, scenario })),
        (_, Err(error)) => {
            section.wrong("set", error.to_string());
            Ok(None)
        }
        (None, _) => Ok(None),
    }
}

fn read_row(section: &Section<'_, '_>, cases: &[Case]) -> Option<Row> {
    let name = section.required("name", "\"goodput\"");
    let measure = match section.section("measure") {
        Some(measure) => Reader { cases }.read(&measure),
        None if section.has("measure") => None,
        None => {
            section.wrong_here(
                "`measure` is missing; write measure = { kind = \"goodput\", flows = \"mine\" }",
            );
            None
        }
    };
    let unit = section.choice("unit", &UNITS);
    let tolerance = section.value("tolerance").map(|value| {
        read_tolerance(value.get_ref()).unwrap_or_else(|message| {
            section.wrong("tolerance", message);
            Tolerance::default()
        })
    });
    let why = section.get("why");
    let values = read_values(
        section,
        cases,
        measure.as_ref().is_some_and(Measure::is_analytic),
    );
    section.finish();
    let measure = measure?;
    let dimension = measure.dimension();
    let unit = unit.unwrap_or(dimension.unit());
    if !unit.fits(dimension) {
        let message = format!(
            "this measure has no such unit; write \"{}\"",
            dimension.unit().name()
        );
        section.wrong("unit", message);
    }
    if !check(section, &measure, &values, cases) {
        return None;
    }
    let paper = values.into_iter().map(|(case, bound, value)| PaperValue {
        case,
        value,
        bound,
        tolerance: tolerance
            .unwrap_or_else(|| default_tolerance(&measure, dimension, unit, cases.get(case))),
    });
    Some(Row {
        name: name?,
        paper: paper.collect(),
        measure,
        unit,
        why,
    })
}

fn default_tolerance(
    measure: &Measure,
    dimension: Dimension,
    unit: crate::Unit,
    case: Option<&Case>,
) -> Tolerance {
    let scale = case.map_or(1.0, |case| measure.scale(&case.scenario));
    let tolerance = Tolerance::default_of(dimension, scale);
    Tolerance {
        absolute: tolerance.absolute / unit.size(),
        ..tolerance
    }
}

/// `paper = 11.25` for a formula, else `[row.paper]` with a value for each case.
fn read_values(
    section: &Section<'_, '_>,
    cases: &[Case],
    is_analytic: bool,
) -> Vec<(usize, Bound, f64)> {
    if is_analytic {
        let value = section.required("paper", "11.25");
        let value = value.map(|value| (0, Bound::Exact, value));
        return value.into_iter().collect();
    }
    if !section.has("paper") {
        section.wrong_here("`paper` is missing; write paper = { CASE = 0.56 }");
        return Vec::new();
    }
    let Some(paper) = section.section("paper") else {
        return Vec::new();
    };
    let mut values = Vec::new();
    for (name, value) in paper.entries() {
        let case = cases.iter().position(|case| case.name == name);
        match (case, read_paper_value(value.get_ref())) {
            (Some(case), Ok((bound, value))) => values.push((case, bound, value)),
            (None, _) => {
                let names = cases.iter().map(|case| case.name.as_str());
                let message = format!("`paper`: among the cases {}", unknown_name(name, names));
                section.source.problem(value.span(), message);
            }
            (_, Err(message)) => {
                section
                    .source
                    .problem(value.span(), format!("`paper`: `{name}`: {message}"));
            }
        }
    }
    if paper.entries().is_empty() {
        section.wrong("paper", "a value is needed; write paper = { CASE = 0.56 }");
    }
    values
}

/// `0.56`, or `">= 0.5"` and `"<= 0.5"` where the paper has no more than that.
fn read_paper_value(value: &DeValue<'_>) -> Result<(Bound, f64), String> {
    let Some(text) = value.as_str() else {
        return f64::from_value(value).map(|value| (Bound::Exact, value));
    };
    let bounds = [Bound::AtLeast, Bound::AtMost];
    let bound = bounds.into_iter().find_map(|bound| {
        let number = text.strip_prefix(bound.sign().trim_end())?.trim();
        Some((bound, number.parse::<f64>().ok().filter(|x| x.is_finite())?))
    });
    bound.ok_or_else(|| "a number is needed, or a bound as \">= 0.5\" or \"<= 0.5\"".into())
}

/// `"20%"` of the value, `0.05` in its unit, or a list of both.
fn read_tolerance(value: &DeValue<'_>) -> Result<Tolerance, String> {
    const USAGE: &str =
        "write \"20%\" (of the paper's value), 0.05 (in its unit), or a list of both";
    let mut tolerance = Tolerance::default();
    let single = [value];
    let items: Vec<&DeValue<'_>> = match value.as_array() {
        Some(items) => items.iter().map(toml::Spanned::get_ref).collect(),
        None => single.to_vec(),
    };
    for item in items {
        match item.as_str() {
            Some(text) => {
                let percent = text
                    .strip_suffix('%')
                    .and_then(|text| text.trim().parse::<f64>().ok());
                let percent = percent.filter(|percent| *percent >= 0.0 && percent.is_finite());
                tolerance.relative = percent.ok_or(USAGE)? / 100.0;
            }
            None => {
                let absolute = f64::from_value(item).map_err(|_| USAGE)?;
                tolerance.absolute = Some(absolute).filter(|value| *value >= 0.0).ok_or(USAGE)?;
            }
        }
    }
    Ok(tolerance)
}

/// Time series only where a measure needs them.
fn prepare(cases: &mut [Case], rows: &[Row]) {
    for (place, case) in cases.iter_mut().enumerate() {
        let scenario = &mut case.scenario;
        scenario.has_flow_series = false;
        scenario.bin = scenario.duration;
        let parts = rows.iter().flat_map(|row| {
            let is_used = row.paper.iter().any(|value| value.case == place);
            row.measure
                .parts()
                .into_iter()
                .filter(move |part| part.case.map_or(is_used, |case| case == place))
        });
        for bin in parts.filter_map(Measure::bin) {
            scenario.bin = match scenario.has_flow_series {
                true => common(scenario.bin, bin),
                false => bin,
            };
            scenario.has_flow_series = true;
        }
    }
}

/// The greatest length that divides both.
fn common(left: Nanos, right: Nanos) -> Nanos {
    let (mut left, mut right) = (left.0, right.0);
    while right > 0 {
        (left, right) = (right, left % right);
    }
    Nanos(left.max(1))
}
