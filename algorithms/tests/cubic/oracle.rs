// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `cubic` against its RFC in real numbers.

use crate::cubic_model::{Constants, Cubic, RFC};
use crate::sender_oracle::{Habits, compare};
use proptest::prelude::*;

/// The RFC's own, as the law has them by default, or any.
fn any_constants() -> impl Strategy<Value = Option<(u32, u32, bool, bool, bool)>> {
    let any = (
        100u32..2000,
        512u32..900,
        any::<bool>(),
        any::<bool>(),
        any::<bool>(),
    );
    prop_oneof![3 => Just(None), 2 => any.prop_map(Some)]
}

fn policy_of(given: &Option<(u32, u32, bool, bool, bool)>) -> (String, Cubic) {
    let Some((c_x1000, beta_x1024, converges, is_friendly, has_hystart)) = *given else {
        return ("cubic".to_owned(), Cubic::new(RFC));
    };
    let policy = format!(
        "cubic:c_x1000={c_x1000},beta_x1024={beta_x1024},fast_convergence={},reno_friendly={},hystart={}",
        u8::from(converges),
        u8::from(is_friendly),
        u8::from(has_hystart)
    );
    let constants = Constants {
        c: f64::from(c_x1000) / 1000.0,
        beta: f64::from(beta_x1024) / 1024.0,
        has_fast_convergence: converges,
        is_reno_friendly: is_friendly,
        has_hystart,
    };
    (policy, Cubic::new(constants))
}

#[test]
fn cubic_is_within_three_segments_a_thousandth_and_a_step_of_rfc_9438() {
    let habits = Habits {
        queue_us: 60_000,
        grain_us: 1,
        most_pkts: 5000,
        cases: 128,
    };
    compare(&habits, any_constants(), policy_of);
}
