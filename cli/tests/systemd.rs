// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb run` where systemd manages the cgroups: a real systemd, first process of namespaces
//! of its own.

mod support;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use ebb_kernel::requires;
use ebb_kernel::until;
use support::hosts::Hosts;
use support::machine::{Machine, SYSTEMD};
use support::stdout;

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
    let starts = std::env::var("EBB_STARTS").map_or(STARTS, |text| text.parse().unwrap());
    let machine = Machine::boot_for(120 + starts as u64);
    machine.serve("[[rule]]\nname = \"backup\"\nunit = [\"backup-*\", \"backup-*.scope\"]\n");

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
fn under_systemd_a_service_that_hangs_is_followed_by_one_that_holds_what_it_held() {
    let name = "under_systemd_a_service_that_hangs_is_followed_by_one_that_holds_what_it_held";
    let has_systemd = || requires(name, "systemd", SYSTEMD, Path::new(SYSTEMD).exists());
    if !ebb_kernel::requires_root(name) || !has_systemd() {
        return;
    }
    let hosts = Hosts::new([10, 81, 0]);
    hosts.enter("b");
    let listener = std::net::TcpListener::bind((hosts.address("b"), 7_000)).unwrap();
    hosts.enter("a");
    let machine = Machine::boot();
    machine.serve("[[rule]]\nname = \"backup\"\nunit = \"backup-*\"\n");
    // Half a minute is long for a test.
    machine.says(
        "mkdir /run/systemd/system/ebbd.service.d
         printf '[Service]\\nWatchdogSec=1s\\nTimeoutAbortSec=1s\\n' > /run/systemd/system/ebbd.service.d/soon.conf
         systemctl daemon-reload; systemctl restart ebbd",
    );
    let pid = || machine.says("systemctl show --property=MainPID --value ebbd");
    machine.says("systemd-run --quiet --unit=backup-x.service bash -c 'exec 3<>/dev/tcp/10.81.0.2/7000; read -u 3'");
    let _stream = listener.accept().unwrap().0;
    assert_eq!(machine.connections("backup"), 1);
    let first = pid();
    // It says often enough that it lives.
    std::thread::sleep(Duration::from_secs(4));
    assert_eq!(pid(), first, "{}", machine.log());
    machine.says("systemctl kill --kill-whom=main --signal=STOP ebbd");
    until("another one holds it", || {
        let now = pid();
        now != first && now != "0\n" && machine.connections("backup") == 1
    });
    let result = machine.says("systemctl show --property=NRestarts --value ebbd");
    assert_eq!(result, "1\n");
}

#[test]
fn under_systemd_the_hardened_service_keeps_a_gateway() {
    let name = "under_systemd_the_hardened_service_keeps_a_gateway";
    let has_systemd = || requires(name, "systemd", SYSTEMD, Path::new(SYSTEMD).exists());
    if !ebb_kernel::requires_root(name) || !has_systemd() {
        return;
    }
    let hosts = Hosts::new([10, 80, 0]);
    hosts.enter("a");
    let machine = Machine::boot();
    let gateway = "[gateway]\nlan = \"cable\"\nattach_by = \"clsact\"\n\
        [[gateway.rule]]\nname = \"all\"\neverything = true\n";
    machine.serve(gateway);
    let status = machine.says("$0 status");
    assert!(status.contains("gateway of cable by"), "{status}");
    let filters = machine.says("tc filter show dev cable egress");
    assert!(filters.contains("ebb_to_lan"), "{filters}");
    let after = machine.says(
        "systemctl restart ebbd; $0 status; systemctl stop ebbd; tc filter show dev cable egress",
    );
    assert!(after.contains("gateway of cable by"), "{after}");
    assert!(!after.contains("ebb_to_lan"), "{after}");
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
