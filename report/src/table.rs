// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Tables for the terminal: aligned by spaces, ruled by one line, no colour needed.

use std::fmt;

/// Where a column's cells stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Align {
    /// Names and other text.
    Left,
    /// Numbers, so that their last digits and units stand under each other.
    Right,
}

#[derive(Clone, Debug)]
enum Row {
    Cells(Vec<String>),
    /// Over all columns.
    Heading(String),
}

/// A table: a title, a head, rows, and notes below; `Display` prints it.
#[derive(Clone, Debug, Default)]
pub struct Table {
    title: String,
    head: Vec<(String, Align)>,
    rows: Vec<Row>,
    notes: Vec<String>,
}

impl Table {
    /// A table with a title and without columns yet.
    pub fn new(title: impl Into<String>) -> Self {
        Self {
            title: title.into(),
            ..Self::default()
        }
    }

    /// Adds a column on the right. Columns come before rows.
    pub fn column(mut self, name: impl Into<String>, align: Align) -> Self {
        self.head.push((name.into(), align));
        self
    }

    /// Adds a row.
    ///
    /// *Panics* if it has not one cell per column: a table is built from code, not from input.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) -> &mut Self {
        let cells: Vec<String> = cells.into_iter().map(Into::into).collect();
        assert_eq!(
            cells.len(),
            self.head.len(),
            "one cell per column of \"{}\"",
            self.title
        );
        self.rows.push(Row::Cells(cells));
        self
    }

    /// Adds a line over all columns, above the rows that it holds for.
    pub fn heading(&mut self, text: impl Into<String>) -> &mut Self {
        self.rows.push(Row::Heading(text.into()));
        self
    }

    /// Adds a note; notes stand below the table and are wrapped at 80 characters.
    pub fn note(&mut self, text: impl Into<String>) -> &mut Self {
        self.notes.push(text.into());
        self
    }

    fn widths(&self) -> Vec<usize> {
        let width_of = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| match row {
                Row::Cells(cells) => Some(cells[column].chars().count()),
                Row::Heading(_) => None,
            });
            cells
                .chain([self.head[column].0.chars().count()])
                .max()
                .unwrap_or(0)
        };
        (0..self.head.len()).map(width_of).collect()
    }

    fn write_cells<'a>(
        &self,
        out: &mut fmt::Formatter<'_>,
        widths: &[usize],
        cells: impl Iterator<Item = &'a String>,
    ) -> fmt::Result {
        let mut line = String::new();
        for ((cell, &width), (_, align)) in cells.zip(widths).zip(&self.head) {
            let padding = " ".repeat(width - cell.chars().count());
            match align {
                Align::Right => line += &format!("{padding}{cell}  "),
                Align::Left => line += &format!("{cell}{padding}  "),
            }
        }
        writeln!(out, "{}", line.trim_end())
    }
}

impl fmt::Display for Table {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let widths = self.widths();
        if !self.title.is_empty() {
            writeln!(out, "{}", self.title)?;
        }
        self.write_cells(out, &widths, self.head.iter().map(|(name, _)| name))?;
        let rule = widths.iter().sum::<usize>() + 2 * widths.len().saturating_sub(1);
        writeln!(out, "{}", "-".repeat(rule))?;
        for row in &self.rows {
            match row {
                Row::Cells(cells) => self.write_cells(out, &widths, cells.iter())?,
                Row::Heading(text) => writeln!(out, "{text}")?,
            }
        }
        for note in &self.notes {
            writeln!(out, "{}", wrap(note, 80))?;
        }
        Ok(())
    }
}

/// Breaks a text at spaces so that no line is longer than `width` characters if its words allow it.
pub fn wrap(text: &str, width: usize) -> String {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines.join("\n")
}

/// Short enough for its column; the end is what can be missed.
pub fn cut(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(1)).collect();
    kept + "…"
}

#[cfg(test)]
mod tests {
    use super::*;

    fn example() -> Table {
        let mut table = Table::new("Rates")
            .column("who", Align::Left)
            .column("rate", Align::Right)
            .column("délai", Align::Right);
        table.row(["nobody else", "9.44 Mbit/s", "50 ms"]);
        table.row(["curl", "12.1 Mbit/s", "150 ms"]);
        table
    }

    #[test]
    fn numbers_end_in_the_same_column() {
        let printed = example().to_string();
        let expected = "\
Rates
who                 rate   délai
--------------------------------
nobody else  9.44 Mbit/s   50 ms
curl         12.1 Mbit/s  150 ms
";
        assert_eq!(printed, expected);
    }

    #[test]
    fn a_heading_stands_over_all_columns_and_makes_none_wider() {
        let mut table = Table::new("")
            .column("who", Align::Left)
            .column("rate", Align::Right);
        table.heading("a longer text than all columns together are");
        table.row(["curl", "12.1"]);
        let expected = "\
who   rate
----------
a longer text than all columns together are
curl  12.1
";
        assert_eq!(table.to_string(), expected);
    }

    #[test]
    fn notes_are_wrapped_at_80_characters() {
        let mut table = example();
        table.note("word ".repeat(40));
        let longest = table
            .to_string()
            .lines()
            .map(|line| line.chars().count())
            .max();
        assert_eq!(longest, Some(79));
    }

    #[test]
    #[should_panic(expected = "one cell per column")]
    fn a_row_of_another_length_is_refused() {
        example().row(["too few"]);
    }
}
