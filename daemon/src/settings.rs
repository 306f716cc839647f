// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the service does beside its rules, as `settings/ebbd.toml` says in a folder of rules.

use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use ebb_scenario::Problem;
use ebb_scenario::reading::{Section, Source};

use crate::error::{Error, Result};

mod users;

pub use users::UserSettings;

/// Below a folder of rules, of which it is none.
const FILE: &str = "settings/ebbd.toml";

/// What the service does beside its rules.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where metrics are served for this machine, beside the socket of root's.
    pub metrics: Option<SocketAddr>,
    /// Where the page is served for this machine.
    pub page: Option<SocketAddr>,
    /// What ordinary users may have held.
    pub users: UserSettings,
}

impl Settings {
    /// Where it is not known what was meant, nothing is done.
    fn unknown() -> Self {
        Self {
            users: UserSettings::off("there are mistakes in its settings, see 'ebb rules check'"),
            ..Self::default()
        }
    }
}

/// Reads the settings of the last of these folders that has any; with what is wrong, in which case
/// nobody is served.
///
/// *Errors:* [`Error::File`]: the file cannot be read.
pub(crate) fn read_settings(folders: &[PathBuf]) -> Result<(Settings, Vec<Problem>)> {
    for folder in folders.iter().rev() {
        let path = folder.join(FILE);
        match fs::read_to_string(&path) {
            Ok(text) => return Ok(parse(&path, &text)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(source) => return Err(Error::file(&path, source)),
        }
    }
    Ok(Default::default())
}

fn parse(path: &Path, text: &str) -> (Settings, Vec<Problem>) {
    let name = path.display().to_string();
    let source = Source::new(&name, text, Path::new(""));
    let settings = source.root(|root| read_root(root, path));
    let problems = source.into_problems();
    match (settings, problems.is_empty()) {
        (Some(settings), true) => (settings, problems),
        _ => (Settings::unknown(), problems),
    }
}

fn read_root(root: &Section<'_, '_>, path: &Path) -> Settings {
    let listen = |name, example| read_listen(&root.section(name)?, example);
    let users = root.section("users");
    let settings = Settings {
        metrics: listen("metrics", "\"127.0.0.1:9750\""),
        page: listen("page", "\"127.0.0.1:9752\""),
        users: users.map_or_else(UserSettings::default, |section| users::read(&section, path)),
    };
    root.finish_with(|key| match key {
        "rule" => Some("unknown key; rules belong into a file of the folder above".to_owned()),
        _ => None,
    });
    settings
}

/// An address of loopback: nobody elsewhere is to see what is served.
fn read_listen(section: &Section<'_, '_>, example: &str) -> Option<SocketAddr> {
    let text = section.required::<String>("listen", example);
    section.finish();
    let text = text?;
    match text.parse::<SocketAddr>() {
        Ok(address) if address.ip().is_loopback() => Some(address),
        Ok(_) => {
            section.wrong(
                "listen",
                format!("{text} can be reached from elsewhere; write 127.0.0.1 or [::1]"),
            );
            None
        }
        Err(_) => {
            section.wrong(
                "listen",
                format!(
                    "{text} is no address with a port, such as {}",
                    example.trim_matches('"')
                ),
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(text: &str) -> String {
        let (settings, problems) = parse(Path::new("ebbd.toml"), text);
        assert_eq!(settings, Settings::unknown(), "{text}");
        assert_eq!(problems.len(), 1, "{text}: {problems:?}");
        problems[0].to_string()
    }

    #[test]
    fn metrics_are_for_this_machine_alone_and_what_is_wrong_is_said_with_its_place() {
        for (text, address) in [
            ("[metrics]\nlisten = \"127.0.0.1:9750\"\n", "127.0.0.1:9750"),
            ("[metrics]\nlisten = \"[::1]:9750\"\n", "[::1]:9750"),
        ] {
            let (settings, problems) = parse(Path::new("ebbd.toml"), text);
            assert_eq!(problems, []);
            assert_eq!(settings.metrics, Some(address.parse().unwrap()));
        }
        let both = "[metrics]\nlisten = \"[::1]:1\"\n[page]\nlisten = \"[::1]:2\"\n";
        let (settings, problems) = parse(Path::new("ebbd.toml"), both);
        assert_eq!(problems, []);
        assert_eq!(settings.page, Some("[::1]:2".parse().unwrap()));
        let (settings, problems) = parse(Path::new("ebbd.toml"), "");
        assert_eq!((settings, problems), Default::default());
        for (text, place, words) in [
            (
                "[metrics]\nlisten = \"0.0.0.0:9750\"\n",
                "ebbd.toml:2:10",
                "can be reached from elsewhere",
            ),
            ("[metrics]\nlisten = \"localhost\"\n", ":2:10", "no address"),
            (
                "[page]\nlisten = \"192.0.2.1:80\"\n",
                ":2:10",
                "can be reached from elsewhere",
            ),
            ("[metrics]\n", ":1:1", "`listen` is missing"),
            ("[metric]\n", ":1:2", "did you mean `metrics`?"),
            (
                "[metrics]\nlisten = \"127.0.0.1:1\"\nport = 1\n",
                ":3:1",
                "unknown key",
            ),
            ("[[rule]]\n", ":1:3", "the folder above"),
            ("[users]\nallow = \"ada\"\n", ":2:1", "allow_users"),
            (
                "[users]\ndeny_users = \"no-such-user\"\n",
                ":2:",
                "there is no user `no-such-user`",
            ),
            (
                "[users]\nallow_groups = [\"no-such-group\"]\n",
                ":2:",
                "there is no group `no-such-group`",
            ),
            ("[users]\npolicies = 0\n", ":2:", "from 1 to 400"),
            ("[users]\nenabled = \"no\"\n", ":2:", "true or false"),
        ] {
            let said = problem(text);
            assert!(
                said.contains(place) && said.contains(words),
                "{text}: {said}"
            );
        }
    }

    #[test]
    fn those_of_the_last_folder_count() {
        let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
        let paths = [0, 1].map(|place: usize| folders[place].path().to_path_buf());
        assert_eq!(read_settings(&paths).unwrap(), Default::default());
        for (place, port) in [(0, 1), (1, 2)] {
            let text = format!("[metrics]\nlisten = \"127.0.0.1:{port}\"\n");
            fs::create_dir(paths[place].join("settings")).unwrap();
            fs::write(paths[place].join(FILE), text).unwrap();
            let (settings, _) = read_settings(&paths).unwrap();
            assert_eq!(settings.metrics.unwrap().port(), port);
        }
    }
}
