// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A download's random life, told to a receiver law and to its model at once: windows that
//! are used in part, queues of others, losses, marks, silence. The clocks tick in 1 ms.

use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::Cell;

pub const MSS: u32 = 1000;
pub const TICK_US: u64 = 1000;
/// Until the sender's tick is known for sure.
const STEADY_US: u64 = 2_500_000;

/// A receiver law in real numbers, written from its source.
pub trait Model {
    fn on_segment(&mut self, segment: &Segment);
    fn on_ack(&mut self, ack: &Ack);
    fn window_bytes(&self) -> f64;
    /// How far the law's window may be from it.
    fn tolerance_bytes(&self) -> f64;
    /// Two numbers were so close that rounding may order them otherwise: nothing that
    /// follows is compared.
    fn is_doubtful(&self) -> bool {
        false
    }
}

/// What connections meet.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Longest wait in the queue.
    pub queue_us: u64,
    /// Greatest part of the window that the sender uses, in 1/256: 1024 for one that has
    /// more than the law grants.
    pub use_x256: u64,
    /// So many first turns are observed only.
    pub observed: usize,
    pub cases: u32,
}

#[derive(Debug, Clone)]
struct Path {
    from_us: u64,
    first_seq: u32,
    sender_ts: u32,
    local_ts: u32,
    wire_us: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Quiet,
    Hole,
    Mark,
    Silence,
}

/// Segments that are alike; the queue moves to another length meanwhile.
#[derive(Debug, Clone)]
struct Turn {
    kind: Kind,
    segments: u32,
    use_x256: u64,
    queue_x256: u64,
    jitter_us: u64,
    acks_every: u32,
}

fn any_turn() -> impl Strategy<Value = Turn> {
    let kind = prop_oneof![
        12 => Just(Kind::Quiet),
        2 => Just(Kind::Hole),
        1 => Just(Kind::Mark),
        1 => Just(Kind::Silence),
    ];
    let queue_x256 = prop_oneof![1 => Just(0u64), 1 => 0u64..=256];
    let jitter_us = prop_oneof![Just(0u64), 0u64..6000];
    (
        kind,
        1u32..120,
        prop_oneof![4 => Just(256u64), 1 => 16u64..=256],
        queue_x256,
        jitter_us,
        1u32..=2,
    )
        .prop_map(
            |(kind, segments, use_x256, queue_x256, jitter_us, acks_every)| Turn {
                kind,
                segments,
                use_x256,
                queue_x256,
                jitter_us,
                acks_every,
            },
        )
}

fn any_path() -> impl Strategy<Value = Path> {
    (
        1u64 << 32..1 << 40,
        any::<u32>(),
        any::<u32>(),
        any::<u32>(),
        5_000u64..200_000,
    )
        .prop_map(|(from_us, first_seq, sender_ts, local_ts, wire_us)| Path {
            from_us,
            first_seq,
            sender_ts,
            local_ts,
            wire_us,
        })
}

/// Holds a law against its model, as the senders' `compare` does.
pub fn compare<P: std::fmt::Debug, M: Model>(
    habits: &Habits,
    params: impl Strategy<Value = P>,
    make: impl Fn(&P, &Start) -> (String, M),
) {
    let given = ProptestConfig::default();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: if given.cases == 256 {
            habits.cases
        } else {
            given.cases
        },
        rng_seed: match given.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed => seed,
        },
        failure_persistence: None,
        ..given
    });
    let (compared, all) = (Cell::new(0usize), Cell::new(0usize));
    let turns = proptest::collection::vec(any_turn(), 10..50);
    let outcome = runner.run(&(params, any_path(), turns), |(params, path, turns)| {
        let start = Start {
            now_us: path.from_us,
            mss_bytes: MSS,
            rcv_nxt: path.first_seq,
            has_timestamps: 1,
            tsval: 0,
        };
        let (policy, model) = make(&params, &start);
        let policy: Policy = policy.parse().unwrap();
        let mut pair = Pair::new(ReceiverFlow::new(policy, &start), model, habits, path);
        all.set(all.get() + turns.len());
        for (number, turn) in turns.iter().enumerate() {
            pair.is_observed = number < habits.observed;
            pair.take(turn)?;
            if pair.model.is_doubtful() {
                break;
            }
            compared.set(compared.get() + 1);
        }
        Ok(())
    });
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (compared, all) = (compared.get(), all.get());
    assert!(compared * 2 > all, "{compared} of {all} turns compared");
}

struct Pair<'a, M> {
    law: ReceiverFlow,
    model: M,
    habits: &'a Habits,
    path: Path,
    is_observed: bool,
    now_us: u64,
    /// When the first segment arrived.
    first_us: Option<u64>,
    queue_us: u64,
    sent_us: u64,
    echoed_us: u64,
    highest_seq: u32,
    rcv_nxt: u32,
    right_edge_seq: u32,
    since_ack: u32,
    random: u32,
}

impl<'a, M: Model> Pair<'a, M> {
    fn new(law: ReceiverFlow, model: M, habits: &'a Habits, path: Path) -> Self {
        Self {
            right_edge_seq: path.first_seq.wrapping_add(law.window_bytes()),
            law,
            model,
            habits,
            is_observed: false,
            now_us: path.from_us,
            first_us: None,
            queue_us: 0,
            sent_us: 0,
            echoed_us: 0,
            highest_seq: path.first_seq,
            rcv_nxt: path.first_seq,
            since_ack: 0,
            random: 1,
            path,
        }
    }

