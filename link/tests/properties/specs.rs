// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random links.
use ebb_link::{
    Aggregation, CakeSpec, Capacity, ClassRedSpec, CodelSpec, DualPi2Spec, FqCodelSpec, Isolation,
    LinkSpec, Nanos, PieSpec, Probability, QueueLimit, QueueSpec, Rate, RateSteps, RedCurve,
    RedSpec, Reroute, TokenBucket, Trace,
};
use proptest::prelude::*;

fn probability() -> impl Strategy<Value = Probability> {
    (0.0..=1.0).prop_map(|number| Probability::new(number).unwrap())
}

pub fn limit() -> impl Strategy<Value = QueueLimit> {
    prop_oneof![
        (1_u64..50).prop_map(QueueLimit::Packets),
        (1_u64..50_000).prop_map(QueueLimit::Bytes),
    ]
}

pub fn capacity() -> impl Strategy<Value = Capacity> {
    let rate = (1_000_u64..10_000_000_000).prop_map(|rate| Rate::from_bits_per_s(rate).unwrap());
    let times = prop::collection::vec(0_u64..50_000_000, 1..20).prop_map(|mut times| {
        times.push(60_000_000);
        times.sort_unstable();
        Trace::try_from(times).unwrap()
    });
    let rates = prop::collection::vec(0_u64..10_000_000, 1..10).prop_map(|rates| {
        let times = (0_u64..).map(|number| number * 7_000_001);
        let steps = times.zip(rates.into_iter().chain([1_000_000, 0]));
        RateSteps::try_from(steps.collect::<Vec<_>>()).unwrap()
    });
    prop_oneof![
        Just(Capacity::Unlimited),
        rate.prop_map(Capacity::Rate),
        times.prop_map(Capacity::Trace),
        rates.prop_map(Capacity::Steps),
    ]
}

/// How a bottleneck sends beside its rate.
type Sending = (Option<TokenBucket>, Option<Aggregation>);

/// A bucket and aggregation that suit this bottleneck.
fn sending(capacity: &Capacity) -> impl Strategy<Value = Sending> + use<> {
    let is_steps = matches!(capacity, Capacity::Steps(_));
    let peak = match capacity {
        Capacity::Rate(rate) => rate.bits_per_s(),
        _ => 0,
    };
    let has = (any::<bool>(), any::<bool>());
    (
        has,
        1_500_u64..20_000,
        0_u64..2_000,
        1_u64..5_000,
        1_u32..20,
    )
        .prop_map(
            move |((has_bucket, is_aggregating), size_bytes, overhead_us, airtime_us, max_pkts)| {
                let rate = Rate::from_bits_per_s(peak / 3).filter(|_| has_bucket);
                let bucket = rate.map(|rate| TokenBucket { rate, size_bytes });
                let aggregation = Aggregation {
                    overhead: Nanos::from_micros(overhead_us),
                    airtime: Nanos::from_micros(airtime_us),
                    max_pkts,
                };
                let can_aggregate = peak > 0 || is_steps;
                (
                    bucket,
                    (is_aggregating && can_aggregate).then_some(aggregation),
                )
            },
        )
}

pub fn simple_queue() -> impl Strategy<Value = QueueSpec> {
    prop_oneof![
        limit().prop_map(QueueSpec::DropTail),
        (limit(), limit()).prop_map(|(best_effort, less_than_best_effort)| {
            QueueSpec::StrictPriority {
                best_effort,
                less_than_best_effort,
            }
        }),
    ]
}

/// Disciplines that mark and drop early, set so that they act on short runs.
fn active_queue() -> impl Strategy<Value = QueueSpec> {
    let target = (1_u64..20).prop_map(Nanos::from_millis);
    (2_u64..50, 0.01..1.0, target, any::<[bool; 3]>()).prop_flat_map(
        |(limit, weight, target, [ecn, gentle, is_bytes])| {
            let amount = |packets: u64| match is_bytes {
                true => QueueLimit::Bytes(packets * 1_500),
                false => QueueLimit::Packets(packets),
            };
            let limit = amount(limit);
            let (min_threshold, max_threshold) = (amount(1), amount(3));
            let interval = target + target;
            let red = RedSpec {
                limit,
                weight,
                ecn,
                gentle,
                min_threshold,
                max_threshold,
                ..RedSpec::default()
            };
            let curve = RedCurve {
                min_threshold,
                max_threshold,
                max_probability: Probability::ALWAYS,
                gentle,
            };
            let class_red = ClassRedSpec {
                limit,
                weight,
                ecn,
                less_than_best_effort: Some(curve),
                ..ClassRedSpec::default()
            };
            let codel = CodelSpec {
                limit,
                target,
                interval,
                ecn,
            };
            let fq_codel = FqCodelSpec {
                limit,
                target,
                interval,
                ecn,
                flows: 4,
                ..FqCodelSpec::default()
            };
            let pie = PieSpec {
                limit,
                target,
                ecn,
                max_burst: Nanos::ZERO,
                ..PieSpec::default()
            };
            let dual_pi2 = DualPi2Spec {
                limit,
                target,
                // Steps that reach overload within the run.
                alpha: 20.0,
                beta: 200.0,
                update: Nanos::from_millis(1),
                ..DualPi2Spec::default()
            };
            let isolation = match gentle {
                true => Isolation::Flows,
                false => Isolation::TripleIsolate,
            };
            let cake = CakeSpec {
                limit,
                target,
                interval,
                ecn,
                isolation,
                flows: 8,
                quantum_bytes: None,
            };
            prop_oneof![
                Just(QueueSpec::Red(red)),
                Just(QueueSpec::ClassRed(class_red)),
                Just(QueueSpec::Codel(codel)),
                Just(QueueSpec::FqCodel(fq_codel)),
                Just(QueueSpec::Pie(pie)),
                Just(QueueSpec::DualPi2(dual_pi2)),
                Just(QueueSpec::Cake(cake)),
            ]
        },
    )
}

/// Any queue with a bottleneck that suits it.
fn queue_and_capacity() -> impl Strategy<Value = (QueueSpec, Capacity, Sending)> {
    let limited = capacity().prop_filter("needs a bottleneck", |capacity| {
        *capacity != Capacity::Unlimited
    });
    prop_oneof![
        1 => (simple_queue(), capacity()),
        2 => (active_queue(), limited),
    ]
    .prop_flat_map(|(queue, capacity)| {
        let sending = sending(&capacity);
        (Just(queue), Just(capacity), sending)
    })
}

prop_compose! {
    pub fn spec()(
        (queue, capacity, (bucket, aggregation)) in queue_and_capacity(),
        delay_us in 0_u64..100_000,
        jitter_us in 1_u64..20_000,
        jitter_reorders: bool,
        loss in probability(),
        reorder in probability(),
        duplicate in probability(),
        reroutes in prop::collection::btree_map(0_u64..500_000, 0_u64..100_000, 0..3),
    ) -> LinkSpec {
        LinkSpec {
            capacity,
            bucket,
            aggregation,
            queue,
            ecn_threshold: None,
            delay: Nanos::from_micros(delay_us),
            reroutes: reroutes
                .into_iter()
                .map(|(at_us, delay_us)| Reroute {
                    at: Nanos::from_micros(at_us),
                    delay: Nanos::from_micros(delay_us),
                })
                .collect(),
            jitter: Nanos::from_micros(jitter_us),
            jitter_reorders,
            loss,
            reorder,
            reorder_delay: Nanos::from_millis(5),
            duplicate,
        }
    }
}
