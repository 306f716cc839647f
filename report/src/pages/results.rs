// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came out on one engine: pictures, values beside the paper's, and why they differ.
use ebb_experiments::{Cell, Comparison, Engine, Unit, tolerance};
use maud::{Markup, html};

use super::{by, chart, counts, runs, strips, verdict};

pub(super) fn results(comparison: &Comparison) -> Markup {
    let units = match comparison.pictures.is_empty() {
        true => units(&comparison.cells),
        false => Vec::new(),
    };
    html! {
        h2 { (by(comparison.engine)) }
        p {
            (counts(comparison.counts())) " "
            span.faint { "(" (runs(comparison)) "; Ebb " (comparison.version) ")" }
        }
        (warnings(comparison))
        @for picture in &comparison.pictures { (chart::picture(picture)) }
        @for unit in units { (strips::cells(&comparison.cells, unit)) }
        (table(comparison))
        @for missing in comparison.cells.iter().filter_map(Cell::missing_runs) {
            p { (missing) "." }
        }
        (reasons(comparison))
    }
}

/// What has to be known before anything is believed.
fn warnings(comparison: &Comparison) -> Markup {
    let by_chance = |chance: f64| {
        let percent = chance * 100.0;
        format!("; two of the simulator would be {percent:.1} % apart by chance")
    };
    html! {
        @if comparison.counts().shortened > 0 {
            p {
                strong { "Shortened: not the paper’s scenario." }
                " Its values are not judged, and stand beside the simulator’s in the same."
            }
        }
        @if let Some(apart) = comparison.goodput_apart {
            p {
                "Of all goodput " (format!("{:.1}", apart * 100.0))
                " % is elsewhere than in the simulator in the same scenario"
                (comparison.apart_by_chance.map_or_else(String::new, by_chance)) "."
            }
        }
        @if comparison.disturbed_runs > 0 {
            p {
                strong {
                    (comparison.disturbed_runs)
                    " runs were disturbed by the machine, also when repeated: do not believe them."
                }
            }
        }
    }
}

fn units(cells: &[Cell]) -> Vec<Unit> {
    let mut units = Vec::new();
    for cell in cells {
        if !units.contains(&cell.unit) {
            units.push(cell.unit);
        }
    }
    units
}

fn table(comparison: &Comparison) -> Markup {
    let is_lab = comparison.engine == Engine::Lab;
    html! {
        table.cells {
            thead {
                tr {
                    th { "what" } th { "case" } th.n { "paper" } th.n { "within" } th.n { "ours" }
                    th.n { "± (95 %)" }
                    @if is_lab { th.n { "simulator" } th.n { "apart" } }
                    th { "verdict" }
                }
            }
            tbody { @for cell in &comparison.cells { (line(cell, is_lab)) } }
        }
    }
}

fn line(cell: &Cell, is_lab: bool) -> Markup {
    let with_unit = |text: String| match cell.unit.symbol() {
        "" => text,
        symbol => format!("{text} {symbol}"),
    };
    let measured = |value: Option<f64>| match value {
        Some(value) => with_unit(cell.number(value)),
        None => "none".into(),
    };
    let paper = with_unit(format!("{}{}", cell.bound.sign(), cell.paper));
    let half = cell.half_width_95.map(|half| cell.number(half));
    let apart = cell.apart().map(|part| format!("{:+.1} %", part * 100.0));
    html! {
        tr {
            td { (cell.row) }
            td data-l="case" { (cell.case) }
            td.n data-l="paper" { (paper) }
            td.n data-l="within" { (cell.within().map(tolerance).unwrap_or_default()) }
            td.n data-l="ours" { (measured(cell.ours)) }
            td.n data-l="± (95 %)" { (half.unwrap_or_default()) }
            @if is_lab {
                td.n data-l="simulator" { (measured(cell.simulated)) }
                td.n data-l="apart" { (apart.unwrap_or_default()) }
            }
            td data-l="verdict" {
                (verdict(cell.verdict))
                @if let Some(shown) = cell.is_shown_as() { span.faint { " " (shown) } }
            }
        }
    }
}

fn reasons(comparison: &Comparison) -> Markup {
    let reasons = comparison.reasons();
    html! {
        @if !reasons.is_empty() {
            h3 { "Why ours differs" }
            ul { @for (row, why) in reasons { li { strong { (row) } ": " (why) } } }
        }
    }
}
