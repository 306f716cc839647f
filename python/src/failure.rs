// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can go wrong with a scenario, as exceptions.

use ebb_experiments::ExperimentError;
use ebb_scenario::{Problem, ScenarioError};
use pyo3::exceptions::{PyOSError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

pyo3::create_exception!(
    ebb,
    WrongScenario,
    PyValueError,
    "What is wrong with a scenario, with the place and what would be right."
);

/// Something that never happens, unless Ebb is wrong.
pub fn defect(what: &str) -> PyErr {
    PyRuntimeError::new_err(format!("a mistake of Ebb's: {what}"))
}

/// What is wrong with a scenario of this text; `is_file` says whether people know its lines.
pub fn of_scenario(py: Python<'_>, error: ScenarioError, text: &str, is_file: bool) -> PyErr {
    match error {
        ScenarioError::File { ref source, .. } => {
            let number = source.raw_os_error().unwrap_or(0);
            PyOSError::new_err((number, error.to_string()))
        }
        ScenarioError::Problems(problems) => of_problems(py, problems, text, is_file),
        other => with_problems(py, other.to_string(), Vec::new()),
    }
}

/// Why a run was not made.
pub fn of_run(py: Python<'_>, error: ExperimentError) -> PyErr {
    with_problems(py, error.to_string(), Vec::new())
}

/// What `problems` of the exception has: line, column, key path, message.
type Told = (usize, usize, Option<String>, String);

fn of_problems(py: Python<'_>, problems: Vec<Problem>, text: &str, is_file: bool) -> PyErr {
    let tell = |problem: &Problem| -> Told {
        let key = ebb_scenario::key_path(text, problem.line, problem.column);
        (problem.line, problem.column, key, problem.message.clone())
    };
    let told: Vec<Told> = problems.iter().map(tell).collect();
    let message = match is_file {
        true => ScenarioError::Problems(problems).to_string(),
        false => by_keys(&told),
    };
    with_problems(py, message, told)
}

/// Nobody has seen the lines of what was no file.
fn by_keys(told: &[Told]) -> String {
    let line = |(_, _, key, message): &Told| match key {
        Some(key) => format!("scenario: {key}: {message}"),
        None => format!("scenario: {message}"),
    };
    told.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn with_problems(py: Python<'_>, message: String, told: Vec<Told>) -> PyErr {
    let error = WrongScenario::new_err(message);
    match error.value(py).setattr("problems", told) {
        Ok(()) => error,
        Err(other) => other,
    }
}
