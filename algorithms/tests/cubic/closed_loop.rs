// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `cubic` does on a path.

use crate::sender_path::{Path, Plan, run};

#[test]
fn two_flows_share_a_bottleneck() {
    let outcome = run(
        &Path::default(),
        &[
            Plan::greedy("cubic"),
            Plan::greedy("cubic").between(5_000_000, u64::MAX),
        ],
        120,
    );
    let shares = [outcome.share(0, 40.0, 120.0), outcome.share(1, 40.0, 120.0)];
    assert!(shares[0] + shares[1] > 0.97, "{shares:?}");
    assert!((0.5..2.0).contains(&(shares[0] / shares[1])), "{shares:?}");
}

#[test]
fn alone_it_fills_the_link_and_loses_little() {
    for policy in ["cubic", "cubic:rules=1,hystart=2"] {
        let outcome = run(&Path::default(), &[Plan::greedy(policy)], 60);
        let share = outcome.share(0, 10.0, 60.0);
        let flow = &outcome.flows[0];
        assert!(share > 0.97, "{policy}: {share}");
        // Most of it when slow start overshoots: a queue shows a round trip late.
        let lost_pkts = flow.lost_pkts;
        assert!(lost_pkts * 100 < flow.sent_pkts, "{policy}: {lost_pkts}");
    }
}
