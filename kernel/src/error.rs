// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something did not work, and what to do about it.

use std::io;
use std::path::PathBuf;

/// Answer of everything here that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// What can go wrong; each message ends with what would be right.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The kernel is too old or was built without something.
    #[error("this kernel ({release}) has no {feature}: {remedy}")]
    MissingFeature {
        /// What is missing.
        feature: &'static str,
        /// The kernel's release.
        release: String,
        /// What to do.
        remedy: &'static str,
    },
    /// The kernel cannot run this law, though it can run others.
    #[error(
        "law '{law}' needs {feature} (Linux {since}), which this kernel ({release}) has not: \
         choose another law, 'ebb policies' has them all"
    )]
    LawNeeds {
        /// The law.
        law: &'static str,
        /// What it needs.
        feature: &'static str,
        /// The first release that has it.
        since: &'static str,
        /// The kernel's release.
        release: String,
    },
    /// A law of one's own is not built for the kernel, or not for this Ebb's programs.
    #[error(
        "the file of law '{law}' has {problem}: build it again, with this Ebb and with clang: \
         ebb law build HEADER"
    )]
    NoPrograms {
        /// The law.
        law: &'static str,
        /// What its file has.
        problem: &'static str,
    },
    /// Connections that run already cannot be governed, or not all of them.
    #[error(
        "{count} download{} that {} already cannot be taken over by this kernel: use Linux 6.12 \
         or newer, the user backend, or attach before they begin",
        if *count == 1 { "" } else { "s" },
        if *count == 1 { "runs" } else { "run" }
    )]
    LeavesRunning {
        /// How many.
        count: u64,
    },
    /// The kernel had no memory for the state of connections that run already.
    #[error(
        "the kernel has no memory for the state of {count} connections that run already, so they \
         could not be governed: see memory.max of this process's cgroup, or use the user backend"
    )]
    NoMemory {
        /// How many.
        count: u64,
    },
    /// Sockets cannot keep the state of a law.
    #[error(
        "this kernel keeps nothing in sockets ({source}), so no connection could be governed: \
         use the user backend (--backend user)"
    )]
    NoStorage {
        /// What the kernel said.
        source: io::Error,
    },
    /// A privilege is missing.
    #[error("not permitted to {what}; run as root (CAP_BPF, CAP_NET_ADMIN and CAP_SYS_ADMIN)")]
    NotPermitted {
        /// What was tried.
        what: String,
    },
    /// There is no cgroup v2 hierarchy.
    #[error(
        "no cgroup v2 hierarchy is mounted and none can be made ({source}); mount one: \
             mount -t cgroup2 none /sys/fs/cgroup/unified"
    )]
    NoCgroup2 {
        /// What the kernel said.
        source: io::Error,
    },
    /// Something on a cgroup failed.
    #[error("cgroup {path}: cannot {action}: {source}{}", ran_out(source))]
    Cgroup {
        /// The cgroup.
        path: PathBuf,
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// The path is no cgroup of the v2 hierarchy.
    #[error("{path}: not a cgroup v2 directory; those are below {mount}")]
    NotACgroup {
        /// The path as given.
        path: PathBuf,
        /// Where the hierarchy is mounted.
        mount: PathBuf,
    },
    /// No process has this number, or it ended.
    #[error(transparent)]
    NoProcess(#[from] ebb_host::Error),
    /// Processes are chosen by numbers of another PID namespace than the kernel's.
    #[error(
        "processes cannot be chosen from inside a PID namespace (a container); \
         attach to their whole cgroup, or from the machine itself"
    )]
    InnerPidNamespace,
    /// The law is for a host that sees no packets.
    #[error("the law '{law}' is for the user backend alone: --backend user")]
    NotForKernel {
        /// The law.
        law: &'static str,
    },
    /// A living Ebb acts on the same connections already.
    #[error(
        "cgroup {cgroup} is under law '{law}' already, by process {owner_pid}; \
         take it off first: ebb detach, or end that process"
    )]
    AlreadyAttached {
        /// The cgroup, which may be above or below the one asked for.
        cgroup: PathBuf,
        /// The law.
        law: String,
        /// The process that holds the lease.
        owner_pid: u32,
    },
    /// A living Ebb of another version acts on the same cgroup.
    #[error(
        "another version of Ebb (its programs are of version {theirs}, ours of {ours}) acts on \
         cgroup {cgroup}, by process {owner_pid}: take it off first by 'ebb detach', or end that \
         process; on other cgroups both work side by side"
    )]
    OtherVersion {
        /// The cgroup, which may be above or below the one asked for.
        cgroup: PathBuf,
        /// The process that holds the lease.
        owner_pid: u32,
        /// The version of its programs.
        theirs: u32,
        /// The version of ours.
        ours: u32,
    },
    /// Patterns of rules cannot be judged.
    #[error("the patterns of cgroups cannot be judged: {reason}")]
    Patterns {
        /// Why, and what would be right.
        reason: String,
    },
    /// A rule acts on the connections already.
    #[error(
        "cgroup {cgroup} yields by law '{law}' already, by a rule of the service ebbd (process \
         {owner_pid}): 'ebb rules' lists the rules"
    )]
    Ruled {
        /// The cgroup.
        cgroup: PathBuf,
        /// The law.
        law: String,
        /// The process that holds the lease.
        owner_pid: u32,
    },
    /// A user's policy acts on the connections already.
    #[error(
        "what is in cgroup {cgroup} yields by law '{law}' already, or a part of it, by the wish of \
         its user, which the service ebbd (process {owner_pid}) holds: 'ebb status' lists it, \
         'ebb detach' ends it"
    )]
    Claimed {
        /// The cgroup.
        cgroup: PathBuf,
        /// The law.
        law: String,
        /// The process that holds the lease.
        owner_pid: u32,
    },
    /// There are as many claims as there can be.
    #[error("{most} policies of users are in force, and there is no room for more: end one first")]
    TooManyClaims {
        /// The most.
        most: usize,
    },
    /// The kernel refused a program.
    #[error("the kernel refused {what}: {reason}")]
    Load {
        /// The program, map or object.
        what: String,
        /// What libbpf and the verifier said.
        reason: String,
    },
    /// Memory or descriptors ran out while the kernel took the programs.
    #[error("the kernel could not take {what}: {ran_out} ({reason})")]
    RanOut {
        /// The program, map or object.
        what: String,
        /// What ran out, and where that is bounded.
        ran_out: &'static str,
        /// What libbpf said.
        reason: String,
    },
    /// A congestion control of this name exists already.
    #[error(
        "the kernel has a congestion control '{name}' already, perhaps of another Ebb; \
         'ebb status' tells, 'ebb detach --all' ends it"
    )]
    NameTaken {
        /// The name.
        name: String,
    },
    /// A system call on a loaded program failed.
    #[error("cannot {action} {what}: {source}{}", ran_out(source))]
    Program {
        /// The program or map.
        what: String,
        /// What was tried.
        action: &'static str,
        /// What the kernel said.
        source: io::Error,
    },
    /// A trace cannot be written or read.
    #[error("trace {path}: {source}")]
    Trace {
        /// The file.
        path: PathBuf,
        /// What the system or the format said.
        source: io::Error,
    },
    /// A trace holds the inputs of one law only.
    #[error("the law cannot be changed while a trace is recorded; detach first")]
    TraceHoldsOneLaw,
    /// An attachment acts on one end.
    #[error("{law} is no {side} law, as this attachment needs; attach it on its own")]
    OtherEnd {
        /// The law.
        law: &'static str,
        /// The end that the attachment acts on.
        side: ebb_algorithms::Side,
    },
    /// The attachment has ended, for the reason given.
    #[error("no longer attached to cgroup {cgroup}: {reason}; attach again")]
    Ended {
        /// The cgroup.
        cgroup: PathBuf,
        /// Why.
        reason: crate::Ending,
    },
}

