// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Python runs scenarios, with nothing installed but the package: `simulating.py`.

mod support;

use std::path::Path;
use std::process::Command;

use ebb_host::testing::requires;

#[test]
fn python_simulates_what_the_command_line_does() {
    let name = "python_simulates_what_the_command_line_does";
    let test = std::env::current_exe().unwrap();
    // Whoever tests the whole workspace has built it.
    let program = test.ancestors().nth(2).unwrap().join("ebb");
    let what = "target/debug/ebb (cargo build -p ebb)";
    if !requires(name, "ebb", what, program.is_file()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    support::install(folder.path());
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let output = Command::new("python3")
        .arg(package.join("tests/simulating.py"))
        .arg(program)
        .arg(package.join("../scenarios/two-flows.toml"))
        .arg(package.join("ebb/_native.pyi"))
        .env("PYTHONPATH", folder.path())
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{complaint}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), "all so\n");
}
