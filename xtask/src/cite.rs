// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Checks that every number in the laws says where it comes from.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use crate::header::{self, Citation, Parameter};
use crate::literals;

/// Headers that hold no law: their numbers are the interface's own.
const INTERFACE_HEADERS: [&str; 11] = [
    "insight.h",
    "layout.h",
    "math.h",
    "native.h",
    "params.h",
    "receiver_contract.h",
    "receiver_laws.h",
    "sender_contract.h",
    "sender_laws.h",
    "types.h",
    "units.h",
];

/// Its headers are programs around the laws.
const FOLDERS_WITHOUT_LAWS: [&str; 1] = ["fuzz"];

/// What a check found.
#[derive(Debug, Default)]
pub struct Report {
    /// Headers read.
    pub headers: usize,
    /// Citations resolved or not.
    pub citations: usize,
    /// One line per problem: `file:line: what is wrong`.
    pub problems: Vec<String>,
}

/// Checks the headers in `directory` and in the folders of its laws against its `SOURCES.md`.
///
/// Errors: a file or the directory cannot be read.
pub fn check(directory: &Path) -> Result<Report> {
    let sources = read_sources(&directory.join("SOURCES.md"))?;
    let mut report = Report::default();
    for path in headers(directory)? {
        let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
        let mut check = HeaderCheck {
            path: &path,
            sources: &sources,
            report: &mut report,
        };
        check.citations(&text);
        check.literals(&text);
        if !INTERFACE_HEADERS.iter().any(|name| path.ends_with(name)) {
            check.constants(&text);
            check.lists(&text);
            check.parameters(&text);
        }
        report.headers += 1;
    }
    Ok(report)
}

/// Key to the headings of the document that the key stands for, if it is one of ours.
type Sources = BTreeMap<String, Option<Vec<String>>>;

struct HeaderCheck<'a> {
    path: &'a Path,
    sources: &'a Sources,
    report: &'a mut Report,
}

impl HeaderCheck<'_> {
    fn citations(&mut self, text: &str) {
        for citation in header::citations(text) {
            self.report.citations += 1;
            match self.sources.get(&citation.key) {
                None => {
                    let problem = format!("[{}] is not in SOURCES.md", citation.key);
                    self.problem(citation.line, &problem);
                }
                Some(Some(headings)) if !has_section(headings, &citation) => {
                    let problem =
                        format!("[{} §{}]: no such heading", citation.key, citation.section);
                    self.problem(citation.line, &problem);
                }
                Some(_) => {}
            }
        }
    }

    fn constants(&mut self, text: &str) {
        let parameters = header::parameters(text);
        for constant in header::constants(text) {
            let has_source = !header::citations(&constant.comment).is_empty();
            if !has_source && !is_alternative(&constant.comment, &parameters) {
                let problem = format!(
                    "{} has no source: put [KEY §section] above it",
                    constant.name
                );
                self.problem(constant.line, &problem);
            }
        }
    }

    fn lists(&mut self, text: &str) {
        for list in header::lists(text) {
            if header::citations(&list.comment).is_empty() {
                let problem = format!("{} has no source: put [KEY §section] above it", list.name);
                self.problem(list.line, &problem);
            }
        }
    }

    fn literals(&mut self, text: &str) {
        for literal in literals::literals(text) {
            let problem = format!(
                "{} has no name: #define it with its unit, [KEY §section] above it",
                literal.text
            );
            self.problem(literal.line, &problem);
        }
    }

    fn parameters(&mut self, text: &str) {
        for parameter in header::parameters(text) {
            let problem = match parameter.source {
                None => format!("parameter {} has not seven fields", parameter.name),
                Some(source) if header::citations(&source).is_empty() => {
                    format!("parameter {} has no source: \"{source}\"", parameter.name)
                }
                Some(_) => continue,
            };
            self.problem(parameter.line, &problem);
        }
    }

    fn problem(&mut self, line: usize, what: &str) {
        self.report
            .problems
            .push(format!("{}:{line}: {what}", self.path.display()));
    }
}

