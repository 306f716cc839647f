// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Looks for what a folder must not know of in the names of its sources: who never says
//! `BorrowedFd` or `LEASE` holds no descriptor and renews no lease, and who never says
//! `UnixStream` waits for nobody who does.

use std::path::Path;

use anyhow::{Context, Result};

use super::{Report, rust_files};
use crate::literals::without_comments;

/// Folders, and what no name there may be, or have as a word.
const FORBIDDEN: [(&str, &[&str]); 1] = [(
    "cli/src",
    &[
        "fd",
        "descriptor",
        "descriptors",
        "lease",
        "leases",
        "Attachment",
        "UnixStream",
        "UnixListener",
        "libbpf",
        "libc",
        "unsafe",
    ],
)];

/// Complains of names with such a word.
pub fn check(root: &Path, report: &mut Report) -> Result<()> {
    for (folder, words) in FORBIDDEN {
        for file in rust_files(&root.join(folder))? {
            let text =
                std::fs::read_to_string(&file).with_context(|| file.display().to_string())?;
            for (line, name, word) in found(&text, words) {
                report.problems.push(format!(
                    "{}:{line}: `{name}`: no name in {folder}/ may have the word `{word}`",
                    file.display()
                ));
            }
        }
    }
    Ok(())
}

/// Line, name and word of each name that has one of the words.
fn found<'w>(text: &str, words: &[&'w str]) -> Vec<(usize, String, &'w str)> {
    let code = without_comments(&without_lifetimes(text));
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        for name in line.split(|it: char| !(it.is_alphanumeric() || it == '_')) {
            let parts = parts(name);
            let is_meant = |word: &&&str| name == **word || parts.iter().any(|it| it == *word);
            let word = words.iter().find(is_meant);
            found.extend(word.map(|word| (number + 1, name.to_owned(), *word)));
        }
    }
    found
}

/// A quote that begins no character begins a lifetime, and is taken off: what stands behind it is
/// no text.
fn without_lifetimes(text: &str) -> String {
    let letters: Vec<char> = text.chars().collect();
    let is_of_a_name = |it: &char| it.is_alphabetic() || *it == '_';
    let is_lifetime = |at: usize| {
        letters[at] == '\''
            && letters.get(at + 1).is_some_and(is_of_a_name)
            && letters.get(at + 2) != Some(&'\'')
            && (at == 0 || !letters[at - 1].is_alphanumeric())
    };
    let kept = (0..letters.len()).filter(|at| !is_lifetime(*at));
    kept.map(|at| letters[at]).collect()
}

/// `as_raw_fd`, `AsRawFd` and `AS_RAW_FD` are `as`, `raw` and `fd`.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut was_small = false;
    for letter in name.chars() {
        if letter == '_' || (was_small && letter.is_uppercase()) {
            parts.push(String::new());
        }
        was_small = letter.is_lowercase() || letter.is_numeric();
        if letter != '_' {
            parts
                .last_mut()
                .expect("there is one from the start")
                .extend(letter.to_lowercase());
        }
    }
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_names_however_they_are_written() {
        let text = "use std::os::fd::AsFd;\nlet a = b.as_raw_fd();\nLEASE_MS; HeldLease;\n";
        let found = found(text, &["fd", "lease"]);
        let expected = [
            (1, "fd", "fd"),
            (1, "AsFd", "fd"),
            (2, "as_raw_fd", "fd"),
            (3, "LEASE_MS", "lease"),
            (3, "HeldLease", "lease"),
        ];
        let expected = expected.map(|(line, name, word)| (line, name.to_owned(), word));
        assert_eq!(found, expected);
    }

    #[test]
    fn a_name_of_several_words_is_found_whole() {
        let found = found("use a::{UnixStream, Stream};\n", &["UnixStream"]);
        assert_eq!(found, [(1, "UnixStream".to_owned(), "UnixStream")]);
    }

    #[test]
    fn a_lifetime_hides_nothing() {
        let text = "fn f<'a>(fd: &'a Fd) {}\nlet b = 'b'; lease('\\'');\n";
        let found = found(text, &["fd", "lease"]);
        let names: Vec<_> = found.iter().map(|(_, name, _)| name.as_str()).collect();
        assert_eq!(names, ["fd", "Fd", "lease"]);
    }

    #[test]
    fn words_within_others_and_in_texts_and_comments_are_not_meant() {
        let text = "kernel_release; // its lease\n/// A descriptor.\n\"fd\"; release_all(fdr);\n";
        assert_eq!(found(text, &["fd", "lease", "descriptor"]), []);
    }
}
