// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A machine of systemd's: a real systemd, first process of namespaces of its own.

use std::fs::File;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::until;
use serde_json::Value;

use super::{stderr, stdout};

/// What it boots.
pub const SYSTEMD: &str = "/lib/systemd/systemd";

/// A target that starts nothing.
const TARGET: &str = "[Unit]\nDescription=nothing\nDefaultDependencies=no\n";

/// Runs as the first process of the namespaces; `$1` is where the target is. It can write to nothing
/// of this machine's, and starts none of its services: services of systemd clear up in /tmp. Settings
/// of the network are those of the namespace that it is in.
const BOOT: &str = "
    set -e
    mount --make-rprivate /
    mount -o remount,bind,ro /
    for own in /run /tmp /var; do mount -t tmpfs tmpfs $own; done
    mkdir -p /var/tmp /var/lib /var/log
    mount -t proc proc /proc
    mount --bind /proc/sys /proc/sys
    mount --bind /proc/sys/net /proc/sys/net
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
pub struct Machine {
    unshare: Child,
    init_pid: u32,
    cgroup: Cgroup,
    folder: tempfile::TempDir,
    ebb: PathBuf,
}

impl Machine {
    /// One that ends after 120 s, whatever becomes of the test.
    pub fn boot() -> Self {
        Self::boot_for(120)
    }

    /// The same, after so many seconds.
    pub fn boot_for(seconds: u64) -> Self {
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
            .args(["timeout", "--signal=KILL", &seconds.to_string(), "unshare"])
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
            folder,
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
    pub fn enter(&self, script: &str) -> Command {
        let mut command = Command::new("nsenter");
        command
            .args(["--target", &self.init_pid.to_string()])
            .args(["--mount", "--pid", "--cgroup", "--ipc", "--uts"])
            .args(["sh", "-c", &format!("cd /; {script}")])
            .arg(&self.ebb)
            .stdin(Stdio::null());
        command
    }

    pub fn says(&self, script: &str) -> String {
        let output = self.enter(script).output().unwrap();
        format!("{}{}", stdout(&output), stderr(&output))
    }

    /// The unit that is packaged, of the program that was built.
    pub fn serve(&self, rules: &str) {
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

    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// What is under a rule, for what arrives.
    pub fn flows(&self, rule: &str) -> Vec<Value> {
        let output = self.enter("$0 status --flows --json").output().unwrap();
        let seen: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", stderr(&output)));
        let mut attachments = seen.as_array().unwrap().iter();
        let found = attachments.find(|it| it["target"]["name"] == rule);
        let flows = found.map_or(&[][..], |it| it["flows"].as_array().unwrap());
        let down = flows.iter().filter(|it| it["direction"] == "down");
        down.cloned().collect()
    }

    pub fn connections(&self, rule: &str) -> usize {
        self.flows(rule).len()
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
