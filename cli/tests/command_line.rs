// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said about wrong usage, and what needs no root.

mod support;

use std::process::{Command, Stdio};

use nix::unistd::getuid;
use support::{Ebb, stderr, stdout};

const COMMANDS: [&str; 23] = [
    "run",
    "attach",
    "detach",
    "share",
    "gateway",
    "gateway check",
    "gateway why",
    "rules",
    "rules check",
    "rules why",
    "daemon",
    "status",
    "policies",
    "doctor",
    "demo",
    "lab shell",
    "lab run",
    "law build",
    "reproduce",
    "sim run",
    "sim sweep",
    "sim show",
    "sim check",
];

#[test]
fn an_unknown_flag_is_wrong_usage_and_named() {
    let output = Ebb::new().output(["policies", "--jsom"]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = stderr(&output);
    assert!(
        complaint.contains("'--jsom'") && complaint.contains("'--json'"),
        "{complaint}"
    );
}

#[test]
fn wrong_usage_of_run_cannot_be_taken_for_the_status_of_its_command() {
    let ebb = Ebb::new();
    assert_eq!(
        ebb.output(["run", "--nonsense", "--", "true"])
            .status
            .code(),
        Some(125)
    );
    assert_eq!(ebb.output(["run"]).status.code(), Some(125));
    assert_eq!(ebb.output(["-v", "run"]).status.code(), Some(125));
    assert_eq!(ebb.output(["run", "--help"]).status.code(), Some(0));
}

#[test]
fn a_misspelt_parameter_is_named_with_the_nearest_one() {
    let output = Ebb::new().output(["run", "--policy", "ebb:taget_us=7000", "--", "true"]);
    assert_eq!(output.status.code(), Some(125));
    let complaint = stderr(&output);
    assert!(
        complaint.contains("'taget_us' (did you mean 'target_us'?)"),
        "{complaint}"
    );
}

#[test]
fn the_laws_that_are_offered_are_those_that_can_be_had_there() {
    let ebb = Ebb::new();
    let both = ["sampled (by counters alone)", "paced (by counters alone)"];
    for (words, offered) in [
        (&["run", "--policy", "nosuch", "--", "true"][..], &both[..1]),
        (&["run", "--policy", "ledbat", "--", "true"], &both[..1]),
        (
            &["run", "--upload-policy", "sampled", "--", "true"],
            &both[1..],
        ),
        (&["attach", "--pid", "4242", "-p", "nosuch"], &both[..1]),
        (&["policies", "nosuch"], &both),
    ] {
        let output = ebb.command([]).args(words).output().unwrap();
        let complaint = stderr(&output);
        assert_ne!(output.status.code(), Some(0));
        for law in both {
            let is_offered = complaint.contains(law);
            assert_eq!(is_offered, offered.contains(&law), "{words:?}: {complaint}");
        }
    }
}

#[test]
fn a_value_out_of_bounds_is_answered_with_the_bounds() {
    let output = Ebb::new().output(["attach", "--pid", "4242", "--policy", "ebb:target_us=0"]);
    assert_eq!(output.status.code(), Some(2));
    let complaint = stderr(&output);
    assert!(
        complaint.contains("whole number from 1000 to 1000000 (us)"),
        "{complaint}"
    );
}

#[test]
fn attach_and_detach_ask_what_to_act_on() {
    for command in ["attach", "detach"] {
        let output = Ebb::new().output([command]);
        assert_eq!(output.status.code(), Some(2));
        assert!(
            stderr(&output).contains("--pid <PID>|--cgroup <PATH>"),
            "{}",
            stderr(&output)
        );
    }
}

#[test]
fn policies_lists_every_law_and_the_same_as_json() {
    let ebb = Ebb::new();
    let text = ebb.says(["policies"]);
    let start = "ebb (the default), receiver, for downloads by the kernel backend: ";
    assert!(text.starts_with(start), "{text}");
    for start in [
        "\nebb-sender (the default), sender, for uploads by the kernel backend: ",
        "\nsampled (the default), receiver, for downloads by the user backend: ",
        "\npaced (the default), sender, for uploads by the user backend: ",
    ] {
        assert!(text.contains(start), "{text}");
    }
    let laws: serde_json::Value = serde_json::from_str(&ebb.says(["policies", "--json"])).unwrap();
    let laws = laws.as_array().unwrap();
    let all: Vec<_> = ebb_algorithms::laws()
        .iter()
        .chain(ebb_algorithms::counter_laws())
        .collect();
    assert_eq!(laws.len(), all.len());
    for (law, described) in all.into_iter().zip(laws) {
        assert_eq!(described["name"], law.name);
        let backend = if law.is_for_counters() {
            "user"
        } else {
            "kernel"
        };
        assert_eq!(described["backend"], backend, "{}", law.name);
        for (param, described) in law
            .params
            .iter()
            .zip(described["params"].as_array().unwrap())
        {
            let unit = if param.unit == "1" {
                String::new()
            } else {
                format!(" {}", param.unit)
            };
            let line = format!("  {}{unit} ({} to {})", param.default, param.min, param.max);
            assert!(text.contains(&line), "{}:{}", law.name, param.name);
            assert!(text.contains(param.source), "{}:{}", law.name, param.name);
            assert_eq!(described["default"], param.default);
            assert_eq!(described["max"], param.max);
        }
    }
}

#[test]
fn policies_of_a_law_are_its_own_and_an_unknown_law_is_answered_with_the_nearest() {
    let ebb = Ebb::new();
    let vulture = ebb.says(["policies", "vulture"]);
    assert!(
        vulture.starts_with("vulture, receiver, for downloads by the kernel backend: "),
        "{vulture}"
    );
    let output = ebb.output(["policies", "vultur"]);
    assert_eq!(output.status.code(), Some(2));
    assert!(
        stderr(&output).contains("did you mean 'vulture'?"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn a_reader_that_goes_away_is_no_failure() {
    let ebb = Ebb::new();
    let mut child = ebb
        .command(["policies"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!(
        (output.status.code(), stderr(&output).as_str()),
        (Some(0), "")
    );
}

#[test]
fn every_command_has_a_help_text_with_examples_and_a_manual_page() {
    let ebb = Ebb::new();
    let directory = tempfile::tempdir().unwrap();
    ebb.says(["man", directory.path().to_str().unwrap()]);
    for command in COMMANDS {
        let help = ebb
            .command([])
            .args(command.split(' '))
            .arg("--help")
            .output()
            .unwrap();
        assert!(stdout(&help).contains("Examples:"), "{command}");
        let name = format!("ebb-{}.1", command.replace(' ', "-"));
        let page = std::fs::read_to_string(directory.path().join(name)).unwrap();
        assert!(page.contains(".SH EXAMPLES"), "{command}");
    }
    assert!(directory.path().join("ebb.1").exists());
}

/// `ebb` as an ordinary user: in a namespace that says so where the tests run as root.
fn as_ordinary_user(arguments: &[&str]) -> Command {
    let ebb = env!("CARGO_BIN_EXE_ebb");
    let mut command = Command::new(ebb);
    if nix::unistd::geteuid().is_root() {
        command = Command::new("unshare");
        command.args(["--user", "--map-user=65534", "--", ebb]);
    }
    command.args(arguments);
    command
}

#[test]
fn without_root_the_kernel_backend_refuses_and_says_both_ways_out() {
    let output = as_ordinary_user(&["run", "--backend", "kernel", "--", "echo", "ran"])
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(125));
    assert_eq!(stdout(&output), "", "the command must not have run");
    let complaint = stderr(&output);
    assert!(
        complaint.contains("sudo") && complaint.contains("--if-unavailable=run"),
        "{complaint}"
    );
}

#[test]
fn becoming_somebody_else_is_refused_by_its_option_and_not_by_the_command() {
    let words = ["run", "--if-unavailable=run", "--user"];
    let end = ["--", "echo", "ran"];
    let refused = as_ordinary_user(&[&words[..], &["root"], &end].concat()).output();
    let refused = refused.unwrap();
    let told = stderr(&refused);
    assert_eq!(
        (refused.status.code(), stdout(&refused).as_str()),
        (Some(125), ""),
        "{told}"
    );
    assert!(
        told.contains("--user root") && told.contains("sudo"),
        "{told}"
    );

    if !ebb_kernel::requires_root("root without capabilities cannot become somebody else") {
        return;
    }
    let mut command = Command::new("setpriv");
    command.args([
        "--bounding-set=-all",
        "--inh-caps=-all",
        "--",
        env!("CARGO_BIN_EXE_ebb"),
    ]);
    command.args(words).arg("nobody").args(end);
    let refused = command.output().unwrap();
    let told = stderr(&refused);
    assert_eq!(
        (refused.status.code(), stdout(&refused).as_str()),
        (Some(125), ""),
        "{told}"
    );
    assert!(
        told.contains("--user nobody") && told.contains("CAP_SETUID"),
        "{told}"
    );
}

#[test]
fn who_one_is_one_need_not_become() {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ebb"));
    if getuid().is_root() {
        command = Command::new("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups", "--"]);
        command.arg(env!("CARGO_BIN_EXE_ebb"));
    }
    let own = match getuid().is_root() {
        true => "65534".to_owned(),
        false => getuid().to_string(),
    };
    let ran = command.args(["run", "--user", &own, "--", "sh", "-c", "id -u; echo $HOME"]);
    let ran = ran.output().unwrap();
    assert_eq!(ran.status.code(), Some(0), "{}", stderr(&ran));
    assert!(
        stdout(&ran).starts_with(&format!("{own}\n/")),
        "{}",
        stdout(&ran)
    );
}

#[test]
fn without_root_run_runs_the_command_unlimited_if_told_to() {
    let words = [
        "run",
        "--backend=kernel",
        "--if-unavailable=run",
        "--",
        "sh",
        "-c",
        "echo ran; exit 7",
    ];
    let output = as_ordinary_user(&words).output().unwrap();
    assert_eq!(
        (output.status.code(), stdout(&output).as_str()),
        (Some(7), "ran\n")
    );
    assert!(
        stderr(&output).contains("without any limit"),
        "{}",
        stderr(&output)
    );
    let words = [
        "run",
        "--backend=kernel",
        "--if-unavailable=run",
        "no-such-command",
    ];
    assert_eq!(
        as_ordinary_user(&words).output().unwrap().status.code(),
        Some(127)
    );
}