    fn take(&mut self, turn: &Turn) -> Result<(), TestCaseError> {
        let is_settling = self
            .first_us
            .is_none_or(|first_us| self.now_us - first_us < STEADY_US);
        let goal_us = if is_settling {
            0
        } else {
            self.habits.queue_us * turn.queue_x256 / 256
        };
        if turn.kind == Kind::Silence {
            self.now_us += 300_000 + turn.jitter_us * 2000;
        }
        let from_us = self.queue_us;
        for number in 1..=turn.segments {
            let (done, left) = (u64::from(number), u64::from(turn.segments - number));
            self.queue_us = (goal_us * done + from_us * left) / u64::from(turn.segments);
            self.wait(turn);
            let is_hole = turn.kind == Kind::Hole && number == turn.segments / 2 + 1;
            if is_hole {
                self.highest_seq = self.highest_seq.wrapping_add(MSS);
            }
            let is_ce = turn.kind == Kind::Mark && number == 1;
            self.arrive(self.highest_seq, is_ce, turn)?;
            if self.model.is_doubtful() {
                return Ok(());
            }
        }
        if self.rcv_nxt != self.highest_seq {
            self.wait(turn);
            self.arrive(self.rcv_nxt, false, turn)?;
            self.rcv_nxt = self.highest_seq;
        }
        Ok(())
    }

    /// Until the next segment: its share of a round trip.
    fn wait(&mut self, turn: &Turn) {
        let window_pkts = u64::from(self.law.window_bytes().min(1 << 20) / MSS);
        let used_x256 = (turn.use_x256 * self.habits.use_x256 / 256).max(16);
        let flight_pkts = (window_pkts * used_x256 / 256).clamp(1, 1000);
        let rtt_us = self.path.wire_us + self.queue_us;
        self.now_us += (rtt_us / flight_pkts).max(260);
        self.now_us += if turn.jitter_us > 0 {
            u64::from(self.draw()) % turn.jitter_us
        } else {
            0
        };
    }

    fn ticks(&self, offset: u32, us: u64) -> u32 {
        offset.wrapping_add((us / TICK_US) as u32)
    }

    fn arrive(&mut self, seq: u32, is_ce: bool, turn: &Turn) -> Result<(), TestCaseError> {
        self.first_us.get_or_insert(self.now_us);
        let way_us = self.path.wire_us / 2;
        // Neither clock steps back.
        self.sent_us = self.sent_us.max(self.now_us - way_us - self.queue_us);
        self.echoed_us = self.echoed_us.max(self.sent_us - way_us);
        let segment = Segment {
            now_us: self.now_us,
            seq,
            payload_bytes: MSS,
            segments: 1,
            tsval: self.ticks(self.path.sender_ts, self.sent_us),
            tsecr: self.ticks(self.path.local_ts, self.echoed_us),
            local_ts: self.ticks(self.path.local_ts, self.now_us),
            local_tick_us: TICK_US as u32,
            rcv_nxt: self.rcv_nxt,
            right_edge_seq: self.right_edge_seq,
            mss_bytes: MSS,
            kernel_rtt_us: 0,
            has_timestamps: 1,
            is_ce: u8::from(is_ce),
            is_observing: u8::from(self.is_observed),
            ..Segment::default()
        };
        self.law.on_segment(&segment);
        self.model.on_segment(&segment);
        if seq == self.highest_seq {
            self.highest_seq = seq.wrapping_add(MSS);
        }
        if seq == self.rcv_nxt {
            self.rcv_nxt = self.rcv_nxt.wrapping_add(MSS);
        }
        self.check("a segment")?;
        self.since_ack += 1;
        if self.since_ack >= turn.acks_every {
            self.since_ack = 0;
            self.acknowledge()?;
        }
        Ok(())
    }

    fn acknowledge(&mut self) -> Result<(), TestCaseError> {
        let ack = Ack {
            now_us: self.now_us,
            ack_seq: self.rcv_nxt,
            local_ts: self.ticks(self.path.local_ts, self.now_us),
            local_tick_us: TICK_US as u32,
            right_edge_seq: self.right_edge_seq,
            mss_bytes: MSS,
            has_timestamps: 1,
            is_observing: u8::from(self.is_observed),
            ..Ack::default()
        };
        self.law.on_ack(&ack);
        self.model.on_ack(&ack);
        let edge_seq = self.rcv_nxt.wrapping_add(self.law.window_bytes());
        if edge_seq.wrapping_sub(self.right_edge_seq).cast_signed() > 0 {
            self.right_edge_seq = edge_seq;
        }
        self.check("an acknowledgement")
    }

    fn check(&self, after: &str) -> Result<(), TestCaseError> {
        if self.model.is_doubtful() || self.is_observed {
            return Ok(());
        }
        let (law, model) = (self.law.window_bytes(), self.model.window_bytes());
        let at_us = self.now_us - self.path.from_us;
        prop_assert!(
            (f64::from(law) - model).abs() <= self.model.tolerance_bytes(),
            "{}: {law} bytes for {model} after {after} at {at_us} us",
            self.law.policy()
        );
        Ok(())
    }

    /// Numerical Recipes' linear congruential generator, its better half.
    fn draw(&mut self) -> u32 {
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        self.random.rotate_left(16)
    }
}

/// Has the wrapping clock or sequence number passed the other?
pub fn is_after(later: u32, earlier: u32) -> bool {
    later.wrapping_sub(earlier).cast_signed() > 0
}
