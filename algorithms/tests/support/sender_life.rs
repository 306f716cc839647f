// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens to a connection: its path, and one thing after another.

use super::Habits;
use proptest::prelude::*;

/// A connection's path.
#[derive(Debug, Clone)]
pub(super) struct Path {
    pub(super) from_us: u64,
    pub(super) first_seq: u32,
    pub(super) base_rtt_us: u32,
    pub(super) pkts_per_s: u32,
    pub(super) most_pkts: u32,
}

/// What comes next: an event, or acknowledgements that are alike.
#[derive(Debug, Clone)]
pub(super) struct Turn {
    pub(super) kind: Kind,
    pub(super) acks: u32,
    /// Acknowledgements per round trip.
    pub(super) parts: u32,
    pub(super) queue_x256: u32,
    pub(super) flight_x256: u32,
    pub(super) random: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Loss,
    Mark,
    Timeout,
    /// Of the last loss or time-out, which was a moment ago.
    Undo,
    Idle,
    /// The application leaves the window unused.
    Lazy,
    Disorder,
    Open,
}

pub(super) fn any_turn() -> impl Strategy<Value = Turn> {
    let kind = prop_oneof![
        2 => Just(Kind::Loss),
        1 => Just(Kind::Mark),
        1 => Just(Kind::Timeout),
        1 => Just(Kind::Undo),
        1 => Just(Kind::Idle),
        1 => Just(Kind::Lazy),
        1 => Just(Kind::Disorder),
        20 => Just(Kind::Open),
    ];
    let queue_x256 = prop_oneof![1 => Just(0), 2 => 0u32..=256];
    (
        kind,
        1u32..80,
        4u32..32,
        queue_x256,
        0u32..=256,
        any::<u32>(),
    )
        .prop_map(
            |(kind, acks, parts, queue_x256, flight_x256, random)| Turn {
                kind,
                acks,
                parts,
                queue_x256,
                flight_x256,
                random,
            },
        )
}

pub(super) fn any_path(habits: &Habits) -> impl Strategy<Value = Path> + use<> {
    (
        0u64..1 << 40,
        any::<u32>(),
        5_000u32..300_000,
        100u32..20_000,
        8..habits.most_pkts,
    )
        .prop_map(
            |(from_us, first_seq, base_rtt_us, pkts_per_s, most_pkts)| Path {
                from_us,
                first_seq,
                base_rtt_us,
                pkts_per_s,
                most_pkts,
            },
        )
}
