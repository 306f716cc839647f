// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules of a gateway at work.

use super::Gateway;
use crate::error::{Error, Result};
use crate::layout::RawRule;
use crate::rule::{MAX_RULES, Rule};
use std::collections::BTreeSet;

impl Gateway {
    /// Other rules, for what passes from now on. What is under a rule that was there before keeps its
    /// law's state.
    ///
    /// *Errors:* [`Error::TooManyRules`]; [`Error::NoMacs`]; a rule names an interface that is not
    /// there.
    pub fn set_rules(&mut self, rules: &[Rule]) -> Result<()> {
        if rules.len() > MAX_RULES {
            return Err(Error::TooManyRules {
                count: rules.len(),
                most: MAX_RULES,
            });
        }
        self.refuse_without_macs(rules)?;
        let raw = self.raw(rules, self.is_patient)?;
        let bundles = self.bundles.next(rules);
        for (rule, number) in rules.iter().zip(bundles.numbers()) {
            let before = self.bundles.place(u32::from(*number));
            if before.is_none_or(|place| self.bundles.rules()[place] != *rule) {
                self.forget_counters(*number);
            }
        }
        self.bundles = bundles;
        self.control.set_rules(&raw, self.bundles.numbers());
        Ok(())
    }

    /// A link of bare IP has no addresses of Ethernet.
    fn refuse_without_macs(&self, rules: &[Rule]) -> Result<()> {
        let Some(interface) = self.first.as_ref().filter(|it| !it.has_macs()) else {
            return Ok(());
        };
        let needs_mac = |rule: &&Rule| rule.mac.is_some() || rule.namespace.is_some();
        match rules.iter().find(needs_mac) {
            Some(rule) => Err(Error::NoMacs {
                rule: rule.name.clone(),
                interface: interface.name().to_owned(),
            }),
            None => Ok(()),
        }
    }

    /// As the programs ask them. With patience one that names what is not there is for nothing; of
    /// interfaces the owner knows that. A namespace that goes while it runs changes nothing else, so
    /// other rules may come then.
    fn raw(&mut self, rules: &[Rule], is_patient: bool) -> Result<Vec<RawRule>> {
        let mut unknown = BTreeSet::new();
        let runs = !self.stands.is_empty();
        let raw = rules.iter().map(|rule| match rule.raw() {
            Err(Error::NoInterface { .. }) if is_patient => Ok(rule.raw_for_nothing()),
            Err(error @ Error::Namespace { .. }) if is_patient || runs => {
                unknown.insert(format!("{error}; until then its rule is for nothing"));
                Ok(rule.raw_for_nothing())
            }
            raw => raw,
        });
        let raw = raw.collect::<Result<Vec<_>>>()?;
        let news = unknown.difference(&self.unknown).cloned();
        self.notices.extend(news);
        self.unknown = unknown;
        Ok(raw)
    }

    /// What people should know, once each.
    pub fn take_notices(&mut self) -> Vec<String> {
        std::mem::take(&mut self.notices)
    }

    /// Namespaces that rules name may have come or gone, or have got other interfaces: looks again,
    /// once in a while.
    pub fn look_at_namespaces(&mut self) {
        let rules = self.bundles.rules().to_vec();
        if rules.iter().all(|rule| rule.namespace.is_none()) {
            return;
        }
        // What else is wrong with a rule was found when it was set.
        let Ok(raw) = self.raw(&rules, true) else {
            return;
        };
        if !self.control.has_rules(&raw) {
            self.control.set_rules(&raw, self.bundles.numbers());
        }
    }

    /// Interfaces have come or gone: their numbers are others.
    pub(super) fn renumber(&mut self) -> Result<()> {
        let rules = self.bundles.rules().to_vec();
        if rules.iter().all(|rule| rule.interface.is_none()) {
            return Ok(());
        }
        self.set_rules(&rules)
    }
}
