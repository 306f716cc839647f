// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The cgroups of what is known by a name: systemd's units, containers.
//!
//! Both are found by how their managers name cgroups, so that no bus and no socket of theirs
//! is needed; only for the name of a container its manager is asked for the identifier.

use std::ffi::OsStr;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use ebb_kernel::cgroup::Cgroup;

use crate::error::{Error, Result};

/// What a name without a suffix is short for, as with systemctl.
const USUAL_SUFFIX: &str = ".service";
/// systemd's units that have cgroups.
const SUFFIXES: [&str; 7] = [
    USUAL_SUFFIX,
    ".scope",
    ".slice",
    ".socket",
    ".mount",
    ".swap",
    ".timer",
];
/// Shorter beginnings of identifiers would be words.
const LEAST_ID_DIGITS: usize = 4;
/// Those that tell the identifier of a name.
const MANAGERS: [&str; 3] = ["docker", "podman", "nerdctl"];

/// The cgroup of a unit, of the system's manager or of a user's.
///
/// *Errors:* there is no such unit that runs, or several users have one.
pub fn unit(name: &str) -> Result<Cgroup> {
    let full = full_name(name);
    let found = cgroups_that(|directory| directory == full.as_str())?;
    only(
        found,
        &format!("unit {full}"),
        "'systemctl status' lists units; one that does not run has no cgroup",
    )
}

/// The name of a unit with its suffix, which may be left away where it is `.service`.
pub fn full_name(name: &str) -> String {
    match SUFFIXES.iter().any(|suffix| name.ends_with(suffix)) {
        true => name.to_owned(),
        false => format!("{name}{USUAL_SUFFIX}"),
    }
}

/// The cgroup of a container of Docker, Podman, containerd, CRI-O, LXC or systemd-nspawn, by
/// name or by the beginning of its identifier.
///
/// *Errors:* there is none, or several.
pub fn container(name: &str) -> Result<Cgroup> {
    let mut found = cgroups_that(|directory| is_container(directory, name))?;
    if found.is_empty()
        && let Some(id) = id_of(name)
    {
        found = cgroups_that(|directory| is_container(directory, &id))?;
    }
    let hint = "name a running container of docker, podman, containerd, LXC or systemd-nspawn";
    let about_ids =
        match name.len() < LEAST_ID_DIGITS && name.bytes().all(|it| it.is_ascii_hexdigit()) {
            true => format!("; an identifier needs its first {LEAST_ID_DIGITS} digits at least"),
            false => String::new(),
        };
    only(
        found,
        &format!("container {name}"),
        &format!("{hint}{about_ids}"),
    )
}

/// How managers name the cgroup of a container.
fn is_container(directory: &str, name: &str) -> bool {
    let scope = directory.strip_suffix(".scope").unwrap_or(directory);
    if scope == format!("machine-{name}") || scope == format!("lxc.payload.{name}") {
        return true;
    }
    let id = scope.rsplit_once('-').map_or(scope, |(_, id)| id);
    // Podman has a second one, for its monitor.
    let is_id = |text: &str| text.bytes().all(|byte| byte.is_ascii_hexdigit());
    !directory.contains("conmon")
        && id.len() == 64
        && is_id(id)
        && name.len() >= LEAST_ID_DIGITS
        && id.starts_with(name)
}

/// Asks those managers that are installed.
fn id_of(name: &str) -> Option<String> {
    MANAGERS.iter().find_map(|manager| {
        let mut command = Command::new(manager);
        command.args([
            "inspect",
            "--type",
            "container",
            "--format",
            "{{.Id}}",
            "--",
            name,
        ]);
        let output = command
            .stdin(Stdio::null())
            .stderr(Stdio::null())
            .output()
            .ok()?;
        let id = String::from_utf8(output.stdout).ok()?.trim().to_owned();
        (output.status.success() && !id.is_empty()).then_some(id)
    })
}

/// The cgroups whose own name is right, from the hierarchy's root; none inside another.
fn cgroups_that(is_right: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>> {
    let root = Cgroup::root()?.directory_path();
    let mut found = Vec::new();
    let mut waiting = vec![root.clone()];
    while let Some(directory) = waiting.pop() {
        // Cgroups come and go while we look.
        let entries = fs::read_dir(&directory).into_iter().flatten().flatten();
        for entry in entries.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())) {
            let path = entry.path();
            match path.file_name().and_then(OsStr::to_str) {
                Some(name) if is_right(name) => found.push(path),
                _ => waiting.push(path),
            }
        }
    }
    // Whoever has a cgroup delegated may call one in it what he likes: what root made comes first.
    let is_roots = |path: &PathBuf| fs::metadata(path).is_ok_and(|it| it.uid() == 0);
    if found.iter().any(is_roots) {
        found.retain(is_roots);
    }
    found.sort();
    let inside = |path: &Path| Path::new("/").join(path.strip_prefix(&root).unwrap_or(path));
    Ok(found.iter().map(|path| inside(path)).collect())
}

fn only(found: Vec<PathBuf>, what: &str, hint: &str) -> Result<Cgroup> {
    let what = what.to_owned();
    match found.as_slice() {
        [] => Err(Error::NoCgroupOf {
            what,
            hint: hint.to_owned(),
        }),
        [path] => Cgroup::at(path).map_err(|source| Error::CgroupOf { what, source }),
        several => Err(Error::SeveralCgroupsOf {
            what,
            paths: several.to_vec(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ID: &str = "3f2a9c0d1e4b5a69788796a5b4c3d2e1f00112233445566778899aabbccddeef";

    #[test]
    fn containers_are_known_by_how_their_managers_name_cgroups() {
        for directory in [
            format!("docker-{ID}.scope"),
            format!("libpod-{ID}.scope"),
            format!("cri-containerd-{ID}.scope"),
            format!("crio-{ID}.scope"),
            ID.to_owned(),
        ] {
            assert!(is_container(&directory, ID), "{directory}");
            assert!(is_container(&directory, &ID[..12]), "{directory}");
            assert!(!is_container(&directory, &ID[1..12]), "{directory}");
            assert!(!is_container(&directory, "3f2"), "{directory}");
        }
        assert!(is_container("machine-web.scope", "web"));
        assert!(is_container("lxc.payload.web", "web"));
        assert!(!is_container(&format!("libpod-conmon-{ID}.scope"), ID));
        assert!(!is_container("system.slice", "system.slice"));
    }
}
