// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The notebook is executed, and what it says is so: `examples/yielding.ipynb`.

mod support;

use std::path::Path;
use std::process::Command;

#[test]
fn the_notebook_runs_and_finds_what_it_says() {
    let Some(python) = support::researcher("the_notebook_runs_and_finds_what_it_says") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    support::install(folder.path());
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new(python)
        .arg(package.join("tests/notebook.py"))
        .arg(package.join("examples/yielding.ipynb"))
        .env("PYTHONPATH", folder.path())
        // What Jupyter and matplotlib keep for a user is nobody's here.
        .env("HOME", folder.path())
        .env_remove("XDG_RUNTIME_DIR")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all so\n");
}
