// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run` where systemd manages the cgroups: a real systemd, first process of namespaces
//! of its own.

mod support;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::requires;
use ebb_kernel::until;
use support::stdout;

const SYSTEMD: &str = "/lib/systemd/systemd";

/// A target that starts nothing.
const TARGET: &str = "[Unit]\nDescription=nothing\nDefaultDependencies=no\n";

/// Runs as the first process of the namespaces; $1 is where the target is.
const BOOT: &str = "
    set -e
    mount --make-rprivate /
    mount -t proc proc /proc
    umount -l -R /sys/fs/cgroup
    mount -t cgroup2 none /sys/fs/cgroup
    mount -t tmpfs tmpfs /run
    mkdir -p /run/systemd/system
    cat > /run/systemd/system/ebb-nothing.target
    export container=ebb-test
    exec /lib/systemd/systemd --system --unit=ebb-nothing.target";

/// A booted systemd; it ends with all its processes when dropped.
struct Machine {
    unshare: Child,
    init_pid: u32,
    cgroup: Cgroup,
    _folder: tempfile::TempDir,
    ebb: PathBuf,
}

impl Machine {
    fn boot() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // Under /run and /tmp of its own it would not see the build.
        let ebb = Path::new(env!("CARGO_BIN_EXE_ebb")).to_path_buf();
        let cgroup = Cgroup::root()
            .unwrap()
            .create_child(&format!("ebb-systemd-{}", std::process::id()))
            .unwrap();
        let log = File::create(folder.path().join("log")).unwrap();
        let enter = "echo 0 > \"$0\"; exec \"$@\"";
        let mut unshare = Command::new("sh")
            .args(["-c", enter])
            .arg(cgroup.directory_path().join("cgroup.procs"))
            .args(["timeout", "--signal=KILL", "120", "unshare"])
            .args([
                "--mount",
                "--pid",
                "--fork",
                "--kill-child",
                "--cgroup",
                "--ipc",
                "--uts",
            ])
            .args(["sh", "-c", BOOT])
            .stdin(Stdio::piped())
            .stdout(log.try_clone().unwrap())
            .stderr(log)
            .spawn()
            .unwrap();
        unshare
            .stdin
            .take()
            .unwrap()
            .write_all(TARGET.as_bytes())
            .unwrap();
        let mut machine = Self {
            unshare,
            init_pid: 0,
            cgroup,
            _folder: folder,
            ebb,
        };
        until("systemd has started", || machine.find_init());
        until("systemd answers", || {
            stdout(
                &machine
                    .enter("systemctl is-system-running")
                    .output()
                    .unwrap(),
            ) == "running\n"
        });
        machine
    }

    fn find_init(&mut self) -> bool {
        let is_systemd = |pid: &u32| {
            std::fs::read_link(format!("/proc/{pid}/exe"))
                .is_ok_and(|exe| exe.ends_with("systemd/systemd"))
        };
        let found = self
            .cgroup
            .processes()
            .unwrap()
            .into_iter()
            .find(is_systemd);
        self.init_pid = found.unwrap_or(0);
        found.is_some()
    }

    /// A shell script among systemd's processes; `$0` is `ebb`.
    fn enter(&self, script: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.init_pid.to_string()])
            .args(["--mount", "--pid", "--cgroup", "--ipc", "--uts"])
            .args(["sh", "-c", &format!("cd /; {script}")])
            .arg(&self.ebb)
            .stdin(Stdio::null());
        command
    }

    fn says(&self, script: &str) -> String {
        let output = self.enter(script).output().unwrap();
        format!("{}{}", stdout(&output), support::stderr(&output))
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // The namespace's first process takes all others with it.
        for pid in self.cgroup.processes().unwrap_or_default() {
            let pid = nix::unistd::Pid::from_raw(pid.cast_signed());
            let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGKILL);
        }
        let _ = self.unshare.wait();
        let _ = self.cgroup.remove();
    }
}

#[test]
fn under_systemd_a_command_runs_in_a_scope_that_goes_with_it() {
    let name = "under_systemd_a_command_runs_in_a_scope_that_goes_with_it";
    let has_systemd = || requires(name, "systemd", SYSTEMD, Path::new(SYSTEMD).exists());
    if !ebb_kernel::requires_root(name) || !has_systemd() {
        return;
    }
    let machine = Machine::boot();

    let said = machine
        .says("echo input | $0 run -- sh -c 'cat; grep ^0:: /proc/self/cgroup; exit 5'; echo $?");
    let lines: Vec<_> = said.lines().collect();
    assert_eq!((lines[0], lines[2]), ("input", "5"), "{said}");
    let cgroup = lines[1]
        .strip_prefix("0::/system.slice/ebb-run-")
        .unwrap_or_else(|| panic!("{said}"));
    assert!(cgroup.contains(".scope/ebb-run-"), "{said}");

    let scopes = "systemctl list-units --type=scope --plain --no-legend 'ebb-run-*'";
    assert_eq!(machine.says(scopes), "", "the scope is left");

    let outlived =
        format!("$0 run -- sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'; $0 status; {scopes}");
    let said = machine.says(&outlived);
    let lines: Vec<_> = said.lines().collect();
    assert!(lines[1].starts_with("ebb run -- sh -c sleep"), "{said}");
    assert!(
        lines[2].contains("running"),
        "the scope went before its last process: {said}"
    );
    machine.says(&format!("kill {}", lines[0]));
    until("the scope goes with its last process", || {
        machine.says(scopes).is_empty()
    });

    assert!(
        machine
            .says("$0 doctor")
            .contains("a transient scope of systemd")
    );
}

#[test]
fn where_systemd_does_not_answer_a_cgroup_below_our_own_serves() {
    if !ebb_kernel::requires_root("where_systemd_does_not_answer_a_cgroup_below_our_own_serves") {
        return;
    }
    let script = "mount -t tmpfs tmpfs /run && mkdir -p /run/systemd/system &&
        exec \"$0\" run -- sh -c 'grep ^0:: /proc/self/cgroup; exit 5'";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script, env!("CARGO_BIN_EXE_ebb")])
        .output()
        .unwrap();
    assert_eq!(
        output.status.code(),
        Some(5),
        "{}",
        support::stderr(&output)
    );
    assert!(stdout(&output).contains("/ebb-run-"), "{}", stdout(&output));
}
