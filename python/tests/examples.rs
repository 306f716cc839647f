// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples in Python over an emulated link: they yield within the user backend's bounds, and
//! have their full share within five round trips after they were taken to the foreground.

#[path = "../../cli/tests/transfers/greedy.rs"]
mod greedy;
#[path = "../../library/tests/examples/scene.rs"]
mod scene;
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use ebb_host::testing::{requires, requires_root};
use ebb_lab::judging::judge;
use scene::{Program, measure};

#[test]
fn examples_in_python_yield_and_have_the_link_again_in_the_foreground() {
    let name = "examples_in_python_yield_and_have_the_link_again_in_the_foreground";
    if !requires_root(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    support::install(folder.path());
    let path = format!("PYTHONPATH={}", folder.path().display());
    let program = |python: &Path, file| {
        let script = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("examples")
            .join(file);
        let words = [python, &script].map(|it| it.to_str().unwrap());
        Program::new(file, &["env", &path, words[0], words[1]])
    };
    let mut programs = vec![program(Path::new("python3"), "fetch_with_asyncio.py")];
    let python = with_requests();
    if requires(name, "requests", "python3-requests", python.is_some()) {
        programs.extend(python.map(|it| program(&it, "fetch_with_requests.py")));
    }
    judge(name, || measure(&programs));
}

/// A Python that has requests: that of researchers (`make test-research`), else the system's.
fn with_requests() -> Option<PathBuf> {
    let test = std::env::current_exe().unwrap();
    // target/debug/deps/NAME
    let research = test.ancestors().nth(3).unwrap().join("research/bin/python");
    let mut all = [research, "python3".into(), "/usr/bin/python3".into()].into_iter();
    all.find(|python| {
        let imported = Command::new(python)
            .args(["-c", "import requests"])
            .output();
        imported.is_ok_and(|it| it.status.success())
    })
}
