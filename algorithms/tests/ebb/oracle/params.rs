// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parameters of `ebb`, as its model has them and as a policy says them.

use proptest::prelude::*;

#[derive(Debug, Clone)]
pub struct Params {
    pub low_us: f64,
    pub target_us: f64,
    pub high_us: f64,
    pub span_us: f64,
    pub hold_max_us: f64,
    pub probe_segments: f64,
    pub empty_within_us: f64,
    pub shrink_divisor: f64,
    pub plateau_rounds: f64,
    pub calm_us: f64,
}

pub fn any_params() -> impl Strategy<Value = Params> {
    let usual = Params {
        low_us: 3000.0,
        target_us: 5000.0,
        high_us: 10_000.0,
        span_us: 20_000.0,
        hold_max_us: 1e6,
        probe_segments: 2.0,
        empty_within_us: 1e7,
        shrink_divisor: 16.0,
        plateau_rounds: 2.0,
        calm_us: 2e7,
    };
    let any = (
        (1000u32..6000, 1000u32..8000, 1000u32..30_000),
        1000u32..50_000,
        0u32..3_000_000,
        1u32..6,
        1_000_000u32..20_000_000,
        2u32..64,
        (1u32..8, 1_000_000u32..6_000_000),
    )
        .prop_map(
            |((low, more, high), span, hold, probe, empty, shrink, (plateau, calm))| Params {
                low_us: low.into(),
                target_us: (low + more).into(),
                high_us: (low + more + high).into(),
                span_us: span.into(),
                hold_max_us: hold.into(),
                probe_segments: probe.into(),
                empty_within_us: empty.into(),
                shrink_divisor: shrink.into(),
                plateau_rounds: plateau.into(),
                calm_us: calm.into(),
            },
        );
    prop_oneof![Just(usual), any]
}

impl Params {
    pub fn policy(&self) -> String {
        format!(
            "ebb:low_us={},target_us={},high_us={},span_us={},hold_max_us={},probe_segments={},\
             empty_within_us={},shrink_divisor={},plateau_rounds={},calm_us={}",
            self.low_us,
            self.target_us,
            self.high_us,
            self.span_us,
            self.hold_max_us,
            self.probe_segments,
            self.empty_within_us,
            self.shrink_divisor,
            self.plateau_rounds,
            self.calm_us
        )
    }
}
