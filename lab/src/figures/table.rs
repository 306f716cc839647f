// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables for the terminal.

/// Rows with columns as wide as needed, the first left-aligned, the others right.
pub(super) fn render(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, width))| {
                if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        let line = cells.collect::<Vec<_>>().join("  ");
        text += line.trim_end();
        text.push('\n');
    }
    text
}

/// Digits that are worth showing: shares with three places, times with one.
pub(super) fn number(metric: &str, value: f64) -> String {
    if metric.ends_with("_ms") {
        format!("{value:.1}")
    } else {
        format!("{value:.3}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn aligns_columns() {
        let row = |cells: [&str; 2]| cells.map(String::from).to_vec();
        let text = render(&[row(["policy", "share"]), row(["ebb:a=1", "0.9"])]);
        assert_eq!(text, "policy   share\nebb:a=1    0.9\n");
    }
}
