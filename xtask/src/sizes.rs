// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks that what is long has a reason to be: files, and functions outside of tests.
//!
//! It leans on rustfmt and clang-format, which `scripts/lint` asks first: the brace that closes a
//! function stands alone in its line, as far to the left as the line that the function begins with.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, bail};

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 40;
/// How a line of a comment begins that says why a file or a function is long.
const REASON: &str = "Long because";

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Files read.
    pub files: usize,
    /// Functions outside of tests.
    pub functions: usize,
    /// One line for each that is long without a reason, or has a reason and is not long.
    pub problems: Vec<String>,
}

/// Checks all Rust and C of the repository at `root`.
///
/// Errors: git cannot list the files, or one cannot be read.
pub fn check(root: &Path) -> Result<Report> {
    let mut report = Report::default();
    for path in files(root)? {
        let file = root.join(&path);
        let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
        report.files += 1;
        let lines: Vec<&str> = text.lines().collect();
        let place = path.display().to_string();
        let has_reason = first_comment(&lines).iter().any(|line| is_reason(line));
        let problem = complaint(&place, lines.len(), FILE_LINES, has_reason);
        report.problems.extend(problem);
        for function in functions(&path, &lines) {
            report.functions += 1;
            let place = format!("{place}:{}: {}", function.line, function.name);
            let has_reason = function.has_reason;
            let problem = complaint(&place, function.lines, FUNCTION_LINES, has_reason);
            report.problems.extend(problem);
        }
    }
    Ok(report)
}

fn complaint(place: &str, lines: usize, most: usize, has_reason: bool) -> Option<String> {
    match (lines > most, has_reason) {
        (true, false) => Some(format!(
            "{place}: {lines} lines, more than {most}: split it, or say \"{REASON} …\" in its first \
             comment"
        )),
        (false, true) => Some(format!(
            "{place}: {lines} lines are not long: take \"{REASON} …\" away"
        )),
        _ => None,
    }
}

/// What git knows and what it would take, so that a new file is checked before its commit.
fn files(root: &Path) -> Result<Vec<PathBuf>> {
    let output = Command::new("git")
        .args(["ls-files", "-z", "--cached", "--others"])
        .args(["--exclude-standard", "*.rs", "*.c", "*.h"])
        .current_dir(root)
        .output()
        .context("git, which lists the files")?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        bail!("git ls-files in {}: {}", root.display(), said.trim());
    }
    let names = String::from_utf8(output.stdout).context("names of files")?;
    let names = names.split('\0').filter(|name| !name.is_empty());
    let files = names.map(PathBuf::from);
    // A file that was removed is listed until the commit.
    Ok(files.filter(|file| root.join(file).exists()).collect())
}

fn is_reason(comment: &str) -> bool {
    let said = comment.trim_start_matches(['/', '!', '*', ' ', '\t']);
    said.strip_prefix(REASON)
        .is_some_and(|reason| !reason.trim_matches(['*', '/', ' ']).is_empty())
}

fn is_comment(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("//") || line.starts_with("/*") || line.starts_with('*')
}

/// The comment of a file, directly below the line of the licence.
fn first_comment<'t>(lines: &[&'t str]) -> Vec<&'t str> {
    let behind = lines.iter().skip_while(|line| line.contains("SPDX"));
    behind
        .take_while(|line| is_comment(line))
        .copied()
        .collect()
}

#[derive(Debug, PartialEq, Eq)]
struct Function {
    name: String,
    /// Where it begins, from 1.
    line: usize,
    /// From the signature to the closing brace.
    lines: usize,
    has_reason: bool,
}

/// The functions of a file that are no tests.
fn functions(path: &Path, lines: &[&str]) -> Vec<Function> {
    let is_tests = path
        .iter()
        .any(|part| part == "tests" || part == "tests.rs");
    if is_tests {
        return Vec::new();
    }
    let end = tests_of(lines).unwrap_or(lines.len());
    let is_rust = path.extension().is_some_and(|it| it == "rs");
    let body = &lines[..end];
    let function = |first: usize| {
        let is_test = above(body, first).any(|line| line.trim() == "#[test]");
        let (name, last) = match is_rust {
            true => rust_function(body, first)?,
            false => c_function(body, first)?,
        };
        (!is_test).then(|| Function {
            name,
            line: first + 1,
            lines: last - first + 1,
            has_reason: above(body, first).any(is_reason),
        })
    };
    (0..end).filter_map(function).collect()
}

/// Where `mod tests` begins, the last in a file.
fn tests_of(lines: &[&str]) -> Option<usize> {
    let is_start = |pair: &[&str]| pair[0] == "#[cfg(test)]" && pair[1].ends_with(" {");
    lines.windows(2).position(is_start)
}

