// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Finds numbers in a C header that stand in its code without a name.
//!
//! A number has a name if it is the body of an object-like macro, `#define EBB_… 5u`. What is no
//! number of a law, and may stand bare:
//!
//! - `0` and `1`, decimal, with any suffix;
//! - what is alone between brackets, `base_us[2]`: an index, or the size of an array;
//! - the arguments of `EBB_BUILD_ASSERT`, which the compiler checks;
//! - the entries of a list, `P(…)` or `X(…)` in the body of a macro whose first parameter is that
//!   letter, and what such a list gives to another one, `EBB_A_LIST(P, 3000)`: entries name their
//!   source, or the comment above the list does.

/// A number without a name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Literal {
    /// As it is written.
    pub text: String,
    /// Line in the file, from 1.
    pub line: usize,
}

/// Every number in the code of `header` that needs a name and has none, in order.
pub fn literals(header: &str) -> Vec<Literal> {
    let mut code = without_comments(header);
    blank_directives(&mut code);
    blank_calls(&mut code, "EBB_BUILD_ASSERT(");
    blank_subscripts(&mut code);
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        let texts = numbers(line).filter(|text| !may_stand_bare(text));
        found.extend(texts.map(|text| Literal {
            text: text.to_owned(),
            line: number + 1,
        }));
    }
    found
}

/// Whether a line of code, or the body of a macro, has a number that needs a name.
pub fn has_number(code: &str) -> bool {
    numbers(code).any(|text| !may_stand_bare(text))
}

/// The same text, with spaces in place of comments, strings and characters; lines stay.
pub fn without_comments(text: &str) -> String {
    let mut code = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let skipped = match first {
            '/' if rest.starts_with("/*") => rest[2..].find("*/").map_or(rest.len(), |at| at + 4),
            '/' if rest.starts_with("//") => rest.find('\n').unwrap_or(rest.len()),
            '"' | '\'' => quoted_bytes(rest),
            _ => {
                code.push(first);
                rest = &rest[first.len_utf8()..];
                continue;
            }
        };
        push_blank(&mut code, &rest[..skipped]);
        rest = &rest[skipped..];
    }
    code
}

/// The length of the string or character that `text` begins with.
fn quoted_bytes(text: &str) -> usize {
    let mut characters = text.char_indices();
    let quote = characters.next().map(|(_, quote)| quote);
    while let Some((at, character)) = characters.next() {
        if character == '\\' {
            characters.next();
        } else if Some(character) == quote {
            return at + 1;
        }
    }
    text.len()
}

