// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What DualPI2 and CAKE promise to flows of different kinds, and to hosts.
use ebb_link::{CakeSpec, DualPi2Spec, Ecn, Isolation, LinkSpec, QueueLimit, QueueSpec, Rate};

use crate::prober::{ONE_WAY, Outcome, Prober, run};

fn over(queue: QueueSpec, mbit_per_s: u32, probers: Vec<Prober>) -> Outcome {
    let spec = LinkSpec {
        queue,
        ..LinkSpec::drop_tail(
            Rate::from_mbit_per_s(mbit_per_s),
            ONE_WAY,
            QueueLimit::Packets(1),
        )
    };
    run(&spec, probers)
}

fn dual_pi2() -> QueueSpec {
    QueueSpec::DualPi2(DualPi2Spec::default())
}

/// How many times as much a classic flow has as an L4S flow, beside so many of each.
fn classic_to_l4s(mbit_per_s: u32, [classic, l4s]: [u32; 2], ecn: Ecn) -> f64 {
    let mut probers: Vec<Prober> = (1..=classic).map(|flow| Prober::new(flow, ecn)).collect();
    probers.extend((1..=l4s).map(|number| Prober::scalable(classic + number)));
    let shares = over(dual_pi2(), mbit_per_s, probers).shares;
    let used: f64 = shares.iter().sum();
    assert!(used > 0.95, "{mbit_per_s} Mbit/s: {used} used");
    let mean = |shares: &[f64]| shares.iter().sum::<f64>() / shares.len() as f64;
    mean(&shares[..classic as usize]) / mean(&shares[classic as usize..])
}

/// The classic window is 1.22 / √p_C packets, that of DCTCP 2 / p_CL, and p_C = (p_CL / 2)²
/// (RFC 9332, section 2.1). So the classic window is 1.22 times as large, over a round trip of
/// 50 + 13 ms in place of 50 + 0.2: 0.97 of the rate.
#[test]
fn classic_and_l4s_flows_have_the_rates_of_the_coupling_law_over_dualpi2() {
    for ecn in [Ecn::Capable, Ecn::NotCapable] {
        let ratio = classic_to_l4s(100, [20, 20], ecn);
        assert!((0.87..1.07).contains(&ratio), "{ecn:?}: {ratio}");
    }
}

/// With few flows the probability swings with their windows, and its square by more than itself;
/// on a slow link the step marks as well.
#[test]
fn a_few_flows_are_within_a_factor_of_two_whatever_their_kind() {
    for (mbit_per_s, flows) in [(20, [2, 2]), (40, [3, 3]), (40, [1, 5]), (40, [5, 1])] {
        for ecn in [Ecn::Capable, Ecn::NotCapable] {
            let ratio = classic_to_l4s(mbit_per_s, flows, ecn);
            assert!(
                (0.5..2.0).contains(&ratio),
                "{mbit_per_s} Mbit/s, {flows:?}, {ecn:?}: {ratio}"
            );
        }
    }
}

#[test]
fn l4s_waits_a_millisecond_and_classic_the_target() {
    let probers = vec![
        Prober::new(1, Ecn::Capable),
        Prober::new(2, Ecn::NotCapable),
        Prober::scalable(3),
        Prober::scalable(4),
    ];
    let outcome = over(dual_pi2(), 40, probers);
    let [classic, without_ecn, first, second] = outcome.waited_ms[..] else {
        panic!("four flows");
    };
    for waited in [classic, without_ecn] {
        assert!((7.5..25.0).contains(&waited), "{waited}");
    }
    for waited in [first, second] {
        assert!(waited < 1.5, "{waited}");
    }
    assert!(outcome.total.marked_pkts > 100 && outcome.total.early_dropped_pkts > 10);
}

/// What the host with one flow has, of downloads from nine servers.
fn one_host_and_one_with_eight_flows(isolation: Isolation) -> f64 {
    let cake = CakeSpec {
        isolation,
        ..CakeSpec::default()
    };
    let flow = |flow: u32| {
        let destination = u16::from(flow > 1);
        Prober::new(flow, Ecn::NotCapable).between([flow as u16 + 9, destination])
    };
    let outcome = over(QueueSpec::Cake(cake), 40, (1..=9).map(flow).collect());
    outcome.shares[0] / outcome.shares.iter().sum::<f64>()
}

/// A window that halves behind a queue of 5 ms keeps three quarters of its share; what always
/// has something to send has all of it (tests of the queue itself).
#[test]
fn a_host_with_one_flow_has_its_share_beside_one_with_eight_over_cake() {
    let fair = one_host_and_one_with_eight_flows(Isolation::TripleIsolate);
    assert!((0.35..0.5).contains(&fair), "{fair}");
    let by_flow = one_host_and_one_with_eight_flows(Isolation::Flows);
    assert!((0.09..0.13).contains(&by_flow), "{by_flow}");
}
