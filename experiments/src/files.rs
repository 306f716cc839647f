// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Comparisons as files, and what all files of results have in common.
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::{Comparison, Engine, ExperimentError};

impl Comparison {
    /// Where it is stored below a folder, without the ending: the lab's beside the others.
    fn stem(folder: &Path, id: &str, engine: Engine) -> PathBuf {
        match engine {
            Engine::Lab => with_ending(&folder.join(id), engine.name()),
            Engine::Sim | Engine::Analytic => folder.join(id),
        }
    }

    /// Writes `ID.json`, `ID.csv` and `ID.parquet` below the folder; those of the lab are
    /// `ID.lab.json` and so on, those of a part `ID.part.json` and `ID.part.lab.json`.
    ///
    /// *Errors:* [`ExperimentError::File`].
    pub fn store(&self, folder: &Path) -> Result<PathBuf, ExperimentError> {
        let part = if self.is_part { ".part" } else { "" };
        let stem = Self::stem(folder, &format!("{}{part}", self.id), self.engine);
        write(&with_ending(&stem, "csv"), self.to_csv()?.as_bytes())?;
        write(&with_ending(&stem, "parquet"), &self.to_parquet()?)?;
        let path = with_ending(&stem, "json");
        write(&path, self.to_json().as_bytes())?;
        Ok(path)
    }

    /// What is stored of an experiment on an engine below the folder, if anything is.
    ///
    /// *Errors:* [`ExperimentError::File`], and [`ExperimentError::Stored`] for a file of
    /// another version.
    pub fn stored(
        folder: &Path,
        id: &str,
        engine: Engine,
    ) -> Result<Option<Self>, ExperimentError> {
        read_stored(with_ending(&Self::stem(folder, id, engine), "json"))
    }

    /// As JSON, one line, the same bytes for the same results.
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string(self).expect("text, numbers and lists are JSON");
        text + "\n"
    }
}

/// IDs may have dots, so the ending is added, not replaced.
pub(crate) fn with_ending(stem: &Path, ending: &str) -> PathBuf {
    let mut name = stem.as_os_str().to_owned();
    name.push(".");
    name.push(ending);
    name.into()
}

pub(crate) fn write(path: &Path, bytes: &[u8]) -> Result<(), ExperimentError> {
    let parent = path.parent().unwrap_or(Path::new(""));
    std::fs::create_dir_all(parent)
        .and_then(|()| std::fs::write(path, bytes))
        .map_err(|source| ExperimentError::File {
            path: path.to_owned(),
            source,
        })
}

/// Writes a CSV file with these lines below the names of their fields.
pub(crate) fn write_lines(path: &Path, lines: &[impl Serialize]) -> Result<(), ExperimentError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for line in lines {
        writer.serialize(line)?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| csv::Error::from(error.into_error()))?;
    write(path, &bytes)
}

/// Reads what [`write_lines`] writes.
pub(crate) fn read_lines<T: DeserializeOwned>(path: &Path) -> Result<Vec<T>, ExperimentError> {
    let text = std::fs::read(path).map_err(|source| ExperimentError::File {
        path: path.to_owned(),
        source,
    })?;
    let lines = csv::Reader::from_reader(text.as_slice()).into_deserialize();
    let lines = lines.collect::<Result<_, _>>();
    lines.map_err(|source| ExperimentError::Values {
        path: path.to_owned(),
        source,
    })
}

/// None: there is no such file.
pub(crate) fn read_stored<T: DeserializeOwned>(
    path: PathBuf,
) -> Result<Option<T>, ExperimentError> {
    let text = match std::fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(source) => return Err(ExperimentError::File { path, source }),
    };
    serde_json::from_str(&text)
        .map(Some)
        .map_err(|source| ExperimentError::Stored { path, source })
}
