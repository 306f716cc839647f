// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

/// As a minimum: as much as there is. As a rate: without bound.
pub const NO_BOUND: u64 = u64::MAX;

/// What somebody wants for a flow.
///
/// First each flow has its minimum, in decreasing order of priority; what then remains is
/// shared by weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Preferences {
    /// Its part of what remains when all have their minima; 0: none of it.
    pub weight: u32,
    /// What it should have at least, of payload; [`NO_BOUND`]: as much as there is.
    pub minimum_bits_per_s: u64,
    /// Whose minimum comes first while there is not enough for all: that of the greatest.
    pub priority: u32,
}

impl Default for Preferences {
    fn default() -> Self {
        Self {
            weight: 1,
            minimum_bits_per_s: 0,
            priority: 0,
        }
    }
}

/// All minima together; none if that is more than any sum can be.
pub(crate) fn minima_bits_per_s(flows: &[Preferences]) -> Option<u64> {
    let mut minima = flows.iter().map(|flow| flow.minimum_bits_per_s);
    minima.try_fold(0_u64, u64::checked_add)
}

/// The weights as they count: if nobody has one, all have the same.
pub(crate) fn weights(flows: &[Preferences]) -> Vec<u64> {
    let is_any = flows.iter().any(|flow| flow.weight > 0);
    let weight = |flow: &Preferences| if is_any { u64::from(flow.weight) } else { 1 };
    flows.iter().map(weight).collect()
}
