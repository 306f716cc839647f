// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Where the system lets nobody copy descriptors, `ebb run` says so and runs nothing, unless told
//! to: then without any limit.

use std::process::{Command, Output, Stdio};

use support::{stderr, stdout};

mod support;

/// Forbids itself pidfd_getfd(2), as the seccomp profiles of containers do, and becomes what it is
/// told.
const FORBID: &str = "
import ctypes, os, struct, sys
def step(code, jt, jf, k):
    return struct.pack('HBBI', code, jt, jf, k)
PIDFD_GETFD, EPERM = 438, 1
steps = (step(0x20, 0, 0, 0) + step(0x15, 0, 1, PIDFD_GETFD) + step(0x06, 0, 0, 0x50000 | EPERM)
         + step(0x06, 0, 0, 0x7fff0000))
code = ctypes.create_string_buffer(steps, len(steps))
program = ctypes.create_string_buffer(struct.pack('HxxxxxxP', 4, ctypes.addressof(code)))
libc = ctypes.CDLL(None, use_errno=True)
assert libc.prctl(38, 1, 0, 0, 0) == 0
assert libc.prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execv(sys.argv[1], sys.argv[1:])
";

/// Not the first in the path, which may be in a folder of root alone.
const PYTHON: &str = "/usr/bin/python3";

fn without_copies(arguments: &[&str]) -> Output {
    let mut command = Command::new(PYTHON);
    if nix::unistd::geteuid().is_root() {
        command = Command::new("setpriv");
        command.args([
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "--",
            PYTHON,
        ]);
    }
    command.args(["-c", FORBID, env!("CARGO_BIN_EXE_ebb"), "run"]);
    command
        .args(arguments)
        .stdin(Stdio::null())
        .output()
        .unwrap()
}

#[test]
fn a_system_call_filter_is_named_with_what_to_do_and_nothing_is_run() {
    for backend in [&[][..], &["--backend", "user"]] {
        let refused = without_copies(&[backend, &["--", "echo", "ran"]].concat());
        let told = stderr(&refused);
        assert_eq!(refused.status.code(), Some(125), "{told}");
        assert_eq!(stdout(&refused), "");
        for what in [
            "pidfd_getfd",
            "seccomp",
            "--cap-add SYS_PTRACE",
            "--if-unavailable=run",
        ] {
            assert!(told.contains(what), "no '{what}' in: {told}");
        }
    }
}

#[test]
fn told_to_run_anyway_it_says_that_there_is_no_limit() {
    let ran = without_copies(&["--if-unavailable=run", "--", "sh", "-c", "echo ran; exit 5"]);
    let told = stderr(&ran);
    assert_eq!(
        (ran.status.code(), stdout(&ran).as_str()),
        (Some(5), "ran\n"),
        "{told}"
    );
    assert!(
        told.contains("seccomp") && told.contains("without any limit"),
        "{told}"
    );
}
