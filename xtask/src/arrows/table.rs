// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads the table of layers: a line for each folder, those that are used below those that use.

use anyhow::{Result, ensure};

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
pub struct Layer {
    /// The folder, which is the crate's name without `ebb-`.
    pub folder: String,
    /// Folders that it may use; all stand below it.
    pub uses: Vec<Use>,
}

/// A folder that another may use.
#[derive(Debug, PartialEq, Eq)]
pub struct Use {
    /// The folder that is used.
    pub folder: String,
    /// Whether always, by choice or in tests.
    pub kind: Kind,
}

/// When a crate uses another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whenever it is built.
    Always,
    /// With one of its features.
    Optional,
    /// In its tests, examples and benches only.
    Tests,
}

/// What the header of the table's columns begins and ends with.
const HEADER: [&str; 2] = ["folder", "uses"];

/// Reads the first table whose first column is `folder` and whose last is `uses`: names in
/// backticks, `(optional)` or `(tests)` behind a name.
///
/// Errors: there is no such table; a folder uses one that does not stand below it.
pub fn read(text: &str) -> Result<Vec<Layer>> {
    let mut lines = text.lines().map(cells);
    lines
        .by_ref()
        .find(|cells| is_header(cells))
        .ok_or_else(|| anyhow::anyhow!("no table with the columns `folder` … `uses`"))?;
    let layers: Vec<Layer> = lines
        .skip(1)
        .take_while(|cells| cells.len() > 1)
        .map(|cells| layer(&cells))
        .collect();
    for (place, layer) in layers.iter().enumerate() {
        for used in &layer.uses {
            ensure!(
                layers[place + 1..]
                    .iter()
                    .any(|below| below.folder == used.folder),
                "the table says that `{}/` uses `{}/`, which does not stand below it",
                layer.folder,
                used.folder
            );
        }
    }
    Ok(layers)
}

fn is_header(cells: &[&str]) -> bool {
    [cells.first(), cells.last()] == [HEADER.first(), HEADER.last()]
}

/// The cells of a line of a table; none of another line.
fn cells(line: &str) -> Vec<&str> {
    let inner = line
        .trim()
        .strip_prefix('|')
        .and_then(|line| line.strip_suffix('|'));
    inner.map_or_else(Vec::new, |inner| inner.split('|').map(str::trim).collect())
}

fn layer(cells: &[&str]) -> Layer {
    let uses = cells.last().map_or("", |uses| uses).split(',');
    Layer {
        folder: folder(cells[0]).to_owned(),
        uses: uses.filter(|used| used.contains('`')).map(used).collect(),
    }
}

fn used(text: &str) -> Use {
    let kind = match text {
        text if text.contains("(optional)") => Kind::Optional,
        text if text.contains("(tests)") => Kind::Tests,
        _ => Kind::Always,
    };
    Use {
        folder: folder(text).to_owned(),
        kind,
    }
}

/// What stands in backticks, without a slash behind it.
fn folder(text: &str) -> &str {
    text.split('`').nth(1).unwrap_or(text).trim_end_matches('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_found_among_others_and_read_line_by_line() {
        let text = "\
| folder | what |
|---|---|
| `a/` | one |

| folder | what | uses |
|---|---|---|
| `cli/` | all | `lab`, `link` (tests), `laws` (optional) |
| `lab/` | some | `laws` |
| `link/` | few | |
| `laws/` | none | – |

| `not/` | part | `of it` |
";
        let layers = read(text).unwrap();
        let names: Vec<_> = layers.iter().map(|layer| layer.folder.as_str()).collect();
        assert_eq!(names, ["cli", "lab", "link", "laws"]);
        let uses: Vec<_> = layers[0]
            .uses
            .iter()
            .map(|it| (it.folder.as_str(), it.kind))
            .collect();
        let expected = [
            ("lab", Kind::Always),
            ("link", Kind::Tests),
            ("laws", Kind::Optional),
        ];
        assert_eq!(uses, expected);
        assert!(layers[2].uses.is_empty() && layers[3].uses.is_empty());
    }

    #[test]
    fn an_arrow_upwards_is_refused_in_the_table_itself() {
        let text = "| folder | uses |\n|---|---|\n| `a/` | `b` |\n| `b/` | `a` |\n";
        let problem = read(text).unwrap_err().to_string();
        assert!(problem.contains("`b/` uses `a/`"), "{problem}");
        assert!(read("no table").is_err());
    }
}
