// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What must hold for every sender law whatever its host tells it. The debug build of the
//! laws traps on undefined behaviour, so that this is a search for it as well. A law is
//! covered by being registered.

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart, Side, laws_of};
use proptest::prelude::*;

const MAX_CWND_PKTS: u32 = 0x3fff_ffff;

/// What happens to a connection.
#[derive(Debug, Clone)]
enum Step {
    Ack(SenderAck),
    Loss(SenderEvent),
    Timeout(SenderEvent),
    Undo(SenderEvent),
    Idle(SenderEvent),
}

fn apply(flow: &mut SenderFlow, step: &Step) {
    match step {
        Step::Ack(ack) => flow.on_ack(ack),
        Step::Loss(event) => flow.on_loss(event),
        Step::Timeout(event) => flow.on_timeout(event),
        Step::Undo(event) => flow.on_undo(event),
        Step::Idle(event) => flow.on_idle(event),
    }
}

/// A number of a kind that breaks things: small, huge, all ones, anything.
fn nasty() -> impl Strategy<Value = u32> {
    prop_oneof![
        3 => 0u32..64,
        3 => 0u32..2_000_000,
        1 => Just(u32::MAX),
        1 => Just(0x7fff_ffff),
        1 => Just(0x3fff_ffff),
        2 => any::<u32>(),
    ]
}

fn nasty_time() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0u64..100_000_000,
        1 => (1u64 << 32) - 1_000_000..(1u64 << 32) + 1_000_000,
        1 => any::<u64>(),
        1 => Just(u64::MAX),
    ]
}

/// Words that an input is made of: raw bytes, or numbers that break things.
fn words<const N: usize>() -> impl Strategy<Value = Vec<u8>> {
    prop_oneof![
        1 => proptest::collection::vec(any::<u8>(), N),
        3 => proptest::collection::vec(nasty(), N / 4)
            .prop_map(|words| words.iter().flat_map(|word| word.to_le_bytes()).collect()),
    ]
}

fn any_ack() -> impl Strategy<Value = SenderAck> {
    (words::<{ size_of::<SenderAck>() }>(), nasty_time())
        .prop_map(|(bytes, now_us)| SenderAck {
            now_us,
            ..SenderAck::from_bytes(&bytes)
        })
        .boxed()
}

fn any_event() -> impl Strategy<Value = SenderEvent> {
    (words::<{ size_of::<SenderEvent>() }>(), nasty_time())
        .prop_map(|(bytes, now_us)| SenderEvent {
            now_us,
            ..SenderEvent::from_bytes(&bytes)
        })
        .boxed()
}

fn any_step() -> impl Strategy<Value = Step> {
    prop_oneof![
        6 => any_ack().prop_map(Step::Ack),
        1 => any_event().prop_map(Step::Loss),
        1 => any_event().prop_map(Step::Timeout),
        1 => any_event().prop_map(Step::Undo),
        1 => any_event().prop_map(Step::Idle),
    ]
}

fn any_start() -> impl Strategy<Value = SenderStart> {
    words::<{ size_of::<SenderStart>() }>().prop_map(|bytes| SenderStart::from_bytes(&bytes))
}

/// A policy with values anywhere within the parameters' bounds.
fn any_policy(law: &'static ebb_algorithms::LawInfo) -> impl Strategy<Value = Policy> {
    let values: Vec<_> = law
        .params
        .iter()
        .map(|param| {
            prop_oneof![
                2 => Just(param.default),
                1 => Just(param.min),
                1 => Just(param.max),
                1 => param.min..=param.max,
            ]
        })
        .collect();
    values.prop_map(move |values| {
        let pairs: Vec<_> = law.params.iter().zip(values).collect();
        let pairs: Vec<_> = pairs
            .iter()
            .map(|(param, value)| format!("{}={value}", param.name))
            .collect();
        let separator = if pairs.is_empty() { "" } else { ":" };
        Policy::sender(&format!("{}{separator}{}", law.name, pairs.join(","))).unwrap()
    })
}

fn any_law() -> impl Strategy<Value = &'static ebb_algorithms::LawInfo> {
    proptest::sample::select(laws_of(Side::Sender).collect::<Vec<_>>())
}

