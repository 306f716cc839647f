// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::fmt;
use std::str::FromStr;

use ebb_algorithms::{Policy, PolicyError, Side};
use ebb_link::{Class, QueueSpec};
use ebb_scenario::{Flow, Scenario};

/// What holds the flows back that yield, in place of what a scenario says.
#[derive(Clone, Debug, PartialEq)]
pub enum PolicyChoice {
    /// What the file says, to stand beside the others.
    Own,
    /// Nothing: they are ordinary TCP.
    None,
    /// The bottleneck itself, with two strict priorities: the ideal for the others.
    Priority,
    /// A law, at the receiving or the sending end.
    Law(Policy),
}

impl PolicyChoice {
    /// Puts all TCP flows of the class `lbe` under it, and under nothing else.
    pub fn apply(&self, scenario: &mut Scenario) {
        if *self == Self::Own {
            return;
        }
        for flow in scenario.flows.iter_mut().filter(|flow| is_yielding(flow)) {
            flow.receiver = None;
            if !is_ordinary(&flow.sender) {
                ORDINARY[0].clone_into(&mut flow.sender);
            }
            if let Self::Law(policy) = self {
                match policy.law().side() {
                    Side::Receiver => flow.receiver = Some(policy.to_string()),
                    Side::Sender => flow.sender = policy.to_string(),
                }
            }
        }
        if *self == Self::Priority {
            for link in scenario.links.iter_mut().filter(|link| link.is_reported) {
                let limit = link.spec.queue.limit();
                link.spec.queue = QueueSpec::StrictPriority {
                    best_effort: limit,
                    less_than_best_effort: limit,
                };
            }
        }
    }

    /// Whether there is anybody in a scenario whom it would be put on.
    pub(crate) fn concerns(scenario: &Scenario) -> bool {
        scenario.flows.iter().any(is_yielding)
    }
}

fn is_yielding(flow: &Flow) -> bool {
    flow.class == Class::LessThanBestEffort && flow.traffic.is_tcp()
}

/// Senders' laws that yield to nobody; the first is what most of the Internet has.
const ORDINARY: [&str; 4] = ["cubic", "reno", "bbr", "vegas"];

fn is_ordinary(sender: &str) -> bool {
    let policy: Result<Policy, PolicyError> = sender.parse();
    policy.is_ok_and(|policy| ORDINARY.contains(&policy.law().name))
}

impl FromStr for PolicyChoice {
    /// What is wrong with the policy, and what there is besides laws.
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "own" => Ok(Self::Own),
            "none" => Ok(Self::None),
            "priority" => Ok(Self::Priority),
            text => text.parse().map(Self::Law).map_err(|error: PolicyError| {
                format!(
                    "{error}; without a law: none (plain TCP), priority (two queues), own (what \
                     the file says)"
                )
            }),
        }
    }
}

impl fmt::Display for PolicyChoice {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Own => formatter.write_str("own"),
            Self::None => formatter.write_str("none"),
            Self::Priority => formatter.write_str("priority"),
            Self::Law(policy) => policy.fmt(formatter),
        }
    }
}
