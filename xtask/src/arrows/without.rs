// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Asks cargo what a crate is built with, however far below, and by whatever feature or target.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Report;

/// Packages, and what they must be built without unless a feature of theirs is asked for.
const WITHOUT: [(&str, &str); 3] = [
    ("ebb-experiments", "libbpf-rs"),
    ("ebb-report", "ebb-simulator"),
    ("ebb-report", "libbpf-rs"),
];

/// Complains of packages that are built with what they must be built without.
pub fn check(root: &Path, report: &mut Report) -> Result<()> {
    for (package, unwanted) in WITHOUT {
        report.problems.extend(problem(root, package, unwanted)?);
    }
    Ok(())
}

fn problem(root: &Path, package: &str, unwanted: &str) -> Result<Option<String>> {
    let way = way_to(&tree(root, package)?, unwanted);
    Ok(way.map(|way| {
        let way = way.join(" → ");
        format!("{package} must be built without {unwanted}: {way}")
    }))
}

/// All that a package is built with, each line the depth and a package's name.
fn tree(root: &Path, package: &str) -> Result<String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .current_dir(root)
        .args(["tree", "--package", package])
        .args([
            "--edges",
            "normal,build",
            "--prefix",
            "depth",
            "--format",
            " {p}",
        ])
        .output()
        .context("cargo tree")?;
    let message = String::from_utf8_lossy(&output.stderr);
    ensure!(
        output.status.success(),
        "cargo tree --package {package}: {message}"
    );
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// How the first package comes to be built with another, if it is.
fn way_to(tree: &str, unwanted: &str) -> Option<Vec<String>> {
    let mut way = Vec::new();
    for line in tree.lines() {
        let mut words = line.split_whitespace();
        let (Some(depth), Some(name)) = (words.next(), words.next()) else {
            continue;
        };
        way.truncate(depth.parse().ok()?);
        way.push(name.to_owned());
        if name == unwanted {
            return Some(way);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the check says of a workspace where `ebb-experiments` may use `ebb-lab`, which is
    /// built with `libbpf-rs`.
    fn found(dependencies: &str, features: &str) -> Option<String> {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let members = [
            (
                "ebb-experiments",
                format!("[features]\n{features}\n{dependencies}\n"),
            ),
            (
                "ebb-lab",
                "[dependencies]\nlibbpf-rs.path = \"../libbpf-rs\"\n".to_owned(),
            ),
            ("libbpf-rs", String::new()),
        ];
        let names: Vec<_> = members.iter().map(|(name, _)| *name).collect();
        let workspace = format!("[workspace]\nresolver = \"3\"\nmembers = {names:?}\n");
        write("Cargo.toml", &workspace);
        for (name, rest) in members {
            let package = format!("[package]\nname = \"{name}\"\nedition = \"2024\"\n{rest}");
            write(&format!("{name}/Cargo.toml"), &package);
            write(&format!("{name}/src/lib.rs"), "");
        }
        problem(root.path(), "ebb-experiments", "libbpf-rs").unwrap()
    }

    const OPTIONAL: &str = "[dependencies]\nebb-lab = { path = \"../ebb-lab\", optional = true }\n";
    const FOUND: &str = "ebb-experiments must be built without libbpf-rs: \
                         ebb-experiments → ebb-lab → libbpf-rs";

    #[test]
    fn what_only_a_feature_asks_for_is_not_built() {
        assert_eq!(found(OPTIONAL, "lab = [\"dep:ebb-lab\"]"), None);
    }

    #[test]
    fn a_dependency_and_its_way_are_named() {
        let always = OPTIONAL.replace(", optional = true", "");
        assert_eq!(found(&always, "").unwrap(), FOUND);
    }

    #[test]
    fn a_feature_that_is_on_by_itself_is_seen() {
        let features = "default = [\"lab\"]\nlab = [\"dep:ebb-lab\"]";
        assert_eq!(found(OPTIONAL, features).unwrap(), FOUND);
    }

    #[test]
    fn a_dependency_for_this_target_is_seen() {
        let always = OPTIONAL.replace(", optional = true", "");
        let unix = always.replace("[dependencies]", "[target.'cfg(unix)'.dependencies]");
        assert_eq!(found(&unix, "").unwrap(), FOUND);
    }
}
