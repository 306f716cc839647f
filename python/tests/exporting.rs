// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What other tools read says what the tables do: pcapng and iperf3's JSON, `exporting.py`.

mod support;

use std::path::Path;
use std::process::Command;

#[test]
fn what_other_tools_read_says_what_the_tables_do() {
    let Some(python) = support::researcher("what_other_tools_read_says_what_the_tables_do") else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    support::install(folder.path());
    let output = Command::new(python)
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/exporting.py"))
        .env("PYTHONPATH", folder.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all so\n");
}
