// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the running kernel's type information (BTF) says of what the programs use.
//!
//! It is asked for members, parameters, functions and numbers, never for the release:
//! distributions bring parts of newer kernels into older ones.

use libbpf_rs::ReferencesType;
use libbpf_rs::btf::types::{Enum, FuncProto, MemberAttr, Ptr, Struct};
use libbpf_rs::btf::{Btf, BtfKind, BtfType};
use std::ffi::OsStr;
use std::sync::OnceLock;

/// What was found.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct KernelTypes {
    /// `sockops` programs are called before each outgoing segment (5.10).
    pub has_header_callback: bool,
    /// Iterators over TCP sockets use storage in sockets and set options (5.15).
    pub has_iterator_options: bool,
    /// They can have `sockops` programs called for a socket that exists already (6.12).
    pub has_callback_flags: bool,
    /// How many parameters a congestion control's `cong_control` has: two, and four since 6.10;
    /// none if eBPF programs cannot be one.
    pub cong_control_parameters: Option<usize>,
    /// Of a start after a pause it hears by a hook of its own, not by an event (7.1).
    pub has_start_hook: bool,
    /// It is a link, and goes with its owner (6.4).
    pub has_struct_ops_links: bool,
    /// Where in the value of its map its name begins.
    pub congestion_name_at: Option<usize>,
}

/// Where the kernel has its own type information.
pub(crate) const PATH: &str = "/sys/kernel/btf/vmlinux";

const HEADER_CALLBACK: &str = "BPF_SOCK_OPS_HDR_OPT_LEN_CB";
const CALLBACK_FLAGS: &str = "TCP_BPF_SOCK_OPS_CB_FLAGS";
const STRUCT_OPS_LINKS: &str = "BPF_STRUCT_OPS";
/// Tells which helpers these iterators have; it came with those that set options.
const ITERATOR_OPTIONS: &str = "bpf_iter_tcp_get_func_proto";
/// Wraps a congestion control that is an eBPF program.
const CONGESTION_CONTROL_MAP: &str = "bpf_struct_ops_tcp_congestion_ops";
const CONGESTION_CONTROL: &str = "tcp_congestion_ops";
const CONG_CONTROL: &str = "cong_control";
const START_HOOK: &str = "cwnd_event_tx_start";

impl KernelTypes {
    /// Those of this kernel, read once; none without BTF.
    pub(crate) fn of_this_kernel() -> Option<Self> {
        static FOUND: OnceLock<Option<KernelTypes>> = OnceLock::new();
        *FOUND.get_or_init(|| Btf::from_vmlinux().ok().map(|btf| Self::read(&btf)))
    }

    fn read(btf: &Btf<'_>) -> Self {
        let mut found = Self::default();
        let mut table_at = None;
        for part in btf.type_by_kind::<BtfType<'_>>() {
            match part.kind() {
                BtfKind::Enum => found.note_numbers(part),
                BtfKind::Func if is_named(part.name(), ITERATOR_OPTIONS) => {
                    found.has_iterator_options = true;
                }
                BtfKind::Struct if is_named(part.name(), CONGESTION_CONTROL_MAP) => {
                    table_at = member_at(part, "data");
                }
                BtfKind::Struct if is_named(part.name(), CONGESTION_CONTROL) => {
                    found.note_congestion_control(btf, part);
                }
                _ => {}
            }
        }
        if table_at.is_none() {
            found.cong_control_parameters = None;
        }
        let name_at = table_at.zip(found.congestion_name_at);
        found.congestion_name_at = name_at.map(|(table, name)| table + name);
        found
    }

    fn note_numbers(&mut self, part: BtfType<'_>) {
        let Ok(numbers) = Enum::try_from(part) else {
            return;
        };
        for number in numbers.iter() {
            match number.name.and_then(OsStr::to_str) {
                Some(HEADER_CALLBACK) => self.has_header_callback = true,
                Some(CALLBACK_FLAGS) => self.has_callback_flags = true,
                Some(STRUCT_OPS_LINKS) => self.has_struct_ops_links = true,
                _ => {}
            }
        }
    }

    fn note_congestion_control(&mut self, btf: &Btf<'_>, part: BtfType<'_>) {
        let Ok(table) = Struct::try_from(part) else {
            return;
        };
        self.congestion_name_at = member_at(part, "name");
        for member in table.iter() {
            if is_named(member.name, START_HOOK) {
                self.has_start_hook = true;
            }
            if is_named(member.name, CONG_CONTROL) {
                let pointer = btf.type_by_id::<Ptr<'_>>(member.ty);
                let function = pointer.map(|pointer| pointer.referenced_type());
                let function = function.and_then(|function| FuncProto::try_from(function).ok());
                self.cong_control_parameters = function.map(|function| function.len());
            }
        }
    }
}

fn is_named(name: Option<&OsStr>, wanted: &str) -> bool {
    name.is_some_and(|name| name == wanted)
}

/// Where a member of a struct begins, in bytes.
fn member_at(part: BtfType<'_>, name: &str) -> Option<usize> {
    let found = Struct::try_from(part).ok()?;
    let member = found.iter().find(|member| is_named(member.name, name))?;
    match member.attr {
        MemberAttr::Normal { offset } => Some(offset as usize / 8),
        MemberAttr::BitField { .. } => None,
    }
}
