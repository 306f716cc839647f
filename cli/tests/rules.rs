// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb rules`: what is said of rules, right and wrong; no root is needed.

mod support;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use support::{Ebb, stderr, stdout};

#[test]
fn mistakes_are_told_with_file_line_key_and_what_would_be_right() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.toml");
    let path = file.display().to_string();
    let ebb = Ebb::new();
    for (text, place, message) in [
        ("[[rule]]\nname = \"a\"\n", "a.toml:1:1", "whom is it for?"),
        (
            "[[rule]]\nname = \"a b\"\nport = 1\n",
            "a.toml:2:8",
            "a name has 1 to 64 letters",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 70000\n",
            "a.toml:3:8",
            "1 to 65535",
        ),
        (
            "[[rule]]\nname = \"a\"\nuser = \"nosuchuser\"\n",
            "a.toml:3:8",
            "there is no user `nosuchuser`",
        ),
        (
            "[[rule]]\nname = \"a\"\nservice = \"x\"\nport = 1\n",
            "a.toml:3:1",
            "did you mean `unit`?",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\npolicy = \"ebb:taget_us=1\"\n",
            "a.toml:4:10",
            "did you mean 'target_us'?",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\npolicy = \"sampled\"\n",
            "a.toml:4:10",
            "for the user backend alone",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\nminimum = \"2Mbps\"\n",
            "a.toml:4:11",
            "bits and bytes are confused here; write it like 10mbit",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\ndeadline = \"6 am\"\nsize = \"4GB\"\n",
            "a.toml:4:12",
            "as 06:00, 2026-11-26 06:00 or 1h30m; not '6 am'",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\ndeadline = \"06:00\"\n",
            "a.toml:4:12",
            "write size = \"40GB\"",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\nweight = 0\n",
            "a.toml:4:10",
            "`weight`: 0 is out of range; it can be 1 to 1000",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\npriority = 2\n",
            "a.toml:4:1",
            "did you mean `weight`?",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\nsize = \"40GB\"\n",
            "a.toml:4:8",
            "write deadline = \"06:00\"",
        ),
        (
            "[[rule]]\nname = \"a\"\nexecutable = \"/usr/bin/restic\"\n",
            "a.toml:3:14",
            "the name of the file alone",
        ),
        (
            "[[rule]]\nname = \"a\"\ncgroup = \"system.slice\"\n",
            "a.toml:3:10",
            "from the root of the hierarchy",
        ),
        (
            "[[rule]]\nname = \"a\"\ncontainer = { nam = \"x\" }\n",
            "a.toml:3:",
            "did you mean `name`?",
        ),
        (
            "[[rule]]\nname = \"a\"\nport = 1\n[[rule]]\nname = \"a\"\nport = 2\n",
            "a.toml:5:8",
            "there is a rule `a` in",
        ),
        ("[rule]\n", "a.toml:1:1", "double brackets"),
        ("[[rule]\n", "a.toml:1:", ""),
    ] {
        fs::write(&file, text).unwrap();
        let output = ebb.output(["rules", "check", &path]);
        let complaint = stderr(&output);
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            complaint.contains(place) && complaint.contains(message),
            "{text}: {complaint}"
        );
    }
    let output = ebb.output(["rules", "check", "/no/such/file.toml"]);
    assert!(
        stderr(&output).contains("/no/such/file.toml: No such file"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn the_examples_of_rules_are_right_one_by_one_and_together() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/rules");
    let ebb = Ebb::new();
    let mut count = 0;
    for entry in fs::read_dir(&folder).unwrap() {
        let path = entry.unwrap().path().display().to_string();
        assert!(
            ebb.says(["rules", "check", &path]).contains(": right"),
            "{path}"
        );
        count += 1;
    }
    assert!(count >= 8);
    let folder = folder.display().to_string();
    assert!(
        ebb.says(["rules", "check", "--rules", &folder])
            .contains(": right")
    );
    let listed = ebb.output(["rules", "--rules", &folder]);
    let (state, why) = match nix::unistd::geteuid().is_root() {
        true => (" (not in force)", "ebbd does not run"),
        false => ("", "root alone can see"),
    };
    let line = format!("apt{state}: unit apt-daily.service or ");
    assert!(stdout(&listed).contains(&line), "{}", stdout(&listed));
    assert!(stderr(&listed).contains(why), "{}", stderr(&listed));
}

#[test]
fn who_cannot_see_what_is_in_force_is_not_told_that_nothing_is() {
    if !ebb_kernel::requires_root("who_cannot_see_what_is_in_force_is_not_told_that_nothing_is") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    fs::set_permissions(folder.path(), fs::Permissions::from_mode(0o755)).unwrap();
    fs::write(
        folder.path().join("a.toml"),
        "[[rule]]\nname = \"a\"\nport = 1\n",
    )
    .unwrap();
    let listed = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .args([env!("CARGO_BIN_EXE_ebb"), "rules", "--rules"])
        .arg(folder.path())
        .env_remove("EBB_RUNTIME_DIR")
        .output()
        .unwrap();
    assert!(
        stdout(&listed).starts_with("a: port 1\n"),
        "{}",
        stdout(&listed)
    );
    let said = stderr(&listed);
    assert!(said.contains("root alone can see"), "{said}");
    assert!(!said.contains("does not run"), "{said}");
}

#[test]
fn a_file_and_a_rule_of_the_administrator_take_the_place_of_those_of_packages() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let write = |folder: usize, file: &str, rules: &[(&str, &str)]| {
        let text = rules
            .iter()
            .map(|(name, rest)| format!("[[rule]]\nname = \"{name}\"\n{rest}\n"));
        fs::write(folders[folder].path().join(file), text.collect::<String>()).unwrap();
    };
    write(0, "10.toml", &[("a", "port = 1"), ("b", "port = 2")]);
    write(0, "30.toml", &[("c", "port = 3")]);
    write(
        1,
        "20.toml",
        &[
            ("b", "enabled = false"),
            ("c", "port = 4"),
            ("d", "port = 5"),
        ],
    );
    let [vendor, own] = [0, 1].map(|it: usize| folders[it].path().display().to_string());
    let ebb = Ebb::new();
    let listed = ebb.says(["rules", "--rules", &vendor, "--rules", &own]);
    let names: Vec<&str> = listed.lines().step_by(2).map(|line| &line[..1]).collect();
    assert_eq!(names, ["a", "c", "d"], "{listed}");
    assert!(listed.contains(": port 4"), "{listed}");
    write(1, "10.toml", &[]);
    let listed = ebb.says(["rules", "--rules", &vendor, "--rules", &own]);
    assert!(!listed.contains("port 1"), "{listed}");
}

