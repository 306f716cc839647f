// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs in five languages, with and without shared libraries, with and without a runtime of
//! their own: what each sends and receives yields, for somebody without any privilege.

use std::fs;
use std::io::Read;
use std::net::TcpStream;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use beside_others::{OURS, Run, expect_yielding};
use ebb_lab::emulator::SERVER_IPV4;
use support::Ebb;
use transfers::{NOBODY, as_nobody, has_installed, names_a_loader, open_folder, run, words};

mod support;
mod transfers;

#[path = "transfers/beside_others.rs"]
mod beside_others;
#[path = "transfers/greedy.rs"]
mod greedy;

/// A way to make a program that goes both ways.
struct Language {
    name: &'static str,
    /// The commands that have to be installed.
    needs: &'static [&'static str],
    /// Makes it in a folder, and answers how it is called.
    build: fn(&Path) -> Vec<String>,
}

const LANGUAGES: [Language; 5] = [
    Language {
        name: "C, shared libraries",
        needs: &["cc"],
        build: |folder| c(folder, false),
    },
    Language {
        name: "C, static",
        needs: &["cc"],
        build: |folder| c(folder, true),
    },
    Language {
        name: "Go",
        needs: &["go"],
        build: go,
    },
    Language {
        name: "Java",
        needs: &["javac", "java"],
        build: java,
    },
    Language {
        name: "Rust",
        needs: &["cc"],
        build: rust,
    },
];

fn source(name: &str) -> PathBuf {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    tests.join("transfers/languages").join(name)
}

fn c(folder: &Path, is_static: bool) -> Vec<String> {
    let program = folder.join("both_ways");
    let mut cc = Command::new("cc");
    cc.args(["-O1", "-Wall", "-Werror", "-pthread"]);
    if is_static {
        cc.arg("-static");
    }
    run(cc.arg("-o").arg(&program).arg(source("both_ways.c")));
    assert_eq!(names_a_loader(&program), !is_static);
    vec![program.display().to_string()]
}

/// Without cgo it has no C library, and polls its sockets by itself.
fn go(folder: &Path) -> Vec<String> {
    let program = folder.join("both_ways");
    let mut go = Command::new("go");
    go.envs([
        ("CGO_ENABLED", "0"),
        ("GO111MODULE", "off"),
        ("GOENV", "off"),
        ("GOFLAGS", ""),
        ("GOTOOLCHAIN", "local"),
    ]);
    // Its standard library is compiled once.
    let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go");
    go.env("GOCACHE", &cache).env("GOPATH", cache.join("path"));
    go.args(["build", "-o"]).arg(&program);
    run(go.arg(source("both_ways.go")));
    assert!(!names_a_loader(&program));
    vec![program.display().to_string()]
}

fn java(folder: &Path) -> Vec<String> {
    let mut javac = Command::new("javac");
    run(javac.arg("-d").arg(folder).arg(source("BothWays.java")));
    let classes = folder.display().to_string();
    words(["java", "-Xmx64m", "-cp", &classes, "BothWays"])
}

/// By the compiler of the tests: it lies beside their cargo.
fn rust(folder: &Path) -> Vec<String> {
    let program = folder.join("both_ways");
    let mut rustc = Command::new(Path::new(env!("CARGO")).with_file_name("rustc"));
    rustc.args(["--edition", "2024", "-O", "-D", "warnings", "-o"]);
    run(rustc.arg(&program).arg(source("both_ways.rs")));
    vec![program.display().to_string()]
}

/// Does what the first byte asks for.
fn talk_as_asked(mut stream: &TcpStream) {
    let mut what = [0];
    match stream.read_exact(&mut what).map(|()| what[0]) {
        Ok(b'd') => greedy::send(stream),
        Ok(b'u') => greedy::receive(stream),
        other => panic!("asked for {other:?}"),
    }
}

#[test]
fn any_binary_yields_both_ways() {
    let name = "any_binary_yields_both_ways";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let folder = open_folder();
    let languages = LANGUAGES.iter().enumerate();
    let languages = languages.filter(|(_, language)| has_installed(language.name, language.needs));
    let runs: Vec<Run> = languages
        .map(|(index, language)| {
            let own = folder.path().join(index.to_string());
            fs::create_dir(&own).unwrap();
            let ebb = words([env!("CARGO_BIN_EXE_ebb"), "run", "--"]);
            let server = words([&SERVER_IPV4.to_string(), &OURS.to_string()]);
            let all = [ebb, (language.build)(&own), server].concat();
            Run {
                name: language.name.to_owned(),
                words: as_nobody(&all),
                known_by: Some(own.display().to_string()),
            }
        })
        .collect();
    let ebb = Ebb::new();
    for (_, directory) in ebb.environment() {
        chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    expect_yielding(name, &ebb, &runs, talk_as_asked);
}
