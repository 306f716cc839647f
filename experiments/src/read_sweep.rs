// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reading `[[sweep]]`.
use ebb_scenario::reading::{FromValue, Section, unknown_name};
use ebb_scenario::{Scenario, Setting};
use toml::de::DeValue;

use crate::read_plot::Known;
use crate::{Case, Sweep};

/// Values of an assumption; more cannot be read in a line.
const MAX_VALUES: usize = 8;

impl Known<'_> {
    /// Reads a sweep; none if it is wrong, which is noted.
    pub fn sweep(&self, section: &Section<'_, '_>) -> Option<Sweep> {
        let assumption = section.required("assumption", "\"the queue has 100 packets\"");
        let key: Option<String> = section.required("key", "\"bottleneck.queue\"");
        if !section.has("values") {
            section.wrong_here("`values` is missing; write values = [50, 100, 200]");
        }
        let values = section.value("values")?.get_ref();
        let values = values_of(values).unwrap_or_else(|message| {
            section.wrong("values", message);
            Vec::new()
        });
        let rows = self.rows_of(section);
        let cases = self.cases_of(section)?;
        let cases = cases.unwrap_or((0..self.cases.len()).collect());
        let runs = section.number_or("runs", (1, 1000), self.quick_runs);
        section.finish();
        let key = key?;
        let mut scenarios = Vec::new();
        for value in &values {
            let setting = format!("{key}={value}");
            match self.varied(&cases, &setting) {
                Ok(varied) => scenarios.push(varied),
                Err(message) => {
                    section.wrong("values", message);
                    return None;
                }
            }
        }
        Some(Sweep {
            assumption: assumption?,
            key,
            values,
            rows: rows?,
            cases,
            runs,
            scenarios,
        })
    }

    fn rows_of(&self, section: &Section<'_, '_>) -> Option<Vec<usize>> {
        let Some(names) = section.get::<Vec<String>>("rows") else {
            return Some((0..self.rows.len()).collect());
        };
        let mut places = Vec::new();
        for name in names {
            match self.rows.iter().position(|row| row.name == name) {
                Some(place) => places.push(place),
                None => {
                    let rows = self.rows.iter().map(|row| row.name.as_str());
                    section.wrong("rows", unknown_name(&name, rows));
                    return None;
                }
            }
        }
        Some(places)
    }

    /// All cases, with this set in those.
    fn varied(&self, cases: &[usize], setting: &str) -> Result<Vec<Scenario>, String> {
        let of_case = |(place, case): (usize, &Case)| {
            if !cases.contains(&place) {
                return Ok(case.scenario.clone());
            }
            let texts = case.settings.iter().map(String::as_str).chain([setting]);
            let settings: Result<Vec<Setting>, _> = texts.map(str::parse).collect();
            let scenario = settings.and_then(|all| Scenario::read_with(&case.file, &all));
            let scenario = scenario.map_err(|error| format!("in case `{}` {error}", case.name))?;
            Ok(Scenario {
                bin: case.scenario.bin.min(scenario.duration),
                has_flow_series: case.scenario.has_flow_series,
                ..scenario
            })
        };
        self.cases.iter().enumerate().map(of_case).collect()
    }
}

fn values_of(value: &DeValue<'_>) -> Result<Vec<String>, String> {
    let usage = format!("2 to {MAX_VALUES} values are needed, as [50, 100] or [\"1s\", \"2s\"]");
    let items = value.as_array().ok_or(usage.clone())?;
    let text = |item: &toml::Spanned<DeValue<'_>>| match item.get_ref() {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Boolean(flag) => Ok(flag.to_string()),
        other => f64::from_value(other)
            .map(|number| number.to_string())
            .map_err(|_| usage.clone()),
    };
    let values: Vec<String> = items.iter().map(text).collect::<Result<_, _>>()?;
    match (2..=MAX_VALUES).contains(&values.len()) {
        true => Ok(values),
        false => Err(usage),
    }
}
