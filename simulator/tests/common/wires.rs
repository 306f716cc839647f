// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random links with all disciplines and vices, and random laws, for property tests.

use ebb_algorithms::Side;
use ebb_link::{
    CakeSpec, ClassRedSpec, CodelSpec, DualPi2Spec, FqCodelSpec, LinkSpec, Nanos, PieSpec,
    Probability, QueueLimit, QueueSpec, Rate, RedCurve, RedSpec,
};
use proptest::prelude::*;

#[derive(Clone, Debug)]
pub struct Wire {
    pub mbit: u32,
    pub delay_ms: u64,
    pub queue_pkts: u64,
    pub discipline: usize,
    pub loss: f64,
    pub jitter_us: u64,
    pub is_reordering: bool,
    pub duplicate: f64,
}

pub fn wire() -> impl Strategy<Value = Wire> {
    (
        (1_u32..200, 0_u64..60, 4_u64..200, 0..DISCIPLINES),
        (
            prop_oneof![Just(0.0), 0.0..0.03],
            prop_oneof![Just(0_u64), 1_u64..5_000],
            any::<bool>(),
            prop_oneof![Just(0.0), 0.0..0.02],
        ),
    )
        .prop_map(
            |(
                (mbit, delay_ms, queue_pkts, discipline),
                (loss, jitter_us, is_reordering, duplicate),
            )| Wire {
                mbit,
                delay_ms,
                queue_pkts,
                discipline,
                loss,
                jitter_us,
                is_reordering,
                duplicate,
            },
        )
}

pub fn laws(side: Side) -> impl Strategy<Value = &'static str> {
    let names: Vec<&'static str> = ebb_algorithms::laws_of(side).map(|law| law.name).collect();
    prop::sample::select(names)
}

const DISCIPLINES: usize = 9;

fn queue(discipline: usize, limit: QueueLimit) -> QueueSpec {
    match discipline {
        0 => QueueSpec::DropTail(limit),
        1 => QueueSpec::StrictPriority {
            best_effort: limit,
            less_than_best_effort: limit,
        },
        2 => QueueSpec::Red(RedSpec {
            limit,
            min_threshold: QueueLimit::Packets(1),
            max_threshold: QueueLimit::Packets(3),
            ..RedSpec::default()
        }),
        3 => QueueSpec::Codel(CodelSpec {
            limit,
            ..CodelSpec::default()
        }),
        4 => QueueSpec::FqCodel(FqCodelSpec {
            limit,
            ..FqCodelSpec::default()
        }),
        5 => QueueSpec::Pie(PieSpec {
            limit,
            ..PieSpec::default()
        }),
        6 => QueueSpec::DualPi2(DualPi2Spec {
            limit,
            ..DualPi2Spec::default()
        }),
        7 => QueueSpec::Cake(CakeSpec {
            limit,
            ..CakeSpec::default()
        }),
        _ => QueueSpec::ClassRed(ClassRedSpec {
            limit,
            less_than_best_effort: Some(RedCurve {
                min_threshold: QueueLimit::Packets(1),
                max_threshold: QueueLimit::Packets(3),
                max_probability: Probability::ALWAYS,
                gentle: false,
            }),
            ..ClassRedSpec::default()
        }),
    }
}

pub fn spec(wire: &Wire) -> LinkSpec {
    let limit = QueueLimit::Packets(wire.queue_pkts);
    let rate = Rate::from_mbit_per_s(wire.mbit);
    let delay = Nanos::from_millis(wire.delay_ms);
    LinkSpec {
        loss: Probability::new(wire.loss).expect("a share"),
        jitter: Nanos::from_micros(wire.jitter_us),
        jitter_reorders: wire.is_reordering && wire.jitter_us > 0,
        duplicate: Probability::new(wire.duplicate).expect("a share"),
        queue: queue(wire.discipline, limit),
        ..LinkSpec::drop_tail(rate, delay, limit)
    }
}
