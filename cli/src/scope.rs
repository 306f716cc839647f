// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Under systemd every cgroup is systemd's: `ebb run` asks it for a scope to work in.

use std::ffi::{OsStr, OsString};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Says, to the `ebb` that was started inside, that it is in its scope.
pub const INSIDE_FLAG: &str = "--in-scope";

/// Whether systemd manages this machine's cgroups, and answers.
pub fn is_available() -> bool {
    Path::new("/run/systemd/system").is_dir() && systemd_run().is_some() && answers()
}

/// Asked before `systemd-run` takes our place: its failures would be the command's.
fn answers() -> bool {
    Command::new("systemctl")
        .args(["show", "--property=Version"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success())
}

/// Starts this very command line again inside a transient scope: the same process, with the
/// same terminal, descriptors and environment. Returns only where that fails.
pub fn enter() -> std::io::Error {
    let Some(systemd_run) = systemd_run() else {
        return std::io::ErrorKind::NotFound.into();
    };
    let itself = match std::env::current_exe() {
        Ok(itself) => itself,
        Err(error) => return error,
    };
    Command::new(systemd_run)
        .args(["--scope", "--quiet", "--collect", "--property=Delegate=yes"])
        .arg(format!("--unit=ebb-run-{}", std::process::id()))
        .arg("--description=a command under ebb run")
        .arg("--")
        .arg(itself)
        .args(inside(std::env::args_os().skip(1)))
        .exec()
}

/// The arguments with [`INSIDE_FLAG`] behind the word `run`.
fn inside(arguments: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.collect();
    let run = arguments
        .iter()
        .position(|word| word == "run")
        .map_or(0, |at| at + 1);
    arguments.insert(run, INSIDE_FLAG.into());
    arguments
}

fn systemd_run() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_else(|| OsStr::new("/usr/bin:/bin").to_owned());
    std::env::split_paths(&path)
        .map(|dir| dir.join("systemd-run"))
        .find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_flag_goes_behind_run_and_not_into_the_command() {
        let words = ["-v", "run", "--policy", "ebb", "--", "sh", "run"].map(OsString::from);
        let expected = [
            "-v",
            "run",
            INSIDE_FLAG,
            "--policy",
            "ebb",
            "--",
            "sh",
            "run",
        ];
        assert_eq!(inside(words.into_iter()), expected);
    }
}
