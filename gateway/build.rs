// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the eBPF programs, writes a skeleton of them, and compiles the rules natively.

use libbpf_cargo::SkeletonBuilder;
use std::env;
use std::path::{Path, PathBuf};

#[path = "build/small.rs"]
mod small;

fn main() {
    let gateway = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("set by cargo"));
    let algorithms = gateway.with_file_name("algorithms");
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("set by cargo"));
    let headers = [
        gateway.join("bpf"),
        PathBuf::from(ebb_packets::HEADERS),
        algorithms,
    ];
    for folder in &headers {
        println!("cargo::rerun-if-changed={}", folder.display());
    }
    compile_programs(&gateway.join("bpf"), &headers, &out, "gateway");
    compile_programs(&gateway.join("bpf"), &headers, &out, "layouts");
    cc::Build::new()
        .file("bpf/native.c")
        .includes(&headers)
        .std("c11")
        .extra_warnings(true)
        .warnings_into_errors(true)
        .compile("ebb_gateway_native");
}

fn compile_programs(folder: &Path, headers: &[PathBuf], out: &Path, name: &str) {
    let source = folder.join(format!("{name}.bpf.c"));
    let target = env::var("CARGO_CFG_TARGET_ARCH").expect("set by cargo");
    let mut arguments: Vec<String> = ["-mcpu=v3", "-Wall", "-Wextra", "-Werror"]
        .map(Into::into)
        .into();
    arguments.push("-Wno-unused-parameter".into());
    arguments.extend(
        headers
            .iter()
            .map(|folder| format!("-I{}", folder.display())),
    );
    // Debian and Ubuntu keep <asm/types.h> there.
    arguments.push(format!("-I/usr/include/{target}-linux-gnu"));
    let object = out.join(format!("{name}.bpf.o"));
    let mut builder = SkeletonBuilder::new();
    builder.source(&source).obj(&object).clang_args(arguments);
    builder
        .build()
        .map(|_| small::make(&object))
        .and_then(|()| builder.generate(out.join(format!("{name}.skel.rs"))))
        .unwrap_or_else(|error| {
            panic!(
                "cannot compile {}: {error:#}\n(needs clang 14 or newer and linux-libc-dev)",
                source.display()
            )
        });
}
