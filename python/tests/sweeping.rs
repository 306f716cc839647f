// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python sweeps on processes, threads and a cluster of dask: `sweeping.py`.

mod support;

use std::path::Path;
use std::process::Command;

#[test]
fn sweeps_give_the_same_bytes_on_every_engine_and_lose_no_run() {
    let name = "sweeps_give_the_same_bytes_on_every_engine_and_lose_no_run";
    let Some(python) = support::researcher(name) else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    support::install(folder.path());
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sweeping.py"))
        .env("PYTHONPATH", folder.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all so\n");
}
