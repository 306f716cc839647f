// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a place in the text to the key that stands there.
use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// The key at a line and column of a file, both from 1, with those above it: `flow[1].receiver`,
/// lists counted from 0. None where there is no key, as at the beginning for one that is missing.
pub fn key_path(text: &str, line: usize, column: usize) -> Option<String> {
    let table = DeTable::parse(text).ok()?;
    let mut lines = text.split_inclusive('\n');
    let start: usize = lines.clone().take(line.checked_sub(1)?).map(str::len).sum();
    let here = lines.nth(line - 1)?;
    let into_line = here.char_indices().nth(column.checked_sub(1)?);
    let at = start + into_line.map_or(here.len(), |(offset, _)| offset);
    let mut deepest = None;
    search_table(table.get_ref(), at, "", &mut deepest);
    deepest
}

/// What is found later is the one before it, or lies within it.
fn search_table(table: &DeTable<'_>, at: usize, above: &str, deepest: &mut Option<String>) {
    for (key, value) in table.iter() {
        let path = match above {
            "" => key.get_ref().to_string(),
            _ => format!("{above}.{}", key.get_ref()),
        };
        note(key.span(), at, &path, deepest);
        search(value.get_ref(), value.span(), at, &path, deepest);
    }
}

fn search(
    value: &DeValue<'_>,
    span: Range<usize>,
    at: usize,
    path: &str,
    deepest: &mut Option<String>,
) {
    note(span, at, path, deepest);
    match value {
        DeValue::Table(table) => search_table(table, at, path, deepest),
        DeValue::Array(items) => {
            for (place, item) in items.iter().enumerate() {
                let path = format!("{path}[{place}]");
                search(item.get_ref(), item.span(), at, &path, deepest);
            }
        }
        _ => {}
    }
}

fn note(span: Range<usize>, at: usize, path: &str, deepest: &mut Option<String>) {
    if span.contains(&at) {
        *deepest = Some(path.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
duration = \"9s\"
[bottleneck]
queue = { kind = \"codel\", limit = 9 }
[[flow]]
name = \"one\"
[[flow]]
name = \"two\"
during = [\"1s\", \"5s\"]
";

    #[test]
    fn a_place_is_told_by_its_keys() {
        for (line, column, expected) in [
            (1, 1, "duration"),
            (1, 12, "duration"),
            (2, 1, "bottleneck"),
            (3, 1, "bottleneck.queue"),
            (3, 18, "bottleneck.queue.kind"),
            (4, 1, "flow[0]"),
            (6, 1, "flow[1]"),
            (7, 8, "flow[1].name"),
            (8, 17, "flow[1].during[1]"),
        ] {
            let path = key_path(TEXT, line, column);
            assert_eq!(path.as_deref(), Some(expected), "{line}:{column}");
        }
    }

    #[test]
    fn where_no_key_is_none_is_told() {
        assert_eq!(key_path(TEXT, 99, 1), None);
        assert_eq!(key_path(TEXT, 0, 0), None);
        assert_eq!(key_path("a = ", 1, 1), None);
    }
}
