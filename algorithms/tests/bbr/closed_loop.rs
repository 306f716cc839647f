// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What `bbr` does on a path.

use crate::sender_path::{Path, Plan, run};

#[test]
fn alone_it_fills_the_link_with_hardly_any_queue() {
    let path = Path {
        queue_pkts: 500,
        ..Path::default()
    };
    let outcome = run(&path, &[Plan::greedy("bbr")], 60);
    let share = outcome.share(0, 10.0, 60.0);
    let wait_ms = outcome.mean_wait_ms(10.0, 60.0);
    // 200 ms of each 10 s are for PROBE_RTT; 1 % is the pacing margin.
    assert!((0.93..1.0).contains(&share), "{share}");
    assert!(wait_ms < 12.0, "{wait_ms}");
}

#[test]
fn random_losses_do_not_slow_it_down() {
    let path = Path {
        loss_every: Some(50),
        ..Path::default()
    };
    let bbr = run(&path, &[Plan::greedy("bbr")], 60);
    let cubic = run(&path, &[Plan::greedy("cubic")], 60);
    let (bbr, cubic) = (bbr.share(0, 10.0, 60.0), cubic.share(0, 10.0, 60.0));
    assert!(bbr > 0.88 && bbr > 3.0 * cubic, "{bbr} {cubic}");
}

#[test]
fn takes_a_good_part_of_the_link_from_cubic() {
    let outcome = run(
        &Path::default(),
        &[Plan::greedy("bbr"), Plan::greedy("cubic")],
        120,
    );
    let shares = [outcome.share(0, 20.0, 120.0), outcome.share(1, 20.0, 120.0)];
    assert!(
        shares[0] > 0.25 && shares[0] + shares[1] > 0.95,
        "{shares:?}"
    );
}

#[test]
fn finds_more_bandwidth_when_others_leave() {
    let path = Path {
        others: vec![(0, 20_000_000, 5_000_000)],
        ..Path::default()
    };
    let outcome = run(&path, &[Plan::greedy("bbr")], 60);
    let shares = [outcome.share(0, 10.0, 20.0), outcome.share(0, 30.0, 60.0)];
    assert!((0.4..0.55).contains(&shares[0]), "{shares:?}");
    assert!(shares[1] > 0.92, "{shares:?}");
}
