// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run` where systemd manages the cgroups: a real systemd, first process of namespaces
//! of its own.

mod support;

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::requires;
use ebb_kernel::until;
use support::hosts::Hosts;
use support::stdout;

const SYSTEMD: &str = "/lib/systemd/systemd";

/// A target that starts nothing.
const TARGET: &str = "[Unit]\nDescription=nothing\nDefaultDependencies=no\n";

/// Runs as the first process of the namespaces; `$1` is where the target is. It can write to nothing
/// of this machine's, and starts none of its services: services of systemd clear up in /tmp.
const BOOT: &str = "
    set -e
    mount --make-rprivate /
    mount -o remount,bind,ro /
    for own in /run /tmp /var; do mount -t tmpfs tmpfs $own; done
    mkdir -p /var/tmp /var/lib /var/log
    mount -t proc proc /proc
    mount --bind /proc/sys /proc/sys
    mount -o remount,bind,ro /proc/sys
    if mountpoint -q /dev; then mount -o remount,bind,ro /dev; fi
    umount -l -R /sys/fs/cgroup
    mount -o remount,bind,ro /sys
    mount -t cgroup2 none /sys/fs/cgroup
    for none in /etc/systemd/system /usr/lib/systemd/system/*.target.wants; do
        mount -t tmpfs tmpfs $none
    done
    touch /etc/ebb-test 2>/dev/null && exit 1
    mkdir -p /run/systemd/system
    cat > /run/systemd/system/ebb-nothing.target
    export container=ebb-test
    exec /lib/systemd/systemd --system --unit=ebb-nothing.target";

/// How many were booted: each has a cgroup of its own.
static BOOTED: AtomicU32 = AtomicU32::new(0);

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
            .create_child(&format!(
                "ebb-systemd-{}-{}",
                std::process::id(),
                BOOTED.fetch_add(1, Ordering::Relaxed)
            ))
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

/// All of them are made with EBB_STARTS=1000.
const STARTS: usize = 10;
/// So many connections are open at once.
const AT_ONCE: usize = 50;

impl Machine {
    /// The unit that is packaged, of the program that was built.
    fn serve(&self, rules: &str) {
        let unit = std::fs::read_to_string(
            Path::new(env!("CARGO_MANIFEST_DIR")).join("../packaging/ebbd.service"),
        );
        let ebb = self.ebb.display();
        let unit = unit
            .unwrap()
            .replace(
                "/usr/sbin/ebbd",
                &format!("{ebb} daemon --rules /run/rules"),
            )
            .replace(
                "/usr/bin/ebb rules reload",
                &format!("{ebb} rules reload --rules /run/rules"),
            );
        let script = format!(
            "mkdir -p /run/rules; printf '%s' '{rules}' > /run/rules/a.toml
             cat > /run/systemd/system/ebbd.service <<'END'\n{unit}\nEND
             systemctl daemon-reload && systemctl start ebbd && systemctl is-active ebbd"
        );
        assert_eq!(self.says(&script), "active\n", "{}", self.log());
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self._folder.path().join("log")).unwrap_or_default()
    }

    /// The connections of a rule for what arrives.
    fn connections(&self, rule: &str) -> usize {
        let output = self.enter("$0 status --flows --json").output().unwrap();
        let seen: serde_json::Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", support::stderr(&output)));
        let mut attachments = seen.as_array().unwrap().iter();
        let found = attachments.find(|it| it["target"]["name"] == rule);
        let flows = found.map_or(&[][..], |it| it["flows"].as_array().unwrap());
        flows.iter().filter(|it| it["direction"] == "down").count()
    }
}

#[test]
fn under_systemd_services_and_scopes_of_a_rule_are_governed_from_their_first_connection_on() {
    let name =
        "under_systemd_services_and_scopes_of_a_rule_are_governed_from_their_first_connection_on";
    let has_systemd = || requires(name, "systemd", SYSTEMD, Path::new(SYSTEMD).exists());
    if !ebb_kernel::requires_root(name) || !has_systemd() {
        return;
    }
    let hosts = Hosts::new([10, 79, 0]);
    hosts.enter("b");
    let listener = std::net::TcpListener::bind((hosts.address("b"), 7_000)).unwrap();
    hosts.enter("a");
    let machine = Machine::boot();
    machine.serve("[[rule]]\nname = \"backup\"\nunit = [\"backup-*\", \"backup-*.scope\"]\n");

    let starts = std::env::var("EBB_STARTS").map_or(STARTS, |text| text.parse().unwrap());
    let connect = "exec 3<>/dev/tcp/10.79.0.2/7000; read -u 3";
    for how in [
        "systemd-run --quiet --unit=backup-$1.service --property=Type=exec --collect",
        "systemd-run --quiet --scope --unit=backup-$1.scope --collect",
    ] {
        let numbers: Vec<usize> = (0..starts).collect();
        for some in numbers.chunks(AT_ONCE) {
            let (mut streams, mut starters) = (Vec::new(), Vec::new());
            for number in some {
                let script = format!("set -- {number}; exec {how} bash -c '{connect}'");
                let started = machine.enter(&script).spawn().unwrap();
                streams.push(listener.accept().unwrap().0);
                // A scope's ends with the connection, a service's has ended.
                starters.push(started);
            }
            assert_eq!(machine.connections("backup"), some.len(), "{how}");
            drop(streams);
            for mut starter in starters {
                starter.wait().unwrap();
            }
            until("all have ended", || machine.connections("backup") == 0);
        }
    }

    // Ordinary users reach it under the packaged unit, too; it tells them why not here.
    let user = "setpriv --reuid=65534 --regid=65534 --clear-groups";
    let told = machine.says(&format!("{user} $0 run --backend kernel -- true"));
    assert!(told.contains("PID namespace"), "{told}");

    // What runs is held through a reload and a restart; a killed service comes back by itself.
    machine.says("systemd-run --quiet --unit=backup-x.service bash -c 'exec 3<>/dev/tcp/10.79.0.2/7000; read -u 3'");
    let stream = listener.accept().unwrap().0;
    assert_eq!(machine.says("systemctl reload ebbd"), "");
    assert_eq!(machine.connections("backup"), 1);
    assert_eq!(machine.says("systemctl restart ebbd"), "");
    assert_eq!(machine.connections("backup"), 1);
    machine.says("systemctl kill --signal=KILL ebbd");
    until("the service is back", || machine.connections("backup") == 1);
    let mistaken =
        machine.says("echo '[[rul]]' >> /run/rules/a.toml; systemctl reload ebbd; echo $?");
    assert!(mistaken.starts_with("1\n"), "{mistaken}");
    assert_eq!(machine.connections("backup"), 1);
    drop(stream);
    machine.says("systemctl stop ebbd");
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

#[test]
fn the_service_is_exposed_to_little_in_the_eyes_of_systemd() {
    let name = "the_service_is_exposed_to_little_in_the_eyes_of_systemd";
    // Of units that are not installed older ones tell nothing.
    let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../packaging/ebbd.service");
    let judge = |arguments: &[&str]| {
        let mut command = Command::new("systemd-analyze");
        command.args(["security", "--offline=true"]).args(arguments);
        command.output()
    };
    let is_there = judge(&["--help"]).is_ok_and(|output| output.status.success());
    if !requires(name, "systemd", "systemd-analyze from 250 on", is_there) {
        return;
    }
    // In tenths: below 3.0.
    let judged = judge(&["--threshold=29", unit]).unwrap();
    assert!(judged.status.success(), "{}", stdout(&judged));
}
