// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lab for ordinary users: a user namespace of their own, in which they may make networks.
use std::fs;

use nix::errno::Errno;
use nix::sched::{CloneFlags, unshare};

use crate::LabError;

/// Moves this process into a user namespace in which its user is root, and into a network
/// namespace of that. Outside it can do nothing that it could not do before.
///
/// Call it while there is a single thread.
///
/// *Errors:* [`LabError::System`] where the system lets no ordinary user do this, with the
/// setting that forbids it.
pub fn enter_namespaces() -> Result<(), LabError> {
    let (user, group) = (nix::unistd::geteuid(), nix::unistd::getegid());
    unshare(CloneFlags::CLONE_NEWUSER).map_err(|errno| refused("make a user namespace", errno))?;
    for (file, text) in [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {user} 1")),
        ("/proc/self/gid_map", format!("0 {group} 1")),
    ] {
        fs::write(file, text)
            .map_err(|error| LabError::system(file, error, "is /proc mounted and writable?"))?;
    }
    // Some systems let everybody make a user namespace that is good for nothing.
    unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| refused("make a network namespace", errno))
}

/// Settings that forbid it, the value that does, and what would help.
const SETTINGS: [(&str, &str, &str); 3] = [
    (
        "user.max_user_namespaces",
        "0",
        "this system lets no ordinary user make namespaces, by user.max_user_namespaces = 0: \
         do it as root, or sudo sysctl user.max_user_namespaces=1000",
    ),
    (
        "kernel.unprivileged_userns_clone",
        "0",
        "this system lets no ordinary user make namespaces, by \
         kernel.unprivileged_userns_clone = 0: do it as root, or sudo sysctl \
         kernel.unprivileged_userns_clone=1",
    ),
    (
        "kernel.apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor lets no ordinary user have networks of their own here, by \
         kernel.apparmor_restrict_unprivileged_userns = 1: do it as root, or sudo sysctl \
         kernel.apparmor_restrict_unprivileged_userns=0",
    ),
];

fn refused(action: &str, errno: Errno) -> LabError {
    let forbids = |(name, value, _): &&(&str, &str, &str)| {
        ebb_host::sysctl(name).is_some_and(|set| set == *value)
    };
    let setting = SETTINGS.iter().find(forbids).map(|(_, _, hint)| *hint);
    let hint = setting.unwrap_or(
        "something forbids namespaces to ordinary users here, as the seccomp profiles of \
         containers do: do it as root",
    );
    LabError::system(action, errno, hint)
}
