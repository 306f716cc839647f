// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Who is to have what of a given sum.

use std::cmp::Reverse;

use crate::preferences::{Preferences, minima_bits_per_s, weights};
use crate::rates::scaled;

/// The desired partition of `sigma_bits_per_s`: equation (7) of the paper where it is enough
/// for all minima, (8) where it is not. Flows of one priority share by weight what is not
/// enough for their minima.
///
/// *Shape:* one target for each flow, in their order; together they are the sum exactly, if
/// there is a flow. *Units:* bit/s.
pub fn desired_partition(sigma_bits_per_s: u64, flows: &[Preferences]) -> Vec<u64> {
    let minima = minima_bits_per_s(flows);
    match minima.and_then(|minima| sigma_bits_per_s.checked_sub(minima)) {
        Some(rest_bits_per_s) => by_weight(rest_bits_per_s, flows),
        None => by_priority(sigma_bits_per_s, flows),
    }
}

/// (7): each its minimum, and of the rest a part by weight.
fn by_weight(rest: u64, flows: &[Preferences]) -> Vec<u64> {
    let weights = weights(flows);
    let total: u64 = weights.iter().sum();
    // Differences of the rounded running sum: so nothing is lost in rounding.
    let part = |weight: u64| scaled(rest, weight, total);
    let mut before = 0;
    let target = |(flow, weight): (&Preferences, u64)| {
        let share = part(before + weight) - part(before);
        before += weight;
        flow.minimum_bits_per_s + share
    };
    flows.iter().zip(weights).map(target).collect()
}

/// (8): minima in decreasing order of priority, as far as the sum goes.
fn by_priority(sigma: u64, flows: &[Preferences]) -> Vec<u64> {
    let mut order: Vec<usize> = (0..flows.len()).collect();
    order.sort_by_key(|place| Reverse(flows[*place].priority));
    let mut targets = vec![0; flows.len()];
    let mut left = sigma;
    for class in order.chunk_by(|one, other| flows[*one].priority == flows[*other].priority) {
        left -= fill(left, class, flows, &mut targets);
    }
    targets
}

/// Fills flows of one priority up to their minima, by weight. *Returns:* how much they have.
fn fill(left: u64, class: &[usize], flows: &[Preferences], targets: &mut [u64]) -> u64 {
    let members: Vec<Preferences> = class.iter().map(|place| flows[*place]).collect();
    let weights = weights(&members);
    let mut weight_left: u64 = weights.iter().sum();
    // Those first whose minimum is the least for their weight: they need no more than it.
    let mut order: Vec<usize> = (0..members.len()).collect();
    let minimum = |member: usize| u128::from(members[member].minimum_bits_per_s);
    order.sort_by(|one, other| {
        let (first, second) = (u128::from(weights[*one]), u128::from(weights[*other]));
        (minimum(*one) * second).cmp(&(minimum(*other) * first))
    });
    let mut given = 0;
    for member in order {
        let (weight, rest) = (weights[member], left - given);
        let share = match weight_left == weight {
            true => rest,
            false => scaled(rest, weight, weight_left),
        };
        let target = share.min(members[member].minimum_bits_per_s);
        targets[class[member]] = target;
        given += target;
        weight_left -= weight;
    }
    given + top_up(left - given, class, flows, targets)
}

/// Gives a rest that rounding, or flows without weight, left over. *Returns:* how much.
fn top_up(rest: u64, class: &[usize], flows: &[Preferences], targets: &mut [u64]) -> u64 {
    let mut left = rest;
    for place in class {
        let more = left.min(flows[*place].minimum_bits_per_s - targets[*place]);
        targets[*place] += more;
        left -= more;
    }
    rest - left
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::NO_BOUND;

    const KBIT: u64 = 1_000;

    /// *Shape:* weight, minimum in kbit/s, priority.
    fn flows(wanted: &[(u32, u64, u32)]) -> Vec<Preferences> {
        let flow = |&(weight, minimum, priority)| Preferences {
            weight,
            minimum_bits_per_s: if minimum == NO_BOUND {
                NO_BOUND
            } else {
                minimum * KBIT
            },
            priority,
        };
        wanted.iter().map(flow).collect()
    }

    fn kbit(sigma: u64, wanted: &[(u32, u64, u32)]) -> Vec<u64> {
        let targets = desired_partition(sigma * KBIT, &flows(wanted));
        targets.iter().map(|target| target / KBIT).collect()
    }

    #[test]
    fn shares_by_weight_without_minima_as_in_scenario_1() {
        // (7): 0 + 1 (960 - 0) / 6 = 160, 2/6 of 960 = 320, 3/6 = 480.
        assert_eq!(
            kbit(960, &[(1, 0, 3), (2, 0, 2), (3, 0, 1)]),
            [160, 320, 480]
        );
    }

    #[test]
    fn gives_minima_by_priority_while_they_are_not_all_met_as_in_scenario_1() {
        // (8): min(600, 1000) = 600; min(600, 1000 - 600) = 400; max(0, 1000 - 1200) = 0.
        let wanted = [(1, 600, 3), (2, 600, 2), (3, 600, 1)];
        assert_eq!(kbit(1_000, &wanted), [600, 400, 0]);
        assert_eq!(kbit(500, &wanted), [500, 0, 0]);
        // 1800 is the sum of the minima, where (7) and (8) meet.
        assert_eq!(kbit(1_800, &wanted), [600, 600, 600]);
        assert_eq!(kbit(2_400, &wanted), [700, 800, 900]);
    }

    #[test]
    fn takes_the_order_from_the_priorities_not_from_the_list_as_in_scenario_3() {
        // S2 first: 600 of 1000; then S1: 100 of 400; then S0: min(600, 300) = 300.
        assert_eq!(
            kbit(1_000, &[(1, 600, 1), (1, 100, 2), (1, 600, 3)]),
            [300, 100, 600]
        );
        // With sigma 1200: S0 = 1200 - 700 = 500.
        assert_eq!(
            kbit(1_200, &[(1, 600, 1), (1, 100, 2), (1, 600, 3)]),
            [500, 100, 600]
        );
    }

    #[test]
    fn gives_a_flow_without_bound_all_that_is_left_as_in_scenario_5() {
        assert_eq!(kbit(1_000, &[(1, NO_BOUND, 1), (1, 450, 2)]), [550, 450]);
        assert_eq!(kbit(400, &[(1, NO_BOUND, 1), (1, 450, 2)]), [0, 400]);
    }

    #[test]
    fn shares_by_weight_within_one_priority_what_is_not_enough() {
        // 900 by 1:2 is 300 and 600; with 400 as the second's minimum 500 are left.
        assert_eq!(kbit(900, &[(1, 800, 1), (2, 800, 1)]), [300, 600]);
        assert_eq!(kbit(900, &[(1, 800, 1), (2, 400, 1)]), [500, 400]);
        assert_eq!(kbit(900, &[(1, NO_BOUND, 1), (2, NO_BOUND, 1)]), [300, 600]);
    }

    #[test]
    fn shares_equally_if_nobody_has_a_weight() {
        assert_eq!(
            kbit(900, &[(0, 0, 0), (0, 0, 0), (0, 0, 0)]),
            [300, 300, 300]
        );
        // A weight of 0 beside others: the minimum and nothing more.
        assert_eq!(kbit(900, &[(0, 100, 0), (5, 0, 0)]), [100, 800]);
    }
}
