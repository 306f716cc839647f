// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is said where there is nothing to attach to, or no place to note it.

mod support;

use std::process::Stdio;

use support::{Ebb, stderr, stdout};

#[test]
fn what_cannot_be_attached_to_is_told_with_what_can() {
    for (option, value, told) in [
        ("--pid", "1", "1 is the ancestor of every process"),
        ("--pid", "0", "no process has the number 0"),
        ("--pid", "abc", "'pidof NAME'"),
        ("--port", "http", "'getent services NAME'"),
        ("--port", "0", "from 1 to 65535"),
        ("--port", "65536", "from 1 to 65535"),
    ] {
        let output = Ebb::new().output(["attach", option, value]);
        assert_eq!(output.status.code(), Some(2));
        let complaint = stderr(&output);
        assert!(complaint.contains(told), "{complaint}");
        assert!(complaint.contains(&format!("'{option} <")), "{complaint}");
    }
}

#[test]
fn a_thread_of_the_kernel_is_nothing_to_attach_to() {
    // In a PID namespace there are none.
    let stat = std::fs::read_to_string("/proc/2/stat").unwrap_or_default();
    if !stat.starts_with("2 (kthreadd)") {
        return;
    }
    let output = Ebb::new().output(["attach", "--pid", "2"]);
    let complaint = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{complaint}");
    assert!(complaint.contains("a thread of the kernel"), "{complaint}");
}

#[test]
fn the_beginning_of_an_identifier_that_is_too_short_is_told_how_long_it_must_be() {
    if !ebb_kernel::requires_root("the_beginning_of_an_identifier_that_is_too_short") {
        return;
    }
    let output = Ebb::new().output(["attach", "--container", "abc"]);
    let complaint = stderr(&output);
    assert!(complaint.contains("its first 4 digits"), "{complaint}");
}

#[test]
fn a_runtime_directory_that_is_none_is_named_with_its_variable() {
    let mut command = Ebb::new().command(["status"]);
    let output = command
        .env("EBB_RUNTIME_DIR", "/etc/passwd")
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(1));
    let complaint = stderr(&output);
    let told = "/etc/passwd: is no directory; EBB_RUNTIME_DIR";
    assert!(complaint.contains(told), "{complaint}");

    // A command runs all the same, and is told that it is not listed.
    let mut command = Ebb::new().command(["run", "--backend", "user", "--", "echo", "ran"]);
    command.env("EBB_RUNTIME_DIR", "/etc/passwd");
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert_eq!(stdout(&output), "ran\n");
    let complaint = stderr(&output);
    assert!(
        complaint.contains("'ebb status' will not list it"),
        "{complaint}"
    );
}
