// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network namespaces are held no longer than anything of ours is in them. Alone in its program:
//! it counts what the whole process holds.

use ebb_kernel::cgroup::Cgroup;
use ebb_kernel::{AttachOptions, Attachment, requires_root, until};
use std::process::{Child, Command};

#[test]
fn namespaces_that_come_and_go_are_not_held() {
    if !requires_root("namespaces_that_come_and_go_are_not_held") {
        return;
    }
    let name = format!("ebbk-churn-{}", std::process::id());
    let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
    let policy = "ebb".parse().unwrap();
    let attachment = Attachment::attach(&cgroup, &policy, AttachOptions::default()).unwrap();
    for _ in 0..20 {
        let mut container = container_in(&cgroup);
        attachment.flows().unwrap();
        container.kill().unwrap();
        container.wait().unwrap();
    }
    // The last may still be there: it was seen last.
    attachment.flows().unwrap();
    assert!(held_namespaces() <= 1, "{}", held_namespaces());
    attachment.detach().unwrap();
    cgroup.remove().unwrap();
}

/// A process in a network namespace of its own.
fn container_in(cgroup: &Cgroup) -> Child {
    let mut command = Command::new("unshare");
    let child = command.args(["--net", "sleep", "60"]).spawn().unwrap();
    cgroup.add_process(child.id()).unwrap();
    let namespace = |pid: &str| std::fs::read_link(format!("/proc/{pid}/ns/net")).unwrap();
    let own = namespace("self");
    until("in its own namespace", || {
        namespace(&child.id().to_string()) != own
    });
    child
}

/// How many network namespaces this process holds open.
fn held_namespaces() -> usize {
    let descriptors = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
    let names = descriptors.filter_map(|entry| std::fs::read_link(entry.path()).ok());
    let is_namespace = |name: &std::path::PathBuf| name.to_string_lossy().starts_with("net:[");
    names.filter(is_namespace).count()
}
