// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the eBPF programs, writes a skeleton of them, and compiles the rules natively.

use libbpf_cargo::SkeletonBuilder;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

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
        .map(|_| make_small(&object))
        .and_then(|()| builder.generate(out.join(format!("{name}.skel.rs"))))
        .unwrap_or_else(|error| {
            panic!(
                "cannot compile {}: {error:#}\n(needs clang 14 or newer and linux-libc-dev)",
                source.display()
            )
        });
}

/// Takes away what nobody asks for on a small router, if somebody says by what (EBB_OBJCOPY): names of
/// places in the code, which clang 14 leaves there, and lines of the source, which only the verifier
/// would tell where it refuses. Together they are two fifths of the object.
fn make_small(object: &Path) {
    println!("cargo::rerun-if-env-changed=EBB_OBJCOPY");
    let Some(objcopy) = env::var_os("EBB_OBJCOPY") else {
        return;
    };
    let copy = |arguments: &[&str]| {
        let mut command = Command::new(&objcopy);
        command.args(arguments).arg(object);
        let status = command.status();
        assert!(
            status.as_ref().is_ok_and(|status| status.success()),
            "{command:?}: {status:?} (EBB_OBJCOPY names llvm-objcopy)"
        );
    };
    let section = object.with_extension("BTF.ext");
    let of_file = format!(".BTF.ext={}", section.display());
    copy(&[
        "--wildcard",
        "--strip-symbol=LBB*",
        "--dump-section",
        &of_file,
    ]);
    let whole = fs::read(&section).expect("it was just written");
    fs::write(&section, without_lines(whole)).expect("it can be written again");
    copy(&["--update-section", &of_file]);
}

/// A section `.BTF.ext` without its table of lines: the kernel's documentation of BTF, 3.2.
fn without_lines(mut section: Vec<u8>) -> Vec<u8> {
    let word_at = |place: usize| {
        let bytes = section[place..place + 4].try_into().expect("four bytes");
        u32::from_le_bytes(bytes) as usize
    };
    let (header, lines, length) = (word_at(4), word_at(16), word_at(20));
    let relocations = (header >= 32).then(|| word_at(24));
    section[20..24].fill(0);
    if let Some(place) = relocations.filter(|place| *place >= lines + length) {
        let moved = (place - length) as u32;
        section[24..28].copy_from_slice(&moved.to_le_bytes());
    }
    section.drain(header + lines..header + lines + length);
    section
}
