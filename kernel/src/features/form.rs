// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The form in which a sender law becomes a congestion control of a kernel.

use super::kernel_types::KernelTypes;
use ebb_algorithms::LawInfo;

/// What the loader makes of a kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SenderForm {
    /// Congestion controls in eBPF are there at all.
    pub is_offered: bool,
    /// It is registered as a link, which goes with its owner; otherwise it stays registered
    /// until somebody takes it off.
    pub is_link: bool,
    /// `cong_control` gets the rate sample right behind the socket.
    pub has_short_control: bool,
    /// A start after a pause is a hook of its own.
    pub has_start_hook: bool,
    /// It may set a socket's pace.
    pub sets_pace: bool,
}

impl SenderForm {
    pub(crate) fn of(types: KernelTypes, sets_pace: bool) -> Self {
        Self {
            is_offered: types.cong_control_parameters.is_some(),
            is_link: types.has_struct_ops_links,
            has_short_control: types.cong_control_parameters == Some(2),
            has_start_hook: types.has_start_hook,
            sets_pace,
        }
    }

    /// The key of the feature that a law needs and this kernel has not.
    pub(super) fn lacks(self, law: &LawInfo) -> Option<&'static str> {
        if !self.is_offered {
            return Some(super::STRUCT_OPS);
        }
        (law.has_full_control() && !self.sets_pace).then_some(super::PACE)
    }
}