/// One of the numbered alternatives of a parameter, whose source is the parameter's: the
/// comment above them starts with its name (`loss_rule: …`), or with `*_rule` for several.
fn is_alternative(comment: &str, parameters: &[Parameter]) -> bool {
    let first_word = comment.trim_start_matches(['/', '*', ' ']);
    let starred = comment.starts_with("/* *");
    let first_word = first_word
        .split([':', ' ', '\n'])
        .next()
        .unwrap_or_default();
    parameters.iter().any(|parameter| match starred {
        true => !first_word.is_empty() && parameter.name.ends_with(first_word),
        false => parameter.name == first_word,
    })
}

fn has_section(headings: &[String], citation: &Citation) -> bool {
    let section = citation.section.to_lowercase();
    section.is_empty() || headings.iter().any(|heading| heading.contains(&section))
}

/// The shared headers, and those in a folder for each law.
fn headers(directory: &Path) -> Result<Vec<PathBuf>> {
    let mut paths = entries(directory)?;
    let folders = paths.iter().filter(|path| {
        path.is_dir() && !FOLDERS_WITHOUT_LAWS.iter().any(|name| path.ends_with(name))
    });
    for folder in folders.cloned().collect::<Vec<_>>() {
        paths.extend(entries(&folder)?);
    }
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "h"));
    paths.sort();
    Ok(paths)
}

fn entries(directory: &Path) -> Result<Vec<PathBuf>> {
    let context = || directory.display().to_string();
    fs::read_dir(directory)
        .with_context(context)?
        .map(|entry| Ok(entry.with_context(context)?.path()))
        .collect()
}

/// Reads the table `| KEY | source |`; links to documents of ours are followed for headings.
fn read_sources(path: &Path) -> Result<Sources> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    let mut sources = Sources::new();
    for line in text.lines() {
        let mut cells = line.split('|').map(str::trim);
        let (Some(""), Some(key), Some(source)) = (cells.next(), cells.next(), cells.next()) else {
            continue;
        };
        if key == "Key" || key.starts_with('-') {
            continue;
        }
        let headings = match local_link(source) {
            Some(link) => Some(read_headings(&path.with_file_name(link))?),
            None => None,
        };
        sources.insert(key.to_owned(), headings);
    }
    Ok(sources)
}

fn local_link(source: &str) -> Option<&str> {
    let (_, behind) = source.split_once("](")?;
    let (link, _) = behind.split_once(')')?;
    (link.ends_with(".md") && !link.contains("://")).then_some(link)
}

