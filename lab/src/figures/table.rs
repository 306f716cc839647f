// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables for the terminal.

/// Rows with columns as wide as needed, the first left-aligned, the others right.
pub(super) fn render(rows: &[Vec<String>]) -> String {
    render_with_text(rows, 1)
}

/// The same with so many columns of text, which are left-aligned, and so is the last.
pub(super) fn render_with_text(rows: &[Vec<String>], text_columns: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let is_text = |column| column < text_columns || (text_columns > 1 && column + 1 == columns);
    let mut text = String::new();
    for row in rows {
        let cells = row.iter().zip(&widths).enumerate();
        let cells = cells.map(|(column, (cell, width))| {
            if is_text(column) {
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

/// Digits that are worth showing: three places, of times and rates fewer.
pub(super) fn number(metric: &str, value: f64) -> String {
    if metric.ends_with("_ms") || metric.ends_with("_s") && !metric.ends_with("_per_s") {
        format!("{value:.1}")
    } else if metric.ends_with("_mbit_per_s") {
        format!("{value:.2}")
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

    #[test]
    fn shows_as_many_digits_as_mean_something() {
        assert_eq!(number("queue_ms", 6.4321), "6.4");
        assert_eq!(number("recovery_s", 19.99), "20.0");
        assert_eq!(number("be_mbit_per_s", 5.9712), "5.97");
        assert_eq!(number("jain", 0.98765), "0.988");
    }
}
