// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each queue discipline is for: sources that probe for bandwidth meet it.
mod coexistence;
mod prober;

use ebb_link::{
    CakeSpec, ClassStatistics, CodelSpec, DualPi2Spec, Ecn, FqCodelSpec, LinkSpec, PieSpec,
    QueueLimit, QueueSpec, Rate, RedSpec,
};

use prober::{ONE_WAY, Prober, run};

/// Mean wait (ms) and share of the rate that two probers get of a 10 Mbit/s link after
/// the warm-up, with the counters of that time.
fn probe(queue: QueueSpec, ecn: Ecn) -> (f64, f64, ClassStatistics) {
    let spec = LinkSpec {
        queue,
        ..LinkSpec::drop_tail(Rate::from_mbit_per_s(10), ONE_WAY, QueueLimit::Packets(1))
    };
    let outcome = run(&spec, [1, 2].map(|flow| Prober::new(flow, ecn)).into());
    let total = outcome.total;
    let share = outcome.shares.iter().sum();
    (total.waiting.mean_ns().unwrap() / 1e6, share, total)
}

fn active_queues() -> [QueueSpec; 6] {
    [
        QueueSpec::Red(RedSpec::default()),
        QueueSpec::Codel(CodelSpec::default()),
        QueueSpec::FqCodel(FqCodelSpec::default()),
        QueueSpec::Pie(PieSpec::default()),
        QueueSpec::DualPi2(DualPi2Spec::default()),
        QueueSpec::Cake(CakeSpec::default()),
    ]
}

#[test]
fn drop_tail_fills_its_queue_and_active_queues_stay_short_at_the_same_rate() {
    let (full_ms, share, _) = probe(
        QueueSpec::DropTail(QueueLimit::Packets(200)),
        Ecn::default(),
    );
    assert!(full_ms > 100.0 && share > 0.99, "{full_ms} {share}");
    for queue in active_queues() {
        let (wait_ms, share, total) = probe(queue, Ecn::NotCapable);
        let name = queue.name();
        assert!(
            wait_ms < 25.0 && share > 0.88,
            "{name}: {wait_ms} ms, {share}"
        );
        assert!(
            total.early_dropped_pkts > 10 && total.marked_pkts == 0,
            "{name}: {total:?}"
        );
    }
}

#[test]
fn active_queues_mark_capable_packets_instead_and_lose_none() {
    for queue in active_queues() {
        let (wait_ms, share, total) = probe(queue, Ecn::Capable);
        let name = queue.name();
        assert!(
            wait_ms < 25.0 && share > 0.88,
            "{name}: {wait_ms} ms, {share}"
        );
        assert!(
            total.marked_pkts > 10 && total.dropped_pkts == 0,
            "{name}: {total:?}"
        );
    }
}
