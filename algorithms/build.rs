// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the laws natively.

fn main() {
    for header in [
        "contract",
        "ebb",
        "laws",
        "math",
        "timestamps",
        "types",
        "vulture",
        "vulture_cwnd",
        "vulture_params",
        "vulture_piv",
    ] {
        println!("cargo::rerun-if-changed={header}.h");
    }
    println!("cargo::rerun-if-changed=native.c");
    let mut build = cc::Build::new();
    build
        .file("native.c")
        .std("c11")
        .extra_warnings(true)
        .warnings_into_errors(true);
    // Undefined behaviour would let the kernel and user space drift apart: tests trap on it.
    if std::env::var_os("EBB_UBSAN").is_some() {
        build
            .flag("-fsanitize=undefined")
            .flag("-fsanitize-undefined-trap-on-error");
    }
    println!("cargo::rerun-if-env-changed=EBB_UBSAN");
    build.compile("ebb_native");
}
