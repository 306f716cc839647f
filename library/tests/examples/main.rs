// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The examples of each language over an emulated link: they yield within the user backend's bounds,
//! and have their full share within five round trips after they were taken to the foreground.

#[path = "../../../cli/tests/transfers/greedy.rs"]
mod greedy;
mod scene;

use ebb_lab::judging::judge;
use scene::{Program, measure};

#[test]
fn examples_yield_and_have_the_link_again_in_the_foreground() {
    let name = "examples_yield_and_have_the_link_again_in_the_foreground";
    if !ebb_host::testing::requires_root(name) {
        return;
    }
    let programs = [Program::example("std_sockets")];
    judge(name, || measure(&programs));
}
