// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is seen of this machine, before it is judged.

use super::kernel_types::{self, KernelTypes};
use super::trials;
use crate::cgroup;
use ebb_host::{effective_capabilities, mounts, sysctl};
use libbpf_rs::{MapType, ProgramType};
use std::collections::BTreeSet;
use std::path::Path;

/// What was seen.
#[derive(Debug, Clone, Default)]
pub(super) struct Facts {
    pub kernel_release: String,
    pub capabilities: u64,
    pub has_btf: bool,
    /// None where BTF is missing, or cannot be read.
    pub types: Option<KernelTypes>,
    /// The keys of [`KINDS`] that the kernel has; none if it was not asked, without the right to
    /// ask, or while it refuses to answer.
    pub kinds: Option<BTreeSet<&'static str>>,
    /// Whether a congestion control may set its pace; none as above.
    pub sets_pace: Option<bool>,
    /// Whether programs may walk over the elements of a map; none: not tried.
    pub walks_over_maps: Option<bool>,
    pub cgroup_mount: Option<String>,
    pub is_private_cgroup_possible: bool,
    pub has_bpffs: bool,
}

pub(super) const CAPABILITIES: [(u32, &str); 4] = [
    (12, "CAP_NET_ADMIN"),
    (21, "CAP_SYS_ADMIN"),
    (38, "CAP_PERFMON"),
    (39, "CAP_BPF"),
];

/// A kind of program or map that the kernel can be asked for.
pub(super) struct Kind {
    pub key: &'static str,
    pub name: &'static str,
    pub since: &'static str,
    pub detail: &'static str,
    is_supported: fn() -> bool,
}

pub(super) const KINDS: [Kind; 5] = [
    Kind {
        key: "cgroup-skb",
        name: "eBPF programs on a cgroup's packets",
        since: "4.10",
        detail: "tell the law of each arriving segment",
        is_supported: || ProgramType::CgroupSkb.is_supported().unwrap_or(false),
    },
    Kind {
        key: "sock-ops",
        name: "eBPF programs on TCP events",
        since: "4.13",
        detail: "set the window",
        is_supported: || ProgramType::SockOps.is_supported().unwrap_or(false),
    },
    Kind {
        key: "cgroup-sock",
        name: "eBPF programs on new sockets",
        since: "4.10",
        detail: "follow chosen processes (ebb attach --pid)",
        is_supported: || ProgramType::CgroupSock.is_supported().unwrap_or(false),
    },
    Kind {
        key: "socket-storage",
        name: "eBPF storage in sockets",
        since: "5.2",
        detail: "keeps each connection's state",
        is_supported: || MapType::SkStorage.is_supported().unwrap_or(false),
    },
    Kind {
        key: "ring-buffer",
        name: "eBPF ring buffers",
        since: "5.8",
        detail: "record traces",
        is_supported: || MapType::RingBuf.is_supported().unwrap_or(false),
    },
];

impl Facts {
    /// All that can be seen. Takes some tens of milliseconds.
    pub(super) fn gather() -> Self {
        let facts = Self::gather_quickly();
        if !facts.is_allowed() {
            return facts;
        }
        // The kernel's refusals are the answer, not messages for anybody.
        crate::messages::collect();
        let kinds = KINDS.iter().filter(|kind| (kind.is_supported)());
        let kinds = kinds.map(|kind| kind.key).collect();
        crate::messages::take();
        Self {
            // A kernel that takes no types now seems to have no kind of map that needs them.
            kinds: trials::refusal_of_types().is_none().then_some(kinds),
            sets_pace: facts.types.map(trials::sets_pace),
            walks_over_maps: Some(trials::walks_over_maps()),
            ..facts
        }
    }

    /// Without what only trying tells.
    pub(super) fn gather_quickly() -> Self {
        let cgroup_mount = cgroup::mount_point().map(|mount| mount.display().to_string());
        Self {
            kernel_release: sysctl("kernel.osrelease").unwrap_or_else(|| "unknown".to_owned()),
            capabilities: effective_capabilities(),
            has_btf: Path::new(kernel_types::PATH).exists(),
            types: KernelTypes::of_this_kernel(),
            kinds: None,
            sets_pace: None,
            walks_over_maps: None,
            is_private_cgroup_possible: cgroup_mount.is_none() && cgroup::Cgroup::root().is_ok(),
            cgroup_mount,
            has_bpffs: mounts().iter().any(|mount| mount.kind == "bpf"),
        }
    }

    fn is_allowed(&self) -> bool {
        CAPABILITIES
            .iter()
            .all(|(number, _)| self.capabilities & (1 << number) != 0)
    }
}
