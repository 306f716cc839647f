// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The wheel of `make wheel` is installed into an environment of its own, and used from there.

use std::path::{Path, PathBuf};
use std::process::Command;

use ebb_host::testing::{requires, requires_root};
use ebb_lab::namespace::NamespaceHandle;

/// As in `module.rs`.
const ADDRESSES: &str =
    "link set lo mtu 1500 up\naddr add 10.9.0.1/32 dev lo\naddr add 10.9.0.2/32 dev lo\n";

#[test]
fn the_wheel_is_installed_without_anything_else_and_has_all_of_it() {
    let name = "the_wheel_is_installed_without_anything_else_and_has_all_of_it";
    let wheel = newest_wheel();
    let what = "target/packages/ebb-*.whl (make wheel)";
    if !requires_root(name) || !requires(name, "wheel", what, wheel.is_some()) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let python = folder.path().join("bin/python");
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    run(Command::new("python3")
        .args(["-m", "venv"])
        .arg(folder.path()));
    let mut pip = Command::new(&python);
    pip.args(["-m", "pip", "install", "--quiet", "--no-index"]);
    run(pip.args(wheel).env("PIP_DISABLE_PIP_VERSION_CHECK", "1"));

    let namespace = NamespaceHandle::create().unwrap();
    namespace.ip(ADDRESSES).unwrap();
    let mut module = namespace.command(&python);
    module.arg(package.join("tests/module.py"));
    assert_eq!(run(module.arg(package.join("ebb/_native.pyi"))), "all so\n");
    let simulated = "import ebb, sys; print(len(ebb.simulate(sys.argv[1]).flows))";
    let mut simulate = Command::new(&python);
    simulate.args(["-c", simulated]);
    // Two flows in three intervals.
    let shown = run(simulate.arg(package.join("../scenarios/two-flows.toml")));
    assert_eq!(shown, "6\n");
}

/// The one that was built last, if one was.
fn newest_wheel() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    // target/debug/deps/NAME; the first is `scripts/wheel target --debug`'s.
    let folders = test.ancestors().skip(2).take(2);
    let built = folders.filter_map(|it| std::fs::read_dir(it.join("packages")).ok());
    let built = built.flatten().map(|entry| entry.unwrap().path());
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|it| it == "whl");
    built
        .filter(is_wheel)
        .max_by_key(|path| path.metadata().unwrap().modified().unwrap())
}

/// Answers what it printed.
fn run(command: &mut Command) -> String {
    let output = command
        .env_remove("PYTHONPATH")
        .current_dir("/")
        .output()
        .unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{command:?}: {complaint}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}
