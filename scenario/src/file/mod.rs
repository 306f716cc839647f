// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From the TOML file to a [`Scenario`]: docs/scenarios.md describes the language.
mod ends;
mod flows;
pub(crate) mod key_path;
mod links;
mod network;
mod queues;
mod routes;
pub(crate) mod section;
pub(crate) mod sharing;
mod tcp;
mod traffic;
pub(crate) mod value;

use std::path::Path;

use ebb_link::Nanos;
use toml::de::{DeTable, DeValue};

use self::section::{Section, Source};
use crate::{Interval, Scenario, ScenarioError, Setting};

impl Scenario {
    /// Reads a scenario file; traces that it names are looked for beside it.
    ///
    /// *Errors:* [`ScenarioError::File`] when it cannot be read,
    /// [`ScenarioError::Problems`] with all that is wrong in it.
    pub fn read(path: &Path) -> Result<Self, ScenarioError> {
        Self::read_with(path, &[])
    }

    /// As [`Self::read`], with values that come before those of the file.
    ///
    /// *Errors:* also [`ScenarioError::Setting`] for one that finds no place in the file.
    pub fn read_with(path: &Path, settings: &[Setting]) -> Result<Self, ScenarioError> {
        let mut text = std::fs::read_to_string(path).map_err(|source| ScenarioError::File {
            path: path.to_owned(),
            source,
        })?;
        let mut name = path.display().to_string();
        // Without the settings it is wrong, too, and then lines are those of the file.
        if !settings.is_empty() && DeTable::parse(&text).is_ok() {
            text = Setting::apply_all(settings, &text)?;
            name += " (as set)";
        }
        let folder = path.parent().unwrap_or(Path::new(""));
        Self::parse(&name, &text, folder)
    }

    /// Reads the text of a scenario file. `file` is for messages and, without its folder
    /// and ending, the name of a scenario that has none; `folder` is where traces are.
    ///
    /// *Errors:* [`ScenarioError::Problems`] with all that is wrong in it.
    pub fn parse(file: &str, text: &str, folder: &Path) -> Result<Self, ScenarioError> {
        let source = Source::new(file, text, folder);
        let scenario = source.root(read_scenario).flatten();
        match (scenario, source.into_problems()) {
            (Some(scenario), problems) if problems.is_empty() => Ok(scenario),
            (_, problems) => Err(ScenarioError::Problems(problems)),
        }
    }
}

const MAX_RUNS: u32 = 100_000;
/// Beyond so many flows their time series are left out unless asked for.
const MAX_FLOWS_WITH_SERIES: usize = 64;

fn read_scenario(root: &Section<'_, '_>) -> Option<Scenario> {
    let name = read_name(root);
    let title = root.get_or("title", String::new());
    let duration = root.required("duration", "\"60s\"").filter(|duration| {
        if *duration == Nanos::ZERO {
            root.wrong("duration", "a run must take some time");
        }
        *duration > Nanos::ZERO
    });
    let seed = root.get_or("seed", 1_u64);
    let runs = root.number_or("runs", (1, MAX_RUNS), 1);
    // What else is wrong is worth saying without a duration, too.
    let known_duration = duration.unwrap_or(Nanos(u64::MAX));
    let bin = read_bin(root, known_duration);
    let intervals = read_intervals(root, known_duration);
    let mut network = network::read(root);
    let mut flows = flows::read(root, &mut network, known_duration);
    let sharing = sharing::read(root, &mut flows, known_duration);
    let has_flow_series = root.get_or("flow_series", flows.len() <= MAX_FLOWS_WITH_SERIES);
    root.finish_with(explain_root);
    Some(Scenario {
        name,
        title,
        duration: duration?,
        seed,
        runs,
        bin,
        has_flow_series,
        intervals,
        nodes: network.nodes,
        links: network.links,
        flows,
        sharing,
    })
}

