// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::{Path, PathBuf};

use ebb_algorithms::nearest;

use crate::folder::Folder;
use crate::{Experiment, ExperimentError};

/// The experiments of a folder: of papers, and our own.
#[derive(Clone, Debug)]
pub struct Catalogue {
    /// *Shape:* sorted by ID, at least one.
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    id: String,
    file: PathBuf,
    /// Whether it is of a folder of our own.
    is_own: bool,
}

impl Catalogue {
    /// Finds `<paper>/<experiment>.toml`; only files that have `[[row]]`s are experiments,
    /// since scenarios stand beside them.
    ///
    /// *Errors:* [`ExperimentError::NoFolder`], [`ExperimentError::File`], and
    /// [`ExperimentError::Empty`] without any.
    pub fn open(folder: &Path) -> Result<Self, ExperimentError> {
        if !folder.exists() {
            return Err(ExperimentError::NoFolder {
                path: folder.to_owned(),
                flag: "--experiments",
            });
        }
        let mut found = Vec::new();
        for paper in entries(folder)? {
            if !paper.is_dir() {
                continue;
            }
            let Folder { is_own } = Folder::of(&paper)?;
            for file in entries(&paper)? {
                if file.extension().is_some_and(|ending| ending == "toml") && has_rows(&file)? {
                    let id = id(&file);
                    found.push(Entry { id, file, is_own });
                }
            }
        }
        match found.is_empty() {
            true => Err(ExperimentError::Empty(folder.to_owned())),
            false => Ok(Self { entries: found }),
        }
    }

    /// All IDs, in order.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.id.as_str())
    }

    /// Reads experiments by ID or, all of a folder, by the folder's name; if none is named, those
    /// of all papers. What is our own is read when it is named.
    ///
    /// *Errors:* [`ExperimentError::Unknown`] with the nearest ID;
    /// [`ExperimentError::Wrong`] with what is wrong in a file.
    pub fn read(&self, wanted: &[String]) -> Result<Vec<Experiment>, ExperimentError> {
        for name in wanted {
            if !self.ids().any(|id| is_meant(name, id)) {
                return Err(self.unknown(name));
            }
        }
        let is_wanted = |entry: &&Entry| match wanted {
            [] => !entry.is_own,
            wanted => wanted.iter().any(|name| is_meant(name, &entry.id)),
        };
        self.read_those(is_wanted)
    }

    /// Reads all, our own too.
    ///
    /// *Errors:* [`ExperimentError::Wrong`] with what is wrong in a file.
    pub fn read_all(&self) -> Result<Vec<Experiment>, ExperimentError> {
        self.read_those(|_| true)
    }

    fn read_those(
        &self,
        is_wanted: impl Fn(&&Entry) -> bool,
    ) -> Result<Vec<Experiment>, ExperimentError> {
        let wanted = self.entries.iter().filter(is_wanted);
        wanted
            .map(|entry| Experiment::read(&entry.id, &entry.file))
            .collect()
    }

    fn unknown(&self, name: &str) -> ExperimentError {
        let papers = self.ids().filter_map(|id| id.split('/').next());
        let hint = match nearest(name, self.ids().chain(papers)) {
            Some(nearest) => format!("did you mean `{nearest}`?"),
            None => "`ebb reproduce --list` lists them".to_owned(),
        };
        ExperimentError::Unknown {
            id: name.to_owned(),
            hint,
        }
    }
}

fn is_meant(name: &str, id: &str) -> bool {
    let name = name.trim_end_matches('/');
    id == name || id.split('/').next() == Some(name)
}

/// Its folder's name and its own without the ending.
fn id(file: &Path) -> String {
    let name = |part: Option<&std::ffi::OsStr>| {
        part.map_or(String::new(), |part| part.to_string_lossy().into_owned())
    };
    let paper = name(file.parent().and_then(Path::file_name));
    format!("{paper}/{}", name(file.file_stem()))
}

fn has_rows(file: &Path) -> Result<bool, ExperimentError> {
    let text = std::fs::read_to_string(file).map_err(|source| failure(file, source))?;
    // By the text, so that a file with mistakes is found, and told to be wrong.
    Ok(text
        .lines()
        .any(|line| line.trim_start().starts_with("[[row]]")))
}

fn entries(folder: &Path) -> Result<Vec<PathBuf>, ExperimentError> {
    let list = std::fs::read_dir(folder).map_err(|source| failure(folder, source))?;
    let mut paths = Vec::new();
    for entry in list {
        paths.push(entry.map_err(|source| failure(folder, source))?.path());
    }
    paths.sort();
    Ok(paths)
}

fn failure(path: &Path, source: std::io::Error) -> ExperimentError {
    ExperimentError::File {
        path: path.to_owned(),
        source,
    }
}
