// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the files are that come with Ebb: experiments, and scenarios of the score.

use std::path::{Path, PathBuf};

/// Where `make install` puts them, seen from the program's folder.
const INSTALLED: &str = "../share/ebb";

/// The folder that was named; else the one of this name below the current folder; else the one
/// that was installed with the program.
pub fn folder(named: Option<&Path>, usual: &str) -> PathBuf {
    let program = std::env::current_exe().and_then(|path| path.canonicalize());
    let program = program.ok();
    chosen(named, usual, Path::new(""), program.as_deref())
}

fn chosen(named: Option<&Path>, usual: &str, here: &Path, program: Option<&Path>) -> PathBuf {
    let here = here.join(usual);
    if let Some(named) = named {
        return named.to_owned();
    }
    if here.exists() {
        return here;
    }
    let beside = program.and_then(Path::parent);
    let installed = beside.map(|folder| folder.join(INSTALLED).join(usual));
    let installed = installed.filter(|folder| folder.exists());
    installed
        .and_then(|it| it.canonicalize().ok())
        .unwrap_or(here)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_named_comes_before_what_is_here_and_that_before_what_is_installed() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let [here, bin] = ["here", "usr/bin"].map(|name| root.join(name));
        let installed = root.join("usr/share/ebb/experiments");
        for folder in [&here, &bin, &installed] {
            std::fs::create_dir_all(folder).unwrap();
        }
        let program = bin.join("ebb");
        let of = |named| chosen(named, "experiments", &here, Some(&program));
        assert_eq!(of(Some(Path::new("other"))), Path::new("other"));
        assert_eq!(of(None), installed);
        std::fs::create_dir(here.join("experiments")).unwrap();
        assert_eq!(of(None), here.join("experiments"));
        // Where there is nothing the usual name is what the message has.
        let nothing = chosen(None, "experiments", &root, Some(&root.join("x/ebb")));
        assert_eq!(nothing, root.join("experiments"));
    }
}
