// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Reads of a C header just what citations need: comments, constants, lists.

use crate::literals;

/// A citation such as `[RFC6817 §2.4.2]`, as it stands in a comment or a string.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Citation {
    /// The key, `RFC6817`.
    pub key: String,
    /// What follows the `§`, `2.4.2`; empty where nothing does.
    pub section: String,
    /// Line in the file, from 1.
    pub line: usize,
}

/// A `#define` of a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Constant {
    /// The macro's name.
    pub name: String,
    /// Line in the file, from 1.
    pub line: usize,
    /// The comment above it (shared by the defines that follow it directly) or behind it.
    pub comment: String,
}

/// One `P(name, default, min, max, unit, source, what)` of a law's parameter list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// The parameter's name.
    pub name: String,
    /// Line in the file, from 1.
    pub line: usize,
    /// The sixth argument without its quotes; `None` where there are not seven arguments.
    pub source: Option<String>,
}

/// Every citation in `text`, in order; arrays in code (`[EBB_SIZE]`, `[2]`) are none.
pub fn citations(text: &str) -> Vec<Citation> {
    let mut found = Vec::new();
    for (number, line) in text.lines().enumerate() {
        for part in line.split('[').skip(1) {
            let Some((inside, _)) = part.split_once(']') else {
                continue;
            };
            let (key, section) = match inside.split_once('§') {
                Some((key, section)) => (key.trim(), section.trim()),
                None => (inside, ""),
            };
            if is_key(key) {
                found.push(Citation {
                    key: key.to_owned(),
                    section: section.to_owned(),
                    line: number + 1,
                });
            }
        }
    }
    found
}

/// Every object-like macro whose body is a number, or has one that needs a name.
pub fn constants(text: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut comment = String::new();
    let mut in_comment = false;
    for (number, line) in text.lines().enumerate() {
        let trimmed = line.trim();
        if in_comment || trimmed.starts_with("/*") {
            // Each sentence may continue over several comments, interleaved with defines.
            if !in_comment {
                comment.clear();
            }
            comment.push_str(trimmed);
            comment.push('\n');
            in_comment = !trimmed.ends_with("*/");
        } else if let Some((name, body)) = numeric_define(trimmed) {
            let behind = body.split_once("/*").map_or("", |(_, behind)| behind);
            found.push(Constant {
                name: name.to_owned(),
                line: number + 1,
                comment: format!("{comment}{behind}"),
            });
        } else {
            comment.clear();
        }
    }
    found
}

/// Every list of numbers, `#define EBB_…(X)` with entries `X(…)`; an empty one has none.
pub fn lists(text: &str) -> Vec<Constant> {
    let mut found = Vec::new();
    let mut comment = String::new();
    for (number, line) in text.lines().enumerate() {
        match line
            .strip_prefix("#define ")
            .and_then(|rest| rest.split_once("(X)"))
            .filter(|(_, entries)| !entries.is_empty())
        {
            Some((name, _)) => found.push(Constant {
                name: name.to_owned(),
                line: number + 1,
                comment: std::mem::take(&mut comment),
            }),
            None if line.starts_with("/*") || line.starts_with(" *") => {
                comment.push_str(line);
                comment.push('\n');
            }
            None => comment.clear(),
        }
    }
    found
}

/// Every entry of every parameter list, `#define EBB_…(P)` or `#define EBB_…(P, …)`.
pub fn parameters(text: &str) -> Vec<Parameter> {
    let mut found = Vec::new();
    let mut lines = text.lines().enumerate();
    while let Some((first, line)) = lines.next() {
        let is_list = line.contains("(P)") || line.contains("(P,");
        if !(line.starts_with("#define EBB_") && is_list) {
            continue;
        }
        let mut body = String::new();
        let mut last = line;
        while last.ends_with('\\') {
            let Some((_, next)) = lines.next() else { break };
            body.push_str(next.trim_end_matches('\\'));
            body.push('\n');
            last = next;
        }
        parse_entries(&body, first + 2, &mut found);
    }
    found
}

fn is_key(key: &str) -> bool {
    key.len() >= 2
        && key.starts_with(|c: char| c.is_ascii_uppercase())
        && key
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '-')
}

