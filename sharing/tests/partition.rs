// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds for the desired partition of any sum, whatever is wanted.
use ebb_sharing::{NO_BOUND, Preferences, desired_partition};
use proptest::prelude::*;

fn preferences() -> impl Strategy<Value = Preferences> {
    let minimum = prop_oneof![0_u64..100, 0_u64..2_000_000, any::<u64>(), Just(NO_BOUND)];
    let weight = prop_oneof![Just(0), 1_u32..10, any::<u32>()];
    (weight, minimum, 0_u32..4).prop_map(|(weight, minimum_bits_per_s, priority)| Preferences {
        weight,
        minimum_bits_per_s,
        priority,
    })
}

fn sigma() -> impl Strategy<Value = u64> {
    prop_oneof![0_u64..100, 0_u64..5_000_000, any::<u64>(), Just(u64::MAX)]
}

fn minima(flows: &[Preferences]) -> u128 {
    flows
        .iter()
        .map(|flow| u128::from(flow.minimum_bits_per_s))
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// Equation (6).
    #[test]
    fn adds_up_to_the_sum(sigma in sigma(), flows in prop::collection::vec(preferences(), 1..8)) {
        let total: u128 = desired_partition(sigma, &flows).into_iter().map(u128::from).sum();
        prop_assert_eq!(total, u128::from(sigma));
    }

    #[test]
    fn meets_minima_in_the_order_of_priority(
        sigma in sigma(),
        flows in prop::collection::vec(preferences(), 1..8),
    ) {
        let targets = desired_partition(sigma, &flows);
        let lacks = |place: usize| targets[place] < flows[place].minimum_bits_per_s;
        if u128::from(sigma) >= minima(&flows) {
            prop_assert!(!(0..flows.len()).any(lacks));
        }
        for lacking in (0..flows.len()).filter(|place| lacks(*place)) {
            for (place, flow) in flows.iter().enumerate() {
                // Nobody below has anything, nobody has more than its minimum.
                prop_assert!(targets[place] <= flow.minimum_bits_per_s);
                if flow.priority < flows[lacking].priority {
                    prop_assert_eq!(targets[place], 0);
                }
            }
        }
    }

    /// Who starves does so because all goes to minima of at least its priority, or because
    /// it has no weight: the paper's price, and no other one.
    #[test]
    fn starves_nobody_but_for_the_minima_of_others(
        sigma in 1_000_000_u64..1 << 60,
        flows in prop::collection::vec(preferences(), 1..8),
    ) {
        let targets = desired_partition(sigma, &flows);
        for (place, flow) in flows.iter().enumerate() {
            let others = flows.iter().enumerate().filter(|(other, _)| *other != place);
            let above = others.filter(|(_, other)| other.priority >= flow.priority);
            let claimed: u128 = above.map(|(_, other)| u128::from(other.minimum_bits_per_s)).sum();
            if flow.minimum_bits_per_s > 0 && flow.weight > 0 && claimed < u128::from(sigma) {
                prop_assert!(targets[place] > 0, "{targets:?}");
            }
        }
    }

    #[test]
    fn shares_the_rest_by_weight(
        sigma in 0_u64..1 << 40,
        weights in prop::collection::vec(1_u32..1_000, 2..8),
        minimum in 0_u64..100_000,
    ) {
        let flow = |weight| Preferences { weight, minimum_bits_per_s: minimum, priority: 0 };
        let flows: Vec<_> = weights.iter().map(|weight| flow(*weight)).collect();
        let rest = sigma.saturating_sub(minimum * flows.len() as u64);
        prop_assume!(rest > 0);
        let total: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        for (target, weight) in desired_partition(sigma, &flows).into_iter().zip(weights) {
            let share = u128::from(rest) * u128::from(weight) / u128::from(total);
            prop_assert!(target.abs_diff(minimum + share as u64) <= 1);
        }
    }

    #[test]
    fn gives_nobody_less_of_a_larger_sum(
        sigma in 0_u64..1 << 60,
        more in 0_u64..1 << 60,
        flows in prop::collection::vec(preferences(), 1..8),
    ) {
        let before = desired_partition(sigma, &flows);
        let after = desired_partition(sigma + more, &flows);
        for (before, after) in before.into_iter().zip(after) {
            // Rounding is worth a few bits per second.
            prop_assert!(after + 8 >= before, "{before} {after}");
        }
    }
}
