// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_sharing::{Preferences, Settings};
use serde::{Deserialize, Serialize};

/// Flows of one receiver that share what it can receive, held at targets by the law `rate`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SharingGroup {
    /// Its name, its own among the groups.
    pub name: String,
    /// When it begins; before, its flows are free. At the end of the run: never.
    pub start: Nanos,
    /// When it ends, if before the end of the run.
    pub stop: Option<Nanos>,
    /// Length of a control period.
    pub period: Nanos,
    /// How targets are searched for.
    pub settings: Settings,
    /// What is wanted for each flow at first. *Shape:* each flow once, in their order.
    pub shares: Vec<Share>,
    /// What is wanted later. *Shape:* in order of time.
    pub changes: Vec<ShareChange>,
}

/// What is wanted for a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Share {
    /// Its place in [`Scenario::flows`](crate::Scenario::flows).
    pub flow: u32,
    /// What is wanted.
    pub preferences: Preferences,
}

/// What is wanted from a time on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ShareChange {
    /// When.
    pub at: Nanos,
    /// For each flow, those included for which nothing changes. *Shape:* as
    /// [`SharingGroup::shares`].
    pub shares: Vec<Share>,
}
