// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Connections of a bundle, whatever arrives.

use crate::properties::{Step, any_start, any_step};
use ebb_algorithms::{Ack, Policy, ReceiverBundle, ReceiverFlow, Segment};
use proptest::prelude::*;

fn take(flow: &mut ReceiverFlow, now_us: u64, step: &Step, can_park: u8) {
    match *step {
        Step::Segment(segment, _) => flow.on_segment(&Segment { now_us, ..segment }),
        Step::Ack(ack, _) => flow.on_ack(&Ack {
            now_us,
            can_park,
            ..ack
        }),
    }
}

proptest! {
    #[test]
    fn a_bundle_of_one_is_the_law_without_it(
        start in any_start(),
        steps in proptest::collection::vec(any_step(), 1..300),
    ) {
        let policy = Policy::default();
        let bundle = ReceiverBundle::new(&policy);
        prop_assert!(bundle.is_some());
        let mut alone = ReceiverFlow::new(policy.clone(), &start);
        let mut one = ReceiverFlow::new_in(bundle, policy, &start);
        let mut now_us = start.now_us;
        for step in steps {
            let (Step::Segment(_, us) | Step::Ack(_, us)) = step;
            now_us += us;
            take(&mut alone, now_us, &step, 1);
            take(&mut one, now_us, &step, 1);
            prop_assert_eq!(alone.window_bytes(), one.window_bytes());
            prop_assert_eq!(one.wait_us(), 0);
        }
    }

    #[test]
    fn a_part_is_closed_or_in_bounds_whatever_arrives(
        start in any_start(),
        steps in proptest::collection::vec((any_step(), 0usize..5), 1..300),
        can_park in 0u8..2,
    ) {
        let policy = Policy::default();
        let bundle = ReceiverBundle::new(&policy);
        let new = |_| ReceiverFlow::new_in(bundle.clone(), policy.clone(), &start);
        let mut flows: Vec<ReceiverFlow> = (0..5).map(new).collect();
        let mut now_us = start.now_us;
        for (step, at) in steps {
            let (Step::Segment(_, us) | Step::Ack(_, us)) = step;
            now_us += us;
            let flow = &mut flows[at];
            take(flow, now_us, &step, can_park);
            let (window_bytes, wait_us) = (flow.window_bytes(), flow.wait_us());
            prop_assert!(window_bytes < 1 << 30, "{}", window_bytes);
            prop_assert_eq!(window_bytes == 0, wait_us > 0);
            prop_assert!(wait_us <= 100_000, "{}", wait_us);
        }
    }
}
