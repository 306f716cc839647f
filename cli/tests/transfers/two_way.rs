// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that send and receive at once: their servers, their words, and how to see that all
//! arrived at both ends.

use std::fs;
use std::os::unix::fs::chown;
use std::path::{Path, PathBuf};
use std::process::Command;

use ebb_lab::emulator::SERVER_IPV4;

use crate::transfers::{content, run, words};

/// Where every server listens: less than best effort.
pub const OURS: u16 = 8_081;
/// What goes each way: more than a second alone, some more beside others.
const BYTES: usize = 2_500_000;

/// A program with its own folder.
pub struct Program {
    pub name: &'static str,
    /// The commands that have to be installed.
    pub needs: &'static [&'static str],
    /// Makes what it transfers.
    pub prepare: fn(&Place),
    /// The server's words.
    pub server: fn(&Place) -> Vec<String>,
    /// What is run under Ebb, in the client's folder, by a shell.
    pub script: fn() -> String,
    /// What is not as it must be afterwards.
    pub check: fn(&Place) -> Result<(), String>,
}

const RESTIC_PASSWORD: &str = "password";

/// The two ends' files.
pub struct Place {
    pub server: PathBuf,
    pub client: PathBuf,
}

pub const PROGRAMS: [Program; 3] = [
    Program {
        name: "rsync-both-ways",
        needs: &["rsync"],
        prepare: two_files,
        server: rsync_server,
        script: || {
            let url = format!("rsync://{SERVER_IPV4}:{OURS}/files");
            both(
                &format!("rsync -a out/ {url}/in/"),
                &format!("rsync -a {url}/out/ in/"),
            )
        },
        check: both_files_are_there,
    },
    Program {
        name: "git-push-and-fetch",
        needs: &["git"],
        prepare: repositories,
        server: git_server,
        script: || {
            both(
                "git -C clone push -q origin HEAD:refs/heads/up",
                "git -C clone fetch -q origin main",
            )
        },
        check: repositories_are_right,
    },
    Program {
        name: "restic-backup-and-restore",
        needs: &["restic", "rclone"],
        prepare: restic_repository,
        server: restic_server,
        script: || {
            let restic = format!("restic -q --no-cache -r rest:http://{SERVER_IPV4}:{OURS}/");
            let both = both(
                &format!("{restic} backup --host client out"),
                &format!("{restic} restore --host server --target in latest"),
            );
            format!("export RESTIC_PASSWORD={RESTIC_PASSWORD}; {both}")
        },
        check: restic_has_all,
    },
];

/// Two commands at once; fails if one of them does.
fn both(up: &str, down: &str) -> String {
    format!("{up} & first=$!; {down}; second=$?; wait $first && exit $second")
}

impl Place {
    /// Two empty folders.
    pub fn make(folder: &Path) -> Self {
        let [server, client] = ["server", "client"].map(|name| folder.join(name));
        for end in [&server, &client] {
            for name in ["in", "out"] {
                fs::create_dir_all(end.join(name)).unwrap();
            }
        }
        Self { server, client }
    }

    /// Hands the client's folder to a user.
    pub fn hand_to(&self, user: u32) {
        let mut folders = vec![self.client.clone()];
        while let Some(folder) = folders.pop() {
            chown(&folder, Some(user), Some(user)).unwrap();
            for entry in fs::read_dir(&folder).unwrap().map(Result::unwrap) {
                match entry.file_type().unwrap().is_dir() {
                    true => folders.push(entry.path()),
                    false => chown(entry.path(), Some(user), Some(user)).unwrap(),
                }
            }
        }
    }
}

fn two_files(place: &Place) {
    fs::write(place.client.join("out/file"), content(1, BYTES)).unwrap();
    fs::write(place.server.join("out/file"), content(2, BYTES)).unwrap();
}

fn both_files_are_there(place: &Place) -> Result<(), String> {
    same(
        &place.client.join("out/file"),
        &place.server.join("in/file"),
    )?;
    same(
        &place.server.join("out/file"),
        &place.client.join("in/file"),
    )
}

fn rsync_server(place: &Place) -> Vec<String> {
    let config = place.server.join("rsyncd.conf");
    let folder = place.server.display();
    let text = format!(
        "use chroot = no\nuid = 0\ngid = 0\nlog file = {folder}/log\n\
         [files]\npath = {folder}\nread only = no\n"
    );
    fs::write(&config, text).unwrap();
    let config = format!("--config={}", config.display());
    let (address, port) = (format!("--address={SERVER_IPV4}"), format!("--port={OURS}"));
    words(["rsync", "--daemon", "--no-detach", &address, &port, &config])
}

