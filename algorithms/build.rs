// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the laws natively.

fn main() {
    for file in std::fs::read_dir(".")
        .expect("the crate's folder is readable")
        .flatten()
    {
        let name = file.file_name();
        if [".h", ".c"]
            .iter()
            .any(|suffix| name.to_string_lossy().ends_with(suffix))
        {
            println!("cargo::rerun-if-changed={}", name.display());
        }
    }
    let mut build = cc::Build::new();
    build
        .file("native.c")
        .file("insight.c")
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
