// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Network namespaces without names: they exist while a file descriptor or a process
//! holds them, so nothing is left behind, even after `kill -9`.
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::sync::Arc;

use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::fstat;
use nix::unistd::Pid;

use crate::LabError;

const NEEDS_ADMIN: &str = "needs root, or CAP_SYS_ADMIN and CAP_NET_ADMIN";

/// A network namespace, kept alive by this handle and its clones.
///
/// Only the network changes for those who enter: `/sys`, cgroups and bpffs stay.
#[derive(Clone, Debug)]
pub struct NamespaceHandle {
    fd: Arc<OwnedFd>,
}

impl NamespaceHandle {
    /// Makes a new, empty network namespace; the calling thread stays where it is.
    ///
    /// *Errors:* [`LabError::System`] without the privilege.
    pub fn create() -> Result<Self, LabError> {
        let create = || -> Result<Self, LabError> {
            unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| {
                LabError::system("make a network namespace", errno, NEEDS_ADMIN)
            })?;
            Self::of_current_thread()
        };
        in_thread(create)?
    }

    /// The namespace in which the calling thread is.
    ///
    /// *Errors:* [`LabError::System`] when `/proc` is not mounted.
    pub fn of_current_thread() -> Result<Self, LabError> {
        let path = "/proc/thread-self/ns/net";
        let file =
            File::open(path).map_err(|error| LabError::system(path, error, "is /proc mounted?"))?;
        Ok(Self {
            fd: Arc::new(file.into()),
        })
    }

    /// What other programs can open it by, while this process and the handle live.
    pub fn path(&self) -> String {
        format!("/proc/{}/fd/{}", std::process::id(), self.fd.as_raw_fd())
    }

    /// Moves the calling thread, and only it, into the namespace.
    ///
    /// *Errors:* [`LabError::System`] without the privilege.
    pub fn enter(&self) -> Result<(), LabError> {
        setns(self.fd.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(|errno| LabError::system("enter a network namespace", errno, NEEDS_ADMIN))
    }

    /// Runs the function in a thread inside the namespace and waits for its result.
    /// Sockets made there stay in the namespace, whoever uses them later.
    ///
    /// *Errors:* [`LabError::System`] when no thread can be started or the namespace
    /// cannot be entered. *Panics* when the function does.
    pub fn run_in<R: Send>(&self, function: impl FnOnce() -> R + Send) -> Result<R, LabError> {
        in_thread(|| {
            self.enter()?;
            Ok(function())
        })?
    }

    /// A command that will run inside the namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.move_child(&mut command);
        command
    }

    /// Makes a command, built elsewhere, run inside the namespace.
    pub fn move_child(&self, command: &mut Command) {
        let fd = Arc::clone(&self.fd);
        let enter = move || setns(fd.as_fd(), CloneFlags::CLONE_NEWNET).map_err(Into::into);
        // SAFETY: between fork and exec the closure only calls setns(2), which is
        // async-signal-safe; the descriptor lives in the closure.
        unsafe { command.pre_exec(enter) };
    }

    /// The processes in the namespace, by their main threads.
    ///
    /// *Errors:* [`LabError::System`] where the kernel refuses to tell of the namespace.
    pub fn processes(&self) -> Result<Vec<Pid>, LabError> {
        let held = fstat(self.fd.as_fd());
        let failed = |errno| LabError::system("look at a network namespace", errno, NEEDS_ADMIN);
        let own = held.map_err(failed)?.st_ino;
        let mut processes = Vec::new();
        for pid in ebb_host::all_processes() {
            // Processes come and go, and those that have ended are in no namespace.
            let namespace = fs::metadata(format!("/proc/{pid}/ns/net"));
            if namespace.is_ok_and(|namespace| namespace.ino() == own) {
                processes.push(Pid::from_raw(pid.cast_signed()));
            }
        }
        Ok(processes)
    }

    /// Sets sysctls of the namespace, by dotted name: `net.ipv4.tcp_timestamps`.
    ///
    /// *Errors:* [`LabError::System`] names the file of the first that is refused.
    pub fn set_sysctls(&self, sysctls: &[(&str, &str)]) -> Result<(), LabError> {
        // /proc/sys/net shows the namespace of the thread that opens it.
        self.run_in(|| {
            for (name, value) in sysctls {
                let path = format!("/proc/sys/{}", name.replace('.', "/"));
                fs::write(&path, value).map_err(|error| {
                    let hint = "does this kernel have this sysctl, and is /proc/sys writable?";
                    LabError::system(format!("write `{value}` to {path}"), error, hint)
                })?;
            }
            Ok(())
        })?
    }

    /// Runs lines of `ip` (iproute2) inside the namespace.
    ///
    /// *Errors:* [`LabError::Tool`] with what `ip` said, [`LabError::System`] when it
    /// cannot be started.
    pub fn ip(&self, lines: &str) -> Result<(), LabError> {
        self.feed(
            &["ip", "-batch", "-"],
            lines,
            "install the package iproute2",
        )
    }

    /// Has the packet filter of the namespace take these lines of `nft` (nftables), all or none.
    ///
    /// *Errors:* as [`Self::ip`].
    pub fn nft(&self, lines: &str) -> Result<(), LabError> {
        self.feed(&["nft", "-f", "-"], lines, "install the package nftables")
    }

    fn feed(&self, words: &[&str], lines: &str, hint: &'static str) -> Result<(), LabError> {
        let cannot_run = |error| LabError::system(format!("run {}", words[0]), error, hint);
        let mut child = self
            .command(words[0])
            .args(&words[1..])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(cannot_run)?;
        let mut stdin = child.stdin.take().expect("stdin was asked for");
        // A write that fails means that the program has ended: its status tells why.
        let _ = stdin.write_all(lines.as_bytes());
        drop(stdin);
        let output = child.wait_with_output().map_err(cannot_run)?;
        if output.status.success() {
            return Ok(());
        }
        let (words, lines) = (words.join(" "), lines.trim().replace('\n', "; "));
        Err(LabError::Tool {
            command: format!("{words}, given `{lines}`"),
            output: String::from_utf8_lossy(&output.stderr).trim().to_owned(),
        })
    }
}

impl AsFd for NamespaceHandle {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

/// Runs the function in a thread of its own: a namespace is a thread's property, and
/// the caller's must not change.
fn in_thread<R: Send>(function: impl FnOnce() -> R + Send) -> Result<R, LabError> {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new()
            .name("ebb-namespace".into())
            .spawn_scoped(scope, function)
            .map_err(|error| LabError::system("start a thread", error, "too many threads?"))?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}
