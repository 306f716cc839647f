// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Laws of one's own.

use std::path::PathBuf;

use ebb_algorithms::{LawInfo, own, own_law_files};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

pyo3::create_exception!(
    ebb,
    WrongLaw,
    PyValueError,
    "What is wrong with a law of one's own."
);

/// Compiles a header into a shared object and loads it; answers the names of its laws.
#[pyfunction]
#[pyo3(signature = (header, out=None, *, compiler="cc"))]
pub fn build_law(
    header: PathBuf,
    out: Option<PathBuf>,
    compiler: &str,
) -> PyResult<Vec<&'static str>> {
    let usual = || PathBuf::from(header.file_stem().unwrap_or_default()).with_extension("so");
    let out = out.unwrap_or_else(usual);
    names(own::build(&header, &out, compiler))
}

/// Loads the laws of a shared object; answers their names.
#[pyfunction]
pub fn load_law(path: PathBuf) -> PyResult<Vec<&'static str>> {
    names(own::load(&path))
}

/// The files of the laws that are loaded, for other processes.
#[pyfunction]
pub fn loaded_laws(py: Python<'_>) -> Vec<Bound<'_, PyBytes>> {
    let files = own_law_files();
    files.iter().map(|file| PyBytes::new(py, file)).collect()
}

fn names(laws: Result<Vec<&'static LawInfo>, own::OwnLawError>) -> PyResult<Vec<&'static str>> {
    let laws = laws.map_err(|error| WrongLaw::new_err(error.to_string()))?;
    Ok(laws.into_iter().map(|law| law.name).collect())
}
