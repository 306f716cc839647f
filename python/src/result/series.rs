// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows and links over time, a row for each bin.

use ebb_scenario::{Outcome, Series};
use pyo3::PyResult;

use super::of_runs;
use crate::table::{Columns, Table};

struct Row<'a, One> {
    run: &'a Outcome,
    one: &'a One,
    bin: usize,
}

/// A row for each run, flow and bin.
pub fn flows(runs: &[Outcome]) -> PyResult<Table> {
    let rows = rows(
        runs,
        |series| &series.flows,
        |flow| flow.goodput_bits_per_s.len(),
    );
    begun(&rows)?
        .text("flow", |it| &it.one.name)?
        .maybe_number("goodput_bits_per_s", |it| {
            at(&it.one.goodput_bits_per_s, it.bin)
        })?
        .maybe_count("cwnd_bytes", |it| at(&it.one.cwnd_bytes, it.bin).flatten())?
        .maybe_count("rwnd_bytes", |it| at(&it.one.rwnd_bytes, it.bin).flatten())?
        .maybe_count("estimate_bytes", |it| {
            at(&it.one.estimate_bytes, it.bin).flatten()
        })?
        .maybe_number("rtt_ms", |it| at(&it.one.rtt_ms, it.bin).flatten())?
        .maybe_count("retransmitted_pkts", |it| {
            at(&it.one.retransmitted_pkts, it.bin)
        })?
        .finish()
}

/// A row for each run, link and bin.
pub fn links(runs: &[Outcome]) -> PyResult<Table> {
    let rows = rows(
        runs,
        |series| &series.links,
        |link| link.rate_bits_per_s.len(),
    );
    begun(&rows)?
        .text("link", |it| &it.one.name)?
        .maybe_number("rate_bits_per_s", |it| at(&it.one.rate_bits_per_s, it.bin))?
        .maybe_count("queue_pkts", |it| at(&it.one.queue_pkts, it.bin))?
        .maybe_count("queue_bytes", |it| at(&it.one.queue_bytes, it.bin))?
        .maybe_number("queue_delay_ms", |it| {
            at(&it.one.queue_delay_ms, it.bin).flatten()
        })?
        .maybe_count("dropped_pkts", |it| at(&it.one.dropped_pkts, it.bin))?
        .finish()
}

fn rows<'a, One>(
    runs: &'a [Outcome],
    ones: impl Fn(&'a Series) -> &'a Vec<One>,
    bins: impl Fn(&One) -> usize,
) -> Vec<Row<'a, One>> {
    let mut rows = Vec::new();
    for run in runs {
        for one in ones(&run.series) {
            rows.extend((0..bins(one)).map(|bin| Row { run, one, bin }));
        }
    }
    rows
}

fn begun<'r, One>(rows: &'r [Row<'_, One>]) -> PyResult<Columns<'r, Row<'r, One>>> {
    of_runs(rows, |it| it.run)?.number("time_s", |it| it.bin as f64 * it.run.series.bin_s)
}

/// Lists are empty where there is no such thing.
fn at<T: Copy>(values: &[T], bin: usize) -> Option<T> {
    values.get(bin).copied()
}
