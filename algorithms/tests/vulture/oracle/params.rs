// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of `vulture`, and how its modes sort variations by them.

use proptest::prelude::*;

#[derive(Debug, Clone)]
pub struct Params {
    pub jiffy_us: u32,
    pub psi: u32,
    pub conservative: (u32, u32),
    pub aggressive: (u32, u32),
    pub alpha_x1024: u32,
    pub first_thresh_x1024: u32,
    pub first_window_x1024: u32,
}

pub fn any_params() -> impl Strategy<Value = Params> {
    let usual = Params {
        jiffy_us: 4000,
        psi: 5,
        conservative: (1, 2),
        aggressive: (3, 5),
        alpha_x1024: 896,
        first_thresh_x1024: 1024,
        first_window_x1024: 1024,
    };
    let any = (
        prop_oneof![Just(1000u32), Just(4000), Just(10_000)],
        1u32..12,
        (0u32..4, 1u32..6),
        (0u32..6, 1u32..9),
        300u32..1024,
        prop_oneof![Just(0u32), 512u32..4096],
        512u32..2048,
    )
        .prop_map(
            |(jiffy_us, psi, conservative, aggressive, alpha, thresh, first)| Params {
                jiffy_us,
                psi,
                conservative,
                aggressive,
                alpha_x1024: alpha,
                first_thresh_x1024: thresh,
                first_window_x1024: first,
            },
        );
    prop_oneof![Just(usual), any]
}

impl Params {
    pub fn policy(&self) -> String {
        format!(
            "vulture:jiffy_us={},psi_jiffies={},conservative_low_jiffies={},\
             conservative_high_jiffies={},aggressive_low_jiffies={},aggressive_high_jiffies={},\
             alpha_x1024={},first_thresh_x1024={},first_window_x1024={}",
            self.jiffy_us,
            self.psi,
            self.conservative.0,
            self.conservative.1,
            self.aggressive.0,
            self.aggressive.1,
            self.alpha_x1024,
            self.first_thresh_x1024,
            self.first_window_x1024
        )
    }

    pub fn jiffies(&self, us: f64) -> f64 {
        (us / f64::from(self.jiffy_us)).floor()
    }

    /// Algorithm 3: high and low variations of a mode.
    pub fn sort(&self, pivs: &[f64]) -> (usize, usize) {
        let sum: f64 = pivs.iter().sum();
        let positive = pivs.iter().filter(|piv| **piv > 0.0).count();
        let is_conservative = sum > 0.0 || positive > pivs.len() / 2;
        let count =
            |wanted: &dyn Fn(f64) -> bool| pivs.iter().filter(|piv| wanted(piv.abs())).count();
        if is_conservative {
            let (low, high) = (self.conservative.0.into(), self.conservative.1.into());
            let is_high = |size: f64| size >= high;
            (
                count(&is_high),
                count(&|size| !is_high(size) && size != low),
            )
        } else {
            let (low, high) = (self.aggressive.0.into(), self.aggressive.1.into());
            let is_high = |size: f64| size >= high;
            (
                count(&is_high),
                count(&|size| !is_high(size) && size <= low),
            )
        }
    }
}