fn read_headings(path: &Path) -> Result<Vec<String>> {
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    Ok(text
        .lines()
        .filter(|line| line.starts_with('#'))
        .map(str::to_lowercase)
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOURCES: &str = "# S\n\n| Key | Source |\n|---|---|\n| A1 | A paper |\n\
                           | OURS | [doc.md](doc.md) |\n";

    fn problems_of(header: &str) -> Vec<String> {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("SOURCES.md"), SOURCES).unwrap();
        fs::write(directory.path().join("doc.md"), "# Doc\n\n## The yield\n").unwrap();
        fs::write(directory.path().join("law.h"), header).unwrap();
        let prefix = format!("{}:", directory.path().join("law.h").display());
        let report = check(directory.path()).unwrap();
        assert_eq!(report.headers, 1);
        report
            .problems
            .iter()
            .map(|p| p.strip_prefix(&prefix).unwrap().to_owned())
            .collect()
    }

    #[test]
    fn a_header_with_sources_passes() {
        let header = "/* [OURS §yield] */\n#define EBB_A 1u\n#define EBB_P_PARAMS(P) \\\n\
                      \tP(x, 1, 0, 2, \"us\", \"[A1 §7]\", \"what\")\n";
        assert_eq!(problems_of(header), [""; 0]);
    }

    #[test]
    fn a_constant_without_source_is_named() {
        let problems = problems_of("/* just so */\n#define EBB_A 1u\n");
        assert_eq!(
            problems,
            ["2: EBB_A has no source: put [KEY §section] above it"]
        );
    }

    #[test]
    fn a_bare_number_is_named() {
        let law = "EBB_INLINE u32 ebb_a(u32 b)\n{\n\treturn b * 3 / 4 + 1;\n}\n";
        let needs = "has no name: #define it with its unit, [KEY §section] above it";
        assert_eq!(
            problems_of(law),
            [format!("3: 3 {needs}"), format!("3: 4 {needs}")]
        );
    }

    #[test]
    fn a_constant_made_of_others_and_a_number_needs_a_source() {
        let header = "/* [A1 §2] */\n#define EBB_A 4u\n\n#define EBB_MASK (EBB_A - 1)\n\n\
                      #define EBB_B (EBB_A * 3)\n";
        assert_eq!(
            problems_of(header),
            ["6: EBB_B has no source: put [KEY §section] above it"]
        );
    }

    #[test]
    fn a_list_of_numbers_needs_a_source_above_it() {
        let list = "#define EBB_TICKS(X) \\\n\tX(3, 1)\n";
        assert_eq!(
            problems_of(&format!("/* [A1 §2] ticks */\n{list}")),
            [""; 0]
        );
        assert_eq!(
            problems_of(&format!("/* ticks */\n{list}")),
            ["2: EBB_TICKS has no source: put [KEY §section] above it"]
        );
    }

    #[test]
    fn parameters_of_a_list_with_arguments_are_read() {
        let header = "#define EBB_L_LIST(P, low) \\\n\tP(x, low, 0, 2, \"us\", \"ours\", \"what\")\n\
                      #define EBB_L_PARAMS(P) EBB_L_LIST(P, 7)\n";
        assert_eq!(
            problems_of(header),
            ["2: parameter x has no source: \"ours\""]
        );
    }

    #[test]
    fn alternatives_have_the_source_of_their_parameter() {
        let list =
            "#define EBB_P_PARAMS(P) \\\n\tP(x_rule, 0, 0, 2, \"choice\", \"[A1]\", \"what\")\n";
        for comment in ["/* x_rule: how */", "/* x_rule */", "/* *_rule: how */"] {
            assert_eq!(
                problems_of(&format!("{comment}\n#define EBB_A 0u\n\n{list}")),
                [""; 0]
            );
        }
        for comment in [
            "/* y_rule: how */",
            "/* how */",
            "/* *_stop: how */",
            "/* * */",
        ] {
            assert_eq!(
                problems_of(&format!("{comment}\n#define EBB_A 0u\n\n{list}")).len(),
                1
            );
        }
    }

    #[test]
    fn an_unknown_key_is_named() {
        let problems = problems_of("\n/* [B2 §1] */\n#define EBB_A 1u\n");
        assert_eq!(problems, ["2: [B2] is not in SOURCES.md"]);
    }

    #[test]
    fn a_section_that_our_document_has_not_is_named() {
        assert_eq!(
            problems_of("/* [OURS §base] */\n"),
            ["1: [OURS §base]: no such heading"]
        );
    }

    #[test]
    fn a_parameter_without_source_is_named() {
        let header = "#define EBB_P_PARAMS(P) \\\n\tP(x, 1, 0, 2, \"us\", \"ours\", \"what\") \\\n\
                      \tP(y, 1, 0)\n";
        let expected = [
            "2: parameter x has no source: \"ours\"",
            "3: parameter y has not seven fields",
        ];
        assert_eq!(problems_of(header), expected);
    }

    #[test]
    fn the_headers_in_a_laws_folder_are_read_and_the_fuzzers_are_not() {
        let directory = tempfile::tempdir().unwrap();
        fs::write(directory.path().join("SOURCES.md"), "").unwrap();
        for folder in ["ebb", "fuzz"] {
            fs::create_dir(directory.path().join(folder)).unwrap();
            let header = directory.path().join(folder).join("state.h");
            fs::write(header, "#define EBB_A 1u\n").unwrap();
        }
        let report = check(directory.path()).unwrap();
        assert_eq!(report.headers, 1);
        assert_eq!(report.problems.len(), 1);
        assert!(report.problems[0].contains("ebb/state.h:1: EBB_A has no source"));
    }

    #[test]
    fn a_missing_list_of_sources_is_an_error_that_names_it() {
        let directory = tempfile::tempdir().unwrap();
        let error = check(directory.path()).unwrap_err();
        assert!(format!("{error:#}").contains("SOURCES.md"));
    }
}
