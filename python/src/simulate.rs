// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios from Python, and their runs in the simulator.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::Duration;

use ebb_experiments::{ExperimentError, Runner, Watch};
use ebb_scenario::{Results, Scenario, ScenarioError, Setting};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyString};

use crate::failure::{defect, of_run, of_scenario};
use crate::packets::Seen;
use crate::result::Simulated;
use crate::toml;

/// How often the interpreter is asked whether somebody has pressed Ctrl-C.
const ASK_EVERY: Duration = Duration::from_millis(50);

/// A scenario with these changes as JSON, everything spelt out. `scenario` is a path, the text of
/// a file, or a dictionary. Without `series` its results have nothing over time.
#[pyfunction]
pub fn resolve(
    scenario: &Bound<'_, PyAny>,
    changes: &Bound<'_, PyDict>,
    series: bool,
) -> PyResult<String> {
    let py = scenario.py();
    let given = Given::of(scenario)?;
    let read = settings(changes).and_then(|settings| given.read(&settings));
    let mut scenario = read.map_err(|error| match error {
        Refused::Raised(error) => error,
        Refused::Wrong { error, text } => of_scenario(py, error, &text, given.is_file()),
    })?;
    if !series {
        scenario.has_flow_series = false;
        scenario.bin = scenario.duration;
    }
    serde_json::to_string(&scenario).map_err(|error| defect(&error.to_string()))
}

/// Runs what `resolve` gave, so many runs at the same time. With a seed there is one run. Packets of
/// the first are kept for a table, and written to the file `pcapng` as they are seen `pcapng_at`.
#[pyfunction]
#[pyo3(signature = (scenario, jobs, packets, seed=None, pcapng=None, pcapng_at="senders"))]
pub fn run(
    py: Python<'_>,
    scenario: &str,
    jobs: Option<usize>,
    packets: bool,
    seed: Option<u64>,
    pcapng: Option<PathBuf>,
    pcapng_at: &str,
) -> PyResult<Simulated> {
    let mut scenario: Scenario = serde_json::from_str(scenario)
        .map_err(|error| PyValueError::new_err(format!("no scenario of this Ebb: {error}")))?;
    if let Some(seed) = seed {
        (scenario.seed, scenario.runs) = (seed, 1);
    }
    let jobs = match jobs {
        None => Runner::default().jobs,
        Some(jobs) => NonZeroUsize::new(jobs)
            .ok_or_else(|| PyValueError::new_err("jobs: 0 would never end; give 1 or more"))?,
    };
    let mut seen = Seen::new(&scenario, packets, pcapng, pcapng_at)?;
    let scenarios = [scenario];
    let results = interruptible(py, |watch| {
        let runner = Runner {
            jobs,
            watch,
            ..Runner::default()
        };
        runner.simulate(&scenarios, seen.observer())
    })?;
    let results: Option<Results> = results.map_err(|error| of_run(py, error))?.pop();
    let results = results.ok_or_else(|| defect("a scenario without results"))?;
    Ok(Simulated::new(results, seen.finish()?))
}

/// What Python gave as a scenario.
enum Given {
    File(PathBuf),
    Text(String),
}

/// Why a scenario was not read.
enum Refused {
    Raised(PyErr),
    Wrong { error: ScenarioError, text: String },
}

impl Given {
    fn of(scenario: &Bound<'_, PyAny>) -> PyResult<Self> {
        if let Ok(entries) = scenario.cast::<PyDict>() {
            return toml::text(entries).map(Self::Text);
        }
        if let Ok(text) = scenario.cast::<PyString>() {
            let text = text.to_string();
            // No name of a file has lines.
            return Ok(match text.contains('\n') {
                true => Self::Text(text),
                false => Self::File(text.into()),
            });
        }
        scenario.extract().map(Self::File).map_err(|_| {
            let kind = scenario.get_type();
            PyTypeError::new_err(format!(
                "{kind} is no scenario: give the path of a file, its text, or a dictionary"
            ))
        })
    }

    /// Whether people can look up lines.
    fn is_file(&self) -> bool {
        matches!(self, Self::File(_))
    }

    fn read(&self, settings: &[Setting]) -> Result<Scenario, Refused> {
        match self {
            Self::File(path) => Scenario::read_with(path, settings).map_err(|error| {
                let text = std::fs::read_to_string(path).unwrap_or_default();
                wrong(error, Setting::apply_all(settings, &text).unwrap_or(text))
            }),
            Self::Text(text) => {
                let set = match settings {
                    [] => Ok(text.clone()),
                    some => Setting::apply_all(some, text),
                };
                let text = set.map_err(|error| wrong(error, text.clone()))?;
                Scenario::parse("scenario", &text, Path::new("."))
                    .map_err(|error| wrong(error, text))
            }
        }
    }
}

fn wrong(error: ScenarioError, text: String) -> Refused {
    Refused::Wrong { error, text }
}

fn settings(changes: &Bound<'_, PyDict>) -> Result<Vec<Setting>, Refused> {
    let setting = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key.extract().map_err(Refused::Raised)?;
        let text = toml::setting(&key, &value).map_err(Refused::Raised)?;
        text.parse().map_err(|error| wrong(error, String::new()))
    };
    changes.iter().map(setting).collect()
}

/// Ends runs when it is set.
#[derive(Default)]
struct Stop(AtomicBool);

impl Watch for Stop {
    fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// Works on a thread of its own without the interpreter's lock, until it is done or a signal's
/// handler raises something: Ctrl-C does. A panic becomes an exception.
fn interruptible<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Stop) -> Result<T, ExperimentError> + Send,
) -> PyResult<Result<T, ExperimentError>> {
    let stop = Stop::default();
    let (outcome, raised) = py.detach(|| {
        std::thread::scope(|scope| {
            let (done, is_done) = mpsc::channel::<()>();
            let worker = scope.spawn(|| {
                // Dropped at the end, also by a panic.
                let _done = done;
                work(&stop)
            });
            let mut raised = None;
            while is_done.recv_timeout(ASK_EVERY) == Err(RecvTimeoutError::Timeout) {
                if let Err(error) = Python::attach(|py| py.check_signals()) {
                    stop.0.store(true, Ordering::Relaxed);
                    raised = Some(error);
                }
            }
            (worker.join(), raised)
        })
    });
    match (raised, outcome) {
        (Some(raised), _) => Err(raised),
        (None, Ok(outcome)) => Ok(outcome),
        (None, Err(_)) => Err(defect("it panicked, and standard error says where")),
    }
}
