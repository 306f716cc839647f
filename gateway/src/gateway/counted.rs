// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a gateway's programs have counted.

use super::Gateway;
use crate::counters::{Counters, RuleCounters};
use crate::layout::{RawCounters, RawRuleCounters, read};
use libbpf_rs::{MapCore, MapFlags};

impl Gateway {
    /// What was counted.
    pub fn counters(&self) -> Counters {
        let of_cpus = self
            .counters
            .lookup_percpu(&0u32.to_ne_bytes(), MapFlags::ANY);
        let of_cpus = of_cpus.ok().flatten().unwrap_or_default();
        Counters::sum(
            of_cpus
                .iter()
                .filter_map(|bytes| read::<RawCounters>(bytes)),
        )
    }

    /// What was counted of the rule at this place.
    pub fn rule_counters(&self, place: usize) -> RuleCounters {
        let Some(bundle) = self.bundles.numbers().get(place) else {
            return RuleCounters::default();
        };
        let key = u32::from(*bundle).to_ne_bytes();
        let of_cpus = self.counters_of_rules.lookup_percpu(&key, MapFlags::ANY);
        let of_cpus = of_cpus.ok().flatten().unwrap_or_default();
        let raw = of_cpus.iter();
        RuleCounters::sum(
            raw.filter_map(|bytes| read::<RawRuleCounters>(bytes)),
            self.lapsed[usize::from(*bundle)],
        )
    }

    /// A bundle is another rule's now.
    pub(super) fn forget_counters(&mut self, bundle: u8) {
        self.lapsed[usize::from(bundle)] = 0;
        let key = u32::from(bundle).to_ne_bytes();
        let counted = self.counters_of_rules.lookup_percpu(&key, MapFlags::ANY);
        let mut of_cpus = counted.ok().flatten().unwrap_or_default();
        of_cpus.iter_mut().for_each(|bytes| bytes.fill(0));
        // Nobody can take the numbers of an array away.
        let _ = (self.counters_of_rules).update_percpu(&key, &of_cpus, MapFlags::ANY);
    }
}
