// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What sender laws make of timestamps (`forward_delay.h`), seen through `ledbat`: does it
//! take a delay for a queue in front of it, or on the way back?

#[path = "support/delay_laws.rs"]
mod delay_laws;

use delay_laws::Hand;
use proptest::prelude::*;

/// The peer's clock and the path.
#[derive(Clone, Copy, Debug)]
struct Peer {
    tick_us: u64,
    drift_ppm: i64,
    first_tsval: u32,
}

const MILLISECONDS: Peer = Peer {
    tick_us: 1000,
    drift_ppm: 0,
    first_tsval: 77,
};

const THERE_US: u64 = 30_000;
const BACK_US: u64 = 20_000;

struct Path {
    hand: Hand,
    peer: Peer,
    /// What the flow steers to: what may be unsure, and 10 ms.
    target_us: u64,
}

impl Path {
    /// A flow on an empty path of 50 ms for `seconds`.
    fn new(peer: Peer, seconds: u64) -> Self {
        let target_us = 3 * peer.tick_us + 15_000;
        let policy = format!("ledbat:slow_start=0,current_filter=1,target_us={target_us}");
        let mut path = Self {
            hand: Hand::new(&policy, 100),
            peer,
            target_us,
        };
        path.hand.template.has_timestamps = 1;
        path.go(seconds * 1000, 0, 0);
        path
    }

    /// An acknowledgement every 20 ms for a time, with these queues.
    fn go(&mut self, ms: u64, there_us: u64, back_us: u64) {
        for _ in 0..ms / 20 {
            self.acknowledge(there_us, back_us);
        }
    }

    fn acknowledge(&mut self, there_us: u64, back_us: u64) -> u32 {
        self.hand.wait_ms(20);
        let stamped_us = self.hand.now_us - BACK_US - back_us;
        let drift_us = stamped_us as i64 * self.peer.drift_ppm / 1_000_000;
        let clock_us = stamped_us.wrapping_add_signed(drift_us);
        let ticks = clock_us.checked_div(self.peer.tick_us).unwrap_or(0) as u32;
        self.hand.template.tsval = self.peer.first_tsval.wrapping_add(ticks);
        self.hand.window.cwnd_pkts = 100;
        let rtt_us = THERE_US + BACK_US + there_us + back_us;
        self.hand.ack(1, rtt_us as f64 / 1000.0)
    }

    /// The window moves down: the law sees more than its target of queue.
    fn sees_queue(&mut self, there_us: u64, back_us: u64) -> bool {
        // Windows of whole segments, so that the first step down shows.
        for cwnd_pkts in [101, 100] {
            self.hand.window.cwnd_pkts = cwnd_pkts;
            self.hand.ack(0, (THERE_US + BACK_US) as f64 / 1000.0);
        }
        (0..300).any(|_| self.acknowledge(there_us, back_us) < 100)
    }
}

#[test]
fn a_queue_in_front_counts() {
    let mut path = Path::new(MILLISECONDS, 10);
    assert!(!path.sees_queue(17_000, 0));
    assert!(path.sees_queue(19_000, 0));
}

#[test]
fn difference_1_a_queue_on_the_way_back_does_not() {
    let mut path = Path::new(MILLISECONDS, 10);
    assert!(!path.sees_queue(0, 50_000));
    assert!(path.sees_queue(20_000, 50_000));
}

#[test]
fn difference_2_up_to_three_ticks_and_5_ms_of_it_are_taken_for_a_queue_in_front() {
    for tick_us in [1, 1000, 10_000] {
        let peer = Peer {
            tick_us,
            ..MILLISECONDS
        };
        let target_us = 3 * tick_us + 15_000;
        let small_us = 2 * tick_us + 3000;
        assert!(Path::new(peer, 30).sees_queue(target_us - 2000, small_us));
        assert!(!Path::new(peer, 30).sees_queue(9000, small_us));
        assert!(!Path::new(peer, 30).sees_queue(9000, 90_000), "not more");
    }
}

#[test]
fn difference_3_without_a_clock_the_round_trip_counts() {
    // Not measured yet; standing still; no timestamps at all.
    let mut path = Path::new(MILLISECONDS, 1);
    assert!(path.sees_queue(0, 50_000));
    let mut path = Path::new(
        Peer {
            tick_us: 0,
            ..MILLISECONDS
        },
        10,
    );
    assert!(path.sees_queue(0, 50_000));
    let mut path = Path::new(MILLISECONDS, 10);
    path.hand.template.has_timestamps = 0;
    assert!(path.sees_queue(0, 50_000));
}

#[test]
fn ten_minutes_of_drift_neither_hide_nor_make_a_queue() {
    for drift_ppm in [-100, 100] {
        for tick_us in [1, 1000, 4000, 10_000] {
            let peer = Peer {
                tick_us,
                drift_ppm,
                ..MILLISECONDS
            };
            let mut path = Path::new(peer, 600);
            assert!(!path.sees_queue(0, 0), "{peer:?}");
            let mut path = Path::new(peer, 600);
            assert!(!path.sees_queue(0, 80_000), "{peer:?}");
            let mut path = Path::new(peer, 600);
            let there_us = path.target_us + 3000;
            assert!(path.sees_queue(there_us, 0), "{peer:?}");
        }
    }
}

#[test]
fn a_standing_queue_in_front_is_not_taken_for_drift() {
    let mut path = Path::new(MILLISECONDS, 10);
    path.go(480_000, 20_000, 0);
    assert!(path.sees_queue(20_000, 0));
}

#[test]
fn silence_of_an_hour_begins_anew_and_does_no_harm() {
    let mut path = Path::new(MILLISECONDS, 10);
    path.hand.wait_ms(3_600_000);
    path.go(100, 0, 0);
    assert!(!path.sees_queue(0, 0));
    path.go(10_000, 0, 0);
    assert!(!path.sees_queue(0, 50_000));
    assert!(path.sees_queue(20_000, 0));
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        cases: 64,
        ..ProptestConfig::default()
    })]
    #[test]
    fn the_peers_clock_may_start_anywhere_and_wrap(
        first_tsval in prop_oneof![any::<u32>(), u32::MAX - 20_000..=u32::MAX],
        tick_us in prop_oneof![Just(1u64), Just(1000), Just(4000), Just(10_000)],
    ) {
        let peer = Peer { first_tsval, tick_us, drift_ppm: 0 };
        prop_assert!(!Path::new(peer, 20).sees_queue(0, 60_000));
        let mut path = Path::new(peer, 20);
        prop_assert!(path.sees_queue(3 * tick_us + 17_000, 60_000));
    }
}
