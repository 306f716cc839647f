// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks documents: files and headings that they link to exist, files that they name too, and
//! their lines fit a screen.

use std::collections::HashMap;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};

/// How wide a line of prose may be, in characters.
const WIDEST_LINE: usize = 100;
/// What names of files end in that documents have in backticks.
const ENDINGS: [&str; 7] = ["rs", "h", "c", "toml", "md", "csv", "py"];

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Documents read.
    pub documents: usize,
    /// Links to files of the repository, and to headings in them.
    pub links: usize,
    /// One line per problem: `file:line: what is wrong`.
    pub problems: Vec<String>,
}

/// Checks the Markdown files of `root`, `root/algorithms`, all of `root/docs`, and the
/// `README.md` of each folder of `root/experiments`.
///
/// Errors: a directory or a file cannot be read.
pub fn check(root: &Path) -> Result<Report> {
    let mut pages = HashMap::new();
    for path in documents(root)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        pages.insert(path, Page::read(&text));
    }
    let mut files = Vec::new();
    add_files(&root.canonicalize()?, &mut files)?;
    let mut report = Report {
        documents: pages.len(),
        ..Report::default()
    };
    let mut paths: Vec<_> = pages.keys().collect();
    paths.sort();
    for path in paths {
        let page = &pages[path];
        report.links += page.links.len();
        let of_links = page.links.iter().filter_map(|link| {
            let problem = wrong(path, &link.target, &pages)?;
            Some((link.line, problem))
        });
        let mut problems: Vec<_> = of_links.collect();
        let is_there = |named: &&Link| files.iter().any(|file| file.ends_with(&named.target));
        let missing = page.files.iter().filter(|named| !is_there(named));
        problems.extend(missing.map(|named| {
            let problem = format!("`{}`: no file of the repository is called so", named.target);
            (named.line, problem)
        }));
        problems.extend(page.wide_lines.iter().map(|(line, width)| {
            let problem =
                format!("{width} columns; wrap it at {WIDEST_LINE} (tables and code may be wider)");
            (*line, problem)
        }));
        problems.sort();
        let told = problems.into_iter();
        let told = told.map(|(line, problem)| format!("{}:{line}: {problem}", path.display()));
        report.problems.extend(told);
    }
    Ok(report)
}

/// What is wrong with a link in the document at `from`.
fn wrong(from: &Path, target: &str, pages: &HashMap<PathBuf, Page>) -> Option<String> {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = match file {
        "" => from.to_path_buf(),
        file => from.with_file_name(file),
    };
    let Ok(path) = path.canonicalize() else {
        return Some(format!("{file} does not exist"));
    };
    let is_missing =
        |page: &Page| !anchor.is_empty() && !page.anchors.iter().any(|it| it == anchor);
    match pages.get(&path) {
        Some(page) if is_missing(page) => Some(format!("{target}: no heading has that anchor")),
        _ => None,
    }
}

fn documents(root: &Path) -> Result<Vec<PathBuf>> {
    let root = root
        .canonicalize()
        .with_context(|| root.display().to_string())?;
    let mut documents = Vec::new();
    add_documents(&root, &mut documents)?;
    add_documents(&root.join("algorithms"), &mut documents)?;
    add_tree(&root.join("docs"), &mut documents)?;
    for path in entries(&root.join("experiments"))? {
        let page = path.join("README.md");
        if page.is_file() {
            documents.push(page);
        }
    }
    Ok(documents)
}

/// Adds the documents in a directory and in all below it.
fn add_tree(directory: &Path, documents: &mut Vec<PathBuf>) -> Result<()> {
    add_documents(directory, documents)?;
    for path in entries(directory)? {
        if path.is_dir() {
            add_tree(&path, documents)?;
        }
    }
    Ok(())
}

fn add_documents(directory: &Path, documents: &mut Vec<PathBuf>) -> Result<()> {
    let is_document = |path: &PathBuf| path.extension().is_some_and(|it| it == "md");
    documents.extend(entries(directory)?.into_iter().filter(is_document));
    Ok(())
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let context = || directory.display().to_string();
    let entries = fs::read_dir(directory).with_context(context)?;
    let paths = entries.map(|entry| Ok(entry.with_context(context)?.path()));
    paths.collect()
}

