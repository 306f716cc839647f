// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looks for paths upwards between the modules of one crate: commands use what is common, and
//! nothing uses, by whatever detour, what uses it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::paths::paths;
use super::{Report, rust_files};

/// The folder whose modules stand above all others, each by itself.
const TOP: &str = "commands";

/// The root itself: everything.
const ALL: &str = "crate";

/// Who uses whom, with the first place: `file:line`.
type Edges = BTreeMap<(String, String), String>;

/// Complains of paths from what is common to a command, and of rings.
pub fn check(source: &Path, report: &mut Report) -> Result<()> {
    let mut edges = Edges::new();
    for file in rust_files(source)? {
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        let module = module_path(file.strip_prefix(source)?);
        let Some(own) = room(&module) else { continue };
        let paths = paths(&text, &module).with_context(|| file.display().to_string())?;
        for (line, path) in paths {
            let used = used_room(&path).filter(|used| *used != own);
            let place = || format!("{}:{line}", file.display());
            if let Some(used) = used {
                edges.entry((own.clone(), used)).or_insert_with(place);
            }
        }
    }
    report.module_edges += edges.len();
    for ((from, to), place) in &edges {
        if to == TOP || to == ALL {
            report.problems.push(format!(
                "{place}: `{from}` must not use `{to}` as a whole: name the module that is meant"
            ));
        } else if to.starts_with(TOP) && !from.starts_with(TOP) {
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

/// The room of a path that is used. Who uses the root, or the folder of commands, as a whole uses
/// whatever is in it.
fn used_room(path: &[String]) -> Option<String> {
    let whole = if path.is_empty() { ALL } else { TOP };
    room(path).or_else(|| Some(whole.to_owned()))
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
    fn no_form_of_a_path_hides_a_command() {
        let forms = [
            ("use crate::commands::{run, attach};", "commands::attach"),
            (
                "use crate::commands::{attach::{A, B}, run as go};",
                "commands::attach",
            ),
            (
                "use crate::{\n    output,\n    commands::attach,\n};",
                "commands::attach",
            ),
            (
                "use crate::{output, commands::{attach}};",
                "commands::attach",
            ),
            (
                "fn f() { g!(a, crate :: commands\n::attach::A) }",
                "commands::attach",
            ),
            (
                "mod inner { use super::super::commands::attach; }",
                "commands::attach",
            ),
            ("use self::super::commands::attach;", "commands::attach"),
        ];
        for (text, command) in forms {
            let (_, found) = problems(&[("post.rs", text), ("commands/attach.rs", "")]);
            let problem = format!("`post` must not use `{command}`, which stands above it");
            assert!(
                found.iter().any(|it| it.ends_with(&problem)),
                "{text}: {found:?}"
            );
        }
    }

    #[test]
    fn neither_all_commands_nor_the_whole_crate_may_be_used_at_once() {
        for (text, whole) in [
            ("use crate::commands::*;", "commands"),
            ("use crate::commands;", "commands"),
            ("use crate::commands as them;", "commands"),
            ("use crate::{commands::{self}};", "commands"),
            ("use super::*;", "crate"),
            ("use crate::{*};", "crate"),
        ] {
            let (_, found) = problems(&[("post.rs", text)]);
            let problem = format!(
                "post.rs:1: `post` must not use `{whole}` as a whole: name the module that is meant"
            );
            assert_eq!(found, [problem], "{text}");
        }
        let (_, found) = problems(&[("commands/run.rs", "use super::*;")]);
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn tests_may_use_what_they_test_and_visibility_is_no_use() {
        let text = "pub(in crate::commands) fn f() {}\nmod tests { use super::*; }\n\
                    // crate::commands::attach\nconst A: &str = \"crate::commands::attach\";";
        assert_eq!(problems(&[("commands/run.rs", text)]), (0, Vec::new()));
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
