// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where names stand beside values, so that lines fit a terminal and names are told whole.
use ebb_experiments::Unit;
use ebb_report::table::{Align, Table, cut};

/// Characters of a line.
pub(super) const WIDTH: usize = 80;
/// What names have, however many values there are.
pub(super) const LEAST: usize = 14;

/// Values of a row in a case.
pub(super) struct Line {
    row: String,
    case: String,
    values: Vec<String>,
}

impl Line {
    /// *Shape:* `values` has one for each head.
    pub(super) fn new(row: &str, unit: Unit, case: &str, values: Vec<String>) -> Self {
        let row = match unit.symbol() {
            "" => row.to_owned(),
            symbol => format!("{row}, {symbol}"),
        };
        Self {
            row,
            case: case.to_owned(),
            values,
        }
    }
}

/// A table of [`WIDTH`] characters: names of rows and cases before their values, or, where there
/// is no room for both, rows as headings above their cases. Columns without values are left out.
pub(super) fn named(title: String, heads: Vec<(String, Align)>, lines: &[Line]) -> Table {
    let has_values = |column: &usize| lines.iter().any(|line| !line.values[*column].is_empty());
    let columns: Vec<usize> = (0..heads.len()).filter(has_values).collect();
    let width = |column: &usize| {
        let of_lines = lines.iter().map(|line| &*line.values[*column]);
        2 + longest(&heads[*column].0, of_lines)
    };
    let taken: usize = columns.iter().map(width).sum();
    let room = WIDTH.saturating_sub(taken).max(LEAST);
    let rows = longest("what", lines.iter().map(|line| &*line.row));
    let cases = longest("case", lines.iter().map(|line| &*line.case));
    let is_beside = rows + 2 + cases <= room;

    let names: &[&str] = if is_beside {
        &["what", "case"]
    } else {
        &["case"]
    };
    let values_heads = columns.iter().map(|column| &heads[*column]);
    let mut table = headed(Table::new(title), names, values_heads);
    let mut row = "";
    for line in lines {
        let is_new = line.row != row;
        row = &line.row;
        let names = match (is_beside, is_new) {
            (true, true) => vec![line.row.clone(), line.case.clone()],
            (true, false) => vec![String::new(), line.case.clone()],
            (false, _) => vec![format!("  {}", cut(&line.case, room - 2))],
        };
        if is_new && !is_beside {
            table.heading(cut(&line.row, WIDTH));
        }
        let values = columns.iter().map(|column| line.values[*column].clone());
        table.row(names.into_iter().chain(values));
    }
    table
}

/// The columns of a table: names, then values.
fn headed<'t>(
    table: Table,
    names: &[&str],
    values: impl Iterator<Item = &'t (String, Align)>,
) -> Table {
    let names = names.iter().map(|head| (*head, Align::Left));
    let values = values.map(|(head, align)| (head.as_str(), *align));
    let all = names.chain(values);
    all.fold(table, |table, (head, align)| table.column(head, align))
}

fn longest<'t>(head: &str, texts: impl Iterator<Item = &'t str>) -> usize {
    let lengths = texts.map(|text| text.chars().count());
    lengths.fold(head.chars().count(), usize::max)
}
