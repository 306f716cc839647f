// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the file of a [`Group`] to a [`Matrix`].
use std::path::Path;

use ebb_link::Nanos;
use ebb_scenario::reading::{Section, Source};
use ebb_scenario::{Scenario, ScenarioError, Setting};

use super::matrix::yields;
use super::{Group, Matrix, ScoreScenario};
use crate::ExperimentError;

impl Matrix {
    /// Reads a group's file in this folder; the scenarios that it names stand beside it.
    ///
    /// *Errors:* [`ExperimentError::NoFolder`], [`ExperimentError::File`] when it cannot be read,
    /// [`ExperimentError::Wrong`] with all that is wrong in it or in a scenario.
    pub fn open(folder: &Path, group: Group) -> Result<Self, ExperimentError> {
        let path = folder.join(group.file());
        if !path.exists() {
            return Err(ExperimentError::NoFolder {
                path,
                flag: "--matrix",
            });
        }
        let text = std::fs::read_to_string(&path).map_err(|source| ExperimentError::File {
            path: path.clone(),
            source,
        })?;
        Self::parse(&path.display().to_string(), &text, folder)
    }

    /// Reads the text of a matrix. `file` is for messages, `folder` is where scenarios are.
    ///
    /// *Errors:* [`ExperimentError::Wrong`] with all that is wrong in it or in a scenario.
    pub fn parse(file: &str, text: &str, folder: &Path) -> Result<Self, ExperimentError> {
        let source = Source::new(file, text, folder);
        let scenarios = source.root(read_all).transpose()?.unwrap_or_default();
        match source.into_problems() {
            problems if problems.is_empty() => Ok(Self { scenarios }),
            problems => Err(ScenarioError::Problems(problems).into()),
        }
    }
}

fn read_all(root: &Section<'_, '_>) -> Result<Vec<ScoreScenario>, ExperimentError> {
    let mut scenarios: Vec<ScoreScenario> = Vec::new();
    for section in root.sections("scenario") {
        let read = read_one(&section)?;
        let is_known = |one: &ScoreScenario| scenarios.iter().any(|known| known.name == one.name);
        if read.as_ref().is_some_and(is_known) {
            section.wrong("name", "another scenario has this name");
        }
        scenarios.extend(read);
    }
    if !root.has("scenario") {
        root.wrong_here("[[scenario]] is missing: what are laws to be held against?");
    }
    root.finish();
    Ok(scenarios)
}

fn read_one(section: &Section<'_, '_>) -> Result<Option<ScoreScenario>, ExperimentError> {
    let name: Option<String> = section.required("name", "\"on-off-3s\"");
    let title = section.required("title", "\"others come and go every 3 s\"");
    let file: Option<String> = section.required("file", "\"on-off.toml\"");
    let settings: Vec<String> = section.get_or("set", Vec::new());
    let is_quick = section.get_or("quick", false);
    let busy = read_busy(section);
    section.finish();
    let (Some(name), Some(title), Some(file)) = (name, title, file) else {
        return Ok(None);
    };
    let file = section.source.folder.join(file);
    if !file.is_file() {
        section.wrong("file", format!("there is no file {}", file.display()));
        return Ok(None);
    }
    let Some(scenario) = read_scenario(section, &file, &settings)? else {
        return Ok(None);
    };
    if !scenario.flows.iter().any(|flow| yields(flow.class)) {
        section.wrong(
            "file",
            "no flow in it has class = \"lbe\", which a law could govern",
        );
    }
    if busy.last().is_some_and(|(_, to)| *to > scenario.duration) {
        let message = format!("ends after the run, which takes {}", scenario.duration);
        section.wrong("busy", message);
    }
    Ok(Some(ScoreScenario {
        name,
        title,
        file,
        settings,
        busy,
        is_quick,
        scenario,
    }))
}

/// None if what is set is wrong, which is noted; mistakes of the file are told as its own.
fn read_scenario(
    section: &Section<'_, '_>,
    file: &Path,
    settings: &[String],
) -> Result<Option<Scenario>, ExperimentError> {
    Scenario::read(file)?;
    let parsed: Result<Vec<Setting>, _> = settings.iter().map(|text| text.parse()).collect();
    match parsed.and_then(|parsed| Scenario::read_with(file, &parsed)) {
        Ok(scenario) => Ok(Some(scenario)),
        Err(error) => {
            section.wrong("set", error.to_string());
            Ok(None)
        }
    }
}

/// `busy = ["20s", "40s"]`, with `busy_on` and `busy_off` on and off in that time.
fn read_busy(section: &Section<'_, '_>) -> Vec<(Nanos, Nanos)> {
    let texts: Vec<String> = section.get_or("busy", Vec::new());
    let lengths = [section.get::<Nanos>("busy_on"), section.get("busy_off")];
    if texts.is_empty() {
        return Vec::new();
    }
    let times: Result<Vec<Nanos>, _> = texts.iter().map(|text| text.parse()).collect();
    let Some([from, to]) = times
        .ok()
        .and_then(|times| <[Nanos; 2]>::try_from(times).ok())
    else {
        section.wrong("busy", "two times are needed, as [\"20s\", \"40s\"]");
        return Vec::new();
    };
    if from >= to {
        section.wrong("busy", "the second time must come after the first");
        return Vec::new();
    }
    let [Some(on), Some(off)] = lengths else {
        return vec![(from, to)];
    };
    if on == Nanos::ZERO || off == Nanos::ZERO {
        section.wrong(
            "busy_on",
            "`busy_on` and `busy_off` must be longer than nothing",
        );
        return Vec::new();
    }
    let mut busy = Vec::new();
    let mut start = from;
    while start + on <= to {
        busy.push((start, start + on));
        start = start + on + off;
    }
    busy
}