fn any_law_with_values() -> impl Strategy<Value = Policy> {
    any_law().prop_flat_map(any_policy)
}

/// A host that behaves: its time goes on, its window is the law's, its numbers fit.
#[derive(Debug, Clone, Copy)]
struct Turn {
    wait_us: u64,
    acked_pkts: u32,
    rtt_us: u32,
    kind: u8,
    random: u32,
}

fn any_turn() -> impl Strategy<Value = Turn> {
    let wait_us = prop_oneof![
        8 => 0u64..20_000,
        2 => 0u64..2_000_000,
        // Silence of hours.
        1 => 0u64..40_000_000_000,
    ];
    let rtt_us = prop_oneof![8 => 20_000u32..200_000, 1 => 0u32..50, 1 => any::<u32>()];
    (wait_us, 1u32..50, rtt_us, 0u8..40, any::<u32>()).prop_map(
        |(wait_us, acked_pkts, rtt_us, kind, random)| Turn {
            wait_us,
            acked_pkts,
            rtt_us,
            kind,
            random,
        },
    )
}

struct Host {
    now_us: u64,
    ack_seq: u32,
    delivered_pkts: u64,
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
}

impl Host {
    fn turn(&mut self, flow: &mut SenderFlow, turn: &Turn) {
        self.now_us = self.now_us.wrapping_add(turn.wait_us);
        let acked_pkts = turn.acked_pkts.min(self.cwnd_pkts);
        let event = SenderEvent {
            now_us: self.now_us,
            ack_seq: self.ack_seq,
            snd_nxt: self.ack_seq.wrapping_add(self.cwnd_pkts.wrapping_mul(1448)),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.cwnd_pkts,
            mss_bytes: 1448,
            srtt_us: turn.rtt_us,
            random: turn.random,
            idle_us: turn.wait_us as u32,
            is_ecn: (turn.random & 1) as u8,
            ..SenderEvent::default()
        };
        match turn.kind {
            0 => flow.on_loss(&event),
            1 => flow.on_timeout(&event),
            2 => flow.on_undo(&event),
            3 => flow.on_idle(&event),
            _ => flow.on_ack(&self.ack(turn, acked_pkts)),
        }
        self.cwnd_pkts = flow.window().cwnd_pkts;
        self.ssthresh_pkts = flow.window().ssthresh_pkts;
    }

    fn ack(&mut self, turn: &Turn, acked_pkts: u32) -> SenderAck {
        let prior_delivered_pkts = self.delivered_pkts.saturating_sub(self.cwnd_pkts.into());
        self.delivered_pkts += u64::from(acked_pkts);
        self.ack_seq = self.ack_seq.wrapping_add(acked_pkts.wrapping_mul(1448));
        SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: prior_delivered_pkts,
            rate_delivered_pkts: (self.delivered_pkts - prior_delivered_pkts) as u32,
            rate_interval_us: turn.rtt_us,
            ack_seq: self.ack_seq,
            snd_nxt: self.ack_seq.wrapping_add(self.cwnd_pkts.wrapping_mul(1448)),
            acked_pkts,
            acked_bytes: acked_pkts * 1448,
            delivered_now_pkts: acked_pkts,
            prior_inflight_pkts: self.cwnd_pkts,
            inflight_pkts: self.cwnd_pkts - acked_pkts,
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            rtt_us: turn.rtt_us,
            srtt_us: turn.rtt_us,
            tsval: (self.now_us / 1000) as u32,
            tsecr: (self.now_us / 1000) as u32,
            local_ts: (self.now_us / 1000) as u32,
            local_tick_us: 1000,
            mss_bytes: 1448,
            random: turn.random,
            is_cwnd_limited: 1,
            has_timestamps: 1,
            ..SenderAck::default()
        }
    }
}