/// Every file but those that are built, and hidden ones.
fn add_files(directory: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    for path in entries(directory)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        match path.is_dir() {
            _ if name.starts_with('.') || name == "target" => {}
            true => add_files(&path, files)?,
            false => files.push(path),
        }
    }
    Ok(())
}

/// Whether it is a path of a file, with a folder, as one would type it: `src/lib.rs`.
fn is_file_name(text: &str) -> bool {
    let letters = |part: &str| {
        let is_fit = |it: char| it.is_ascii_alphanumeric() || "_-+.".contains(it);
        !part.is_empty() && part.chars().all(is_fit)
    };
    // `PAPER/EXPERIMENT.toml` stands for many.
    let is_placeholder = |part: &str| part.chars().any(|it| it.is_ascii_uppercase());
    match text.rsplit_once('.') {
        Some((stem, ending)) => {
            ENDINGS.contains(&ending)
                && stem.contains('/')
                && stem.split('/').all(letters)
                && !stem.split('/').all(is_placeholder)
        }
        None => false,
    }
}

/// What a check needs of a document.
#[derive(Debug, Default)]
struct Page {
    /// To other files of the repository and to headings.
    links: Vec<Link>,
    /// Files that stand in backticks.
    files: Vec<Link>,
    /// Of the headings, as GitHub makes them.
    anchors: Vec<String>,
    /// Number and width of the lines of prose that are too wide.
    wide_lines: Vec<(usize, usize)>,
}

#[derive(Debug, PartialEq, Eq)]
struct Link {
    line: usize,
    target: String,
}

impl Page {
    fn read(text: &str) -> Page {
        let mut page = Page::default();
        let mut unwrapped = Vec::new();
        let mut heading = None;
        for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
            match event {
                Event::Start(Tag::Link { dest_url, .. } | Tag::Image { dest_url, .. })
                    if !dest_url.contains(':') =>
                {
                    page.links.push(Link {
                        line: line_of(text, range.start),
                        target: dest_url.into_string(),
                    });
                }
                Event::Start(Tag::CodeBlock(_) | Tag::Table(_)) => unwrapped.push(range),
                Event::Start(Tag::Heading { .. }) => heading = Some(String::new()),
                Event::End(TagEnd::Heading(_)) => {
                    let title = heading.take().unwrap_or_default();
                    let anchor = anchor_of(&title, &page.anchors);
                    page.anchors.push(anchor);
                }
                Event::Text(part) | Event::Code(part) => {
                    let is_code = text[range.clone()].starts_with('`');
                    if is_code && is_file_name(&part) {
                        page.files.push(Link {
                            line: line_of(text, range.start),
                            target: part.to_string(),
                        });
                    }
                    if let Some(title) = &mut heading {
                        title.push_str(&part);
                    }
                }
                _ => {}
            }
        }
        page.wide_lines = wide_lines(text, &unwrapped);
        page
    }
}

fn line_of(text: &str, offset: usize) -> usize {
    text[..offset].matches('\n').count() + 1
}

/// The anchor that GitHub gives a heading: letters, digits, `_` and `-` in lower case, a `-`
/// for each blank; the second of the same name ends in `-1`.
fn anchor_of(title: &str, earlier: &[String]) -> String {
    let kept = |letter: &char| letter.is_alphanumeric() || " -_".contains(*letter);
    let anchor: String = title.to_lowercase().chars().filter(kept).collect();
    let anchor = anchor.replace(' ', "-");
    let mut unique = anchor.clone();
    let mut count = 0;
    while earlier.contains(&unique) {
        count += 1;
        unique = format!("{anchor}-{count}");
    }
    unique
}

