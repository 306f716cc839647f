// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From values to places on an axis, and the values that are written beside it.

/// How many steps an axis has, more or less, if nobody asks for others.
pub(crate) const STEPS: u32 = 5;

/// An axis from one value to another, linear or logarithmic.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Scale {
    from: f64,
    to: f64,
    is_log: bool,
}

impl Scale {
    /// The axis that was asked for; what was not said follows from the values, with zero if
    /// it is not far.
    pub fn new(values: &[f64], from: Option<f64>, to: Option<f64>, is_log: bool) -> Self {
        let usable = values
            .iter()
            .copied()
            .filter(|value| value.is_finite() && (!is_log || *value > 0.0));
        let (least, most) = usable.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), it| {
            (least.min(it), most.max(it))
        });
        let (least, most) = match least <= most {
            true => (least, most),
            false => (1.0, 10.0),
        };
        let (low, high) = if is_log {
            (rounded_down(least), rounded_up(most))
        } else {
            let low = if least > 0.0 && least > 0.7 * most {
                least
            } else {
                least.min(0.0)
            };
            let step = step((most - low).max(1e-9), STEPS);
            ((low / step).floor() * step, (most / step).ceil() * step)
        };
        let from = from.filter(|from| !is_log || *from > 0.0).unwrap_or(low);
        let to = to.unwrap_or(high);
        // An axis without a length would have all values at its beginning.
        let to = if to > from {
            to
        } else {
            from.abs().max(1.0) + from
        };
        Self { from, to, is_log }
    }

    /// A linear axis from zero to `to`, which is above zero.
    pub fn from_zero(to: f64) -> Self {
        Self {
            from: 0.0,
            to,
            is_log: false,
        }
    }

    /// Where a value stands, 0 at the beginning and 1 at the end; beyond is cut.
    pub fn place(&self, value: f64) -> f64 {
        let share = match self.is_log {
            true => (value.max(1e-300) / self.from).ln() / (self.to / self.from).ln(),
            false => (value - self.from) / (self.to - self.from),
        };
        if share.is_nan() {
            0.0
        } else {
            share.clamp(0.0, 1.0)
        }
    }

    /// Whether a value is on it.
    pub fn holds(&self, value: f64) -> bool {
        (self.from..=self.to).contains(&value)
    }

    /// Round values on it: about `steps` steps, if it is linear.
    pub fn ticks(&self, steps: u32) -> Vec<f64> {
        if self.is_log {
            return self.log_ticks();
        }
        let step = step(self.to - self.from, steps);
        let first = (self.from / step - 1e-9).ceil();
        let count = ((self.to - first * step) / step + 1e-9).floor().max(0.0) as u32;
        (0..=count)
            .map(|number| (first + f64::from(number)) * step)
            .collect()
    }

    fn log_ticks(&self) -> Vec<f64> {
        let decades = (self.to / self.from).log10();
        let factors: &[f64] = match decades {
            few if few < 1.2 => &[1.0, 2.0, 3.0, 5.0, 7.0],
            few if few < 3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let (first, last) = (
            self.from.log10().floor() as i32,
            self.to.log10().ceil() as i32,
        );
        let all = (first..=last).flat_map(|power| {
            let decade = 10_f64.powi(power);
            factors.iter().map(move |factor| factor * decade)
        });
        all.filter(|tick| *tick >= self.from * 0.999 && *tick <= self.to * 1.001)
            .collect()
    }
}

/// 1, 2 or 5 times a power of ten, about `count` of them in the length.
fn step(length: f64, count: u32) -> f64 {
    rounded_up(length / f64::from(count))
}

fn rounded_down(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factors = [5.0, 2.0, 1.0];
    let found = factors
        .iter()
        .find(|factor| *factor * power <= value * 1.001);
    found.unwrap_or(&1.0) * power
}

fn rounded_up(value: f64) -> f64 {
    let power = 10_f64.powf(value.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let found = factors
        .iter()
        .find(|factor| *factor * power >= value * 0.999);
    found.unwrap_or(&10.0) * power
}

/// A value beside an axis: no digits that say nothing.
pub(crate) fn label(value: f64) -> String {
    let is_far_from_one = value.abs() >= 1e5 || value.abs() < 1e-3;
    if value != 0.0 && is_far_from_one {
        let text = format!("{value:.3e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", without_idle_zeros(digits));
    }
    without_idle_zeros(&format!("{value:.4}")).to_owned()
}

/// A number with a point, without what says nothing at its end.
fn without_idle_zeros(number: &str) -> &str {
    number.trim_end_matches('0').trim_end_matches('.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_axis_has_round_values_and_begins_at_zero_if_that_is_near() {
        let scale = Scale::new(&[3.0, 97.0], None, None, false);
        assert_eq!(scale.ticks(STEPS), [0.0, 20.0, 40.0, 60.0, 80.0, 100.0]);
        assert!((scale.place(50.0) - 0.5).abs() < 1e-12);
        assert_eq!(Scale::from_zero(10.0).ticks(4), [0.0, 5.0, 10.0]);
        assert_eq!(Scale::from_zero(0.4).ticks(4).len(), 5);
        let scale = Scale::new(&[96.0, 99.0], None, None, false);
        assert_eq!(scale.ticks(STEPS), [96.0, 97.0, 98.0, 99.0]);
        assert!(scale.holds(96.0) && scale.holds(99.0) && !scale.holds(95.9));
    }

    #[test]
    fn equal_ratios_are_equal_steps_on_a_logarithmic_axis() {
        let scale = Scale::new(&[0.05, 50.0], None, None, true);
        assert_eq!(scale.ticks(STEPS).len(), 3);
        let steps = [0.5, 5.0, 50.0].map(|value| scale.place(value));
        assert!((steps[1] - steps[0] - (steps[2] - steps[1])).abs() < 1e-12);
        assert_eq!(scale.place(0.0), 0.0);
    }

    #[test]
    fn an_axis_of_one_value_or_of_none_has_a_length() {
        for values in [&[][..], &[0.0], &[5.0, 5.0], &[f64::NAN]] {
            for is_log in [false, true] {
                let scale = Scale::new(values, None, None, is_log);
                assert!(
                    scale.to > scale.from && !scale.ticks(STEPS).is_empty(),
                    "{scale:?}"
                );
            }
        }
    }

    #[test]
    fn labels_have_no_digits_that_say_nothing() {
        let labels = [0.0, 0.05, 1.25, 1000.0, 0.3, 1e6, 1.5e5, 0.0001].map(label);
        let expected = ["0", "0.05", "1.25", "1000", "0.3", "1e6", "1.5e5", "1e-4"];
        assert_eq!(labels, expected);
    }
}
