// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the laws natively.

use std::path::Path;

fn main() {
    rerun_on_change_of_sources(Path::new("."), true);
    let mut build = cc::Build::new();
    build
        .file("native.c")
        .file("insight.c")
        .include(".")
        .std("c11")
        .extra_warnings(true)
        .warnings_into_errors(true);
    // Undefined behaviour would let the kernel and user space drift apart: tests trap on it.
    if std::env::var("PROFILE").as_deref() == Ok("debug") {
        build
            .flag("-fsanitize=undefined")
            .flag("-fsanitize-undefined-trap-on-error");
    }
    build.compile("ebb_native");
}

/// The C files here, and in a folder for each law.
fn rerun_on_change_of_sources(directory: &Path, has_laws: bool) {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        let is_source = path
            .extension()
            .is_some_and(|kind| kind == "h" || kind == "c");
        if is_source {
            println!("cargo::rerun-if-changed={}", path.display());
        } else if has_laws && path.is_dir() {
            rerun_on_change_of_sources(&path, false);
        }
    }
}