#[test]
fn why_says_which_rule_holds_for_a_process_and_why_others_do_not() {
    let folder = tempfile::tempdir().unwrap();
    let user = nix::unistd::geteuid().as_raw();
    let text = format!(
        "[[rule]]\nname = \"unit\"\nunit = \"nosuch\"\n\
         [[rule]]\nname = \"sleepers\"\nuser = \"{user}\"\nexecutable = \"sleep\"\n\
         [[rule]]\nname = \"all\"\nuser = \"{user}\"\n"
    );
    fs::write(folder.path().join("a.toml"), text).unwrap();
    let folder = folder.path().display().to_string();
    let mut sleep = Command::new("sleep").arg("60").spawn().unwrap();
    let ebb = Ebb::new();
    let said = ebb.says(["rules", "why", &sleep.id().to_string(), "--rules", &folder]);
    let own = ebb.says([
        "rules",
        "why",
        &std::process::id().to_string(),
        "--rules",
        &folder,
    ]);
    sleep.kill().unwrap();
    sleep.wait().unwrap();
    assert!(said.contains("program sleep, user "), "{said}");
    assert!(
        said.contains("unit: does not hold: its cgroup is /"),
        "{said}"
    );
    assert!(
        said.contains("sleepers: holds: new connections yield by it"),
        "{said}"
    );
    assert!(
        said.contains("all: would hold, but sleepers goes before it"),
        "{said}"
    );
    assert!(
        own.contains("sleepers: does not hold: its program is rules-"),
        "{own}"
    );
    let output = ebb.output(["rules", "why", "4000000", "--rules", &folder]);
    assert!(
        stderr(&output).contains("process 4000000: No such file"),
        "{}",
        stderr(&output)
    );
}

#[test]
fn settings_are_checked_with_the_rules_they_stand_beside() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().display().to_string();
    let settings = folder.path().join("settings");
    fs::create_dir(&settings).unwrap();
    let ebb = Ebb::new();
    let check = |text: &str| {
        fs::write(settings.join("ebbd.toml"), text).unwrap();
        ebb.output(["rules", "check", "--rules", &path])
    };
    let right = check("[metrics]\nlisten = \"[::1]:9750\"\n");
    assert_eq!(stdout(&right), "0 rules: right\n");
    let wrong = check("[metrics]\nlisten = \"0.0.0.0:9750\"\n");
    assert_eq!(wrong.status.code(), Some(1));
    let complaint = stderr(&wrong);
    assert!(
        complaint.contains("settings/ebbd.toml:2:10: [metrics]: `listen`"),
        "{complaint}"
    );
}
