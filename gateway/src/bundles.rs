// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Which rule has which bundle: what its connections have together, one way each.

use crate::rule::{MAX_RULES, Rule};

/// The rules that are in force, each with the number of its bundle.
#[derive(Debug, Default)]
pub(crate) struct Bundles {
    rules: Vec<Rule>,
    numbers: Vec<u8>,
}

impl Bundles {
    /// For other rules. One that was there before keeps its bundle, wherever it stands now: it has the
    /// same conditions, or else the same name. A bundle that nobody has goes to another rule; it begins
    /// anew with that one's connections if it was silent.
    pub(crate) fn next(&self, rules: &[Rule]) -> Self {
        let mut numbers: Vec<Option<u8>> = vec![None; rules.len()];
        let is_same: [fn(&Rule, &Rule) -> bool; 2] =
            [is_same_but_for_name, |one, other| one.name == other.name];
        for is_same in is_same {
            for (place, rule) in rules.iter().enumerate() {
                let mut before = self.rules.iter().zip(&self.numbers);
                let found = before
                    .find(|(old, number)| is_same(old, rule) && !numbers.contains(&Some(**number)));
                numbers[place] = numbers[place].or(found.map(|(_, number)| *number));
            }
        }
        // Those that nobody had go first: what was under another rule may still be heard of.
        let all = || 0..MAX_RULES as u8;
        let unused = all().filter(|number| !self.numbers.contains(number));
        let used = all().filter(|number| self.numbers.contains(number));
        for number in unused.chain(used) {
            if numbers.contains(&Some(number)) {
                continue;
            }
            match numbers.iter_mut().find(|it| it.is_none()) {
                Some(place) => *place = Some(number),
                None => break,
            }
        }
        Self {
            rules: rules.to_vec(),
            numbers: numbers.into_iter().flatten().collect(),
        }
    }

    /// The rules that are in force.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// In the order of the rules.
    pub(crate) fn numbers(&self) -> &[u8] {
        &self.numbers
    }

    /// The place of the rule that has this one.
    pub(crate) fn place(&self, number: u32) -> Option<usize> {
        let mut numbers = self.numbers.iter();
        numbers.position(|it| u32::from(*it) == number)
    }
}

/// Names are given by place where the file has none.
fn is_same_but_for_name(one: &Rule, other: &Rule) -> bool {
    let other = Rule {
        name: one.name.clone(),
        ..other.clone()
    };
    *one == other
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Each has a condition of its own.
    fn named(name: &str) -> Rule {
        Rule {
            name: name.to_owned(),
            interface: Some(name.to_owned()),
            ..Rule::default()
        }
    }

    #[test]
    fn a_rule_keeps_its_bundle_wherever_it_stands_and_as_long_as_it_has_its_name() {
        let bundles = Bundles::default().next(&[named("console"), named("television")]);
        assert_eq!(bundles.numbers(), [0, 1]);
        let changed = Rule {
            is_background: true,
            ..named("console")
        };
        let renamed = Rule {
            name: "screen".to_owned(),
            ..named("television")
        };
        let bundles = bundles.next(&[named("new"), renamed, changed.clone()]);
        assert_eq!(bundles.numbers(), [2, 1, 0]);
        assert_eq!(bundles.place(0), Some(2));
        let bundles = bundles.next(&[changed]);
        assert_eq!(bundles.numbers(), [0]);
        assert_eq!(bundles.place(1), None);
    }

    #[test]
    fn no_two_rules_have_one_bundle() {
        let same = vec![named(""); MAX_RULES];
        let bundles = Bundles::default().next(&same).next(&same);
        let mut numbers = bundles.numbers().to_vec();
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..MAX_RULES as u8));
        let others: Vec<_> = (0..MAX_RULES).map(|it| named(&it.to_string())).collect();
        assert_eq!(bundles.next(&others).numbers().len(), MAX_RULES);
    }
}
