// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What every search under libFuzzer needs: the compiler, and what to say where it is missing.

use std::process::{Command, Output};

/// The compiler: clang, or what `CLANG` names.
pub fn clang() -> Command {
    Command::new(std::env::var("CLANG").unwrap_or_else(|_| "clang".to_owned()))
}

pub fn run(command: &mut Command) -> Output {
    command.output().unwrap_or_else(|error| {
        panic!("{command:?}: {error}\n(needs clang 14 or newer, or CLANG set to its path)")
    })
}

/// Links a program with libFuzzer.
pub fn link(command: &mut Command) {
    let output = run(command);
    assert!(
        output.status.success(),
        "{}\n(needs libFuzzer: the Debian package libclang-rt-14-dev, or libclang-rt-N-dev for \
         clang N)",
        String::from_utf8_lossy(&output.stderr)
    );
}
