// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb-sender` in closed loop: what others keep, and what it makes of the rest.

use crate::sender_path::{Outcome, Path, Plan, run};

const SECOND_US: u64 = 1_000_000;

fn law() -> Plan {
    Plan::greedy("ebb-sender")
}

fn delayed() -> Path {
    Path {
        ack_every: 2,
        ..Path::default()
    }
}

/// When a greedy sender has had so many bytes, in tenths of a second.
fn tenths_for(outcome: &Outcome, bytes: u64) -> usize {
    let mut left = bytes;
    let mut is_later = |received: &u64| {
        left = left.saturating_sub(*received);
        left > 0
    };
    outcome.flows[0]
        .received_bytes
        .iter()
        .take_while(|received| is_later(received))
        .count()
}

#[test]
fn alone_it_fills_the_link_and_holds_a_few_milliseconds_of_queue() {
    for ack_every in [1, 2] {
        for rtt_ms in [10, 50, 100, 200] {
            let path = Path {
                ack_every,
                rtt_us: rtt_ms * 1000,
                ..Path::default()
            };
            let outcome = run(&path, &[law()], 60);
            let share = outcome.share(0, 5.0, 60.0);
            assert!(share > 0.97, "{rtt_ms} ms: {share}");
            let queue_ms = outcome.mean_wait_ms(5.0, 60.0);
            assert!(queue_ms < 8.0, "{rtt_ms} ms: {queue_ms} ms");
        }
    }
}

#[test]
fn a_short_upload_alone_takes_as_long_as_under_cubic() {
    for rtt_ms in [20, 100, 200] {
        let path = Path {
            rtt_us: rtt_ms * 1000,
            ..delayed()
        };
        let [own, cubic] = [law(), Plan::greedy("cubic")].map(|plan| run(&path, &[plan], 20));
        for bytes in [50_000, 200_000, 1_000_000] {
            let [own, cubic] = [&own, &cubic].map(|outcome| tenths_for(outcome, bytes));
            assert!(
                own <= cubic + 1,
                "{rtt_ms} ms, {bytes} bytes: {own}, {cubic}"
            );
        }
    }
}

#[test]
fn a_greedy_sender_keeps_the_link_whoever_came_first() {
    for (own_from_s, cubic_from_s) in [(3, 0), (0, 5)] {
        let plans = [
            Plan::greedy("cubic").between(cubic_from_s * SECOND_US, u64::MAX),
            law().between(own_from_s * SECOND_US, u64::MAX),
        ];
        let outcome = run(&delayed(), &plans, 65);
        let kept = outcome.share(0, 10.0, 65.0);
        assert!(kept > 0.97, "{own_from_s}, {cubic_from_s}: {kept}");
    }
}

#[test]
fn it_takes_what_constant_traffic_leaves_with_a_short_queue() {
    let path = Path {
        others: vec![(0, u64::MAX, 6_000_000)],
        ..delayed()
    };
    let outcome = run(&path, &[law()], 60);
    let share = outcome.share(0, 5.0, 60.0);
    assert!((0.37..0.41).contains(&share), "{share}");
    let queue_ms = outcome.mean_wait_ms(5.0, 60.0);
    assert!(queue_ms < 10.0, "{queue_ms} ms");
}

/// Difference 3: a pair in each round trip is 2 % of this link, whose queue doubles that.
#[test]
fn it_sends_little_while_others_are_there_and_comes_back_when_they_are_gone() {
    let plans = [
        Plan::greedy("cubic").between(5 * SECOND_US, 65 * SECOND_US),
        law(),
    ];
    let outcome = run(&delayed(), &plans, 80);
    let late = outcome.share(1, 10.0, 65.0);
    assert!((0.001..0.025).contains(&late), "{late}");
    let gap = outcome.flows[1].received_bytes[100..650]
        .split(|bytes| *bytes > 0)
        .map(<[u64]>::len)
        .max()
        .unwrap();
    assert!(gap < 10, "nothing for {gap} tenths of a second");
    let back = outcome.share(1, 67.0, 80.0);
    assert!(back > 0.9, "{back}");
}

/// Difference 4: random loss costs no more than three tenths a time, and the window comes back.
#[test]
fn noise_does_not_keep_it_from_the_link() {
    let path = Path {
        loss_every: Some(1_000),
        ..delayed()
    };
    let [own, reno] = [law(), Plan::greedy("reno")].map(|plan| run(&path, &[plan], 60));
    let [own, reno] = [own, reno].map(|outcome| outcome.share(0, 5.0, 60.0));
    assert!(own > 0.85 && own > reno, "{own}, reno {reno}");
}
