// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of each language over an emulated link: they yield within the user backend's
//! bounds, and have their full share within five round trips after they were taken to the
//! foreground.

#[path = "../support/c.rs"]
mod c;
#[path = "../../../cli/tests/transfers/greedy.rs"]
mod greedy;
mod scene;

use std::process::Command;

use ebb_host::testing::{requires, requires_root};
use ebb_lab::judging::judge;
use scene::{Program, measure};

#[test]
fn examples_yield_and_have_the_link_again_in_the_foreground() {
    let name = "examples_yield_and_have_the_link_again_in_the_foreground";
    if !requires_root(name) {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut programs = ["std_sockets", "tokio_sockets"]
        .map(Program::example)
        .to_vec();
    if has_libcurl(name) {
        let source = "examples/fetch_with_libcurl.c";
        let program = c::build_shared(source, folder.path(), &["-lcurl"]);
        programs.push(Program::new("libcurl", &[program.to_str().unwrap()]));
    }
    programs.extend(with_reqwest(name));
    judge(name, || measure(&programs));
}

/// It has a workspace of its own, for what it brings takes longer to build than the library.
fn with_reqwest(name: &str) -> Option<Program> {
    let test = std::env::current_exe().unwrap();
    // target/debug/deps/NAME
    let target = test.ancestors().nth(3).unwrap();
    let program = target.join("clients/debug/fetch_with_reqwest");
    let what = "reqwest (make test-clients)";
    let is_there = requires(name, "reqwest", what, program.is_file());
    is_there.then(|| Program::new("reqwest", &[program.to_str().unwrap()]))
}

fn has_libcurl(name: &str) -> bool {
    let mut asked = Command::new("pkg-config");
    let is_there = asked.args(["--exists", "libcurl"]).status();
    let is_there = is_there.is_ok_and(|status| status.success());
    requires(name, "libcurl", "libcurl's header", is_there)
}
