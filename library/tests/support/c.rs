// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Builds C programs with the library.

// Each test program uses its own part of this.
#![allow(dead_code)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

/// Builds a program as somebody does who has the shared library installed; answers where it is.
pub fn build_shared(source: &str, folder: &Path, libraries: &[&str]) -> PathBuf {
    let script = package().join("../scripts/shared-library");
    run(Command::new(script).arg(static_library()).arg(folder));
    let rpath = format!("-Wl,-rpath,{}", folder.display());
    let search = format!("-L{}", folder.display());
    let words = [&[&rpath[..], &search, "-lebb"], libraries].concat();
    build(source, folder, &words)
}

/// Builds a program with the static library and sanitizers; answers where it is.
pub fn build_sanitized(source: &str, folder: &Path) -> PathBuf {
    let library = static_library();
    let sanitized = "-fsanitize=address,undefined";
    let words = [
        sanitized,
        "-g",
        library.to_str().unwrap(),
        "-ldl",
        "-lm",
        "-lgcc_s",
    ];
    build(source, folder, &words)
}

/// Runs a command to its end; it must succeed. Answers what it printed.
pub fn run(command: &mut Command) -> String {
    let output = command.output();
    let output = output.unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    let status = output.status;
    assert!(status.success(), "{command:?}: {status}: {complaint}");
    String::from_utf8(output.stdout).unwrap()
}

fn package() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn build(source: &str, folder: &Path, words: &[&str]) -> PathBuf {
    let source = package().join(source);
    let program = folder.join(source.file_stem().unwrap());
    let mut cc = Command::new("cc");
    cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-pthread"])
        .arg("-o")
        .arg(&program)
        .arg(source)
        .arg("-I")
        .arg(package().join("../library/include"))
        .args(words);
    run(&mut cc);
    program
}

/// The newest that cargo has built beside this test: for tests it has no other name.
fn static_library() -> PathBuf {
    let test = std::env::current_exe().unwrap();
    let folder = fs::read_dir(test.parent().unwrap()).unwrap();
    let files = folder.map(|entry| entry.unwrap().path());
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.starts_with("libebb-") && name.ends_with(".a")
    };
    let built = |path: &PathBuf| -> SystemTime { path.metadata().unwrap().modified().unwrap() };
    let library = files.filter(is_library).max_by_key(built);
    library.expect("cargo builds the library for its tests")
}
