// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Holds the manifests of the workspace against the table of layers.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result};
use toml::{Table, Value};

use super::Report;
use super::table::{Kind, Layer};

/// The command line's package is called as its program is.
const PACKAGES: [(&str, &str); 1] = [("ebb", "cli")];
/// A crate of the workspace.
struct Manifest {
    folder: String,
    /// Crates of the workspace that it uses.
    uses: Vec<(String, Kind)>,
}

/// Complains of edges that the table lacks, of those that nobody needs, and of crates without
/// a line.
pub fn check(root: &Path, layers: &[Layer], report: &mut Report) -> Result<()> {
    let manifests = read_all(root)?;
    for manifest in manifests.values() {
        report.crate_edges += manifest.uses.len();
        let file = format!("{}/Cargo.toml", manifest.folder);
        let Some(layer) = layers.iter().find(|layer| layer.folder == manifest.folder) else {
            let folder = &manifest.folder;
            report.problems.push(format!(
                "{file}: docs/design.md has no line for `{folder}/`"
            ));
            continue;
        };
        compare(&file, manifest, layer, report);
    }
    Ok(())
}

fn compare(file: &str, manifest: &Manifest, layer: &Layer, report: &mut Report) {
    for (folder, kind) in &manifest.uses {
        let allowed = layer.uses.iter().find(|used| used.folder == *folder);
        match allowed.map(|used| used.kind) {
            None => report.problems.push(format!(
                "{file}: `{}/` must not use `{folder}/`: docs/design.md has no such edge",
                manifest.folder
            )),
            Some(expected) if expected != *kind => report.problems.push(format!(
                "{file}: `{}/` uses `{folder}/` as {kind:?}, docs/design.md says {expected:?}",
                manifest.folder
            )),
            Some(_) => {}
        }
    }
    for used in &layer.uses {
        if !manifest
            .uses
            .iter()
            .any(|(folder, _)| *folder == used.folder)
        {
            report.problems.push(format!(
                "docs/design.md: `{}/` does not use `{}/` any more",
                manifest.folder, used.folder
            ));
        }
    }
}

fn read_all(root: &Path) -> Result<BTreeMap<String, Manifest>> {
    let workspace = read(&root.join("Cargo.toml"))?;
    let members = workspace["workspace"]["members"]
        .as_array()
        .context("members")?;
    let folders = members.iter().filter_map(Value::as_str);
    folders
        .map(|folder| {
            let manifest = read(&root.join(folder).join("Cargo.toml"))?;
            Ok((folder.to_owned(), Manifest::of(folder, &manifest)))
        })
        .collect()
}

fn read(path: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
    text.parse().with_context(|| path.display().to_string())
}

impl Manifest {
    fn of(folder: &str, manifest: &Table) -> Self {
        let mut uses: Vec<(String, Kind)> = Vec::new();
        for (section, dependencies) in sections(manifest) {
            for (name, value) in dependencies {
                let is_known = |used: &str| uses.iter().any(|(folder, _)| folder == used);
                match folder_of(name) {
                    // What the crate itself uses its tests may, too.
                    Some(used) if !is_known(used) => {
                        uses.push((used.to_owned(), kind(section, value)));
                    }
                    _ => {}
                }
            }
        }
        Self {
            folder: folder.to_owned(),
            uses,
        }
    }
}

/// The tables of dependencies by their kinds: the crate's own, and those for some targets.
fn sections(manifest: &Table) -> Vec<(&'static str, &Table)> {
    let targets = manifest.get("target").and_then(Value::as_table);
    let targets = targets.into_iter().flatten();
    let tables: Vec<_> = std::iter::once(manifest)
        .chain(targets.filter_map(|(_, target)| target.as_table()))
        .collect();
    let kinds = ["dependencies", "build-dependencies", "dev-dependencies"];
    let section = |kind: &'static str| {
        let tables = tables
            .iter()
            .filter_map(move |table| table.get(kind)?.as_table());
        tables.map(move |table| (kind, table))
    };
    kinds.into_iter().flat_map(section).collect()
}

fn kind(section: &str, dependency: &Value) -> Kind {
    let is_optional = dependency.get("optional").and_then(Value::as_bool);
    match section {
        "dev-dependencies" => Kind::Tests,
        _ if is_optional == Some(true) => Kind::Optional,
        _ => Kind::Always,
    }
}

/// The folder of a crate of the workspace.
fn folder_of(package: &str) -> Option<&str> {
    let named = PACKAGES.iter().find(|(name, _)| *name == package);
    named
        .map(|(_, folder)| *folder)
        .or_else(|| package.strip_prefix("ebb-"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arrows::table;

    /// A workspace in which `experiments` may use `lab` by choice and `lab` may use `laws`.
    fn problems(experiments: &str, lab: &str) -> Vec<String> {
        let root = tempfile::tempdir().unwrap();
        let members = [("experiments", experiments), ("lab", lab), ("laws", "")];
        let names = members
            .map(|(folder, _)| format!("\"{folder}\""))
            .join(", ");
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("Cargo.toml", &format!("[workspace]\nmembers = [{names}]\n"));
        for (folder, text) in members {
            write(&format!("{folder}/Cargo.toml"), text);
        }
        let layers = table::read(
            "| folder | uses |\n|---|---|\n| `experiments/` | `lab` (optional), `laws` (tests) |\n\
             | `lab/` | `laws` |\n| `laws/` | |\n",
        );
        let mut report = Report::default();
        check(root.path(), &layers.unwrap(), &mut report).unwrap();
        report.problems
    }

    const OPTIONAL: &str = "[dependencies]\nebb-lab = { workspace = true, optional = true }\n\
                            [dev-dependencies]\nebb-laws.workspace = true\n";
    const LAB: &str = "[dependencies]\nlibbpf-rs.workspace = true\nebb-laws.workspace = true\n";

    #[test]
    fn edges_of_the_table_are_right() {
        assert_eq!(problems(OPTIONAL, LAB), [""; 0]);
    }

    #[test]
    fn an_edge_that_the_table_lacks_is_named_with_its_manifest() {
        let upwards = format!("{LAB}ebb-experiments.workspace = true\n");
        let found = problems(OPTIONAL, &upwards);
        assert_eq!(found.len(), 1);
        assert!(found[0].starts_with("lab/Cargo.toml: `lab/` must not use `experiments/`"));
    }

    #[test]
    fn what_is_optional_must_stay_so() {
        let always = OPTIONAL.replace(", optional = true", "");
        let found = problems(&always, LAB);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].contains("as Always, docs/design.md says Optional"));
    }

    #[test]
    fn an_edge_for_some_targets_only_is_an_edge() {
        let upwards =
            format!("{LAB}[target.'cfg(unix)'.dependencies]\nebb-experiments.workspace = true\n");
        let found = problems(OPTIONAL, &upwards);
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("lab/Cargo.toml: `lab/` must not use `experiments/`"));
    }

    #[test]
    fn an_edge_that_nobody_needs_any_more_is_told() {
        let found = problems(OPTIONAL, "");
        assert_eq!(
            found,
            ["docs/design.md: `lab/` does not use `laws/` any more"]
        );
    }
}
