// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb demo`, short, but with everything in it.

use std::process::{Command, Output};

use ebb_kernel::requires;
use ebb_lab::judging::{Attempt, judge};

mod transfers;

fn ebb(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
    command.args(arguments);
    command
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

/// The numbers of a line of the table, without their units.
fn numbers(output: &Output, line: &str) -> Vec<f64> {
    let printed = text(&output.stdout);
    let found = printed.lines().find(|printed| printed.starts_with(line));
    let found = found.unwrap_or_else(|| panic!("no line \"{line}\" in:\n{printed}"));
    let cells = found[line.len()..].split_whitespace();
    cells.filter_map(|cell| cell.parse().ok()).collect()
}

/// Runs a demo as root, short; its progress, and the figure's words.
fn shows(what: &str, heading: &str, words: &[&str]) -> Attempt {
    let folder = tempfile::tempdir().unwrap();
    let plot = folder.path().join("new/plot");
    let arguments = ["demo", what, "--seconds", "6", "--output"];
    let output = ebb(&arguments).arg(&plot).output().unwrap();
    let progress = text(&output.stderr);
    assert!(output.status.success(), "{progress}");
    assert_eq!(progress, heading);
    let png = std::fs::read(plot.join("demo.png")).unwrap();
    assert!(png.starts_with(b"\x89PNG"));
    let svg = std::fs::read_to_string(plot.join("demo.svg")).unwrap();
    assert!(words.iter().all(|words| svg.contains(words)), "{svg}");
    let is_disturbed = text(&output.stdout).contains("DISTURBED");
    Attempt {
        wrong: misses(&output),
        disturbed: is_disturbed.then(|| "disturbed".to_owned()),
    }
}

#[test]
fn demo_measures_all_parts_and_writes_the_plot() {
    let name = "demo_measures_all_parts_and_writes_the_plot";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let heading = "1/3 nobody else\n2/3 plain curl\n3/3 ebb run -- curl\n";
    let words = ["plain curl", "Delay of the call"];
    judge(name, || shows("run", heading, &words));
}

#[test]
fn a_home_behind_a_router_is_shown_with_and_without_its_gateway() {
    let name = "a_home_behind_a_router_is_shown_with_and_without_its_gateway";
    if !ebb_kernel::requires_root(name) || !transfers::has_installed(name, &["nft"]) {
        return;
    }
    let heading = "1/3 nobody else\n2/3 no gateway\n3/3 ebb gateway\n";
    let words = ["no gateway", "console and television", "Delay of the call"];
    judge(name, || shows("gateway", heading, &words));
}

/// What is not as it must be in the table.
fn misses(output: &Output) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut expect = |line: &str, holds: &dyn Fn(&[f64]) -> bool| {
        let values = numbers(output, line);
        if !holds(&values) {
            wrong.push(format!("{line}: {values:?}"));
        }
    };
    // Alone, a page takes five round trips and the time of its bytes: about 0.83 s.
    expect("page load, median", &|pages| {
        pages.len() == 3 && (0.7..1.1).contains(&pages[0])
    });
    expect("call delay, mean", &|delays| {
        delays.len() == 3 && delays.iter().all(|ms| (50.0..160.0).contains(ms))
    });
    for line in ["download beside the person", "download, nobody else"] {
        expect(line, &|rates| {
            rates.len() == 2 && rates.iter().all(|rate| (1.0..9.7).contains(rate))
        });
    }
    wrong
}

/// `ebb demo` as an ordinary user who owns nothing but a folder; none where the machine lets no
/// such user make namespaces.
fn as_ordinary_user(folder: &std::path::Path, arguments: &[&str]) -> Option<Command> {
    const USER: u32 = 54_321;
    let may = |command: &mut Command| {
        let status = command
            .args(["unshare", "--user", "--net", "true"])
            .status();
        status.is_ok_and(|status| status.success())
    };
    let mut command = Command::new("env");
    if nix::unistd::geteuid().is_root() {
        std::os::unix::fs::chown(folder, Some(USER), Some(USER)).unwrap();
        command = Command::new("setpriv");
        let user = USER.to_string();
        command.args(["--reuid", &user, "--regid", &user, "--clear-groups", "--"]);
    }
    let mut trial = Command::new(command.get_program());
    trial.args(command.get_args());
    let what = "user namespaces for ordinary users";
    let is_there = may(&mut trial);
    if !requires(
        "an_ordinary_user_is_shown_the_user_backend",
        "namespaces",
        what,
        is_there,
    ) {
        return None;
    }
    command.arg(env!("CARGO_BIN_EXE_ebb")).args(arguments);
    command.current_dir(folder);
    Some(command)
}

