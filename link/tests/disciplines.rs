// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What each queue discipline is for: a source that probes for bandwidth meets it.
use ebb_link::{
    Class, CodelSpec, Ecn, FqCodelSpec, Link, LinkSpec, Nanos, Packet, PieSpec, QueueLimit,
    QueueSpec, Rate, RedSpec,
};
use std::collections::VecDeque;

const RUN: Nanos = Nanos::from_secs(60);
const WARM_UP: Nanos = Nanos::from_secs(20);
const ONE_WAY: Nanos = Nanos::from_millis(25);

/// A sender with a window that grows by a packet per round trip and halves once per
/// round trip in which a packet was dropped or marked.
struct Prober {
    flow: u32,
    ecn: Ecn,
    window: f64,
    in_flight: u32,
    halved_at: Nanos,
    /// When acknowledgements come, and whether they tell of congestion.
    acknowledgements: VecDeque<(Nanos, bool)>,
}

impl Prober {
    fn new(flow: u32, ecn: Ecn) -> Self {
        Self {
            flow,
            ecn,
            window: 10.0,
            in_flight: 0,
            halved_at: Nanos::ZERO,
            acknowledgements: VecDeque::new(),
        }
    }

    fn acknowledge(&mut self, now: Nanos) {
        while let Some(&(at, is_congested)) = self.acknowledgements.front()
            && at <= now
        {
            self.acknowledgements.pop_front();
            self.in_flight -= 1;
            if !is_congested {
                self.window += 1.0 / self.window;
            } else if now.since(self.halved_at) > Nanos::from_millis(100) {
                self.window = (self.window / 2.0).max(2.0);
                self.halved_at = now;
            }
        }
    }

    fn send(&mut self, now: Nanos, link: &mut Link<()>) {
        while self.in_flight < self.window as u32 {
            self.in_flight += 1;
            let packet = Packet::new(1_500, Class::BestEffort, ());
            let packet = packet.with_flow(self.flow).with_ecn(self.ecn);
            if link.enqueue(now, packet).is_err() {
                // Noticed about when the packets around it are acknowledged.
                self.acknowledgements
                    .push_back((now + ONE_WAY + ONE_WAY, true));
            }
        }
    }
}

/// Mean wait (ms) and share of the rate that two probers get of a 10 Mbit/s link after
/// the warm-up, with the counters of that time.
fn probe(queue: QueueSpec, ecn: Ecn) -> (f64, f64, ebb_link::ClassStatistics) {
    let rate = Rate::from_mbit_per_s(10);
    let spec = LinkSpec {
        queue,
        ..LinkSpec::drop_tail(rate, ONE_WAY, QueueLimit::Packets(1))
    };
    let mut link = Link::new(&spec, 1).unwrap();
    link.keep_dropped();
    let mut probers = [Prober::new(1, ecn), Prober::new(2, ecn)];
    let mut now = Nanos::ZERO;
    let mut is_warm = false;
    while now < RUN {
        if now >= WARM_UP && !is_warm {
            link.restart_statistics(now);
            is_warm = true;
        }
        while let Some(delivery) = link.poll(now) {
            let prober = &mut probers[delivery.packet.flow as usize - 1];
            let is_marked = delivery.packet.ecn == Ecn::Congested;
            prober
                .acknowledgements
                .push_back((now + ONE_WAY, is_marked));
        }
        while let Some(dropped) = link.next_dropped() {
            let prober = &mut probers[dropped.packet.flow as usize - 1];
            prober.acknowledgements.push_back((now + ONE_WAY, true));
        }
        for prober in &mut probers {
            prober.acknowledge(now);
            prober.send(now, &mut link);
        }
        now += Nanos::from_micros(100);
    }
    let total = link.statistics().total();
    let seconds = RUN.since(WARM_UP).as_secs_f64();
    let share = total.delivered_bytes as f64 * 8.0 / seconds / 10e6;
    (total.waiting.mean_ns().unwrap() / 1e6, share, total)
}

fn active_queues() -> [QueueSpec; 4] {
    [
        QueueSpec::Red(RedSpec::default()),
        QueueSpec::Codel(CodelSpec::default()),
        QueueSpec::FqCodel(FqCodelSpec::default()),
        QueueSpec::Pie(PieSpec::default()),
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
