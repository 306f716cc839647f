// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::fmt;
use std::str::FromStr;

use ebb_algorithms::{Policy, PolicyError};

/// What holds the LBE flows of a run back.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyChoice {
    /// Nothing: they are ordinary TCP.
    None,
    /// The bottleneck itself, with two strict priorities: the ideal for BE.
    Priority,
    /// A law: at the receivers of the LBE flows, or at their senders.
    Law(Policy),
}

impl FromStr for PolicyChoice {
    /// What is wrong with the policy, and what there is besides laws.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "none" => Ok(Self::None),
            "priority" => Ok(Self::Priority),
            text => text.parse().map(Self::Law).map_err(|error: PolicyError| {
                format!("{error}; without a law: none (plain TCP), priority (two queues)")
            }),
        }
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => formatter.write_str("none"),
            Self::Priority => formatter.write_str("priority"),
            Self::Law(policy) => policy.fmt(formatter),
        }
    }
}
