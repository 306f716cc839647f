// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Rules in the kernel: what they name is governed from its first connection on, and nothing else.

mod support;

use ebb_algorithms::Policy;
use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::rules::{EXEMPT, MAX_RULES};
use ebb_kernel::{
    AttachOptions, Attachment, Error, Flow, PathRules, requires_feature, requires_root, until,
};
use std::io::Read;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use support::ruled::{Scene, none};

const NOBODY: u32 = 65_534;
/// All starts are made by `make check-deep`.
const STARTS: u32 = 10;

#[test]
fn a_rule_that_gets_a_number_again_has_no_peers_of_the_former() {
    let name = "a_rule_that_gets_a_number_again_has_no_peers_of_the_former";
    if !requires_root(name) {
        return;
    }
    let mut scene = Scene::new(|ruling, _| {
        let paths = [("(/.*)?/ebb\\-a".to_owned(), 0b10)];
        ruling.paths = PathRules::build(&paths).unwrap();
    });
    scene.hold(1);
    let former = scene.start(&scene.group("ebb-a"), |_| {});
    assert_eq!(scene.attachments[2].peers(), [scene.to.ip()]);
    assert_eq!(scene.attachments[0].peers().len(), 0);
    scene.end(former);
    for attachment in scene.attachments.drain(2..) {
        attachment.detach().unwrap();
    }
    scene.hold(1);
    assert_eq!(scene.attachments[2].peers().len(), 0);
}

fn starts() -> u32 {
    let wanted = std::env::var("EBB_STARTS").ok();
    wanted.map_or(STARTS, |text| text.parse().unwrap())
}

#[test]
fn no_first_connection_of_a_new_cgroup_is_missed_however_soon_it_comes() {
    if !requires_root("no_first_connection_of_a_new_cgroup_is_missed_however_soon_it_comes") {
        return;
    }
    let mut scene = Scene::new(|ruling, _| {
        let pattern = "(/.*)?/ebb\\-test@[^/]*\\.service".to_owned();
        ruling.paths = PathRules::build(&[(pattern, 1)]).unwrap();
    });
    let count = starts();
    let mut new = Vec::new();
    for number in 0..count {
        let group = scene.group(&format!("ebb-test@{number}.service"));
        scene.end(scene.start(&group, |_| {}));
        let other = scene.group(&format!("ebb-other@{number}.service"));
        scene.end(scene.start(&other, |_| {}));
        group.remove().unwrap();
        other.remove().unwrap();
        new.extend(scene.classifier.new_groups());
    }
    assert_eq!(scene.taken(), [u64::from(count); 2]);
    // Each was told of, and forgotten when it went.
    assert_eq!(new.len(), count as usize);
    assert!(new.iter().all(|group| group.rules == 1));
    assert_eq!(scene.classifier.groups(), []);
}

#[test]
fn what_is_below_a_cgroup_of_a_rule_is_under_it_too_and_what_is_under_run_is_not() {
    if !requires_root(
        "what_is_below_a_cgroup_of_a_rule_is_under_it_too_and_what_is_under_run_is_not",
    ) {
        return;
    }
    let scene = Scene::new(|ruling, _| {
        ruling.paths = PathRules::build(&[
            ("(/.*)?/ebb\\-test\\.slice".to_owned(), 1),
            ("(/.*)?/ebb\\-run\\-[0-9]+".to_owned(), EXEMPT),
        ])
        .unwrap();
    });
    let slice = scene.group("ebb-test.slice");
    let below = slice.create_child("a").unwrap().create_child("b").unwrap();
    let one = scene.start(&below, |_| {});
    assert_eq!(scene.taken(), [1; 2]);
    let run = slice.create_child("ebb-run-1").unwrap();
    let other = scene.start(&run.create_child("x").unwrap(), |_| {});
    assert_eq!(scene.taken(), [1; 2]);
    // Only root can make what is exempt.
    let delegated = slice.create_child("delegated").unwrap();
    let path = delegated.directory_path();
    std::os::unix::fs::chown(&path, Some(NOBODY), None).unwrap();
    let mut mkdir = Command::new("mkdir");
    mkdir.arg(path.join("ebb-run-2")).uid(NOBODY);
    assert!(mkdir.status().unwrap().success());
    let delegated = Cgroup::at(path.join("ebb-run-2")).unwrap();
    assert_eq!(scene.classifier.group(delegated.id()), 1);
    // By hand nobody can take what a rule has, and anybody what is exempt.
    let policy = Policy::default();
    let refused = Attachment::attach(&below, &policy, AttachOptions::default());
    assert!(matches!(refused, Err(Error::Ruled { .. })), "{refused:?}");
    match Attachment::attach(&run, &policy, AttachOptions::default()) {
        Ok(held) => {
            assert_eq!(held.flows().unwrap().len(), 1);
            held.detach().unwrap();
        }
        // Before Linux 6.12: what runs is in the way, and no rule.
        Err(error) => assert!(matches!(error, Error::LeavesRunning { .. }), "{error}"),
    }
    scene.end(one);
    scene.end(other);
}

