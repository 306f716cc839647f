// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a value is of a paper, how its set-up was chosen, and so whether it counts.
use serde::{Deserialize, Serialize};

/// What the values of a row are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// What the paper reports: a value, or a bound that it states.
    #[default]
    Reported,
    /// A conclusion of the paper: an order, a trend, "no difference".
    Conclusion,
    /// What follows from other values by arithmetic, or says the same of a second set-up.
    Derived,
    /// What tests the set-up only.
    SetUp,
    /// A bound that no paper states.
    Unstated,
}

impl Kind {
    /// All of them, with the names that files have.
    pub const ALL: [(&str, Self); 5] = [
        ("reported", Self::Reported),
        ("conclusion", Self::Conclusion),
        ("derived", Self::Derived),
        ("set-up", Self::SetUp),
        ("unstated", Self::Unstated),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, kind)| *kind == self);
        known.map_or("", |(name, _)| name)
    }

    /// Whether its values count: what they say is said nowhere else, and by the paper.
    pub fn counts(self) -> bool {
        matches!(self, Self::Reported | Self::Conclusion)
    }
}

/// By what that which matters of a set-up was chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Chosen {
    /// By what the paper states; what it leaves open, by a rule that looks at none of its values.
    #[default]
    Stated,
    /// By other figures of the paper: what comes out here was held out.
    Elsewhere,
    /// By the very values that stand beside ours.
    Fitted,
}

impl Chosen {
    /// All of them, with the names that files have.
    pub const ALL: [(&str, Self); 3] = [
        ("stated", Self::Stated),
        ("elsewhere", Self::Elsewhere),
        ("fitted", Self::Fitted),
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        let known = Self::ALL.iter().find(|(_, chosen)| *chosen == self);
        known.map_or("", |(name, _)| name)
    }
}
