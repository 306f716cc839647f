// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Real transfers by real programs over emulated links: what the tests of them share.

// Each test program uses its own part of this.
#![allow(dead_code)]

use ebb_lab::emulator::{CLIENT_IPV4, DirectionReport, EmulatorReport, PathSpec, SERVER_IPV4};
use ebb_lab::judging::{Attempt, judge};
use ebb_lab::namespace::NamespaceHandle;
use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};
use rand::{Rng, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;
use std::io::Write as _;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Where the program under test gets its files: less than best effort.
pub const OURS: SocketAddr = SocketAddr::new(IpAddr::V4(SERVER_IPV4), 8081);
/// Where everybody else gets theirs: best effort.
pub const OTHERS: SocketAddr = SocketAddr::new(IpAddr::V4(SERVER_IPV4), 8080);
/// Where the program under test accepts uploads: less than best effort.
pub const UPLOADS: SocketAddr = SocketAddr::new(IpAddr::V4(CLIENT_IPV4), 8082);

/// Who has no privilege, and no files.
pub const NOBODY: u32 = 65_534;

/// The link of the figures, 10 Mbit/s with a queue of 86 packets and RTT 100 ms, both ways.
pub fn home_link() -> LinkSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(50));
    LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(86))
}

/// A path with CUBIC senders.
pub fn path_with(forward: LinkSpec) -> PathSpec {
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(forward, home_link())
    }
}

/// 10 Mbit/s and RTT 40 ms, both ways: two flows have their fair shares of it within a few seconds.
pub fn quick_path() -> PathSpec {
    let (rate, delay) = (Rate::from_mbit_per_s(10), Nanos::from_millis(20));
    let link = LinkSpec::drop_tail(rate, delay, QueueLimit::Packets(40));
    PathSpec {
        congestion_control: Some("cubic".into()),
        ..PathSpec::new(link.clone(), link)
    }
}

/// Mean rate in Mbit/s of a class between two times since the emulator began.
pub fn rate(direction: &DirectionReport, class: Class, [from, until]: [Duration; 2]) -> f64 {
    let series = &direction.series;
    let at = |time: Duration| series.epoch + Nanos(time.as_nanos() as u64);
    let bytes = series.between(class, at(from), at(until)).sent_bytes;
    bytes as f64 * 8.0 / 1e6 / (until - from).as_secs_f64()
}

/// What was found wrong in a measurement.
#[derive(Default)]
pub struct Findings {
    /// Something broke: that is wrong however busy the machine is.
    pub broken: Vec<String>,
    /// Something did not end: a link that a busy machine held up may have done that once.
    pub stuck: Vec<String>,
    /// Something was too slow, or took too much: a busy machine may have done that.
    pub slow: Vec<String>,
}

/// Judges what was slow as [`judge`] does; what breaks is wrong at once, and what is stuck again.
///
/// *Panics* with what is wrong.
pub fn expect_nothing_wrong(name: &str, measure: impl Fn() -> (Findings, EmulatorReport)) {
    let mut was_stuck = false;
    judge(name, || {
        let (findings, report) = measure();
        eprintln!("{}", report.summary());
        let Findings { broken, stuck, .. } = &findings;
        assert!(broken.is_empty(), "{}", broken.join("\n"));
        let is_stuck = !stuck.is_empty();
        assert!(!was_stuck || !is_stuck, "again: {}", stuck.join("\n"));
        was_stuck |= is_stuck;
        Attempt::over(&report, [findings.stuck, findings.slow].concat())
    });
}

/// Bytes that do not compress, the same for the same seed.
pub fn content(seed: u64, bytes: usize) -> Vec<u8> {
    let mut content = vec![0; bytes];
    Xoshiro256PlusPlus::seed_from_u64(seed).fill_bytes(&mut content);
    content
}

/// Builds `fetch.c` without any shared library and answers where it is.
pub fn build_fetch(folder: &Path) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/transfers/fetch.c");
    let program = folder.join("fetch");
    let mut cc = Command::new("cc");
    cc.args(["-static", "-O1", "-Wall", "-Werror", "-o"])
        .arg(&program)
        .arg(source);
    run(&mut cc);
    assert!(!names_a_loader(&program), "fetch is not statically linked");
    program
}

/// Whether a program is put together with shared libraries when it is started.
pub fn names_a_loader(program: &Path) -> bool {
    let elf = std::fs::read(program).unwrap();
    elf.windows(9).any(|window| window == b"/ld-linux")
}

/// Runs a command to its end; it must succeed.
pub fn run(command: &mut Command) -> String {
    let output = command
        .output()
        .unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}: {complaint}",
        output.status
    );
    String::from_utf8(output.stdout).unwrap()
}

/// A program and its arguments in a namespace, with no proxy in its way.
pub fn program(namespace: &NamespaceHandle, words: &[String]) -> Command {
    let mut command = namespace.command(&words[0]);
    command.args(&words[1..]);
    for name in [
        "http_proxy",
        "https_proxy",
        "all_proxy",
        "ALL_PROXY",
        "HTTP_PROXY",
    ] {
        command.env_remove(name);
    }
    command
}

/// The same words under `ebb run`.
pub fn yielding(words: &[String]) -> Vec<String> {
    let ebb = [env!("CARGO_BIN_EXE_ebb"), "run", "--"].map(str::to_owned);
    ebb.into_iter().chain(words.iter().cloned()).collect()
}

/// The same words as [`NOBODY`], without any capability.
pub fn as_nobody(words: &[String]) -> Vec<String> {
    let drop = [
        "setpriv",
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "--inh-caps=-all",
        "--bounding-set=-all",
        "--no-new-privs",
        "--",
    ];
    let drop = drop.into_iter().map(str::to_owned);
    drop.chain(words.iter().cloned()).collect()
}

/// A folder that everybody may look into, below /tmp: nobody has to get at the files there.
pub fn open_folder() -> tempfile::TempDir {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// Whether this machine has all these commands; if not, says what is not tried therefore.
pub fn has_installed(name: &str, commands: &[&str]) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let is_there =
        |command: &&&str| std::env::split_paths(&path).any(|folder| folder.join(command).exists());
    let missing: Vec<_> = commands
        .iter()
        .filter(|command| !is_there(command))
        .collect();
    if !missing.is_empty() {
        // Not by `eprintln!`: the harness keeps that for failures.
        let _ = writeln!(
            std::io::stderr(),
            "{name}: skipped, there is no {missing:?}"
        );
    }
    missing.is_empty()
}

/// Ebb itself, with these arguments.
pub fn ebb<const N: usize>(arguments: [&str; N]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
    command.args(arguments);
    command
}

/// Words as a command line takes them.
pub fn words<const N: usize>(words: [&str; N]) -> Vec<String> {
    words.map(str::to_owned).to_vec()
}
