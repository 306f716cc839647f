// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this kernel and this machine offer, with a remedy for each thing missing.

use crate::cgroup;
use crate::error::{Error, Result};
use ebb_host::{effective_capabilities, mounts, sysctl};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{Enum, Func};
use libbpf_rs::{MapType, ProgramType};
use std::collections::BTreeSet;
use std::path::Path;

/// The first release that has everything; older ones are asked feature by feature.
const SUFFICIENT_RELEASE: (u32, u32) = (6, 13);
const NEWER_KERNEL: &str =
    "use Linux 6.13 or newer (Ubuntu has it from 25.04 on, Debian 13 in its backports)";
const AS_ROOT: &str = "run as root, or with sudo";
const KERNEL_CONFIG: &str = "use a kernel built with CONFIG_BPF_SYSCALL, CONFIG_CGROUP_BPF and CONFIG_DEBUG_INFO_BTF, \
     as those of Debian, Ubuntu, Fedora and Arch are";

/// Whether a feature is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    /// It is.
    Present,
    /// It is not.
    Missing,
    /// It cannot be told without being root.
    Unknown,
}

/// One thing that the kernel backend uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Feature {
    /// A short name for programs, such as `btf`.
    pub key: &'static str,
    /// What it is, for people.
    pub name: &'static str,
    /// Whether it is there.
    pub presence: Presence,
    /// Whether the backend cannot do without it.
    pub is_required: bool,
    /// Where it was found, or why it matters.
    pub detail: String,
    /// What to do if it is missing.
    pub remedy: &'static str,
}

/// Everything that the kernel backend uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// The kernel's release, such as `6.18.2`.
    pub kernel_release: String,
    /// In the order in which they should be looked at.
    pub features: Vec<Feature>,
}

impl Features {
    /// Whether the kernel backend works here, for this user.
    pub fn is_usable(&self) -> bool {
        self.missing().next().is_none()
    }

    /// What the backend needs and does not have.
    pub fn missing(&self) -> impl Iterator<Item = &Feature> {
        self.features
            .iter()
            .filter(|feature| feature.is_required && feature.presence == Presence::Missing)
    }
}

/// Looks at the machine. Takes some tens of milliseconds.
pub fn probe() -> Features {
    judge(&Facts::gather())
}

/// Refuses a kernel that lacks something, by the name of the first thing missing.
pub(crate) fn require() -> Result<()> {
    let release = kernel_release();
    if parse_release(&release).is_some_and(|release| release >= SUFFICIENT_RELEASE) {
        return Ok(());
    }
    explain_missing(&judge(&Facts::gather()))
}

/// Why programs could not be loaded, if that is because something is missing.
pub(crate) fn explain() -> Result<()> {
    explain_missing(&probe())
}

fn explain_missing(features: &Features) -> Result<()> {
    let Some(missing) = features.missing().next() else {
        return Ok(());
    };
    if missing.remedy == AS_ROOT {
        return Err(Error::NotPermitted {
            what: "load and attach eBPF programs".to_owned(),
        });
    }
    Err(Error::MissingFeature {
        feature: missing.name,
        release: features.kernel_release.clone(),
        remedy: missing.remedy,
    })
}

/// What was seen, before it is judged.
#[derive(Debug, Clone, Default)]
struct Facts {
    kernel_release: String,
    capabilities: u64,
    has_btf: bool,
    /// Names of the kernel's enumerators and functions, those of [`WANTED_NAMES`] only.
    names: BTreeSet<&'static str>,
    /// None without the right to ask.
    programs: Option<BTreeSet<&'static str>>,
    cgroup_mount: Option<String>,
    is_private_cgroup_possible: bool,
    has_bpffs: bool,
}

