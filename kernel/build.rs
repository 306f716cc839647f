// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the eBPF programs and writes a skeleton of each object: Rust code that knows its
//! programs, maps and structs by name and type.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::{Path, PathBuf};

fn main() {
    let kernel = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let algorithms = kernel.with_file_name("algorithms");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    rerun_on_change_of_headers(&kernel.join("bpf"));
    rerun_on_change_of_headers(&algorithms);
    rerun_on_change_of_headers(Path::new(ebb_packets::HEADERS));
    for name in [
        "receiver",
        "sender",
        "rules",
        "claims",
        "layouts",
        "replay_receiver",
        "replay_sender",
    ] {
        compile(&kernel, &algorithms, &out, name);
    }
}

fn compile(kernel: &Path, algorithms: &Path, out: &Path, name: &str) {
    let source = kernel.join(format!("bpf/{name}.bpf.c"));
    let target = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    SkeletonBuilder::new()
        .source(&source)
        .obj(out.join(format!("{name}.bpf.o")))
        .clang_args([
            "-mcpu=v3",
            "-Wall",
            "-Wextra",
            "-Werror",
            "-Wno-unused-parameter",
            &format!("-I{}", algorithms.display()),
            &format!("-I{}", ebb_packets::HEADERS),
            // Debian and Ubuntu keep <asm/types.h> there.
            &format!("-I/usr/include/{target}-linux-gnu"),
        ])
        .build_and_generate(out.join(format!("{name}.skel.rs")))
        .unwrap_or_else(|error| {
            panic!(
                "cannot compile {}: {error:#}\n(needs clang 14 or newer and linux-libc-dev)",
                source.display()
            )
        });
}

fn rerun_on_change_of_headers(directory: &Path) {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path
            .extension()
            .is_some_and(|kind| kind == "h" || kind == "c")
        {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
    println!("cargo::rerun-if-changed={}", directory.display());
}
