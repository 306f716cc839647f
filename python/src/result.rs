// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came out of a simulation, as tables.

mod applications;
mod events;
mod measures;
mod series;

use ebb_scenario::{Outcome, Results};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::packets::Packets;
use crate::table::{Columns, Table};

/// What the runs of a scenario gave. Tables are made when they are asked for.
#[pyclass(frozen, module = "ebb", name = "Result")]
pub struct Simulated {
    results: Results,
    packets: Option<Packets>,
}

impl Simulated {
    pub fn new(results: Results, packets: Option<Packets>) -> Self {
        Self { results, packets }
    }
}

#[pymethods]
impl Simulated {
    /// The scenario's name.
    #[getter]
    fn name(&self) -> &str {
        &self.results.scenario.name
    }

    /// Seeds of the runs, in order.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.results.runs.iter().map(|run| run.seed).collect()
    }

    /// Flows, by run and interval.
    #[getter]
    fn flows(&self) -> PyResult<Table> {
        measures::flows(&self.results.runs)
    }

    /// Links, by run and interval.
    #[getter]
    fn links(&self) -> PyResult<Table> {
        measures::links(&self.results.runs)
    }

    /// What applications saw, by run, interval and flow.
    #[getter]
    fn applications(&self) -> PyResult<Table> {
        applications::table(&self.results.runs)
    }

    /// Flows over time.
    #[getter]
    fn flow_series(&self) -> PyResult<Table> {
        series::flows(&self.results.runs)
    }

    /// Links over time.
    #[getter]
    fn link_series(&self) -> PyResult<Table> {
        series::links(&self.results.runs)
    }

    /// What happened when: of flows, intervals and groups.
    #[getter]
    fn events(&self) -> PyResult<Table> {
        events::table(&self.results)
    }

    /// Packets of the first run, if they were asked for.
    #[getter]
    fn packets(&self) -> PyResult<Option<Table>> {
        let flows = self.results.scenario.flows.iter();
        let flows: Vec<String> = flows.map(|flow| flow.name.clone()).collect();
        let packets = self.packets.as_ref();
        packets.map(|packets| packets.table(&flows)).transpose()
    }

    /// The bytes of the result file that the command line writes.
    fn to_json(&self) -> String {
        self.results.to_json()
    }

    /// A run in the form of `iperf3 --json`.
    #[pyo3(signature = (run=0, *, interval=None))]
    fn to_iperf3(&self, run: usize, interval: Option<&str>) -> PyResult<String> {
        let place = self.results.scenario.interval_place(interval);
        let place = place.map_err(|error| PyValueError::new_err(error.to_string()))?;
        let runs = self.results.runs.len();
        self.results.to_iperf3(run, place).ok_or_else(|| {
            PyIndexError::new_err(format!(
                "there is no run {run}; there are {runs}, counted from 0"
            ))
        })
    }

    fn __repr__(&self) -> String {
        let runs = self.results.runs.len();
        format!(
            "<ebb.Result of {}, {runs} runs>",
            self.results.scenario.name
        )
    }
}

/// Which run a row is of: the columns with which every table begins.
fn of_runs<'r, R>(rows: &'r [R], run: impl Fn(&R) -> &Outcome) -> PyResult<Columns<'r, R>> {
    Columns::of(rows)
        .count("run", |row| run(row).run.into())?
        .seed("seed", |row| run(row).seed)
}