const HEADER_OPTION_CALLBACK: &str = "BPF_SOCK_OPS_HDR_OPT_LEN_CB";
const CALLBACK_FLAGS_OPTION: &str = "TCP_BPF_SOCK_OPS_CB_FLAGS";
const TCP_ITERATOR: &str = "bpf_iter_tcp";
const WANTED_NAMES: [&str; 3] = [HEADER_OPTION_CALLBACK, CALLBACK_FLAGS_OPTION, TCP_ITERATOR];

const CAPABILITIES: [(u32, &str); 4] = [
    (12, "CAP_NET_ADMIN"),
    (21, "CAP_SYS_ADMIN"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
];

impl Facts {
    fn gather() -> Self {
        let cgroup_mount = cgroup::mount_point().map(|mount| mount.display().to_string());
        Self {
            kernel_release: kernel_release(),
            capabilities: effective_capabilities(),
            has_btf: Path::new("/sys/kernel/btf/vmlinux").exists(),
            names: kernel_names().unwrap_or_default(),
            programs: usable_programs(),
            is_private_cgroup_possible: cgroup_mount.is_none() && cgroup::Cgroup::root().is_ok(),
            cgroup_mount,
            has_bpffs: mounts().iter().any(|mount| mount.kind == "bpf"),
        }
    }
}

fn judge(facts: &Facts) -> Features {
    let mut features = vec![privileges(facts)];
    features.push(Feature {
        key: "btf",
        name: "BTF (type information of the kernel)",
        presence: presence(facts.has_btf),
        is_required: true,
        detail: "/sys/kernel/btf/vmlinux".to_owned(),
        remedy: KERNEL_CONFIG,
    });
    features.extend(PROGRAMS.iter().map(|program| Feature {
        key: program.key,
        name: program.name,
        presence: match &facts.programs {
            None => Presence::Unknown,
            Some(found) => presence(found.contains(program.key)),
        },
        is_required: program.is_required,
        detail: program.detail.to_owned(),
        remedy: KERNEL_CONFIG,
    }));
    features.extend(by_name(facts));
    features.push(cgroup2(facts));
    features.push(Feature {
        key: "bpffs",
        name: "BPF file system",
        presence: presence(facts.has_bpffs),
        is_required: false,
        detail: "not needed: nothing is pinned".to_owned(),
        remedy: "mount -t bpf bpf /sys/fs/bpf",
    });
    Features {
        kernel_release: facts.kernel_release.clone(),
        features,
    }
}

fn privileges(facts: &Facts) -> Feature {
    let missing: Vec<&str> = CAPABILITIES
        .iter()
        .filter(|(number, _)| facts.capabilities & (1 << number) == 0)
        .map(|(_, name)| *name)
        .collect();
    Feature {
        key: "privileges",
        name: "privileges",
        presence: presence(missing.is_empty()),
        is_required: true,
        detail: if missing.is_empty() {
            CAPABILITIES.map(|(_, name)| name).join(", ")
        } else {
            format!("without {}", missing.join(", "))
        },
        remedy: AS_ROOT,
    }
}

fn by_name(facts: &Facts) -> [Feature; 3] {
    let feature = |key, name, wanted: &'static str, detail: &str| Feature {
        key,
        name,
        presence: if facts.has_btf {
            presence(facts.names.contains(wanted))
        } else {
            Presence::Unknown
        },
        is_required: true,
        detail: detail.to_owned(),
        remedy: NEWER_KERNEL,
    };
    [
        feature(
            "header-option-callback",
            "TCP header option callbacks (Linux 5.10)",
            HEADER_OPTION_CALLBACK,
            "asks for the window before each segment",
        ),
        feature(
            "tcp-iterator",
            "iterator over TCP sockets (Linux 5.9)",
            TCP_ITERATOR,
            "finds connections that exist already",
        ),
        feature(
            "callback-flags",
            "setting socket callbacks from an iterator (Linux 6.13)",
            CALLBACK_FLAGS_OPTION,
            "takes over connections that exist already",
        ),
    ]
}

