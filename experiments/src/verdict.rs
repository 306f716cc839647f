// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_scenario::stats::Spread;
use serde::{Deserialize, Serialize};

/// Whether what a paper says of a value holds here.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Our whole interval lies in what the paper says.
    Green,
    /// A part of it: not decided.
    Yellow,
    /// None of it.
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

/// The band of each reported value, as a part of it, to either side.
const BAND: f64 = 0.1;
/// The widest that a band may be to either side, as a part of the effect.
const OF_EFFECT: f64 = 0.5;

/// How wide the band around the paper's value is, beside its tenth.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Tolerance {
    /// What the paper's own precision allows, in the unit of the value.
    pub precision: f64,
    /// The effect that the figure is there to show, in the unit of the value; none: a tenth of the
    /// value is less than half of it anyway.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effect: Option<f64>,
}

impl Tolerance {
    /// How far the band goes from this value.
    pub fn around(self, value: f64) -> f64 {
        let widest = self.effect.map_or(f64::INFINITY, |it| OF_EFFECT * it);
        self.precision.max(BAND * value.abs()).min(widest)
    }
}

/// What the paper says of a value, and ours.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Pair {
    pub paper: f64,
    pub bound: Bound,
    /// None: it could not be measured.
    pub ours: Option<Spread>,
    pub tolerance: Tolerance,
    /// Whether the mean alone is held against it: a formula has no interval, and a bound of our own
    /// is a limit for the mean.
    pub is_of_mean: bool,
    /// Whether ours is of a scenario that is not the paper's.
    pub is_shortened: bool,
}

impl Pair {
    pub(crate) fn verdict(&self) -> Verdict {
        if self.is_shortened {
            return Verdict::Shortened;
        }
        let Some(ours) = self.ours else {
            return Verdict::Red;
        };
        // One run has no interval: it may be anywhere.
        let half = match self.is_of_mean {
            true => 0.0,
            false => ours.half_width_95.unwrap_or(f64::INFINITY),
        };
        let [from, to] = self.said();
        match (ours.mean - half, ours.mean + half) {
            (low, high) if low >= from && high <= to => Verdict::Green,
            (low, high) if high < from || low > to => Verdict::Red,
            _ => Verdict::Yellow,
        }
    }

    /// From where to where the paper has it.
    fn said(&self) -> [f64; 2] {
        // Values are written with a few digits: the last bit of a border is nobody's meaning.
        let rounding = 1e-9 * self.paper.abs();
        let within = self.tolerance.around(self.paper) + rounding;
        match self.bound {
            Bound::Exact => [self.paper - within, self.paper + within],
            Bound::AtLeast => [self.paper - rounding, f64::INFINITY],
            Bound::AtMost => [f64::NEG_INFINITY, self.paper + rounding],
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use Verdict::{Green, Red, Shortened, Yellow};

    fn pair(paper: f64, ours: f64, half_width_95: f64) -> Pair {
        let ours = Spread {
            runs: 3,
            mean: ours,
            min: ours,
            max: ours,
            half_width_95: Some(half_width_95),
        };
        Pair {
            paper,
            bound: Bound::Exact,
            ours: Some(ours),
            tolerance: Tolerance::default(),
            is_of_mean: false,
            is_shortened: false,
        }
    }

    #[test]
    fn a_band_is_a_tenth_or_the_papers_precision_and_no_more_than_half_of_the_effect() {
        let around = |precision, effect, value| Tolerance { precision, effect }.around(value);
        assert!((around(0.0, None, -50.0) - 5.0).abs() < 1e-12);
        assert!((around(0.005, None, 0.03) - 0.005).abs() < 1e-12);
        assert!((around(0.005, None, 0.0) - 0.005).abs() < 1e-12);
        assert!((around(0.0, Some(4.0), 96.8) - 2.0).abs() < 1e-12);
        assert!((around(3.0, Some(4.0), 96.8) - 2.0).abs() < 1e-12);
        assert!((around(0.0, Some(40.0), 96.8) - 9.68).abs() < 1e-12);
    }

    #[test]
    fn a_whole_interval_within_the_band_is_green_and_one_outside_is_red() {
        assert_eq!(pair(0.5, 0.55, 0.0).verdict(), Green);
        assert_eq!(pair(0.5, 0.54, 0.01).verdict(), Green);
        assert_eq!(pair(0.5, 0.54, 0.02).verdict(), Yellow);
        assert_eq!(pair(0.5, 0.57, 0.03).verdict(), Yellow);
        assert_eq!(pair(0.5, 0.57, 0.01).verdict(), Red);
    }

    #[test]
    fn more_noise_never_helps() {
        let order = |verdict| match verdict {
            Green => 2,
            Yellow | Shortened => 1,
            Red => 0,
        };
        for ours in [0.3, 0.44, 0.5, 0.54, 0.56, 0.9] {
            let calm = pair(0.5, ours, 0.001).verdict();
            for noise in [0.01, 0.05, 0.2, 10.0] {
                let noisy = pair(0.5, ours, noise).verdict();
                assert!(noisy != Green || calm == Green, "{ours} with {noise}");
                assert!(order(noisy) <= order(calm).max(1), "{ours} with {noise}");
            }
        }
    }

    #[test]
    fn a_bound_is_held_against_the_interval() {
        let bound = |bound, ours, half| {
            let pair = Pair {
                bound,
                ..pair(1.0, ours, half)
            };
            pair.verdict()
        };
        assert_eq!(bound(Bound::AtLeast, 1.1, 0.1), Green);
        assert_eq!(bound(Bound::AtLeast, 1.1, 0.2), Yellow);
        assert_eq!(bound(Bound::AtLeast, 0.9, 0.2), Yellow);
        assert_eq!(bound(Bound::AtLeast, 0.9, 0.05), Red);
        assert_eq!(bound(Bound::AtMost, 0.9, 0.1), Green);
        assert_eq!(bound(Bound::AtMost, 0.95, 0.1), Yellow);
        assert_eq!(bound(Bound::AtMost, 1.1, 0.05), Red);
    }

    #[test]
    fn one_run_decides_nothing_but_for_a_formula() {
        let mut one = pair(0.5, 0.5, 0.0);
        one.ours = Spread::of(&[0.5]);
        assert_eq!(one.verdict(), Yellow);
        let far = Pair {
            ours: Spread::of(&[5.0]),
            ..one
        };
        assert_eq!(far.verdict(), Yellow);
        let of_mean = |pair| Pair {
            is_of_mean: true,
            ..pair
        };
        assert_eq!(of_mean(one).verdict(), Green);
        assert_eq!(of_mean(far).verdict(), Red);
    }

    #[test]
    fn what_was_not_measured_is_red_and_what_is_shortened_is_not_judged() {
        let missing = Pair {
            ours: None,
            ..pair(0.5, 0.0, 0.0)
        };
        assert_eq!(missing.verdict(), Red);
        let shortened = Pair {
            is_shortened: true,
            ..pair(0.9, 0.9, 0.0)
        };
        assert_eq!(shortened.verdict(), Shortened);
    }
}
