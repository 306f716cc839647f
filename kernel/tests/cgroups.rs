// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Control groups on this machine, and where /sys has none.

mod support;

use ebb_kernel::cgroup::{Cgroup, mount_point};
use ebb_kernel::{AttachOptions, Attachment, Error, Selection, requires_root};
use std::process::Command;
use support::{Cable, Side};

#[test]
fn a_group_is_made_filled_emptied_and_removed() {
    if !requires_root("a_group_is_made_filled_emptied_and_removed") {
        return;
    }
    let cgroup = make_fill_and_remove("group");
    cgroup.remove().unwrap();
}

#[test]
fn what_killed_processes_left_is_removed_and_nothing_else() {
    if !requires_root("what_killed_processes_left_is_removed_and_nothing_else") {
        return;
    }
    let home = Cgroup::root()
        .unwrap()
        .create_child(&unique("home"))
        .unwrap();
    let mut ended = Command::new("true").spawn().unwrap();
    ended.wait().unwrap();
    let mut living = Command::new("sleep").arg("60").spawn().unwrap();
    let make = |name: String| home.create_child(&name).unwrap();
    let left = [
        make(format!("a-{}", ended.id())),
        make(format!("a-{}-3", ended.id())),
    ];
    left[0].create_child("below").unwrap();
    let others = [
        make(format!("a-{}", living.id())),
        make(format!("b-{}", ended.id())),
        make(format!("a-{}.scope", ended.id())),
    ];
    let inhabited = make(format!("a-{}-4", ended.id()));
    inhabited
        .create_child("in")
        .unwrap()
        .add_process(living.id())
        .unwrap();
    let empty_beside = inhabited.create_child("beside").unwrap();
    // An earlier process of our own number left this one.
    let earlier = make(format!("a-{}", std::process::id()));

    let own = home.create_own_child("a-", None).unwrap();
    let second = home.create_own_child("a-", Some(2)).unwrap();

    assert!(left.iter().all(|group| !group.exists()));
    assert!(others.iter().all(Cgroup::exists));
    assert!(inhabited.exists() && empty_beside.exists());
    assert!(!earlier.exists() && own.exists() && second.exists());
    living.kill().unwrap();
    living.wait().unwrap();
    home.remove().unwrap();
}

#[test]
fn without_a_mount_groups_work_through_a_private_one() {
    if !requires_root("without_a_mount_groups_work_through_a_private_one") {
        return;
    }
    if std::env::var_os("EBB_TEST_WITHOUT_MOUNT").is_some() {
        assert_eq!(mount_point(), None, "the namespace has no cgroup2 mount");
        let cgroup = make_fill_and_remove("private");
        let policy = "ebb".parse().unwrap();
        Attachment::attach(&cgroup, &policy, AttachOptions::default()).unwrap();
        cgroup.remove().unwrap();
        return;
    }
    let cable = Cable::new();
    // `ip netns exec` gives its command a fresh /sys.
    let output = Command::new("ip")
        .args(["netns", "exec", &cable.namespace(Side::Left)])
        .arg(std::env::current_exe().unwrap())
        .args([
            "without_a_mount_groups_work_through_a_private_one",
            "--exact",
        ])
        .env("EBB_TEST_WITHOUT_MOUNT", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn what_is_no_group_is_refused_by_name() {
    if !requires_root("what_is_no_group_is_refused_by_name") {
        return;
    }
    for path in [
        "/etc",
        "/no/such/group",
        "/sys/fs/cgroup/unified/no-such-group",
    ] {
        let error = Cgroup::at(path).unwrap_err();
        assert!(matches!(error, Error::NotACgroup { .. }), "{error}");
        assert!(error.to_string().contains(path), "{error}");
    }
}

#[test]
fn a_group_is_found_by_either_form_of_its_path() {
    if !requires_root("a_group_is_found_by_either_form_of_its_path") {
        return;
    }
    let cgroup = Cgroup::root()
        .unwrap()
        .create_child(&unique("path"))
        .unwrap();
    let forms = [cgroup.path().to_path_buf(), cgroup.directory_path()];
    let found = forms.map(|form| Cgroup::at(form).map(|found| found.id()));
    cgroup.remove().unwrap();
    for id in found {
        assert_eq!(id.unwrap(), cgroup.id());
    }
}

#[test]
fn processes_cannot_be_chosen_from_inside_a_pid_namespace() {
    if !requires_root("processes_cannot_be_chosen_from_inside_a_pid_namespace") {
        return;
    }
    if std::env::var_os("EBB_TEST_INSIDE").is_some() {
        let options = AttachOptions {
            selection: Selection::Processes(vec![std::process::id()]),
            ..Default::default()
        };
        let policy = "ebb".parse().unwrap();
        let refused = Attachment::attach(&Cgroup::root().unwrap(), &policy, options);
        assert!(
            matches!(refused, Err(Error::InnerPidNamespace)),
            "{refused:?}"
        );
        return;
    }
    let output = Command::new("unshare")
        .args(["--pid", "--fork", "--mount-proc"])
        .arg(std::env::current_exe().unwrap())
        .args([
            "processes_cannot_be_chosen_from_inside_a_pid_namespace",
            "--exact",
        ])
        .env("EBB_TEST_INSIDE", "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// Gives the group, made once more, empty.
fn make_fill_and_remove(name: &str) -> Cgroup {
    let root = Cgroup::root().unwrap();
    let cgroup = root.create_child(&unique(name)).unwrap();
    let below = cgroup.create_child("below").unwrap();
    let mut child = Command::new("sleep").arg("60").spawn().unwrap();
    below.add_process(child.id()).unwrap();
    assert_eq!(cgroup.processes().unwrap(), [child.id()]);
    assert_eq!(Cgroup::of_process(child.id()).unwrap().id(), below.id());
    assert!(
        matches!(cgroup.remove(), Err(Error::Cgroup { .. })),
        "it is in use"
    );
    child.kill().unwrap();
    child.wait().unwrap();
    cgroup.remove().unwrap();
    assert!(!cgroup.exists() && !below.exists());
    root.create_child(&unique(name)).unwrap()
}

fn unique(name: &str) -> String {
    format!("ebbk-{name}-{}", std::process::id())
}
