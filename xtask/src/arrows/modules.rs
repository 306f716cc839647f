// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looks for paths upwards between the modules of one crate: commands use what is common, and
//! nothing uses, by whatever detour, what uses it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Report, rust_files};

/// The folder whose modules stand above all others, each by itself.
const TOP: &str = "commands";

/// Who uses whom, with the first place: `file:line`.
type Edges = BTreeMap<(String, String), String>;

/// Complains of paths from what is common to a command, and of rings.
pub fn check(source: &Path, report: &mut Report) -> Result<()> {
    let mut edges = Edges::new();
    for file in rust_files(source)? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let module = module_path(file.strip_prefix(source)?);
        let Some(own) = room(&module) else { continue };
        for (line, path) in paths(&text, &module) {
            let used = room(&path).filter(|used| *used != own);
            let place = || format!("{}:{line}", file.display());
            if let Some(used) = used {
                edges.entry((own.clone(), used)).or_insert_with(place);
            }
        }
    }
    report.module_edges += edges.len();
    for ((from, to), place) in &edges {
        if to.starts_with(TOP) && !from.starts_with(TOP) {
            let problem = format!("{place}: `{from}` must not use `{to}`, which stands above it");
            report.problems.push(problem);
        } else if let Some(ring) = way(&edges, to, from, &mut Vec::new()) {
            let ring = ring.join("` → `");
            report
                .problems
                .push(format!("{place}: a ring: `{from}` → `{ring}`"));
        }
    }
    Ok(())
}

/// `commands/run.rs` is `commands::run`; `main.rs` and `lib.rs` are the root.
fn module_path(file: &Path) -> Vec<String> {
    let file = file.with_extension("");
    let mut names: Vec<_> = file
        .iter()
        .map(|name| name.to_string_lossy().into_owned())
        .collect();
    let is_folders = names.last().is_some_and(|name| name == "mod");
    let is_root = names == ["main"] || names == ["lib"];
    if is_folders || is_root {
        names.pop();
    }
    names
}

/// The room that a module belongs to: a module of the root, or a command. The root itself,
/// and the list of commands, are none: they name all.
fn room(module: &[String]) -> Option<String> {
    match module {
        [] => None,
        [top] if top == TOP => None,
        [top, command, ..] if top == TOP => Some(format!("{top}::{command}")),
        [module, ..] => Some(module.clone()),
    }
}

/// Line and module path of everything that begins with `crate::` or `super::`.
fn paths(text: &str, module: &[String]) -> Vec<(usize, Vec<String>)> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("//") {
            continue;
        }
        for (start, prefix) in starts(line) {
            let is_new =
                !line[..start].ends_with(|it: char| it.is_alphanumeric() || it == '_' || it == ':');
            let base = match prefix {
                _ if !is_new => continue,
                "crate::" => Vec::new(),
                _ => module
                    .split_last()
                    .map_or_else(Vec::new, |(_, above)| above.to_vec()),
            };
            let rest = &line[start + prefix.len()..];
            found.extend(ends(base, rest).into_iter().map(|path| (number + 1, path)));
        }
    }
    found
}

fn starts(line: &str) -> impl Iterator<Item = (usize, &str)> {
    ["crate::", "super::"]
        .into_iter()
        .flat_map(|prefix| line.match_indices(prefix))
}

/// The two names behind a prefix, further `super::` taken off; of a list in braces each first one.
fn ends(mut base: Vec<String>, mut rest: &str) -> Vec<Vec<String>> {
    while let Some(further) = rest.strip_prefix("super::") {
        base.pop();
        rest = further;
    }
    let list = rest
        .strip_prefix('{')
        .map(|list| list.split('}').next().unwrap_or_default());
    let parts = list.map_or_else(
        || vec![rest],
        |list| list.split(',').map(str::trim).collect(),
    );
    let path = |part: &str| -> Vec<String> {
        let is_end = |it: char| !(it.is_alphanumeric() || it == '_' || it == ':');
        let part = part.split(is_end).next().unwrap_or_default();
        let names = part.split("::").filter(|name| !name.is_empty()).take(2);
        base.iter()
            .cloned()
            .chain(names.map(str::to_owned))
            .collect()
    };
    parts
        .into_iter()
        .map(path)
        .filter(|path| *path != base)
        .collect()
}

/// A way along the edges, if there is one.
fn way(edges: &Edges, from: &str, to: &str, seen: &mut Vec<String>) -> Option<Vec<String>> {
    if from == to {
        return Some(vec![from.to_owned()]);
    }
    if seen.iter().any(|it| it == from) {
        return None;
    }
    seen.push(from.to_owned());
    let next = edges.keys().filter(|(user, _)| user == from);
    let rest = next
        .into_iter()
        .find_map(|(_, used)| way(edges, used, to, seen))?;
    Some([vec![from.to_owned()], rest].concat())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problems(files: &[(&str, &str)]) -> (usize, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let mut report = Report::default();
        check(root.path(), &mut report).unwrap();
        let folder = format!("{}/", root.path().display());
        let problems = report.problems.iter().map(|it| it.replace(&folder, ""));
        (report.module_edges, problems.collect())
    }

    #[test]
    fn commands_may_use_what_is_common_and_each_other_one_way() {
        let (edges, found) = problems(&[
            ("main.rs", "use commands::Command; use crate::output;"),
            ("output.rs", "// crate::commands::run is only named here\n"),
            (
                "commands/mod.rs",
                "pub mod run; use self::run; use super::commands::attach;",
            ),
            (
                "commands/run.rs",
                "use crate::output;\nuse super::super::output as same;",
            ),
            (
                "commands/attach.rs",
                "use super::run::Backend; use crate::{output, x::y};",
            ),
        ]);
        assert_eq!((edges, found), (4, Vec::new()));
    }

    #[test]
    fn a_path_from_what_is_common_to_a_command_is_named_with_its_line() {
        let (_, found) = problems(&[
            ("post.rs", "\nuse crate::commands::run::LAWS;\n"),
            ("commands/run.rs", ""),
        ]);
        assert_eq!(
            found,
            ["post.rs:2: `post` must not use `commands::run`, which stands above it"]
        );
    }

    #[test]
    fn rings_are_named_by_each_of_their_edges() {
        let (_, found) = problems(&[
            ("a.rs", "use crate::b;"),
            ("b/mod.rs", "mod inner;"),
            ("b/inner.rs", "fn f() { super::super::c::g() }"),
            ("c.rs", "use crate::a;"),
        ]);
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], "a.rs:1: a ring: `a` → `b` → `c` → `a`");
        assert!(found[1].starts_with("b/inner.rs:1: a ring"));
    }
}