impl Error {
    /// The kernel took no type information.
    pub(crate) fn of_types(refusal: io::Error) -> Self {
        let what = "type information of programs (BTF_LOAD)".to_owned();
        let reason = refusal.to_string();
        match ebb_host::what_ran_out(&refusal) {
            Some(ran_out) => Self::RanOut {
                what,
                ran_out,
                reason,
            },
            None => Self::Load { what, reason },
        }
    }

    /// Whether something ran out (memory, descriptors, threads), which tells nothing of what the
    /// kernel can do.
    pub fn is_for_want(&self) -> bool {
        match self {
            Self::RanOut { .. } | Self::NoMemory { .. } => true,
            Self::Program { source, .. } | Self::Cgroup { source, .. } => {
                !ran_out(source).is_empty()
            }
            _ => false,
        }
    }
}

/// What follows on what the kernel said; nothing where nothing ran out.
fn ran_out(source: &io::Error) -> String {
    // Of what is done here only the start of a thread is answered so.
    let no_thread = (source.raw_os_error() == Some(libc::EAGAIN))
        .then_some("no thread can be started, see pids.max of this process's cgroup and ulimit -u");
    let ran_out = ebb_host::what_ran_out(source).or(no_thread);
    ran_out.map_or_else(String::new, |what| format!(" ({what})"))
}
