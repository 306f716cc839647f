// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb attach --unit` and `--container`: found by the names of their cgroups.

mod support;

use std::os::unix::fs::{PermissionsExt, chown};

use ebb_kernel::cgroup::Cgroup;
use support::{Ebb, stderr, stdout};

/// A cgroup of a name, removed in the end.
struct Named(Cgroup);

impl Named {
    fn create(name: &str) -> Self {
        Self(Cgroup::root().unwrap().create_child(name).unwrap())
    }

    /// One below another, which is somebody else's.
    fn delegated(above: &Self, name: &str) -> Self {
        let cgroup = above.0.create_child(name).unwrap();
        for directory in [above.0.directory_path(), cgroup.directory_path()] {
            chown(directory, Some(NOBODY), Some(NOBODY)).unwrap();
        }
        Self(cgroup)
    }

    fn path(&self) -> String {
        self.0.path().display().to_string()
    }
}

impl Drop for Named {
    fn drop(&mut self) {
        let _ = self.0.remove();
    }
}

/// Who has a cgroup delegated.
const NOBODY: u32 = 65_534;

/// As identifiers of containers are, and no other's.
fn identifier() -> String {
    format!("{:064x}", u128::from(std::process::id()) << 96 | 0xebb)
        .chars()
        .rev()
        .collect()
}

#[test]
fn units_and_containers_are_attached_to_by_name() {
    if !ebb_kernel::requires_root("units_and_containers_are_attached_to_by_name") {
        return;
    }
    let ebb = Ebb::new();
    let id = identifier();
    let name = format!("ebb-naming-{}", std::process::id());
    let unit = Named::create(&format!("{name}.service"));
    let container = Named::create(&format!("docker-{id}.scope"));
    for (option, value, cgroup) in [
        ("--unit", name.as_str(), &unit),
        ("--container", &id[..20], &container),
    ] {
        let said = ebb.says(["attach", option, value]);
        let undone = format!("ebb detach {option} {value}");
        assert!(said.contains(&undone), "{said}");
        assert!(ebb.says(["status"]).contains(&cgroup.path()));
        // Once more: it is one attachment, with another policy.
        ebb.says(["attach", option, value, "--policy", "vulture"]);
        assert_eq!(ebb.says(["status"]).matches(&cgroup.path()).count(), 1);
        ebb.says(["detach", option, value]);
        assert!(!ebb.says(["status"]).contains(&cgroup.path()));
    }
}

#[test]
fn a_delegated_cgroup_with_the_name_of_a_unit_of_roots_is_not_taken_for_it() {
    let name = "a_delegated_cgroup_with_the_name_of_a_unit_of_roots_is_not_taken_for_it";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let ebb = Ebb::new();
    let name = format!("ebb-squatted-{}", std::process::id());
    let unit = Named::create(&format!("{name}.service"));
    let slice = Named::create(&format!("{name}.slice"));
    let squatter = Named::delegated(&slice, &format!("{name}.service"));
    ebb.says(["attach", "--unit", &name]);
    let told = ebb.says(["status"]);
    ebb.says(["detach", "--unit", &name]);
    assert!(!told.contains(&squatter.path()), "{told}");
    assert!(told.contains(&unit.path()), "{told}");
}

#[test]
fn the_manager_of_a_container_is_asked_what_its_name_stands_for() {
    if !ebb_kernel::requires_root("the_manager_of_a_container_is_asked_what_its_name_stands_for") {
        return;
    }
    let ebb = Ebb::new();
    let id: String = identifier().replace('e', "f");
    let container = Named::create(&format!("libpod-{id}.scope"));
    let folder = tempfile::tempdir().unwrap();
    let manager = folder.path().join("podman");
    // What `podman inspect` prints, and nothing else of it: no container can be run here.
    let script = format!("#!/bin/sh\n[ \"$7\" = mirror ] && echo {id}\n");
    std::fs::write(&manager, script).unwrap();
    std::fs::set_permissions(&manager, PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:/usr/bin:/bin", folder.path().display());
    let run = |words: [&str; 3]| {
        let mut command = ebb.command(words);
        command.env("PATH", &path).output().unwrap()
    };
    let attached = run(["attach", "--container", "mirror"]);
    assert!(attached.status.success(), "{}", stderr(&attached));
    assert!(stdout(&attached).contains("container mirror"));
    assert!(ebb.says(["status"]).contains(&container.path()));
    assert!(run(["detach", "--container", "mirror"]).status.success());

    let unknown = run(["attach", "--container", "murmur"]);
    assert!(stderr(&unknown).contains("container murmur: there is no cgroup of it"));
    let unknown = run(["attach", "--unit", "ebb-no-such"]);
    assert!(stderr(&unknown).contains("unit ebb-no-such.service: there is no cgroup"));
}