/// Git without anybody's settings, whoever owns the repository.
fn git(folder: &Path) -> Command {
    let mut git = Command::new("git");
    git.env("GIT_CONFIG_GLOBAL", "/dev/null");
    for who in ["AUTHOR", "COMMITTER"] {
        git.env(format!("GIT_{who}_NAME"), "Nobody");
        git.env(format!("GIT_{who}_EMAIL"), "nobody@example.org");
    }
    git.args(["-c", "safe.directory=*", "-C"]).arg(folder);
    git
}

/// One commit on each side that the other does not have.
fn repositories(place: &Place) {
    two_files(place);
    let (clone, bare) = (place.client.join("clone"), place.server.join("files.git"));
    for (end, folder) in [
        (&place.server, &place.server.join("work")),
        (&place.client, &clone),
    ] {
        fs::create_dir(folder).unwrap();
        run(git(folder).args(["init", "-q", "-b", "main"]));
        fs::copy(end.join("out/file"), folder.join("file")).unwrap();
        run(git(folder).args(["add", "file"]));
        run(git(folder).args(["commit", "-q", "-m", "A file"]));
    }
    run(git(&place.server).args(["clone", "-q", "--bare", "work", "files.git"]));
    // What fails the transfer must not be somebody's housekeeping.
    run(git(&bare).args(["config", "receive.autogc", "false"]));
    run(git(&clone).args(["config", "gc.auto", "0"]));
    let url = format!("git://{SERVER_IPV4}:{OURS}/files.git");
    run(git(&clone).args(["remote", "add", "origin", &url]));
}

fn git_server(place: &Place) -> Vec<String> {
    let base = format!("--base-path={}", place.server.display());
    let (address, port) = (format!("--listen={SERVER_IPV4}"), format!("--port={OURS}"));
    words([
        "git",
        "daemon",
        "--export-all",
        "--enable=receive-pack",
        "--reuseaddr",
        &base,
        &address,
        &port,
    ])
}

fn repositories_are_right(place: &Place) -> Result<(), String> {
    let (clone, bare) = (place.client.join("clone"), place.server.join("files.git"));
    for (repository, revision, wanted) in [
        (&bare, "up:file", place.client.join("out/file")),
        (&clone, "FETCH_HEAD:file", place.server.join("out/file")),
    ] {
        run(git(repository).args(["fsck", "--full"]));
        let blob = git(repository)
            .args(["cat-file", "blob", revision])
            .output();
        let (blob, wanted) = (blob.unwrap().stdout, fs::read(wanted).unwrap());
        if blob != wanted {
            return Err(format!("{}: {revision} differs", repository.display()));
        }
    }
    Ok(())
}

/// Restic without anybody's settings, on the repository's own machine.
fn restic(place: &Place) -> Command {
    let mut restic = Command::new("restic");
    restic.env("RESTIC_PASSWORD", RESTIC_PASSWORD);
    restic.current_dir(&place.server);
    restic.args(["-q", "--no-cache", "-r", "repository"]);
    restic
}

/// One snapshot, of what the server has.
fn restic_repository(place: &Place) {
    two_files(place);
    run(restic(place).arg("init"));
    run(restic(place).args(["backup", "--host", "server", "out"]));
}

/// Over HTTP: restic's other ways need a login at the server.
fn restic_server(place: &Place) -> Vec<String> {
    let repository = place.server.join("repository").display().to_string();
    let address = format!("{SERVER_IPV4}:{OURS}");
    words([
        "rclone",
        "--config=",
        "serve",
        "restic",
        "--addr",
        &address,
        &repository,
    ])
}

fn restic_has_all(place: &Place) -> Result<(), String> {
    same(
        &place.server.join("out/file"),
        &place.client.join("in/out/file"),
    )?;
    run(restic(place).args(["check", "--read-data"]));
    run(restic(place).args(["restore", "--host", "client", "--target", "in", "latest"]));
    same(
        &place.client.join("out/file"),
        &place.server.join("in/out/file"),
    )
}

fn same(wanted: &Path, got: &Path) -> Result<(), String> {
    let content = fs::read(got).map_err(|error| format!("{}: {error}", got.display()))?;
    match content == fs::read(wanted).unwrap() {
        true => Ok(()),
        false => Err(format!("{}: not what was sent", got.display())),
    }
}
