// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_scenario::stats::Spread;
use serde::{Deserialize, Serialize};

use crate::Dimension;

/// How close ours is to the paper's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// The paper's value lies in our interval or within the tolerance.
    Green,
    /// It does not, but the values of its row are in the same order.
    Yellow,
    /// Neither.
    Red,
    /// Not judged: what was run is shorter than the paper's scenario.
    Shortened,
}

impl Verdict {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
            Self::Shortened => "shortened",
        }
    }
}

/// What a paper says of a value: that it is so, or that it is no less or no more.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Bound {
    /// The value itself.
    #[default]
    Exact,
    /// Ours must not be less.
    AtLeast,
    /// Ours must not be more.
    AtMost,
}

impl Bound {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::AtLeast => "at-least",
            Self::AtMost => "at-most",
        }
    }

    /// How tables and files write it before the value.
    pub fn sign(self) -> &'static str {
        match self {
            Self::Exact => "",
            Self::AtLeast => ">= ",
            Self::AtMost => "<= ",
        }
    }
}

/// How far ours may be from the paper's value: the greater of both counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Tolerance {
    /// As a part of the paper's value.
    pub relative: f64,
    /// In the unit of the value.
    pub absolute: f64,
}

impl Tolerance {
    /// What holds where nothing is said. `scale` is the full scale of a rate. *Units:* of
    /// the dimension; the answer, too.
    pub fn default_of(dimension: Dimension, scale: f64) -> Self {
        let (relative, absolute) = match dimension {
            Dimension::Rate => (0.0, 0.05 * scale),
            Dimension::Share => (0.0, 0.05),
            // A tenth of a percent of packets is as good as none.
            Dimension::Loss => (0.2, 0.001),
            Dimension::Time | Dimension::Count | Dimension::Ratio => (0.2, 0.0),
        };
        Self { relative, absolute }
    }

    /// How far from this value.
    pub fn around(self, value: f64) -> f64 {
        self.absolute.max(self.relative * value.abs())
    }
}

/// How many tolerances half of an interval may be to say something.
const WIDEST: f64 = 2.0;

/// A value of the paper and ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub paper: f64,
    pub bound: Bound,
    /// None: it could not be measured.
    pub ours: Option<Spread>,
    pub tolerance: Tolerance,
    /// Whether ours is of a scenario that is not the paper's.
    pub is_shortened: bool,
}

/// The verdicts of a row.
pub(crate) fn judge(row: &[Pair]) -> Vec<Verdict> {
    let placed: Vec<Pair> = row.iter().copied().filter(has_place).collect();
    let is_in_order = placed.len() > 1 && has_order(&placed);
    let verdict = |pair: &Pair| match () {
        () if pair.is_shortened => Verdict::Shortened,
        () if is_close(pair) => Verdict::Green,
        () if is_in_order && has_place(pair) => Verdict::Yellow,
        () => Verdict::Red,
    };
    row.iter().map(verdict).collect()
}

/// Whether it takes part in the order.
fn has_place(pair: &Pair) -> bool {
    pair.bound == Bound::Exact && !pair.is_shortened
}

fn is_close(pair: &Pair) -> bool {
    let Some(ours) = pair.ours else { return false };
    match pair.bound {
        Bound::Exact => {}
        // A bound has no tolerance: the mean is on the right side of it or not.
        Bound::AtLeast => return ours.mean >= pair.paper,
        Bound::AtMost => return ours.mean <= pair.paper,
    }
    let distance = (ours.mean - pair.paper).abs();
    // Values are written with a few digits: the last bit of a border is nobody's meaning.
    let rounding = 1e-9 * pair.paper.abs();
    let tolerance = pair.tolerance.around(pair.paper);
    let interval = ours.half_width_95.unwrap_or(0.0);
    // Beyond that anything would lie in it.
    let counts = interval <= WIDEST * tolerance;
    distance
        <= if counts {
            interval.max(tolerance)
        } else {
            tolerance
        } + rounding
}

