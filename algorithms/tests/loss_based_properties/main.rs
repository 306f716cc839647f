// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What holds for reno, cubic, vegas, bbr and the delayed window update whatever happens on
//! the path: how often they react, clocks that began elsewhere, silence, absurd input. Bounds
//! of the window and sequence numbers that wrap: `sender_laws_properties.rs`.

mod sender;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;

use ebb_algorithms::{Phase, SenderAck};
use proptest::prelude::*;
use sender::{Sender, Turn, any_turn, any_turns, is_after};
use sender_path::{Path, Plan, run};

const MSS: u32 = 1000;
const BASE_RTT_US: u32 = 50_000;
const POLICIES: [&str; 8] = [
    "reno",
    "cubic",
    "cubic:rules=1,hystart=2",
    "vegas",
    "vegas:slow_start_rounds=2,queue_rule=1",
    "bbr",
    "reno+",
    "cubic+",
];

fn any_policy() -> impl Strategy<Value = &'static str> {
    proptest::sample::select(POLICIES.to_vec())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The host tells of a loss once per round trip; nothing else is one.
    #[test]
    fn reno_and_cubic_lower_the_window_at_losses_only(
        policy in proptest::sample::select(POLICIES[..3].to_vec()),
        cwnd_pkts in 2u32..500,
        turns in any_turns(),
        phases in proptest::collection::vec(0u8..5, 300),
    ) {
        let mut sender = Sender::avoiding(policy, cwnd_pkts);
        for (turn, phase) in turns.iter().zip(phases) {
            let before_pkts = sender.cwnd_pkts;
            let ack = SenderAck {
                phase,
                is_ece: phase % 2,
                lost_now_pkts: turn.kind.into(),
                is_cwnd_limited: turn.kind % 3,
                ..sender.ack(turn)
            };
            sender.give(&ack);
            prop_assert!(sender.cwnd_pkts >= before_pkts, "{policy}: {before_pkts}");
        }
    }

    #[test]
    fn a_loss_costs_each_law_its_part_and_no_more(
        policy in any_policy(),
        turns in any_turns(),
    ) {
        let mut sender = Sender::new(policy, 5_000_000, 10);
        for turn in &turns {
            let before_pkts = sender.cwnd_pkts;
            if turn.kind == 0 && !policy.starts_with("bbr") {
                sender.flow.on_loss(&sender.event(turn));
                let part = if policy.starts_with("cubic") { 717 } else { 512 };
                let left_pkts = (before_pkts * part / 1024).max(2);
                prop_assert_eq!(sender.flow.window().ssthresh_pkts, left_pkts);
            }
            sender.live(turn);
        }
    }

    /// Where a round trip had too few samples it grows as reno does in Linux: by a segment that it had
    /// earned while its window was larger, and by one for each window that is acknowledged.
    #[test]
    fn vegas_moves_by_a_segment_per_round_trip_at_most(
        cwnd_pkts in 2u32..300,
        queue_rule in 0u32..2,
        turns in any_turns(),
    ) {
        let mut sender = Sender::avoiding(&format!("vegas:queue_rule={queue_rule}"), cwnd_pkts);
        let mut moved_at: Option<u32> = None;
        for turn in &turns {
            let (before_pkts, snd_nxt) = (sender.cwnd_pkts, sender.snd_nxt());
            sender.acknowledge(turn);
            if sender.cwnd_pkts != before_pkts {
                let most_pkts = before_pkts + 1 + turn.acked_pkts / before_pkts;
                let moved = before_pkts - 1..=most_pkts;
                prop_assert!(moved.contains(&sender.cwnd_pkts), "{before_pkts}");
                prop_assert!(moved_at.is_none_or(|seq| is_after(sender.ack_seq, seq)));
                moved_at = Some(snd_nxt);
            }
        }
    }

    #[test]
    fn the_delayed_update_lowers_the_window_at_most_once_per_period(
        policy in prop_oneof![Just("reno+"), Just("cubic+")],
        period_us in 1000u32..1_000_000,
        cwnd_pkts in 2u32..1000,
        turns in any_turns(),
    ) {
        let mut sender = Sender::avoiding(&format!("{policy}:period_us={period_us}"), cwnd_pkts);
        let mut lowered_us = None;
        for turn in &turns {
            let before_pkts = sender.cwnd_pkts;
            sender.acknowledge(turn);
            if sender.cwnd_pkts < before_pkts {
                // theta is 922 / 1024.
                prop_assert_eq!(sender.cwnd_pkts, (before_pkts * 922 / 1024).max(2));
                let now_us = sender.now_us;
                let next_us = lowered_us.map_or(0, |us: u64| us + u64::from(period_us));
                prop_assert!(now_us >= next_us);
                lowered_us = Some(now_us);
            }
        }
    }

    /// Each phase lasts for longer than RTprop; only the one that yields may end early, and
    /// does not where the flight stays large.
    #[test]
    fn bbr_probes_at_most_once_in_eight_rt_props(random in any::<u32>(), turns in any_turns()) {
        let mut sender = Sender::new("bbr:detects_policer=0,extra_gain_x1024=0", 5_000_000, 100);
        let steady = Turn { wait_us: 5_000, acked_pkts: 10, queue_us: 0, kind: 9, random };
        let (mut pace, mut probed_us) = (0, Vec::new());
        for turn in std::iter::repeat_n(&steady, 400).chain(&turns) {
            // One rate, so that only gains move the pace.
            let ack = SenderAck {
                rate_delivered_pkts: 100,
                rate_interval_us: BASE_RTT_US,
                prior_inflight_pkts: 300,
                inflight_pkts: 90,
                random,
                ..sender.ack(turn)
            };
            sender.give(&ack);
            let last = std::mem::replace(&mut pace, sender.flow.window().pacing_bytes_per_s);
            // 1.25 x 0.99 of 100 segments in 50 ms
            if pace == 2_475_000 && last != pace {
                probed_us.push(sender.now_us);
            }
        }
        prop_assert!(probed_us.len() >= 3, "{probed_us:?}");
        for pair in probed_us.windows(2) {
            prop_assert!(pair[1] - pair[0] > 8 * u64::from(BASE_RTT_US), "{pair:?}");
        }
    }

    #[test]
    fn bbr_grows_by_what_is_delivered_or_to_what_it_had(turns in any_turns()) {
        let mut sender = Sender::new("bbr", 5_000_000, 10);
        let mut greatest_pkts = 10;
        for turn in &turns {
            let before_pkts = sender.cwnd_pkts;
            sender.live(turn);
            let most_pkts = greatest_pkts.max(before_pkts) + turn.acked_pkts;
            prop_assert!(sender.cwnd_pkts <= most_pkts, "{before_pkts} {turn:?}");
            greatest_pkts = greatest_pkts.max(sender.cwnd_pkts);
        }
    }

    #[test]
    fn the_clock_may_have_begun_at_any_time_and_pass_two_to_the_32nd(
        policy in any_policy(),
        from_us in prop_oneof![
            (1u64 << 32) - 2_000_000..1u64 << 32,
            0u64..1 << 60,
        ],
        turns in any_turns(),
    ) {
        let live = |from_us| {
            let mut sender = Sender::new(policy, from_us, 10);
            let windows: Vec<_> = turns
                .iter()
                .map(|turn| {
                    sender.live(turn);
                    sender.flow.window()
                })
                .collect();
            windows
        };
        prop_assert_eq!(live(from_us), live(1_000_000));
    }

    #[test]
    fn silence_of_any_length_earns_nothing(
        policy in any_policy(),
        turns in any_turns(),
        silence_us in prop_oneof![0u64..10_000_000, 0u64..1 << 50],
        is_told in any::<bool>(),
        last in any_turn(),
    ) {
        let mut sender = Sender::new(policy, 5_000_000, 10);
        turns.iter().for_each(|turn| sender.live(turn));
        sender.now_us += silence_us;
        if is_told {
            let idle = Turn { wait_us: silence_us, ..last };
            sender.flow.on_idle(&sender.event(&idle));
            sender.obey();
        }
        let before_pkts = sender.cwnd_pkts;
        sender.acknowledge(&last);
        // Slow start is what grows fastest; bbr may come back from PROBE_RTT.
        if policy != "bbr" {
            prop_assert!(sender.cwnd_pkts <= before_pkts + last.acked_pkts, "{before_pkts}");
        }
        // Vegas leaves slow start with what is on the way without a queue.
        let least_pkts = match policy {
            "bbr" => 0,
            "vegas" | "vegas:slow_start_rounds=2,queue_rule=1" => {
                let held_pkts = u64::from(before_pkts) * u64::from(BASE_RTT_US)
                    / (u64::from(BASE_RTT_US) + u64::from(last.queue_us));
                (before_pkts / 2).min(held_pkts as u32)
            }
            _ => before_pkts / 2,
        };
        prop_assert!(sender.cwnd_pkts >= least_pkts, "{before_pkts}");
    }

    #[test]
    fn after_any_silence_windows_grow_on_an_empty_path(
        policy in any_policy(),
        turns in any_turns(),
        silence_us in prop_oneof![0u64..10_000_000, 0u64..1 << 50],
    ) {
        let mut sender = Sender::new(policy, 5_000_000, 10);
        turns.iter().for_each(|turn| sender.live(turn));
        let idle = Turn { wait_us: silence_us, acked_pkts: 1, queue_us: 0, kind: 9, random: 7 };
        sender.now_us += silence_us;
        sender.cwnd_pkts = sender.cwnd_pkts.min(10);
        sender.flow.on_idle(&sender.event(&idle));
        sender.obey();
        let before_pkts = sender.cwnd_pkts;
        for _ in 0..3000 {
            sender.acknowledge(&Turn { wait_us: 5_000, ..idle });
            if sender.cwnd_pkts > before_pkts + 4 {
                break;
            }
        }
        prop_assert!(sender.cwnd_pkts > before_pkts + 4, "{policy}: {before_pkts}");
    }

    /// Raw bytes: a law that does not pace stays so, and bbr's pace is a number to pace by.
    #[test]
    fn absurd_input_moves_nothing_but_window_threshold_and_pace(
        policy in any_policy(),
        acks in proptest::collection::vec(
            proptest::collection::vec(any::<u8>(), size_of::<SenderAck>()),
            1..60,
        ),
    ) {
        let mut sender = Sender::new(policy, 0, 10);
        for bytes in &acks {
            let mut ack = SenderAck::from_bytes(bytes);
            ack.phase %= Phase::Loss as u8 + 1;
            sender.flow.on_ack(&ack);
            let window = sender.flow.window();
            prop_assert_eq!((window.segment_bytes, window.reserved), (0, 0));
            // 1.1 Tbit/s times the greatest gain.
            let paces = if policy == "bbr" { 1..=137_438_953_471 * 3 } else { 0..=0 };
            prop_assert!(paces.contains(&window.pacing_bytes_per_s), "{window:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 24,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn on_any_path_reductions_are_a_round_trip_apart(
        policy in any_policy(),
        rate_mbit_per_s in 1u64..20,
        rtt_us in 10_000u64..200_000,
        queue_pkts in 4usize..100,
        loss_every in proptest::option::of(10u64..300),
        mark_pkts in proptest::option::of(2usize..40),
    ) {
        let path = Path {
            rate_bits_per_s: rate_mbit_per_s * 1_000_000,
            rtt_us,
            queue_pkts,
            loss_every,
            mark_pkts,
            ..Path::default()
        };
        let outcome = run(&path, &[Plan::greedy(policy)], 10);
        for pair in outcome.flows[0].reductions_us.windows(2) {
            prop_assert!(pair[1] - pair[0] >= rtt_us, "{policy}: {pair:?}");
        }
    }
}