fn numeric_define(line: &str) -> Option<(&str, &str)> {
    let rest = line.strip_prefix("#define EBB_")?;
    let (_, body) = rest.split_once([' ', '\t'])?;
    let name = &line["#define ".len()..line.len() - body.len()].trim_end();
    let body = body.trim();
    let number = body.trim_start_matches(['(', '-', '~']);
    let is_number = number.starts_with(|c: char| c.is_ascii_digit())
        || literals::has_number(&literals::without_comments(body));
    (!name.contains('(') && is_number).then_some((*name, body))
}

fn parse_entries(body: &str, first_line: usize, found: &mut Vec<Parameter>) {
    let mut rest = body;
    while let Some(start) = rest.find("P(") {
        let line = first_line
            + body[..body.len() - rest.len() + start]
                .matches('\n')
                .count();
        let (arguments, behind) = split_arguments(&rest[start + 2..]);
        let source = (arguments.len() == 7).then(|| arguments[5].trim_matches('"').to_owned());
        let name = arguments.first().cloned().unwrap_or_default();
        found.push(Parameter { name, line, source });
        rest = behind;
    }
}

/// The arguments up to the parenthesis that closes them, and what follows it.
fn split_arguments(text: &str) -> (Vec<String>, &str) {
    let mut arguments = vec![String::new()];
    let mut depth = 0;
    let mut in_string = false;
    for (at, c) in text.char_indices() {
        match c {
            '"' => in_string = !in_string,
            '(' if !in_string => depth += 1,
            ')' if !in_string && depth == 0 => {
                return (
                    arguments.iter().map(|a| a.trim().to_owned()).collect(),
                    &text[at + 1..],
                );
            }
            ')' if !in_string => depth -= 1,
            ',' if !in_string && depth == 0 => {
                arguments.push(String::new());
                continue;
            }
            _ => {}
        }
        if let Some(last) = arguments.last_mut() {
            last.push(c);
        }
    }
    (arguments, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_keys_with_and_without_section_but_no_arrays() {
        let found = citations("/* [TCP-LP §3] and [EBB] */\nu32 a[2]; u32 b[EBB_SIZE]; x[N];\n");
        let expected = [("TCP-LP", "3", 1), ("EBB", "", 1)];
        let found: Vec<_> = found
            .iter()
            .map(|c| (c.key.as_str(), c.section.as_str(), c.line))
            .collect();
        assert_eq!(found, expected);
    }

    #[test]
    fn a_comment_covers_the_defines_that_follow_it_directly() {
        let text = "/* [A1 §2] both */\n#define EBB_A 1u\n#define EBB_B (1ull << 2)\n\n\
                    #define EBB_C 3u\n#define EBB_D 4u /* [A1 §3] */\n";
        let found = constants(text);
        let names: Vec<_> = found.iter().map(|c| (c.name.as_str(), c.line)).collect();
        assert_eq!(
            names,
            [("EBB_A", 2), ("EBB_B", 3), ("EBB_C", 5), ("EBB_D", 6)]
        );
        assert!(found[0].comment.contains("[A1 §2]") && found[1].comment.contains("[A1 §2]"));
        assert_eq!(found[2].comment, "");
        assert!(found[3].comment.contains("[A1 §3]"));
    }

    #[test]
    fn macros_that_are_no_numbers_are_no_constants() {
        let text = "#define EBB_EBB_H\n#define EBB_MAX(a, b) 1\n#define EBB_INLINE static inline\n";
        assert_eq!(constants(text), []);
    }

    #[test]
    fn reads_parameters_with_commas_and_parentheses_in_strings() {
        let text = "#define EBB_X_PARAMS(P) \\\n\tP(one_us, (1 + 2), 0, 9, \"us\", \"[A1 §1]\", \\\n\
                    \t  \"what (it is), said\") \\\n\tP(two, 1, 0, 9, \"\", \"\", \"w\")\nP(not_ours)\n";
        let found = parameters(text);
        assert_eq!(found.len(), 2);
        assert_eq!((found[0].name.as_str(), found[0].line), ("one_us", 2));
        assert_eq!(found[0].source.as_deref(), Some("[A1 §1]"));
        assert_eq!((found[1].name.as_str(), found[1].line), ("two", 4));
        assert_eq!(found[1].source.as_deref(), Some(""));
    }
}
