// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Compiles the laws natively, and writes down what `layout.h` says of the structs in `src/`.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;

fn main() {
    rerun_on_change_of_sources(Path::new("."), true);
    write_layout();
    write_headers();
    let mut build = cc::Build::new();
    build
        .file("native.c")
        .file("insight.c")
        .file("floor.c")
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

/// `$OUT_DIR/headers.rs`: what a law of one's own is compiled with, and a number that tells these
/// from others.
fn write_headers() {
    let mut headers = BTreeMap::new();
    collect_headers(Path::new("."), true, &mut headers);
    let mut hasher = DefaultHasher::new();
    headers.hash(&mut hasher);
    let entry = |(name, text): (&String, &String)| format!("({name:?}, {text:?}),\n");
    let entries: String = headers.iter().map(entry).collect();
    let text = format!(
        "const LAYOUT: u64 = {};\nconst HEADERS: &[(&str, &str)] = &[\n{entries}];\n",
        hasher.finish()
    );
    let out = std::env::var_os("OUT_DIR").expect("set by cargo");
    std::fs::write(Path::new(&out).join("headers.rs"), text).expect("OUT_DIR is writable");
}

/// The headers here and of the laws, by their path in this folder, and `own_law.c`.
fn collect_headers(directory: &Path, has_laws: bool, headers: &mut BTreeMap<String, String>) {
    let entries = std::fs::read_dir(directory)
        .unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if has_laws && path.is_dir() && !path.ends_with("fuzz") {
            collect_headers(&path, false, headers);
        }
        if path.extension().is_some_and(|kind| kind == "h") || path.ends_with("own_law.c") {
            let text = std::fs::read_to_string(&path)
                .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
            let name = path.strip_prefix(".").unwrap_or(&path);
            headers.insert(name.to_string_lossy().into_owned(), text);
        }
    }
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

/// `$OUT_DIR/layout.rs`: assertions of sizes, offsets and numbers, from the lists in `layout.h`.
fn write_layout() {
    let header = std::fs::read_to_string("layout.h").expect("layout.h is readable");
    let numbers: String = entries(&header, "EBB_LAYOUT_NUMBERS")
        .map(|[_, value, number]| format!("const _: () = assert!({value} == {number});\n"))
        .collect();
    let text = [
        layout(&header, "EBB_LAYOUT", ""),
        layout(
            &header,
            "EBB_LAYOUT_TABLE",
            "#[cfg(target_pointer_width = \"64\")]\n",
        ),
        numbers,
    ];
    let out = std::env::var_os("OUT_DIR").expect("set by cargo");
    std::fs::write(Path::new(&out).join("layout.rs"), text.concat()).expect("OUT_DIR is writable");
}

fn layout(header: &str, lists: &str, condition: &str) -> String {
    let mut text = String::new();
    for [_, name, bytes] in entries(header, &format!("{lists}_SIZES")) {
        text += &format!("{condition}const _: () = assert!(size_of::<{name}>() == {bytes});\n");
    }
    let mut fields = BTreeMap::<&str, Vec<&str>>::new();
    for [_, name, field, bytes] in entries(header, &format!("{lists}_OFFSETS")) {
        text += &format!(
            "{condition}const _: () = assert!(std::mem::offset_of!({name}, {field}) == {bytes});\n"
        );
        fields.entry(name).or_default().push(field);
    }
    // A pattern without `..` does not compile unless it has every field.
    for (name, fields) in fields {
        let pattern = format!("{name} {{ {}: _ }}", fields.join(": _, "));
        text += &format!("{condition}const _: fn({name}) = |{pattern}| ();\n");
    }
    text
}

/// The entries `X(…)` of a list, each split at its commas.
fn entries<'a, const N: usize>(header: &'a str, list: &str) -> impl Iterator<Item = [&'a str; N]> {
    let (_, body) = header
        .split_once(&format!("#define {list}(X)"))
        .unwrap_or_else(|| panic!("layout.h has no {list}"));
    let lines = body.lines().skip(1);
    let entries = lines.map_while(|line| line.trim().strip_prefix("X("));
    entries.map(|entry| {
        let (inside, _) = entry.split_once(')').expect("an entry ends");
        let parts: Vec<&str> = inside.split(',').map(str::trim).collect();
        parts
            .try_into()
            .unwrap_or_else(|parts| panic!("layout.h: {parts:?} has another number of parts"))
    })
}
