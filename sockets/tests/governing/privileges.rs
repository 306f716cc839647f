// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a governor may without privileges, and what it is refused.

use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::Command;

use super::*;
use ebb_host::testing::requires_root;

/// As in a container without any capability: an ordinary user that cannot become another.
#[test]
fn no_capability_is_needed() {
    let peer = Peer::new();
    // SAFETY: the child runs a governor on its own and ends without clearing up.
    let watcher = match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Parent { child } => child,
        nix::unistd::ForkResult::Child => {
            let is_right = govern_without_capabilities(&peer);
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
    };
    let status = nix::sys::wait::waitpid(watcher, None).unwrap();
    assert_eq!(status, nix::sys::wait::WaitStatus::Exited(watcher, 0));
}

fn govern_without_capabilities(peer: &Peer) -> bool {
    drop_everything();
    if ebb_sockets::probe().is_err() {
        return false;
    }
    let child = peer.helper("read").spawn().unwrap();
    // Met before its first segment it would be bounded by segments as long as loopback has them.
    let _stream = peer.accept();
    let mut governor = governor(Root::DescendantsOf(std::process::id()), peer);
    let deadline = Instant::now() + PATIENCE;
    let mut is_limited = false;
    while !is_limited && Instant::now() < deadline {
        governor.tick();
        std::thread::sleep(Duration::from_millis(5));
        is_limited = clamps(child.id())
            .iter()
            .any(|clamp| *clamp < LIMITED_BYTES);
    }
    end(child);
    is_limited
}

fn drop_everything() {
    // SAFETY: plain system calls on the own process.
    unsafe {
        for capability in 0..64 {
            libc::prctl(libc::PR_CAPBSET_DROP, capability, 0, 0, 0);
        }
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    }
    if nix::unistd::geteuid().is_root() {
        nix::unistd::setgid(NOBODY.into()).unwrap();
        nix::unistd::setuid(NOBODY.into()).unwrap();
        // What changed its user cannot be looked into by its like: as after exec.
        // SAFETY: a plain system call on the own process.
        unsafe { libc::prctl(libc::PR_SET_DUMPABLE, 1, 0, 0, 0) };
    }
}

/// A filter as containers have it is found before anything is run.
#[test]
fn a_system_call_filter_is_told_with_what_to_do() {
    // SAFETY: the child installs a filter, tries and ends without clearing up.
    let child = match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Parent { child } => child,
        nix::unistd::ForkResult::Child => {
            forbid_copying();
            let told = ebb_sockets::probe().map_err(|error| error.to_string());
            let is_right = told.is_err_and(|text| {
                text.contains("seccomp") && text.contains("--cap-add SYS_PTRACE")
            });
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
    };
    let status = nix::sys::wait::waitpid(child, None).unwrap();
    assert_eq!(status, nix::sys::wait::WaitStatus::Exited(child, 0));
}

/// pidfd_getfd answers EPERM from here on.
fn forbid_copying() {
    let step = |code: u32, jump_true: u8, jump_false: u8, value: u32| libc::sock_filter {
        code: code as u16,
        jt: jump_true,
        jf: jump_false,
        k: value,
    };
    let refused = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
    let mut filter = [
        step(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        step(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            0,
            1,
            libc::SYS_pidfd_getfd as u32,
        ),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, refused),
        step(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: filter.len() as u16,
        filter: filter.as_mut_ptr(),
    };
    // SAFETY: the program points to a filter that outlives the call.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
        libc::prctl(
            libc::PR_SET_SECCOMP,
            libc::SECCOMP_MODE_FILTER,
            &raw const program,
        );
    }
}

/// Started by an ordinary user, it is not that user's any more.
#[test]
fn a_setuid_program_is_reported_once_and_left_alone() {
    if !requires_root("a_setuid_program_is_reported_once_and_left_alone") {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let readable = std::fs::Permissions::from_mode(0o755);
    std::fs::set_permissions(directory.path(), readable).unwrap();
    let program = directory.path().join("privileged");
    std::fs::copy("/bin/sleep", &program).unwrap();
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o4755)).unwrap();
    let mut command = Command::new(&program);
    let child = command.arg("20").uid(NOBODY).gid(NOBODY).spawn().unwrap();
    // SAFETY: as above.
    let watcher = match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Parent { child } => child,
        nix::unistd::ForkResult::Child => {
            let is_right = try_as_nobody(child.id());
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
    };
    let status = nix::sys::wait::waitpid(watcher, None).unwrap();
    assert_eq!(status, nix::sys::wait::WaitStatus::Exited(watcher, 0));
    end(child);
}

/// The processes of root, looked at by an ordinary user: by a child of this test if it is root.
#[test]
fn other_users_processes_are_out_of_reach() {
    if !nix::unistd::geteuid().is_root() {
        let mut governor = governor(Root::Process(1), &Peer::new());
        for _ in 0..10 {
            governor.tick();
            std::thread::sleep(Duration::from_millis(30));
        }
        assert_eq!(governor.connections(), 0);
        return;
    }
    let peer = Peer::new();
    let child = peer.helper("read").spawn().unwrap();
    let _stream = peer.accept();
    let before = clamps(child.id());
    // SAFETY: the child runs a governor on its own and ends without clearing up.
    let watcher = match unsafe { nix::unistd::fork() }.unwrap() {
        nix::unistd::ForkResult::Parent { child } => child,
        nix::unistd::ForkResult::Child => {
            let is_right = try_as_nobody(child.id());
            // SAFETY: ends the process.
            unsafe { libc::_exit(i32::from(!is_right)) }
        }
    };
    let status = nix::sys::wait::waitpid(watcher, None).unwrap();
    assert_eq!(status, nix::sys::wait::WaitStatus::Exited(watcher, 0));
    assert_eq!(clamps(child.id()), before);
    assert_eq!(before.len(), 1);
    end(child);
}

fn try_as_nobody(pid: u32) -> bool {
    let id = (NOBODY.into(), NOBODY.into());
    if nix::unistd::setgid(id.0).is_err() || nix::unistd::setuid(id.1).is_err() {
        return false;
    }
    let mut governor = governor(Root::Process(pid), &Peer::new());
    let deadline = Instant::now() + PATIENCE;
    while governor.counters().out_of_reach.is_empty() && Instant::now() < deadline {
        governor.tick();
        std::thread::sleep(Duration::from_millis(5));
    }
    !governor.counters().out_of_reach.is_empty()
        && governor.counters().connections == 0
        && governor.take_notices().len() == 1
}