#[test]
fn an_ordinary_user_is_shown_the_user_backend() {
    use std::os::unix::fs::MetadataExt;
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--seconds", "4", "--output", "plot"];
    let Some(mut demo) = as_ordinary_user(folder.path(), &arguments) else {
        return;
    };
    let output = demo.output().unwrap();
    assert!(output.status.success(), "{}", text(&output.stderr));
    let printed = text(&output.stdout);
    assert!(
        printed.contains("ebb run: by the user backend, policy sampled"),
        "{printed}"
    );
    // How fast on a busy machine is not judged here; that everything ran is.
    assert!(
        numbers(&output, "pages loaded")
            .iter()
            .all(|pages| *pages >= 1.0)
    );
    for line in ["download beside the person", "download, nobody else"] {
        let rates = numbers(&output, line);
        assert!(
            rates.len() == 2 && rates.iter().all(|rate| *rate > 0.1),
            "{line}: {rates:?}"
        );
    }
    let plot = std::fs::metadata(folder.path().join("plot/demo.png")).unwrap();
    let owner = std::fs::metadata(folder.path()).unwrap();
    assert_eq!(plot.uid(), owner.uid());
}

#[test]
fn where_namespaces_are_forbidden_the_setting_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let forbid = "echo 0 > /proc/sys/user/max_user_namespaces && exec \"$@\"";
    let mut command = Command::new("unshare");
    // Not root inside, but with what it takes to forbid.
    command.args([
        "--user",
        "--map-user=1000",
        "--map-group=1000",
        "--keep-caps",
        "--",
    ]);
    command.args(["sh", "-c", forbid, "sh", env!("CARGO_BIN_EXE_ebb"), "demo"]);
    let output = command.current_dir(folder.path()).output().unwrap();
    let told = text(&output.stderr);
    let name = "where_namespaces_are_forbidden_the_setting_is_named";
    let what = format!("user namespaces, to forbid more of them ({})", told.trim());
    if !requires(name, "namespaces", &what, told.starts_with("ebb: ")) {
        return;
    }
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("user.max_user_namespaces = 0") && told.contains("as root"),
        "{told}"
    );
}

#[test]
fn laws_of_the_other_backend_are_refused_before_anything_is_set_up() {
    let folder = tempfile::tempdir().unwrap();
    let arguments = ["demo", "--backend", "user", "--policy", "vulture"];
    let output = ebb(&arguments).current_dir(folder.path()).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert!(
        told.contains("'vulture'") && told.contains("--backend"),
        "{told}"
    );
    assert!(!folder.path().join("ebb-demo").exists());
}

#[test]
fn the_gateway_s_demo_says_in_one_line_what_it_needs() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = ebb(&["demo", "gateway"]);
    if nix::unistd::geteuid().is_root() {
        command = Command::new("setpriv");
        command.args(["--reuid=54321", "--regid=54321", "--clear-groups", "--"]);
        command.args([env!("CARGO_BIN_EXE_ebb"), "demo", "gateway"]);
    }
    let output = command.current_dir(folder.path()).output().unwrap();
    let told = text(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{told}");
    assert_eq!(
        told,
        "ebb: 'ebb demo gateway' needs root: put 'sudo' in front\n"
    );
}

#[test]
fn a_part_that_is_too_short_is_refused_with_the_bounds() {
    let output = ebb(&["demo", "--seconds", "1"]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        text(&output.stderr).contains("4..=600"),
        "{}",
        text(&output.stderr)
    );
}
