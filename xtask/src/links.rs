// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks that the files exist that documents link to.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Documents read.
    pub documents: usize,
    /// Links to files of the repository.
    pub links: usize,
    /// One line per link to nothing: `file:line: what is wrong`.
    pub problems: Vec<String>,
}

/// Checks the Markdown files of `root`, `root/docs` and `root/algorithms`.
///
/// Errors: a directory or a file cannot be read.
pub fn check(root: &Path) -> Result<Report> {
    let mut report = Report::default();
    for directory in [
        root.to_path_buf(),
        root.join("docs"),
        root.join("algorithms"),
    ] {
        for path in documents(&directory)? {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            report.documents += 1;
            for (line, link) in links(&text) {
                report.links += 1;
                if !directory.join(link).exists() {
                    let problem = format!("{}:{line}: {link} does not exist", path.display());
                    report.problems.push(problem);
                }
            }
        }
    }
    Ok(report)
}

fn documents(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut documents = Vec::new();
    for entry in fs::read_dir(directory).with_context(|| directory.display().to_string())? {
        let path = entry?.path();
        if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(path);
        }
    }
    documents.sort();
    Ok(documents)
}

/// Line and file of each link that is neither to another site nor within the document.
fn links(text: &str) -> impl Iterator<Item = (usize, &str)> {
    text.lines().enumerate().flat_map(|(number, line)| {
        let targets = line
            .split("](")
            .skip(1)
            .filter_map(|behind| behind.split(')').next());
        let files = targets.map(|target| target.split('#').next().unwrap_or_default());
        files
            .filter(|file| !file.is_empty() && !file.contains(':'))
            .map(move |file| (number + 1, file))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_found_behind_text_and_pictures() {
        let text = "a [b](c.md) ![d](e/f.png)\n[g](https://h/i.md) [j](#k) [l](m.md#n)\n";
        let found: Vec<_> = links(text).collect();
        assert_eq!(found, [(1, "c.md"), (1, "e/f.png"), (2, "m.md")]);
    }

    #[test]
    fn a_link_to_nothing_is_named_with_its_line() {
        let root = tempfile::tempdir().unwrap();
        for directory in ["docs", "algorithms"] {
            fs::create_dir(root.path().join(directory)).unwrap();
        }
        fs::write(
            root.path().join("README.md"),
            "[a](docs/a.md)\n\n[b](docs/b.md)\n",
        )
        .unwrap();
        fs::write(root.path().join("docs/a.md"), "[up](../README.md)\n").unwrap();
        let report = check(root.path()).unwrap();
        assert_eq!((report.documents, report.links), (2, 3));
        let expected = format!(
            "{}:3: docs/b.md does not exist",
            root.path().join("README.md").display()
        );
        assert_eq!(report.problems, [expected]);
    }
}