proptest! {
    // A window out of bounds showed in one life of 2000.
    #![proptest_config(ProptestConfig {
        cases: 2048, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn the_window_stays_in_bounds_whatever_the_host_says(
        policy in any_law_with_values(),
        start in any_start(),
        steps in proptest::collection::vec(any_step(), 1..120),
    ) {
        let mut flow = SenderFlow::new(policy.clone(), &start);
        for step in &steps {
            apply(&mut flow, step);
            let window = flow.window();
            prop_assert!(
                (1..=MAX_CWND_PKTS).contains(&window.cwnd_pkts),
                "{policy}: {window:?} after {step:?}"
            );
        }
    }

    #[test]
    fn the_window_stays_in_bounds_on_a_host_that_behaves(
        policy in any_law_with_values(),
        from_us in nasty_time(),
        first_seq in any::<u32>(),
        turns in proptest::collection::vec(any_turn(), 1..300),
    ) {
        let start = SenderStart {
            now_us: from_us,
            mss_bytes: 1448,
            cwnd_pkts: 10,
            local_tick_us: 1000,
            has_timestamps: 1,
        };
        let mut flow = SenderFlow::new(policy.clone(), &start);
        let mut host = Host {
            now_us: from_us,
            ack_seq: first_seq,
            delivered_pkts: 0,
            cwnd_pkts: flow.window().cwnd_pkts,
            ssthresh_pkts: flow.window().ssthresh_pkts,
        };
        // Some laws have a least window as a parameter, and some go back to the one before
        // a recovery.
        let mut greatest_pkts = 1000;
        for turn in &turns {
            let before_pkts = host.cwnd_pkts;
            host.turn(&mut flow, turn);
            let after_pkts = host.cwnd_pkts;
            greatest_pkts = greatest_pkts.max(before_pkts);
            prop_assert!((1..=MAX_CWND_PKTS).contains(&after_pkts), "{policy}: {after_pkts}");
            // An acknowledgement never more than doubles the window; an undo may restore.
            if turn.kind > 3 {
                let most_pkts = (2 * before_pkts).max(greatest_pkts) + 64;
                prop_assert!(after_pkts <= most_pkts, "{policy}: {before_pkts} -> {after_pkts}");
            }
        }
    }

    #[test]
    fn a_loss_never_raises_the_window(
        policy in any_law_with_values(),
        turns in proptest::collection::vec(any_turn(), 1..200),
    ) {
        let start = SenderStart { mss_bytes: 1448, cwnd_pkts: 10, ..SenderStart::default() };
        let mut flow = SenderFlow::new(policy.clone(), &start);
        let mut host = Host {
            now_us: 5_000_000,
            ack_seq: u32::MAX - 50_000,
            delivered_pkts: 0,
            cwnd_pkts: 10,
            ssthresh_pkts: flow.window().ssthresh_pkts,
        };
        for turn in &turns {
            let before_pkts = host.cwnd_pkts;
            host.turn(&mut flow, turn);
            if turn.kind <= 1 {
                prop_assert!(host.cwnd_pkts <= before_pkts, "{policy}: {before_pkts}");
                if !policy.law().has_full_control() {
                    let most_pkts = before_pkts.max(1000);
                    prop_assert!(host.ssthresh_pkts <= most_pkts, "{policy}: {before_pkts}");
                }
            }
        }
    }

    #[test]
    fn the_same_input_gives_the_same_state(
        policy in any_law_with_values(),
        start in any_start(),
        steps in proptest::collection::vec(any_step(), 1..60),
    ) {
        let run = || {
            let mut flow = SenderFlow::new(policy.clone(), &start);
            steps.iter().for_each(|step| apply(&mut flow, step));
            flow.state_bytes().to_vec()
        };
        prop_assert_eq!(run(), run());
    }

    #[test]
    fn only_differences_of_sequence_numbers_count(
        policy in any_law_with_values(),
        first_seq in any::<u32>(),
        turns in proptest::collection::vec(any_turn(), 1..200),
    ) {
        let run = |first_seq| {
            let start = SenderStart { mss_bytes: 1448, cwnd_pkts: 10, ..SenderStart::default() };
            let mut flow = SenderFlow::new(policy.clone(), &start);
            let mut host = Host {
                now_us: 5_000_000,
                ack_seq: first_seq,
                delivered_pkts: 0,
                cwnd_pkts: 10,
                ssthresh_pkts: flow.window().ssthresh_pkts,
            };
            turns.iter().map(|turn| { host.turn(&mut flow, turn); flow.window() })
                .collect::<Vec<_>>()
        };
        prop_assert_eq!(run(first_seq), run(0));
    }
}
