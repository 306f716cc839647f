// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `scripts/setup` on machines that lack things, played by programs that record their calls.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The real programs that the script itself is made of.
const REAL: [&str; 11] = [
    "bash", "env", "sed", "grep", "tr", "sort", "head", "cut", "dirname", "printf", "cat",
];

const PACKAGES: &str = "# a comment\nlibelf-dev\ncurl  # behind\nbpftool | linux-tools-common\n";

/// A machine: the only programs on its PATH are the ones given.
struct Machine {
    folder: tempfile::TempDir,
}

impl Machine {
    /// A Debian machine of an ordinary user with sudo, on which these packages are installed.
    fn new(installed: &[&str]) -> Self {
        let machine = Self {
            folder: tempfile::tempdir().unwrap(),
        };
        fs::create_dir(machine.path("bin")).unwrap();
        for name in REAL {
            let found = ["/usr/bin", "/bin"].map(|dir| Path::new(dir).join(name));
            let found = found.iter().find(|path| path.exists()).unwrap();
            std::os::unix::fs::symlink(found, machine.path("bin").join(name)).unwrap();
        }
        fs::write(machine.path("packages.txt"), PACKAGES).unwrap();
        let list: String = installed
            .iter()
            .map(|name| format!("echo installed {name}\n"))
            .collect();
        machine.add("dpkg-query", &format!("{list}echo not-installed curl"));
        machine.add("apt-get", "echo \"apt-get $*\" >> \"$RECORD\"");
        machine.add(
            "apt-cache",
            "test $2 != bpftool && echo '  Candidate: 1.0' || echo '  Candidate: (none)'",
        );
        machine.add("sudo", "echo -n 'sudo ' >> \"$RECORD\"; exec \"$@\"");
        machine.add("id", "echo 1000");
        machine.add("cargo", "echo cargo 9.9.9 '(x)'");
        machine
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn add(&self, name: &str, script: &str) {
        let path = self.path("bin").join(name);
        fs::write(&path, format!("#!/bin/sh\n{script}\n")).unwrap();
        fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
    }

    fn remove(&self, name: &str) {
        fs::remove_file(self.path("bin").join(name)).unwrap();
    }

    fn setup(&self) -> Output {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/setup");
        Command::new("/bin/bash")
            .arg(script)
            .env_clear()
            .env("PATH", self.path("bin"))
            .env("RECORD", self.path("record"))
            .env("EBB_PACKAGES_FILE", self.path("packages.txt"))
            .env("EBB_SYSTEMD_RUNTIME", self.path("bin"))
            .output()
            .unwrap()
    }

    /// What apt-get was called for.
    fn record(&self) -> String {
        fs::read_to_string(self.path("record")).unwrap_or_default()
    }
}

fn complaint(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn with_everything_installed_nothing_is_asked_for_and_nothing_said() {
    let machine = Machine::new(&["libelf-dev", "curl", "linux-tools-common"]);
    let output = machine.setup();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(
        (complaint(&output), machine.record()),
        (String::new(), String::new())
    );
}

#[test]
fn what_is_missing_is_installed_through_sudo_and_said() {
    let machine = Machine::new(&["libelf-dev"]);
    let output = machine.setup();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(
        complaint(&output),
        "setup: asking sudo to install: curl bpftool|linux-tools-common\n"
    );
    let expected = "sudo apt-get update -q\n\
                    sudo apt-get install -q -y --no-install-recommends curl linux-tools-common\n";
    assert_eq!(machine.record(), expected);
}

/// A real machine has thousands of packages, and the one looked for may be the first of them.
#[test]
fn an_installed_package_is_found_however_many_come_after_it() {
    let others: Vec<String> = (0..20_000).map(|n| format!("other-{n}")).collect();
    let mut installed = vec!["libelf-dev", "curl", "bpftool"];
    installed.extend(others.iter().map(String::as_str));
    let machine = Machine::new(&installed);
    let output = machine.setup();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!((complaint(&output), machine.record()), Default::default());
}

#[test]
fn root_needs_no_sudo() {
    let machine = Machine::new(&["libelf-dev", "bpftool"]);
    machine.add("id", "echo 0");
    machine.remove("sudo");
    let output = machine.setup();
    assert!(output.status.success(), "{}", complaint(&output));
    assert_eq!(complaint(&output), "setup: installing: curl\n");
    assert!(
        machine
            .record()
            .ends_with("apt-get install -q -y --no-install-recommends curl\n")
    );
}

#[test]
fn without_root_and_sudo_it_says_what_to_run() {
    let machine = Machine::new(&["libelf-dev", "bpftool"]);
    machine.remove("sudo");
    let output = machine.setup();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("as root, run: apt-get install curl"));
}

#[test]
fn without_cargo_it_says_how_to_get_it_before_anything_else() {
    let machine = Machine::new(&[]);
    machine.remove("cargo");
    let output = machine.setup();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("cargo is not installed: install Rust with rustup"));
    assert_eq!(machine.record(), "");
}

#[test]
fn a_cargo_that_is_too_old_is_named_with_what_is_needed() {
    let machine = Machine::new(&[]);
    machine.add("cargo", "echo cargo 1.63.0");
    let output = machine.setup();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("cargo 1.63.0 is too old, Ebb needs 1."));
}

#[test]
fn without_apt_it_names_the_list_of_packages() {
    let machine = Machine::new(&[]);
    machine.remove("dpkg-query");
    machine.remove("apt-get");
    let output = machine.setup();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("no dpkg and apt: install what"));
    assert!(complaint(&output).contains("packages.txt"));
}

#[test]
fn a_failing_apt_is_not_taken_for_success() {
    let machine = Machine::new(&["libelf-dev", "bpftool"]);
    machine.add("apt-get", "test \"$1\" = update");
    let output = machine.setup();
    assert_eq!(output.status.code(), Some(1));
    assert!(complaint(&output).contains("apt-get could not install (see above): curl"));
}

#[test]
fn the_packages_listed_are_spelt_as_package_names() {
    let list = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/packages.txt");
    for line in fs::read_to_string(list).unwrap().lines() {
        let entry = line.split('#').next().unwrap();
        for name in entry
            .split('|')
            .map(str::trim)
            .filter(|name| !name.is_empty())
        {
            let is_allowed =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || "+-.".contains(c);
            assert!(name.len() > 1 && name.chars().all(is_allowed), "{name:?}");
        }
    }
}

/// The terminal's Ctrl-C goes to the script and to what it runs.
#[test]
fn an_interrupted_installation_leaves_nothing_masked() {
    let machine = Machine::new(&["libelf-dev", "curl", "bpftool"]);
    fs::write(machine.path("packages.txt"), "nginx\n").unwrap();
    let record = "echo \"${0##*/} $*\" >> \"$RECORD\"";
    machine.add("systemctl", record);
    let interrupt = "test $1 != install || { kill -INT $PPID; kill -INT $$; sleep 10; }";
    machine.add("apt-get", &format!("{record}; {interrupt}"));
    let output = machine.setup();
    assert!(!output.status.success());
    let expected = "sudo apt-get update -q\n\
                    sudo systemctl --quiet --runtime mask nginx.service\n\
                    sudo apt-get install -q -y --no-install-recommends nginx\n\
                    sudo systemctl --quiet --runtime unmask nginx.service\n\
                    sudo systemctl --quiet disable nginx.service\n";
    assert_eq!(machine.record(), expected, "{}", complaint(&output));
}
