// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of the service's gateways.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Instant;

use ebb_keeper::gateway::{Counters, Rule};
use ebb_keeper::{FlowView, GatewayHeld, Held, Post};

use super::{Gateways, Kept};
use crate::ledger::Ledger;
use crate::snapshot::{GatewayRuleSeen, GatewaySeen};

impl Gateways {
    /// How they stand, and what came of them.
    pub(crate) fn seen(&mut self, now: Instant) -> Vec<GatewaySeen> {
        let kept = self.kept.iter();
        let seen = kept.map(|kept| kept.seen(&mut self.ledger, &self.before, now));
        let seen: Vec<GatewaySeen> = seen.collect();
        let rules = || seen.iter().flat_map(|it| &it.rules);
        self.ledger
            .keep(|name| rules().any(|rule| account(&rule.gateway, &rule.name) == name));
        seen
    }
}

impl Kept {
    /// Its file's name, of which there is one.
    pub(super) fn name(&self) -> String {
        let stem = self.wanted.file.file_stem().unwrap_or_default();
        stem.to_string_lossy().into_owned()
    }

    /// The gateway ends, and its programs with what they counted.
    pub(super) fn close(&self, ledger: &mut Ledger, before: &mut BTreeMap<PathBuf, Counters>) {
        self.close_rules(ledger, |_| false);
        if let Some(post) = &self.post {
            let before = before.entry(self.wanted.file.clone()).or_default();
            *before = before.plus(post.as_held().counters());
        }
    }

    pub(super) fn close_rules(&self, ledger: &mut Ledger, stays: impl Fn(&Rule) -> bool) {
        let Some(post) = &self.post else { return };
        for (place, rule) in self.wanted.rules.rules.iter().enumerate() {
            if !stays(rule) {
                let counted = post.as_held().rule_counters(place);
                ledger.close(&account(&self.name(), &rule.name), counted.into());
            }
        }
    }

    fn seen(
        &self,
        ledger: &mut Ledger,
        before: &BTreeMap<PathBuf, Counters>,
        now: Instant,
    ) -> GatewaySeen {
        let held = self.post.as_ref().map(Post::as_held);
        let before = before.get(&self.wanted.file).copied().unwrap_or_default();
        let in_force = held.map(Held::in_force);
        let interfaces = held.map(GatewayHeld::interfaces).unwrap_or_default();
        let is_on = |name: &String| self.is_held() && interfaces.contains(name);
        GatewaySeen {
            name: self.name(),
            file: self.wanted.file.clone(),
            policy: in_force.as_ref().map_or_else(
                || self.wanted.policy.to_string(),
                |in_force| in_force.policy.clone(),
            ),
            is_off: in_force.is_some_and(|in_force| in_force.is_observing),
            interfaces: (self.wanted.interfaces.iter())
                .map(|name| (name.clone(), is_on(name)))
                .collect(),
            counters: before.plus(held.map(GatewayHeld::counters).unwrap_or_default()),
            rules: self.rules_seen(ledger, now),
        }
    }

    fn rules_seen(&self, ledger: &mut Ledger, now: Instant) -> Vec<GatewayRuleSeen> {
        let (name, rules) = (self.name(), &self.wanted.rules.rules);
        let held = self.post.as_ref().map(Post::as_held);
        // What it knew when it was let go is of then.
        let flows = held.filter(|_| self.is_held()).map_or_else(
            || vec![Vec::new(); rules.len()],
            |held| held.flows_of_rules(rules.len()),
        );
        let seen_of = |(place, flows): (usize, Vec<FlowView>)| {
            let rule = &rules[place];
            let account = account(&name, &rule.name);
            if let Some(held) = held {
                ledger.count(&account, held.rule_counters(place).into());
                ledger.look(&account, &flows, now);
            }
            rule.is_background.then(|| GatewayRuleSeen {
                gateway: name.clone(),
                name: rule.name.clone(),
                totals: ledger.totals(&account),
                flows,
            })
        };
        flows.into_iter().enumerate().filter_map(seen_of).collect()
    }
}

/// The name of a rule in the ledger and in the history. That of a file has no slash in it, so no two
/// rules have one name.
fn account(gateway: &str, rule: &str) -> String {
    format!("{gateway}/{rule}")
}