/// Lines that are too wide, but for those that cannot be wrapped: code, and tables, of which
/// Markdown has each row on one line.
fn wide_lines(text: &str, unwrapped: &[Range<usize>]) -> Vec<(usize, usize)> {
    let mut found = Vec::new();
    let mut start = 0;
    for (number, line) in text.split('\n').enumerate() {
        let width = line.chars().count();
        let end = start + line.len();
        let is_unwrapped = unwrapped
            .iter()
            .any(|block| block.start < end && start < block.end);
        if width > WIDEST_LINE && !is_unwrapped {
            found.push((number + 1, width));
        }
        start = end + 1;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A repository with these documents, and what is told of it without its path.
    fn problems_of(documents: &[(&str, &str)]) -> (Report, Vec<String>) {
        let root = tempfile::tempdir().unwrap();
        for directory in [
            "docs/laws",
            "docs/notebook",
            "algorithms",
            "experiments/paper",
        ] {
            fs::create_dir_all(root.path().join(directory)).unwrap();
        }
        for (name, text) in documents {
            fs::write(root.path().join(name), text).unwrap();
        }
        let report = check(root.path()).unwrap();
        let prefix = format!("{}/", root.path().canonicalize().unwrap().display());
        let told = report.problems.iter();
        let told = told.map(|it| it.strip_prefix(&prefix).unwrap().to_owned());
        let told = told.collect();
        (report, told)
    }

    #[test]
    fn links_are_found_behind_text_and_pictures_and_not_in_code() {
        let text = "a [b](c.md) ![d](e/f.png)\n[g](https://h/i.md) [j](#k)\n`[l](m.md)` \
                    [n\no](p.md#q)\n\n```\n[r](s.md)\n```\n";
        let found = Page::read(text).links.into_iter();
        let found: Vec<_> = found.map(|it| (it.line, it.target)).collect();
        let expected = [(1, "c.md"), (1, "e/f.png"), (2, "#k"), (3, "p.md#q")];
        assert_eq!(found, expected.map(|(line, it)| (line, it.to_owned())));
    }

    #[test]
    fn a_link_to_nothing_is_named_with_its_line_in_every_folder() {
        let (report, problems) = problems_of(&[
            ("README.md", "[a](docs/a.md)\n\n[b](docs/b.md)\n"),
            ("docs/a.md", "[up](../README.md) [c](notebook/c.md)\n"),
            ("docs/laws/l.md", "[m](m.md)\n"),
            ("docs/notebook/c.md", "[n](n.md)\n"),
            ("experiments/paper/README.md", "[o](o.md)\n"),
        ]);
        assert_eq!((report.documents, report.links), (5, 7));
        let expected = [
            "README.md:3: docs/b.md does not exist",
            "docs/laws/l.md:1: m.md does not exist",
            "docs/notebook/c.md:1: n.md does not exist",
            "experiments/paper/README.md:1: o.md does not exist",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_file_in_backticks_that_is_not_there_is_named_with_its_line() {
        let text = "`docs/a.md` `laws/l.md`\n`laws/gone.rs` [`docs/old.h`](a.md)\n\n\
                    `PAPER/EXPERIMENT.toml` `one.rs` `https://a/b.rs` `a b/c.rs` `a/b.png`\n\n\
                    ```\n`laws/shown.rs`\n```\n";
        let (_, problems) = problems_of(&[("docs/a.md", text), ("docs/laws/l.md", "")]);
        let expected = [
            "docs/a.md:2: `docs/old.h`: no file of the repository is called so",
            "docs/a.md:2: `laws/gone.rs`: no file of the repository is called so",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn an_anchor_without_heading_is_named_with_its_line() {
        let headings = "# A law\n\n## §base: the `empty` queue\n\n## Twice\n\n## Twice\n";
        let links = "[a](a.md#base-the-empty-queue) [b](a.md#twice-1)\n\n[c](a.md#law) \
                     [d](#nothing)\n";
        let (_, problems) = problems_of(&[("docs/a.md", headings), ("docs/b.md", links)]);
        let expected = [
            "docs/b.md:3: #nothing: no heading has that anchor",
            "docs/b.md:3: a.md#law: no heading has that anchor",
        ];
        assert_eq!(problems, expected);
    }

    #[test]
    fn a_line_that_is_too_wide_is_named_unless_it_is_code_or_a_table() {
        let (fits, wide) = ("§".repeat(WIDEST_LINE), "§".repeat(WIDEST_LINE + 1));
        let text = format!(
            "{fits}\n{wide}\n\n```\n{wide}\n```\n\n- a\n\n  ```\n  {wide}\n  ```\n\n\
             | a |\n|---|\n| {wide} |\n\nend {wide}\n"
        );
        let (_, problems) = problems_of(&[("docs/notebook/n.md", &text)]);
        let expected = [
            "docs/notebook/n.md:2: 101 columns; wrap it at 100 (tables and code may be wider)",
            "docs/notebook/n.md:18: 105 columns; wrap it at 100 (tables and code may be wider)",
        ];
        assert_eq!(problems, expected);
    }
}
