// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::path::Path;

use ebb_scenario::ScenarioError;
use ebb_scenario::reading::Source;

use crate::ExperimentError;

/// What holds for all experiments of a folder, as its `folder.toml` says; without one it is a
/// paper.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Folder {
    /// Whether these are figures of our own: what is held against them are bounds that we set
    /// ourselves, no paper's values.
    pub is_own: bool,
}

/// Its name; it has no `[[row]]`, so it is no experiment.
const FILE: &str = "folder.toml";

impl Folder {
    /// Reads it.
    ///
    /// *Errors:* [`ExperimentError::File`] when it is there and cannot be read,
    /// [`ExperimentError::Wrong`] with all that is wrong in it.
    pub fn of(folder: &Path) -> Result<Self, ExperimentError> {
        let path = folder.join(FILE);
        let text = match std::fs::read_to_string(&path) {
            Ok(text) => text,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Self::default());
            }
            Err(source) => return Err(ExperimentError::File { path, source }),
        };
        let file = path.display().to_string();
        let source = Source::new(&file, &text, folder);
        let is_own = source.root(|root| {
            let is_own = root.get_or("own", false);
            root.finish();
            is_own
        });
        let read = Self {
            is_own: is_own.unwrap_or_default(),
        };
        match source.into_problems() {
            problems if problems.is_empty() => Ok(read),
            problems => Err(ScenarioError::Problems(problems).into()),
        }
    }
}
