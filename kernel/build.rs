// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the eBPF programs and writes a skeleton of each object: Rust code that knows its
//! programs, maps and structs by name and type. Laws of one's own are compiled with the same
//! sources later: the crate has them in it.

use libbpf_cargo::SkeletonBuilder;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

/// Objects that are loaded with a law in them.
const ENDS: [&str; 2] = ["receiver", "sender"];

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
    for name in ENDS {
        take_other_objects(&out.join(format!("{name}.skel.rs")));
    }
    write_sources(&kernel.join("bpf"), &out);
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

/// Has the builder of a skeleton open the object in `data` in place of its own, if there is one, which
/// may have maps more, for its law's tables: libbpf-cargo knows only one object for each skeleton.
fn take_other_objects(skeleton: &Path) {
    let mut text = fs::read_to_string(skeleton).expect("was written just now");
    for (count, old, new) in [
        (
            1,
            "fn build_skel_config()",
            "fn build_skel_config(data: &'static [u8])",
        ),
        (1, "::new(&DATA)", "::new(data)"),
        (
            1,
            "build_skel_config()?",
            "build_skel_config(self.data.unwrap_or(&DATA))?",
        ),
        (
            1,
            "pub obj_builder: libbpf_rs::ObjectBuilder,",
            "pub obj_builder: libbpf_rs::ObjectBuilder, pub data: Option<&'static [u8]>,",
        ),
        // Before the object is loaded, and after that.
        (
            2,
            "_ => panic!(\"encountered unexpected map: `{name}`\")",
            "_ => {}",
        ),
    ] {
        let found = text.matches(old).count();
        assert_eq!(
            found, count,
            "libbpf-cargo writes its skeletons in another way: {old}"
        );
        text = text.replace(old, new);
    }
    fs::write(skeleton, text).expect("OUT_DIR is writable");
}

/// `$OUT_DIR/sources.rs`: the sources of the programs, and a number that tells these, with the
/// parser of packets, from others. The laws' headers have a number of their own.
fn write_sources(bpf: &Path, out: &Path) {
    let mut sources = BTreeMap::new();
    for folder in [bpf, Path::new(ebb_packets::HEADERS)] {
        let entries =
            fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        for path in entries.flatten().map(|entry| entry.path()) {
            let name = path
                .file_name()
                .expect("of a folder")
                .to_string_lossy()
                .into_owned();
            if name.ends_with(".h") || ENDS.iter().any(|end| name == format!("{end}.bpf.c")) {
                let text = fs::read_to_string(&path)
                    .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
                sources.insert(name, text);
            }
        }
    }
    let mut hasher = DefaultHasher::new();
    sources.hash(&mut hasher);
    let entries: String = sources
        .iter()
        .map(|(name, text)| format!("({name:?}, {text:?}),\n"))
        .collect();
    let text = format!(
        "const LAYOUT: u64 = {};\n#[cfg(feature = \"own\")]\nconst SOURCES: &[(&str, &str)] = &[\n{entries}];\n",
        hasher.finish()
    );
    fs::write(out.join("sources.rs"), text).expect("OUT_DIR is writable");
}

fn rerun_on_change_of_headers(directory: &Path) {
    let entries =
        fs::read_dir(directory).unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
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
