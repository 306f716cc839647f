// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The command line parses, prints and exits: what holds connections is the keeper's.

use std::fs;
use std::path::{Path, PathBuf};

/// What only those know who hold connections, start processes, or wait for either.
const OTHERS: [&str; 12] = [
    "OwnedFd",
    "BorrowedFd",
    "AsFd",
    "AsRawFd",
    "RawFd",
    "UnixStream",
    "UnixListener",
    "Lease",
    "Attachment",
    "libbpf",
    "libc::",
    "unsafe",
];

#[test]
fn the_command_line_knows_no_descriptor_and_no_lease() {
    let sources = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut files = Vec::new();
    collect(&sources, &mut files);
    assert!(files.len() > 20, "{files:?}");
    let mut found = Vec::new();
    for file in files {
        let text = fs::read_to_string(&file).unwrap();
        for (number, line) in (1..).zip(text.lines()) {
            let is_code = !line.trim_start().starts_with("//");
            if let Some(word) = OTHERS.iter().find(|word| is_code && line.contains(**word)) {
                found.push(format!("{}:{number}: {word}", file.display()));
            }
        }
    }
    assert!(found.is_empty(), "{}", found.join("\n"));
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => collect(&path, files),
            false => files.push(path),
        }
    }
}