#[test]
fn rules_know_users_ports_and_programs_and_all_conditions_have_to_hold() {
    if !requires_root("rules_know_users_ports_and_programs_and_all_conditions_have_to_hold") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let program = folder.path().join("ebb-test-program");
    std::fs::copy("/bin/bash", &program).unwrap();
    let mut scene = Scene::new(|ruling, to| {
        ruling.any_group = 1;
        (ruling.any_user, ruling.any_port, ruling.any_executable) = (0, 0, 0);
        ruling.users = [(NOBODY, 1)].into();
        ruling.ports = [(to.port(), 1)].into();
        ruling.executables = [("ebb-test-program".to_owned(), 1)].into();
    });
    let group = scene.group("any");
    // The user enters no cgroup: what starts it does.
    let connect = format!(
        "exec 3<>/dev/tcp/{}/{}; read -u 3",
        scene.to.ip(),
        scene.to.port()
    );
    let start = |scene: &Scene, program: &std::path::Path, user: u32| {
        let enter = "echo 0 > $0/cgroup.procs; exec \"$@\"";
        let mut command = Command::new("sh");
        command.args(["-c", enter]).arg(group.directory_path());
        command.args(["setpriv", "--reuid", &user.to_string(), "--clear-groups"]);
        command
            .arg(program)
            .args(["-c", &connect])
            .stdin(Stdio::null());
        (command.spawn().unwrap(), scene.listener.accept().unwrap().0)
    };
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755)).unwrap();
    scene.end(start(&scene, &program, 0));
    scene.end(start(&scene, "/bin/bash".as_ref(), NOBODY));
    assert_eq!(scene.taken(), [0; 2]);
    scene.end(start(&scene, &program, NOBODY));
    assert_eq!(scene.taken(), [1; 2]);
    let mut ruling = none();
    ruling.any_group = 1;
    ruling.any_port = 0;
    ruling.ports = [(scene.to.port() ^ 1, 1)].into();
    scene.classifier.set_ruling(&ruling).unwrap();
    scene.end(start(&scene, &program, NOBODY));
    assert_eq!(scene.taken(), [1; 2]);
}

#[test]
fn of_several_rules_the_first_acts_and_connections_go_over_when_that_changes() {
    let name = "of_several_rules_the_first_acts_and_connections_go_over_when_that_changes";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut scene = Scene::new(|ruling, _| {
        ruling.any_group = 0b11;
        ruling.before[0] = 0b10;
    });
    let group = scene.group("any");
    let connection = scene.start(&group, |command| {
        command.process_group(0);
    });
    assert_eq!(scene.flows(), [0; 2]);
    let mut first = none();
    first.any_group = 0b11;
    first.before[1] = 0b01;
    scene.classifier.set_ruling(&first).unwrap();
    scene.classifier.leave_others().unwrap();
    scene.classifier.take_over().unwrap();
    assert_eq!(scene.flows(), [1; 2]);
    scene.classifier.set_group(group.id(), EXEMPT).unwrap();
    scene.classifier.leave_others().unwrap();
    assert_eq!(scene.flows(), [0; 2]);
    until("nothing is limited", || scene.flows() == [0; 2]);
    let (mut child, mut stream) = connection;
    child.kill().unwrap();
    child.wait().unwrap();
    assert_eq!(stream.read(&mut [0]).unwrap(), 0);
}

