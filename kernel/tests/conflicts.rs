// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Two Ebbs never act on one connection: the second is told who holds it.

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, Error, Selection, requires_root};
use std::process::{Child, Command, Stdio};

/// A group of a test's own, and what it made in it.
struct Group(Cgroup);

impl Group {
    fn new(name: &str) -> Self {
        let name = format!("ebbk-{name}-{}", std::process::id());
        Self(Cgroup::root().unwrap().create_child(&name).unwrap())
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}

/// A shell and its child, which wait.
struct Family(Child);

impl Family {
    fn in_group(group: &Cgroup) -> Self {
        let shell = Command::new("sh")
            .args(["-c", "sleep 60 & wait"])
            .stdin(Stdio::null())
            .spawn()
            .unwrap();
        let family = Self(shell);
        let child = family.child();
        for pid in [family.0.id(), child] {
            group.add_process(pid).unwrap();
        }
        family
    }

    fn child(&self) -> u32 {
        let children = format!("/proc/{0}/task/{0}/children", self.0.id());
        loop {
            let text = std::fs::read_to_string(&children).unwrap();
            if let Some(child) = text.split_ascii_whitespace().next() {
                return child.parse().unwrap();
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        let _ = Command::new("kill").arg(self.child().to_string()).status();
        let _ = self.0.wait();
    }
}

fn attach(group: &Cgroup, pids: Option<&[u32]>, policy: &str) -> Result<Attachment, Error> {
    let options = AttachOptions {
        selection: pids.map_or(Selection::WholeCgroup, |pids| {
            Selection::Processes(pids.to_vec())
        }),
        ..AttachOptions::default()
    };
    Attachment::attach(group, &policy.parse().unwrap(), options)
}

fn assert_refused(attempt: Result<Attachment, Error>, holder: &Cgroup) {
    let error = attempt.unwrap_err();
    assert!(
        matches!(&error, Error::AlreadyAttached { cgroup, .. } if cgroup == holder.path()),
        "{error}"
    );
    assert!(
        error.to_string().contains(&std::process::id().to_string()),
        "{error}"
    );
}

#[test]
fn a_group_above_one_that_is_held_is_refused() {
    if !requires_root("a_group_above_one_that_is_held_is_refused") {
        return;
    }
    let group = Group::new("above");
    let below = group.0.create_child("below").unwrap();
    let deep = below.create_child("deep").unwrap();
    let held = attach(&deep, None, "ebb").unwrap();
    for above in [&group.0, &below] {
        assert_refused(attach(above, None, "vulture"), &deep);
    }
    // What is sent is another matter, and so is a group beside it.
    attach(&group.0, None, "ledbat++").unwrap();
    let beside = group.0.create_child("beside").unwrap();
    attach(&beside, None, "ebb").unwrap();
    drop(held);
    attach(&group.0, None, "ebb").unwrap();
}

#[test]
fn a_process_is_refused_whose_parent_or_child_is_held() {
    if !requires_root("a_process_is_refused_whose_parent_or_child_is_held") {
        return;
    }
    let group = Group::new("family");
    let family = Family::in_group(&group.0);
    let other = Family::in_group(&group.0);
    let (parent, child) = (family.0.id(), family.child());
    for (first, second) in [(parent, child), (child, parent), (child, child)] {
        let held = attach(&group.0, Some(&[first]), "ebb").unwrap();
        assert_refused(attach(&group.0, Some(&[second]), "vulture"), &group.0);
        attach(&group.0, Some(&[other.0.id()]), "vulture").unwrap();
        drop(held);
    }
}

#[test]
fn a_group_is_refused_whose_processes_are_held_and_no_other() {
    if !requires_root("a_group_is_refused_whose_processes_are_held_and_no_other") {
        return;
    }
    let group = Group::new("chosen");
    let below = group.0.create_child("below").unwrap();
    let family = Family::in_group(&group.0);
    let _held = attach(&group.0, Some(&[family.0.id()]), "ebb").unwrap();
    assert_refused(attach(&group.0, None, "ebb"), &group.0);
    attach(&below, None, "ebb").unwrap();
    below.add_process(family.child()).unwrap();
    assert_refused(attach(&below, None, "ebb"), &group.0);
}