/// Whether what differs in the paper differs in the same direction with us, and what is as
/// good as equal there is so here.
fn has_order(row: &[Pair]) -> bool {
    let of_pair = |first: &Pair, second: &Pair| {
        let (Some(ours_first), Some(ours_second)) = (first.ours, second.ours) else {
            return false;
        };
        let paper = first.paper - second.paper;
        let ours = ours_first.mean - ours_second.mean;
        let around = |left: f64, right: f64| {
            let tolerances = [first.tolerance.around(left), second.tolerance.around(right)];
            tolerances[0].max(tolerances[1])
        };
        let is_equal = paper.abs() <= around(first.paper, second.paper)
            && ours.abs() <= around(ours_first.mean, ours_second.mean);
        is_equal || paper * ours > 0.0
    };
    (1..row.len()).all(|second| (0..second).all(|first| of_pair(&row[first], &row[second])))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pair(paper: f64, ours: f64, half_width_95: f64) -> Pair {
        let ours = Spread {
            runs: 3,
            mean: ours,
            min: ours,
            max: ours,
            half_width_95: Some(half_width_95),
        };
        let tolerance = Tolerance {
            relative: 0.0,
            absolute: 0.05,
        };
        Pair {
            paper,
            bound: Bound::Exact,
            ours: Some(ours),
            tolerance,
            is_shortened: false,
        }
    }

    use Verdict::{Green, Red, Shortened, Yellow};

    #[test]
    fn a_value_in_the_interval_or_within_the_tolerance_is_green() {
        assert_eq!(judge(&[pair(0.5, 0.55, 0.0)]), [Green]);
        assert_eq!(judge(&[pair(0.5, 0.59, 0.1)]), [Green]);
        assert_eq!(judge(&[pair(0.5, 0.56, 0.01)]), [Red]);
    }

    #[test]
    fn an_interval_that_is_much_wider_than_the_tolerance_says_nothing() {
        assert_eq!(judge(&[pair(0.5, 0.7, 0.25)]), [Red]);
    }

    #[test]
    fn a_row_in_the_papers_order_is_yellow_where_it_is_not_green() {
        let row = [
            pair(0.2, 0.4, 0.0),
            pair(0.5, 0.52, 0.0),
            pair(0.9, 0.7, 0.0),
        ];
        assert_eq!(judge(&row), [Yellow, Green, Yellow]);
        let row = [pair(0.2, 0.6, 0.0), pair(0.5, 0.52, 0.0)];
        assert_eq!(judge(&row), [Red, Green]);
    }

    #[test]
    fn what_is_equal_in_the_paper_must_be_equal_here() {
        let row = [pair(0.5, 0.8, 0.0), pair(0.5, 0.82, 0.0)];
        assert_eq!(judge(&row), [Yellow, Yellow]);
        let row = [pair(0.5, 0.8, 0.0), pair(0.5, 0.2, 0.0)];
        assert_eq!(judge(&row), [Red, Red]);
    }

    #[test]
    fn a_bound_is_kept_or_not_and_takes_no_part_in_the_order() {
        let bound = |bound, paper, ours| Pair {
            bound,
            ..pair(paper, ours, 0.5)
        };
        let row = [
            bound(Bound::AtLeast, 1.0, 1.01),
            bound(Bound::AtLeast, 1.0, 0.99),
            bound(Bound::AtMost, 1.0, 0.99),
            bound(Bound::AtMost, 1.0, 1.01),
        ];
        assert_eq!(judge(&row), [Green, Red, Green, Red]);
        let row = [
            pair(0.2, 0.4, 0.0),
            pair(0.5, 0.9, 0.0),
            bound(Bound::AtMost, 0.1, 0.3),
        ];
        assert_eq!(judge(&row), [Yellow, Yellow, Red]);
    }

    #[test]
    fn what_is_shortened_is_not_judged_and_takes_no_part_in_the_order() {
        let shortened = Pair {
            is_shortened: true,
            ..pair(0.9, 0.9, 0.0)
        };
        let row = [pair(0.2, 0.4, 0.0), shortened, pair(0.5, 0.95, 0.0)];
        assert_eq!(judge(&row), [Yellow, Shortened, Yellow]);
        assert_eq!(judge(&[pair(0.2, 0.4, 0.0), shortened]), [Red, Shortened]);
    }

    #[test]
    fn one_value_alone_has_no_order_and_what_was_not_measured_is_red() {
        assert_eq!(judge(&[pair(0.5, 0.9, 0.0)]), [Red]);
        let missing = Pair {
            ours: None,
            ..pair(0.5, 0.0, 0.0)
        };
        assert_eq!(judge(&[missing, pair(0.7, 0.7, 0.0)]), [Red, Green]);
    }

    #[test]
    fn default_tolerances_are_parts_of_the_scale_or_of_the_value() {
        let around = |dimension, value| Tolerance::default_of(dimension, 1e7).around(value);
        assert!((around(Dimension::Rate, 2e6) - 5e5).abs() < 1e-6);
        assert!((around(Dimension::Share, 0.9) - 0.05).abs() < 1e-12);
        assert!((around(Dimension::Time, 1.6) - 0.32).abs() < 1e-12);
        assert!((around(Dimension::Loss, 0.0) - 0.001).abs() < 1e-12);
    }
}
