// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this kernel and this machine offer, with a remedy for each thing missing, and what the
//! loader makes of it.
//!
//! `ebb doctor` shows what the loader acts on: both ask here.

mod facts;
mod form;
mod kernel_types;
mod trials;

use crate::error::{Error, Result};
use ebb_algorithms::{LawInfo, Side};
use facts::{CAPABILITIES, Facts, KINDS};
use kernel_types::KernelTypes;

pub(crate) use form::SenderForm;
pub(crate) use trials::walks_over_maps;

const NEWER_KERNEL: &str = "use Linux 5.15 or newer (Debian 12 and Ubuntu 22.04 have one)";
const AS_ROOT: &str = "run as root, or with sudo";
const KERNEL_CONFIG: &str = "use a kernel built with CONFIG_BPF_SYSCALL, CONFIG_CGROUP_BPF and CONFIG_DEBUG_INFO_BTF, \
     as those of Debian, Ubuntu, Fedora and Arch are";
/// Keys of what only sender laws need.
const STRUCT_OPS: &str = "struct-ops";
const PACE: &str = "pace";

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
    /// The first release of Linux that has it, if it is of the kernel; the kernel is asked for the
    /// feature, not for its release.
    pub since: Option<&'static str>,
    /// Whether it is there.
    pub presence: Presence,
    /// Where it was found, or why it matters.
    pub detail: String,
    /// What to do if it is missing.
    pub remedy: &'static str,
    /// What Ebb does without it; none: the backend cannot be used without it.
    pub otherwise: Option<&'static str>,
}

/// Everything that the kernel backend uses.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Features {
    /// The kernel's release, such as `6.18.2`.
    pub kernel_release: String,
    /// In the order in which they should be looked at.
    pub features: Vec<Feature>,
}

impl Feature {
    /// Whether the backend cannot be used without it.
    pub fn is_required(&self) -> bool {
        self.otherwise.is_none()
    }
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
            .filter(|feature| feature.is_required() && feature.presence == Presence::Missing)
    }
}

/// Looks at the machine. Takes some tens of milliseconds.
pub fn probe() -> Features {
    judge(&Facts::gather())
}

/// Whether downloads that run already can be taken over; otherwise [`crate::Attachment`] tells how
/// many it had to leave ([`Error::LeavesRunning`]).
pub fn takes_over_downloads() -> bool {
    KernelTypes::of_this_kernel().is_some_and(|types| types.has_callback_flags)
}

/// Refuses a kernel that lacks something that the law needs, by the name of the first thing missing.
pub(crate) fn require(law: &LawInfo) -> Result<()> {
    let facts = Facts::gather_quickly();
    let features = judge(&facts);
    explain_missing(&features)?;
    match (law.side(), facts.types) {
        (Side::Sender, Some(types)) => refuse_law(law, types, trials::sets_pace(types), &features),
        _ => Ok(()),
    }
}

fn refuse_law(
    law: &LawInfo,
    types: KernelTypes,
    sets_pace: bool,
    features: &Features,
) -> Result<()> {
    let lacks = SenderForm::of(types, sets_pace).lacks(law);
    let missing = features.features.iter().find(|it| Some(it.key) == lacks);
    missing.map_or(Ok(()), |missing| {
        Err(Error::LawNeeds {
            law: law.name,
            feature: missing.name,
            since: missing.since.unwrap_or_default(),
            release: features.kernel_release.clone(),
        })
    })
}

/// How sender laws become congestion controls of this kernel.
pub(crate) fn sender_form() -> SenderForm {
    let types = KernelTypes::of_this_kernel().unwrap_or_default();
    SenderForm::of(types, trials::sets_pace(types))
}

/// Where in the value of a congestion control's map its name begins.
pub(crate) fn congestion_name_at() -> Option<usize> {
    KernelTypes::of_this_kernel()?.congestion_name_at
}

/// Why programs could not be loaded, if that is because something is missing or refused.
pub(crate) fn explain() -> Result<()> {
    let features = probe();
    match trials::refusal_of_types() {
        // Without the right to ask everything is refused.
        Some(refusal) if privileges_are_there(&features) => Err(Error::of_types(refusal)),
        _ => explain_missing(&features),
    }
}

