// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A look at the connections of all rules at once.

use crate::error::Result;
use crate::flows::{Flow, parse_flows};
use crate::rules::Classifier;
use ebb_algorithms::Policy;

/// The connections under one policy, one way.
#[derive(Debug, Clone)]
pub struct Glance {
    /// What they yield by.
    pub policy: Policy,
    /// Each with the number of its rule.
    pub flows: Vec<(u32, Flow)>,
}

impl Classifier {
    /// Every connection that is under a rule: one walk over the connections for each policy, however
    /// many rules have it.
    ///
    /// *Errors*: [`Error::Program`](crate::Error::Program) if the connections could not be walked
    /// over.
    pub fn glance(&self) -> Result<Vec<Glance>> {
        let shown = self.maps.sets.show()?.into_iter();
        let glances = shown.map(|(policy, bytes)| Glance {
            flows: parse_flows(&bytes, &policy),
            policy,
        });
        Ok(glances.collect())
    }
}