#[test]
fn a_rule_is_held_also_where_what_runs_cannot_be_taken_over() {
    if !requires_root("a_rule_is_held_also_where_what_runs_cannot_be_taken_over") {
        return;
    }
    let mut scene = Scene::new(|ruling, _| {
        ruling.paths = PathRules::build(&[("(/.*)?/ebb\\-b".to_owned(), 0b10)]).unwrap();
    });
    let group = scene.group("ebb-b");
    let running = scene.start(&group, |_| {});
    scene.hold(1);
    scene.classifier.take_over().unwrap();
    let download = &scene.attachments[2];
    let counted = download.counters().unwrap();
    let found = counted.adopted_established + counted.skipped_established;
    assert_eq!(found, 1, "{counted:?}");
    let taken = download.flows().unwrap().len();
    let next = scene.start(&group, |_| {});
    assert_eq!(scene.attachments[2].flows().unwrap().len(), taken + 1);
    scene.end(running);
    scene.end(next);
}

#[test]
fn rules_of_one_policy_share_programs_and_are_told_apart() {
    let name = "rules_of_one_policy_share_programs_and_are_told_apart";
    // What takes over.
    if !requires_feature(name, "callback-flags") {
        return;
    }
    let mut scene = Scene::new(|ruling, _| {
        ruling.paths = PathRules::build(&[
            ("(/.*)?/ebb\\-a".to_owned(), 0b01),
            ("(/.*)?/ebb\\-b".to_owned(), 0b10),
        ])
        .unwrap();
    });
    scene.hold(1);
    let (a, b) = (scene.group("ebb-a"), scene.group("ebb-b"));
    let connections = [&a, &b, &b].map(|group| scene.start(group, |_| {}));
    let flows = |scene: &Scene| -> Vec<Vec<(&str, bool)>> {
        let each = scene.attachments.iter().map(|it| it.flows().unwrap());
        let of_one = |flow: &Flow| (flow.law, flow.is_clamped);
        each.map(|flows| flows.iter().map(of_one).collect())
            .collect()
    };
    let (down, up) = (("ebb", true), ("ebb-sender", true));
    let both = vec![vec![down], vec![up], vec![down; 2], vec![up; 2]];
    assert_eq!(flows(&scene), both);
    let taken = scene.attachments.iter();
    let taken: Vec<u64> = taken.map(|it| it.counters().unwrap().adopted_new).collect();
    assert_eq!(taken, [1, 1, 2, 2]);

    // What is done to one is not done to the other.
    let foreign = scene.attachments[2].flows().unwrap()[0].cookie;
    assert_eq!(scene.attachments[0].set_free(&[foreign], true).unwrap(), 0);
    for attachment in &mut scene.attachments[2..] {
        attachment.set_observing(true).unwrap();
    }
    let free = vec![
        vec![down],
        vec![up],
        vec![("ebb", false); 2],
        vec![("ebb-sender", false); 2],
    ];
    assert_eq!(flows(&scene), free);
    for attachment in &mut scene.attachments[2..] {
        attachment.set_observing(false).unwrap();
    }
    assert_eq!(flows(&scene), both);
    let other = Policy::receiver("ebb:target_us=9000").unwrap();
    scene.attachments[2].set_policy(&other).unwrap();
    assert_eq!(flows(&scene), both);
    assert_eq!(scene.attachments[0].policy(), Policy::default());

    // A cgroup has room for 64 programs of a kind: four serve any number of rules.
    scene.attachments[2].set_policy(&Policy::default()).unwrap();
    for rule in 2..MAX_RULES as u32 {
        scene.hold(rule);
    }
    for attachment in scene.attachments.drain(4..) {
        attachment.detach().unwrap();
    }
    for attachment in scene.attachments.drain(2..) {
        attachment.detach().unwrap();
    }
    assert_eq!(flows(&scene), [vec![down], vec![up]]);
    let removed = ebb_kernel::detach_all(&scene.cable.cgroup).unwrap();
    assert_eq!(removed, 4);
    for connection in connections {
        scene.end(connection);
    }
}
