// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dimension {
    /// Bits per second.
    Rate,
    /// A part of one, or an index that ends at one.
    Share,
    /// Packets that were lost, or late, as a part of all.
    Loss,
    /// Seconds.
    Time,
    /// Whole things.
    Count,
    /// One value by another of the same kind, without an upper bound.
    Ratio,
}

/// What values of a row are written in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Unit {
    /// Megabits per second.
    #[serde(rename = "Mbit/s")]
    MbitPerS,
    /// Kilobits per second.
    #[serde(rename = "kbit/s")]
    KbitPerS,
    /// A part of one.
    #[serde(rename = "share")]
    Share,
    /// A part of a hundred.
    #[serde(rename = "%")]
    Percent,
    /// Seconds.
    #[serde(rename = "s")]
    S,
    /// Milliseconds.
    #[serde(rename = "ms")]
    Ms,
    /// A number.
    #[serde(rename = "count")]
    Count,
}

/// All of them, as files name them.
pub(crate) const UNITS: [(&str, Unit); 7] = [
    ("Mbit/s", Unit::MbitPerS),
    ("kbit/s", Unit::KbitPerS),
    ("share", Unit::Share),
    ("%", Unit::Percent),
    ("s", Unit::S),
    ("ms", Unit::Ms),
    ("count", Unit::Count),
];

impl Unit {
    /// How tables call it; nothing for shares and numbers.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Share | Self::Count => "",
            other => other.name(),
        }
    }

    /// How files call it.
    pub fn name(self) -> &'static str {
        UNITS
            .iter()
            .find(|(_, unit)| *unit == self)
            .map_or("", |(name, _)| name)
    }

    /// How heads of columns call it.
    pub fn column(self) -> &'static str {
        match self {
            Self::MbitPerS => "mbit_per_s",
            Self::KbitPerS => "kbit_per_s",
            Self::Share => "share",
            Self::Percent => "percent",
            Self::S => "s",
            Self::Ms => "ms",
            Self::Count => "count",
        }
    }

    /// How much of the dimension's own unit one of it is.
    pub fn size(self) -> f64 {
        match self {
            Self::MbitPerS => 1e6,
            Self::KbitPerS => 1e3,
            Self::Percent => 0.01,
            Self::Ms => 1e-3,
            Self::Share | Self::S | Self::Count => 1.0,
        }
    }

    /// Whether values of this kind can be written in it.
    pub fn fits(self, dimension: Dimension) -> bool {
        match dimension {
            Dimension::Rate => matches!(self, Self::MbitPerS | Self::KbitPerS),
            Dimension::Share | Dimension::Loss | Dimension::Ratio => {
                matches!(self, Self::Share | Self::Percent)
            }
            Dimension::Time => matches!(self, Self::S | Self::Ms),
            Dimension::Count => self == Self::Count,
        }
    }
}

impl Dimension {
    /// What values are written in if nothing is said.
    pub fn unit(self) -> Unit {
        match self {
            Self::Rate => Unit::MbitPerS,
            Self::Share | Self::Ratio => Unit::Share,
            Self::Loss => Unit::Percent,
            Self::Time => Unit::S,
            Self::Count => Unit::Count,
        }
    }
}
