// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A kernel without memory for what the kernel backend asks of it: each request of `bpf(2)` is
//! answered so, by a seccomp filter of the test's, since nobody can have memory run out at one
//! place on purpose.

mod support;

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Output, Stdio};

use support::{Ebb, stderr, stdout};

/// The first argument of bpf(2), as linux/bpf.h numbers it.
const MAP_CREATE: u32 = 0;
const MAP_LOOKUP: u32 = 1;
const MAP_UPDATE: u32 = 2;
const PROG_LOAD: u32 = 5;
const PROG_ATTACH: u32 = 8;
const OBJECT_INFO: u32 = 15;
const BTF_LOAD: u32 = 18;
const MAP_FREEZE: u32 = 22;
const LINK_CREATE: u32 = 28;
const ITERATOR_CREATE: u32 = 33;

/// Where in struct seccomp_data the number of the system call is, and its first argument.
const NUMBER_AT: u32 = 0;
const ARGUMENT_AT: u32 = 16;

fn run_without_memory_for(request: u32) -> Output {
    run_refused(request, libc::ENOMEM)
}

fn run_refused(request: u32, errno: i32) -> Output {
    let ebb = Ebb::new();
    let mut command = ebb.command(["run", "--backend=kernel", "--", "echo", "it ran"]);
    // SAFETY: it only makes system calls.
    unsafe { command.pre_exec(move || refuse(request, errno)) };
    command.stdin(Stdio::null()).output().unwrap()
}

/// From now on this request is answered so, for this process and what it starts.
fn refuse(request: u32, errno: i32) -> io::Result<()> {
    let load = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    let jump = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    let answer = (libc::BPF_RET | libc::BPF_K) as u16;
    let refusal = libc::SECCOMP_RET_ERRNO | errno.cast_unsigned();
    let line = |code, jt, jf, k| libc::sock_filter { code, jt, jf, k };
    let mut lines = [
        line(load, 0, 0, NUMBER_AT),
        line(jump, 0, 3, libc::SYS_bpf as u32),
        line(load, 0, 0, ARGUMENT_AT),
        line(jump, 0, 1, request),
        line(answer, 0, 0, refusal),
        line(answer, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let filter = libc::sock_fprog {
        len: lines.len() as u16,
        filter: lines.as_mut_ptr(),
    };
    // SAFETY: the filter lives through the call, and has as many lines as it says.
    unsafe {
        if libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const filter,
            ) != 0
        {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

#[test]
fn a_command_for_whose_programs_there_is_no_memory_is_refused_with_what_ran_out() {
    let name = "a_command_for_whose_programs_there_is_no_memory_is_refused_with_what_ran_out";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    for request in [
        MAP_CREATE,
        MAP_LOOKUP,
        MAP_UPDATE,
        PROG_LOAD,
        PROG_ATTACH,
        OBJECT_INFO,
        BTF_LOAD,
        MAP_FREEZE,
    ] {
        let output = run_without_memory_for(request);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(125), "{request}: {said}");
        assert_eq!(stdout(&output), "", "{request}");
        let is_named = said.contains("memory has run out") && said.contains("memory.max");
        assert!(is_named, "{request}: {said}");
        // Nothing else is wrong with this kernel.
        assert!(!said.contains("use a kernel"), "{request}: {said}");
    }
}

/// libbpf goes on without types, and the kernel then denies having what needs them.
#[test]
fn types_that_the_kernel_refuses_are_named() {
    if !ebb_kernel::requires_root("types_that_the_kernel_refuses_are_named") {
        return;
    }
    for (errno, words) in [(libc::EPERM, "not permitted"), (libc::EINVAL, "Invalid")] {
        let output = run_refused(BTF_LOAD, errno);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(125), "{said}");
        let is_named = said.contains("type information of programs (BTF_LOAD): ");
        assert!(is_named && said.contains(words), "{said}");
        assert!(!said.contains("use a kernel"), "{said}");
    }
}

/// Laws for sending are registered by a link. Yielding one way is better than not running.
#[test]
fn a_law_for_sending_that_there_is_no_memory_for_is_told_of() {
    let name = "a_law_for_sending_that_there_is_no_memory_for_is_told_of";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    let output = run_without_memory_for(LINK_CREATE);
    let said = stderr(&output);
    assert_eq!(stdout(&output), "it ran\n", "{said}");
    assert!(
        said.starts_with("ebb: what is sent does not yield: "),
        "{said}"
    );
    assert!(said.contains("memory has run out"), "{said}");
}

/// The programs let go what could not be walked over.
#[test]
fn a_keeper_that_has_no_memory_to_let_go_says_what_came_of_it_all_the_same() {
    let name = "a_keeper_that_has_no_memory_to_let_go_says_what_came_of_it_all_the_same";
    if !ebb_kernel::requires_root(name) {
        return;
    }
    for request in [LINK_CREATE, ITERATOR_CREATE] {
        let output = run_without_memory_for(request);
        let said = stderr(&output);
        assert_eq!(output.status.code(), Some(0), "{request}: {said}");
        assert_eq!(stdout(&output), "it ran\n", "{request}");
        assert!(!said.contains("keeper was killed"), "{request}: {said}");
    }
}