fn push_blank(code: &mut String, removed: &str) {
    code.extend(removed.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

fn blank(code: &mut String, from: usize, to: usize) {
    let mut blanked = code[..from].to_owned();
    push_blank(&mut blanked, &code[from..to]);
    blanked.push_str(&code[to..]);
    *code = blanked;
}

/// Leaves of directives the bodies of macros with parameters, and of lists not even the entries.
fn blank_directives(code: &mut String) {
    let mut from = 0;
    while from < code.len() {
        let to = logical_line_end(code, from);
        let line = code[from..to].to_owned();
        if line.starts_with('#') {
            match macro_parameter(&line) {
                None => blank(code, from, to),
                Some(parameter) => {
                    let mut body = line;
                    if ["P", "X"].contains(&parameter.as_str()) {
                        blank_calls(&mut body, &format!("{parameter}("));
                        blank_calls_with(&mut body, &parameter);
                    }
                    code.replace_range(from..to, &body);
                }
            }
        }
        from = logical_line_end(code, from) + 1;
    }
}

/// Where the line at `from` ends, with those that it continues on.
fn logical_line_end(code: &str, from: usize) -> usize {
    let mut end = from;
    loop {
        let line_end = code[end..].find('\n').map_or(code.len(), |at| end + at);
        if line_end == code.len() || !code[..line_end].ends_with('\\') {
            return line_end;
        }
        end = line_end + 1;
    }
}

/// The first parameter of a macro that has any.
fn macro_parameter(line: &str) -> Option<String> {
    let behind = line.strip_prefix("#define ")?;
    let (name, parameters) = behind.split_once('(')?;
    let is_name = !name.is_empty() && name.chars().all(is_of_a_name);
    let first = parameters.split([',', ')']).next()?;
    is_name.then(|| first.trim().to_owned())
}

/// Blanks each call that begins like this, such as `P(`, up to the parenthesis that closes it.
fn blank_calls(code: &mut String, call: &str) {
    let mut from = 0;
    while let Some(at) = code[from..].find(call).map(|at| from + at) {
        from = at + call.len();
        if !code[..at].ends_with(is_of_a_name) {
            let end = closing(code, from);
            blank(code, at, end);
        }
    }
}

/// Blanks what a list is given: the arguments of calls of which it is the first.
fn blank_calls_with(code: &mut String, parameter: &str) {
    let given = format!("({parameter},");
    let mut from = code.find(')').unwrap_or(0);
    while let Some(at) = code[from..].find(&given).map(|at| from + at) {
        let end = closing(code, at + 1);
        blank(code, at, end);
        from = at + given.len();
    }
}

/// Behind the parenthesis that closes the one in front of `from`.
fn closing(code: &str, from: usize) -> usize {
    let mut depth = 1;
    for (at, character) in code[from..].char_indices() {
        match character {
            '(' => depth += 1,
            ')' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return from + at + 1;
        }
    }
    code.len()
}

fn blank_subscripts(code: &mut String) {
    let mut from = 0;
    while let Some(at) = code[from..].find('[').map(|at| from + at + 1) {
        from = at;
        let Some(end) = code[at..].find(']').map(|end| at + end) else {
            return;
        };
        if numbers(&code[at..end]).any(|text| text == code[at..end].trim()) {
            blank(code, at, end);
        }
    }
}

/// Words that begin with a digit.
fn numbers(code: &str) -> impl Iterator<Item = &str> {
    code.split(|c: char| !is_of_a_name(c))
        .filter(|word| word.starts_with(|c: char| c.is_ascii_digit()))
}

fn is_of_a_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

fn may_stand_bare(text: &str) -> bool {
    ["0", "1"].contains(&text.trim_end_matches(['u', 'U', 'l', 'L']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(header: &str) -> Vec<(String, usize)> {
        let literals = literals(header).into_iter();
        literals
            .map(|literal| (literal.text, literal.line))
            .collect()
    }

    fn bare(header: &str) -> Vec<String> {
        found(header).into_iter().map(|(text, _)| text).collect()
    }

    #[test]
    fn a_number_in_code_is_found_with_its_line() {
        let header = "/* 7 */\nu32 f(u32 a)\n{\n\treturn a * 2 / 0x10u + 300ull;\n}\n";
        let expected = [("2", 4), ("0x10u", 4), ("300ull", 4)];
        assert_eq!(
            found(header),
            expected.map(|(text, line)| (text.to_owned(), line))
        );
    }

    #[test]
    fn shifts_comparisons_and_tables_are_code() {
        assert_eq!(bare("a = b << 10;"), ["10"]);
        assert_eq!(bare("if (a > 1000)\n"), ["1000"]);
        assert_eq!(bare("static const u8 weights[] = {5, 0, 3};"), ["5", "3"]);
        assert_eq!(bare("a = b[c + 2] + d[EBB_SIZE - 3];"), ["2", "3"]);
        assert_eq!(bare("enum { EBB_A = 4 };"), ["4"]);
    }

    #[test]
    fn nought_one_and_lone_subscripts_may_stand_bare() {
        assert_eq!(
            bare("a[2] = b[ 0 ] + 1 - 0ull + 1u;\nu8 reserved[7];"),
            [""; 0]
        );
        assert_eq!(
            bare("a = 0x1 + 01 + 10 + 0xffu;"),
            ["0x1", "01", "10", "0xffu"]
        );
    }

    #[test]
    fn names_that_hold_digits_are_no_numbers() {
        assert_eq!(bare("u64 x_x1024 = a2 + EBB_ONE_X1024;"), [""; 0]);
    }

    #[test]
    fn comments_strings_and_characters_are_no_code() {
        assert_eq!(
            bare("// 5\n/* 6\n7 */ char *a = \"8 \\\" 9\"; char b = '4'; c = 3;"),
            ["3"]
        );
    }

    #[test]
    fn a_constant_is_named_and_a_macro_s_body_is_not() {
        assert_eq!(
            bare("#define EBB_A 5u\n#define EBB_B (EBB_A * 3)\n"),
            [""; 0]
        );
        assert_eq!(
            bare("#define EBB_C(a) ((a) * 3)\n#include \"x86.h\"\n"),
            ["3"]
        );
        assert_eq!(
            found("#define EBB_C(a) \\\n\t((a) + 4)\n"),
            [("4".to_owned(), 2)]
        );
    }

    #[test]
    fn entries_of_lists_have_sources_of_their_own() {
        let list = "#define EBB_L_LIST(P, low) \\\n\tP(a, low, 500, (9 + 1), \"us\") \\\n\tP(b, 2)\n\
                    #define EBB_L_PARAMS(P) EBB_L_LIST(P, 3000)\n#define EBB_T(X) X(3, 1) X(32, 10)\n";
        assert_eq!(bare(list), [""; 0]);
        // What is no entry is no exception.
        assert_eq!(bare("#define EBB_T(X) X(3, 1) Y(7)\n"), ["7"]);
        assert_eq!(bare("P(5)\nEBB_X(6)\n"), ["5", "6"]);
    }

    #[test]
    fn what_the_compiler_asserts_is_no_rule() {
        let text = "EBB_BUILD_ASSERT(sizeof(u32) == 4,\n\t\"u32\");\na = 9;\n";
        assert_eq!(found(text), [("9".to_owned(), 3)]);
    }

    #[test]
    fn a_text_that_breaks_off_is_read_to_its_end() {
        for text in [
            "/* 5",
            "\"5",
            "EBB_BUILD_ASSERT(5",
            "#define EBB_L(P) P(5",
            "a[5",
        ] {
            literals(text);
        }
        assert_eq!(bare("#define EBB_L(a) \\"), [""; 0]);
    }
}