fn explain_root(key: &str) -> Option<String> {
    let right = match key {
        "flows" => "[[flow]], once for each",
        "links" => "[[link]], once for each",
        "node" | "nodes" => "hosts = [\"a\", …] and routers = [\"r\", …]",
        "rate" | "delay" | "rtt" | "queue" => "it below [bottleneck]",
        "receiver" | "class" => "it in a [[flow]]",
        _ => return None,
    };
    Some(format!("unknown key here; write {right}"))
}

fn read_name(root: &Section<'_, '_>) -> String {
    let file = root.source.file.trim_end_matches(" (as set)");
    let stem = Path::new(file).file_stem();
    let stem = stem.map_or("scenario".into(), |stem| {
        stem.to_string_lossy().into_owned()
    });
    let Some(name) = root.get::<String>("name") else {
        return stem;
    };
    if !is_name(&name) {
        root.wrong("name", format!("`{name}` is no name; {NAMES}"));
    }
    name
}

const NAMES: &str = "use letters, digits, `-`, `_`, `.` and `/`";

/// Whether it can be a part of a file name and stand in a table without quotes.
fn is_name(text: &str) -> bool {
    let is_fine = |letter: char| letter.is_ascii_alphanumeric() || "-_./".contains(letter);
    !text.is_empty() && text.len() <= 64 && text.chars().all(is_fine)
}

fn read_bin(root: &Section<'_, '_>, duration: Nanos) -> Nanos {
    let Some(bin) = root.get::<Nanos>("bin") else {
        return default_bin(duration);
    };
    const MAX_BINS: u64 = 1_000_000;
    let is_too_short = bin == Nanos::ZERO || duration.0 / bin.0 > MAX_BINS;
    if is_too_short && duration != Nanos(u64::MAX) {
        let message = format!("too short; {duration} would have more than {MAX_BINS} bins");
        root.wrong("bin", message);
        return default_bin(duration);
    }
    bin
}

/// 1, 2 or 5 times a power of ten, so that a run has between 400 and 1000 bins.
fn default_bin(duration: Nanos) -> Nanos {
    let mut power = Nanos::from_millis(1).0;
    loop {
        for factor in [1, 2, 5] {
            if duration.0 / (factor * power) <= 1_000 || power > u64::MAX / 100 {
                return Nanos(factor * power);
            }
        }
        power *= 10;
    }
}

fn read_intervals(root: &Section<'_, '_>, duration: Nanos) -> Vec<Interval> {
    let whole = Interval {
        name: "all".into(),
        from: Nanos::ZERO,
        to: duration,
    };
    let Some(section) = root.section("measure") else {
        return vec![whole];
    };
    let mut intervals = Vec::new();
    for (name, value) in section.entries() {
        match read_interval(value.get_ref(), duration) {
            Ok((from, to)) => intervals.push(Interval {
                name: name.to_owned(),
                from,
                to,
            }),
            Err(message) => {
                let message = format!("[measure]: `{name}`: {message}");
                section.source.problem(value.span(), message);
            }
        }
    }
    if intervals.is_empty() {
        intervals.push(whole);
    }
    intervals
}

/// Reads `["45s", "135s"]` or `["45s", "end"]`.
fn read_interval(value: &DeValue<'_>, duration: Nanos) -> Result<(Nanos, Nanos), String> {
    const USAGE: &str = "two times are needed, like [\"45s\", \"135s\"] or [\"45s\", \"end\"]";
    use self::value::FromValue;
    let items = value
        .as_array()
        .filter(|items| items.len() == 2)
        .ok_or(USAGE)?;
    let from = Nanos::from_value(items[0].get_ref())?;
    let to = match items[1].get_ref().as_str() {
        Some("end") => duration,
        _ => Nanos::from_value(items[1].get_ref())?,
    };
    match from < to && to <= duration {
        true => Ok((from, to)),
        false if to > duration => Err(format!(
            "ends at {to}, after the run, which takes {duration}"
        )),
        false => Err(format!(
            "ends at {to}, which is not after its begin, {from}"
        )),
    }
}