fn privileges_are_there(features: &Features) -> bool {
    features.missing().all(|missing| missing.remedy != AS_ROOT)
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

fn judge(facts: &Facts) -> Features {
    let mut features = vec![privileges(facts)];
    features.push(Feature {
        key: "btf",
        name: "BTF (type information of the kernel)",
        since: Some("5.4"),
        presence: presence(facts.has_btf),
        detail: kernel_types::PATH.to_owned(),
        remedy: KERNEL_CONFIG,
        otherwise: None,
    });
    features.extend(KINDS.iter().map(|kind| Feature {
        key: kind.key,
        name: kind.name,
        since: Some(kind.since),
        presence: match &facts.kinds {
            None => Presence::Unknown,
            Some(found) => presence(found.contains(kind.key)),
        },
        detail: kind.detail.to_owned(),
        remedy: KERNEL_CONFIG,
        otherwise: None,
    }));
    features.extend(of_types(facts));
    features.extend(of_sender_laws(facts));
    features.push(cgroup2(facts));
    features.push(Feature {
        key: "bpffs",
        name: "BPF file system",
        since: None,
        presence: presence(facts.has_bpffs),
        detail: "for what is pinned".to_owned(),
        remedy: "mount -t bpf bpf /sys/fs/bpf",
        otherwise: Some("nothing is pinned"),
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
        since: None,
        presence: presence(missing.is_empty()),
        detail: if missing.is_empty() {
            CAPABILITIES.map(|(_, name)| name).join(", ")
        } else {
            format!("without {}", missing.join(", "))
        },
        remedy: AS_ROOT,
        otherwise: None,
    }
}

/// What BTF tells of TCP's hooks, and what lets connections be walked over.
fn of_types(facts: &Facts) -> [Feature; 4] {
    let types = facts.types;
    let told = |has: fn(&KernelTypes) -> bool| tell(types.as_ref().map(has));
    [
        Feature {
            key: "header-option-callback",
            name: "TCP header option callbacks",
            since: Some("5.10"),
            presence: told(|types| types.has_header_callback),
            detail: "ask for the window before each segment".to_owned(),
            remedy: NEWER_KERNEL,
            otherwise: None,
        },
        Feature {
            key: "tcp-iterator",
            name: "iterators over TCP sockets that set options",
            since: Some("5.15"),
            presence: told(|types| types.has_iterator_options),
            detail: "take over uploads that run already, let go, tell".to_owned(),
            remedy: NEWER_KERNEL,
            otherwise: None,
        },
        Feature {
            key: "callback-flags",
            name: "socket callbacks set from an iterator",
            since: Some("6.12"),
            presence: told(|types| types.has_callback_flags),
            detail: "take over downloads that run already (ebb attach)".to_owned(),
            remedy: "use Linux 6.12 or newer (Debian 13 and Ubuntu 25.04 have one)",
            otherwise: Some("the user backend takes those over"),
        },
        map_iterator(facts),
    ]
}

/// What looks for connections that are left.
fn map_iterator(facts: &Facts) -> Feature {
    Feature {
        key: "map-iterator",
        name: "iterators over elements of maps",
        since: Some("5.10"),
        presence: tell(facts.walks_over_maps),
        detail: "see that no connection is left limited".to_owned(),
        remedy: "use a kernel that is built to let root do so, as those of distributions are",
        otherwise: Some("descriptors are looked through, of which some may be missed"),
    }
}

/// What sender laws need, or use.
fn of_sender_laws(facts: &Facts) -> [Feature; 3] {
    let types = facts.types.as_ref();
    [
        Feature {
            key: STRUCT_OPS,
            name: "congestion controls in eBPF",
            since: Some("5.6"),
            presence: tell(types.map(|types| types.cong_control_parameters.is_some())),
            detail: "run sender laws (--upload-policy, ebb laws)".to_owned(),
            remedy: KERNEL_CONFIG,
            otherwise: Some("what is sent does not yield"),
        },
        Feature {
            key: PACE,
            name: "congestion controls in eBPF that set a pace",
            since: Some("6.0"),
            presence: tell(facts.sets_pace),
            detail: "run sender laws in full control (bbr)".to_owned(),
            remedy: "use Linux 6.0 or newer",
            otherwise: Some("those laws are refused"),
        },
        Feature {
            key: "struct-ops-links",
            name: "congestion controls in eBPF that go with their owner",
            since: Some("6.4"),
            presence: tell(types.map(|types| types.has_struct_ops_links)),
            detail: "one whose owner was killed cannot be selected any more".to_owned(),
            remedy: "use Linux 6.4 or newer",
            otherwise: Some("the next Ebb takes it off"),
        },
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
        since: None,
        presence: presence(facts.cgroup_mount.is_some() || facts.is_private_cgroup_possible),
        detail,
        remedy: "mount -t cgroup2 none /sys/fs/cgroup/unified",
        otherwise: None,
    }
}

fn presence(is_present: bool) -> Presence {
    if is_present {
        Presence::Present
    } else {
        Presence::Missing
    }
}

fn tell(is_present: Option<bool>) -> Presence {
    is_present.map_or(Presence::Unknown, presence)
}

#[cfg(test)]
mod tests;
