// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whose connections a policy acts on.

use crate::rules::RuleMaps;
use std::sync::Arc;

/// Whose connections the policy acts on.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Selection {
    /// Every connection of the cgroup and those below it.
    #[default]
    WholeCgroup,
    /// Only connections of these processes and their descendants, now and later.
    ///
    /// The cgroup must be theirs: connections made in another one are not seen.
    Processes(Vec<u32>),
    /// The connections of a rule in the cgroup and those below it.
    Rule(RuleSelection),
}

impl Selection {
    pub(crate) fn rule(&self) -> Option<RuleSelection> {
        match self {
            Self::Rule(rule) => Some(rule.clone()),
            _ => None,
        }
    }
}

/// The connections for which a rule is the first that holds.
#[derive(Debug, Clone)]
pub struct RuleSelection {
    pub(crate) maps: Arc<RuleMaps>,
    pub(crate) rule: u32,
}

impl PartialEq for RuleSelection {
    fn eq(&self, other: &Self) -> bool {
        self.rule == other.rule && Arc::ptr_eq(&self.maps, &other.maps)
    }
}

impl Eq for RuleSelection {}
