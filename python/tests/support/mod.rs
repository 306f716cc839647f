// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The package `ebb` as a wheel would have it, of what was built for the tests.

use std::path::{Path, PathBuf};

use ebb_host::testing::requires;

/// Puts it into this folder, which Python then finds by `PYTHONPATH`.
pub fn install(folder: &Path) {
    let package = folder.join("ebb");
    std::fs::create_dir(&package).unwrap();
    let sources = std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("ebb")).unwrap();
    for source in sources.map(|entry| entry.unwrap().path()) {
        // What Python leaves behind is a folder.
        if source.is_file() {
            std::fs::copy(&source, package.join(source.file_name().unwrap())).unwrap();
        }
    }
    // As cargo names it for tests, and as Python does.
    let test = std::env::current_exe().unwrap();
    let built = test.parent().unwrap().join("libebb_python.so");
    std::fs::copy(built, package.join("_native.abi3.so")).unwrap();
}

/// The Python that has what researchers have (`make test-research`); if there is none, the test is
/// skipped.
#[allow(dead_code, reason = "each test program has this module for itself")]
pub fn researcher(test_name: &str) -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    // target/debug/deps/NAME
    let python = test.ancestors().nth(3).unwrap().join("research/bin/python");
    let what = "pandas and dask (make test-research)";
    requires(test_name, "research", what, python.is_file()).then_some(python)
}
