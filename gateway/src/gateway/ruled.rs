// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The rules of a gateway at work.

use super::Gateway;
use crate::error::{Error, Result};
use crate::layout::RawRule;
use crate::rule::{MAX_RULES, Rule};

impl Gateway {
    /// Other rules, for what passes from now on. What is under a rule that was there before keeps its
    /// law's state.
    ///
    /// *Errors:* [`Error::TooManyRules`]; a rule names an interface that is not there.
    pub fn set_rules(&mut self, rules: &[Rule]) -> Result<()> {
        if rules.len() > MAX_RULES {
            return Err(Error::TooManyRules {
                count: rules.len(),
                most: MAX_RULES,
            });
        }
        let raw: Result<Vec<_>> = rules.iter().map(|rule| self.raw(rule)).collect();
        let raw = raw?;
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

    fn raw(&self, rule: &Rule) -> Result<RawRule> {
        match rule.raw() {
            Err(Error::NoInterface { .. } | Error::Namespace { .. }) if self.is_patient => {
                Ok(rule.raw_for_nothing())
            }
            raw => raw,
        }
    }

    /// Namespaces that rules name may have come or gone, or have got other interfaces: looks again,
    /// once in a while.
    pub fn look_at_namespaces(&mut self) {
        let rules = self.bundles.rules();
        if rules.iter().all(|rule| rule.namespace.is_none()) {
            return;
        }
        let raw = rules.iter().map(|rule| match rule.raw() {
            Ok(raw) => raw,
            Err(_) => rule.raw_for_nothing(),
        });
        let raw: Vec<RawRule> = raw.collect();
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