/// Name and last line of the function that begins here.
fn rust_function(lines: &[&str], first: usize) -> Option<(String, usize)> {
    let line = lines[first].trim_start();
    let indent = &lines[first][..lines[first].len() - line.len()];
    let is_before = |word: &&str| {
        word.starts_with("pub")
            || word.starts_with('"')
            || ["const", "async", "unsafe", "extern"].contains(word)
    };
    let mut words = line.split(' ').skip_while(is_before);
    let name = words
        .next()
        .filter(|word| *word == "fn")
        .and(words.next())?;
    let name = name.split(['(', '<']).next().unwrap_or(name);
    let ends = ["{", ";", "}"];
    let opening = (first..lines.len()).find(|at| ends.iter().any(|end| lines[*at].ends_with(end)));
    let opening = opening.filter(|at| lines[*at].ends_with('{'))?;
    let last =
        (opening + 1..lines.len()).find(|at| lines[*at].strip_prefix(indent) == Some("}"))?;
    Some((name.to_owned(), last))
}

/// The same for C, whose functions are never within anything.
fn c_function(lines: &[&str], first: usize) -> Option<(String, usize)> {
    let begins = |line: &str| line.starts_with(|it: char| it.is_ascii_alphabetic() || it == '_');
    let (before, _) = lines[first].split_once('(')?;
    let name = before.rsplit([' ', '*']).next()?;
    // `SEC("…")` stands in a line above the signature.
    if !begins(lines[first]) || name.is_empty() || name == before {
        return None;
    }
    let rest = first + 1..lines.len();
    let opening = rest.clone().find(|at| !lines[*at].starts_with('\t'))?;
    if lines[opening] != "{" {
        return None;
    }
    let last = rest
        .skip_while(|at| *at <= opening)
        .find(|at| lines[*at] == "}")?;
    Some((name.to_owned(), last))
}

/// Comments and attributes directly above a line.
fn above<'t>(lines: &'t [&str], first: usize) -> impl Iterator<Item = &'t str> {
    let above = lines[..first].iter().rev();
    let is_attribute = |line: &str| {
        ["#[", "SEC("]
            .iter()
            .any(|it| line.trim_start().starts_with(it))
    };
    let above = above.copied();
    above.take_while(move |line| is_comment(line) || is_attribute(line))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(path: &str, text: &str) -> Vec<(String, usize, usize, bool)> {
        let lines: Vec<&str> = text.lines().collect();
        functions(Path::new(path), &lines)
            .into_iter()
            .map(|it| (it.name, it.line, it.lines, it.has_reason))
            .collect()
    }

    #[test]
    fn functions_of_rust_go_from_the_signature_to_their_own_brace() {
        let text = "\
pub(crate) async unsafe fn one<T>(\n    it: T,\n)\nwhere\n    T: Copy,\n{\n    if it {\n    }\n}
trait Two {\n    fn two(&self);\n    fn three() {}\n}
impl Two for u8 {\n    /// Counts.\n    /// Long because it must.\n    #[inline]\n    fn two(&self) {\n    }\n}
#[test]\nfn four() {\n}
#[cfg(test)]\nmod tests {\n    fn five() {\n    }\n}\n";
        let expected = [("one".into(), 1, 9, false), ("two".into(), 18, 2, true)];
        assert_eq!(found("a/src/b.rs", text), expected);
        assert_eq!(found("a/tests/b.rs", text), []);
        assert_eq!(found("a/src/b/tests.rs", text), []);
    }

    #[test]
    fn functions_of_c_go_from_the_signature_to_the_brace_at_the_left() {
        let text = "\
#define EBB_X(a) 1\nint declared(int a);\nstruct x {\n\tint a;\n};\n
/* Long because it must. */\nSEC(\"cgroup_skb/ingress\")\nstatic u8 *one(int a,\n\t       int b)\n{
\tif (a) {\n\t}\n}\n\nint two(void)\n{\n}\n";
        let expected = [("one".into(), 9, 6, true), ("two".into(), 16, 3, false)];
        assert_eq!(found("a/b.h", text), expected);
    }

    #[test]
    fn what_is_long_has_a_reason_and_what_has_a_reason_is_long() {
        let root = tempfile::tempdir().unwrap();
        let git = Command::new("git")
            .args(["init", "--quiet"])
            .current_dir(&root)
            .status();
        assert!(git.unwrap().success());
        let spdx = "// SPDX-License-Identifier: Apache-2.0 OR MIT\n";
        let reason = "// What it is.\n// Long because it must.\n";
        let (short, long) = ("fn a() {\n}\n".to_owned(), "// b\n".repeat(400));
        let function = format!("fn a() {{\n{}}}\n", "    b();\n".repeat(39));
        for (name, text) in [
            ("1.rs", format!("{spdx}{long}")),
            ("2.rs", format!("{spdx}{reason}\n{long}")),
            ("3.rs", format!("{spdx}{reason}\n{short}")),
            ("4.rs", format!("{spdx}\n{function}")),
            ("5.rs", format!("{spdx}\n{reason}{function}")),
            ("6.rs", format!("{spdx}\n{reason}{short}")),
        ] {
            fs::write(root.path().join(name), text).unwrap();
        }
        let report = check(root.path()).unwrap();
        assert_eq!((report.files, report.functions), (6, 4));
        let problems = report.problems.iter();
        let places: Vec<_> = problems.map(|it| it.split(' ').next().unwrap()).collect();
        assert_eq!(places, ["1.rs:", "3.rs:", "4.rs:3:", "6.rs:5:"]);
    }
}