fn cgroup2(facts: &Facts) -> Feature {
    let detail = match &facts.cgroup_mount {
        Some(mount) => mount.clone(),
        None if facts.is_private_cgroup_possible => "not mounted; a private mount works".to_owned(),
        None => "not mounted".to_owned(),
    };
    Feature {
        key: "cgroup2",
        name: "cgroup v2 hierarchy",
        presence: presence(facts.cgroup_mount.is_some() || facts.is_private_cgroup_possible),
        is_required: true,
        detail,
        remedy: "mount -t cgroup2 none /sys/fs/cgroup/unified",
    }
}

fn presence(is_present: bool) -> Presence {
    if is_present {
        Presence::Present
    } else {
        Presence::Missing
    }
}

/// A kind of program or map that the kernel can be asked for.
struct Kind {
    key: &'static str,
    name: &'static str,
    detail: &'static str,
    is_required: bool,
    is_supported: fn() -> bool,
}

const PROGRAMS: [Kind; 6] = [
    Kind {
        key: "cgroup-skb",
        name: "eBPF programs on a cgroup's packets",
        detail: "tells the law of each arriving segment",
        is_required: true,
        is_supported: || ProgramType::CgroupSkb.is_supported().unwrap_or(false),
    },
    Kind {
        key: "sock-ops",
        name: "eBPF programs on TCP events",
        detail: "sets the window",
        is_required: true,
        is_supported: || ProgramType::SockOps.is_supported().unwrap_or(false),
    },
    Kind {
        key: "cgroup-sock",
        name: "eBPF programs on new sockets",
        detail: "follows chosen processes (ebb attach PID)",
        is_required: true,
        is_supported: || ProgramType::CgroupSock.is_supported().unwrap_or(false),
    },
    Kind {
        key: "struct-ops",
        name: "congestion controls in eBPF (Linux 6.4)",
        detail: "run sender laws (--upload-policy, ebb laws)",
        is_required: false,
        is_supported: || ProgramType::StructOps.is_supported().unwrap_or(false),
    },
    Kind {
        key: "socket-storage",
        name: "eBPF storage in sockets",
        detail: "keeps each connection's state",
        is_required: true,
        is_supported: || MapType::SkStorage.is_supported().unwrap_or(false),
    },
    Kind {
        key: "ring-buffer",
        name: "eBPF ring buffers",
        detail: "record traces",
        is_required: true,
        is_supported: || MapType::RingBuf.is_supported().unwrap_or(false),
    },
];

fn usable_programs() -> Option<BTreeSet<&'static str>> {
    let is_allowed = CAPABILITIES
        .iter()
        .all(|(number, _)| effective_capabilities() & (1 << number) != 0);
    is_allowed.then(|| {
        // The kernel's refusals are the answer, not messages for anybody.
        crate::messages::collect();
        let found = PROGRAMS.iter().filter(|kind| (kind.is_supported)());
        let keys = found.map(|kind| kind.key).collect();
        crate::messages::take();
        keys
    })
}

fn kernel_names() -> Option<BTreeSet<&'static str>> {
    let btf = Btf::from_vmlinux().ok()?;
    let mut found = BTreeSet::new();
    for enumeration in btf.type_by_kind::<Enum<'_>>() {
        for member in enumeration.iter() {
            found.extend(
                WANTED_NAMES
                    .iter()
                    .filter(|name| member.name.is_some_and(|has| has == **name)),
            );
        }
    }
    found.extend(
        WANTED_NAMES
            .iter()
            .filter(|name| btf.type_by_name::<Func<'_>>(name).is_some()),
    );
    Some(found)
}

/// The kernel's release, such as `6.18.2`.
fn kernel_release() -> String {
    sysctl("kernel.osrelease").unwrap_or_else(|| "unknown".to_owned())
}

fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|letter: char| !letter.is_ascii_digit());
    Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
}

#[cfg(test)]
mod tests;
