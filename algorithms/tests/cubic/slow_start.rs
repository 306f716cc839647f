// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Slow start: HyStart++ [RFC 9406], and HyStart as Linux has it.

use crate::{START_US, ack, event, flow};
use ebb_algorithms::{SenderAck, SenderFlow};

#[test]
fn doubles_per_round_trip_in_slow_start_by_eight_per_acknowledgement_at_most() {
    let mut flow = flow("cubic", 10);
    for _ in 0..10 {
        flow.on_ack(&ack(&flow, START_US, 1, 100_000));
    }
    assert_eq!(flow.window().cwnd_pkts, 20);
    // L = 8 [RFC9406 §4.3].
    flow.on_ack(&ack(&flow, START_US, 20, 100_000));
    assert_eq!(flow.window().cwnd_pkts, 28);
}

/// A sender in slow start whose rounds have 16 acknowledgements.
struct Rounds {
    flow: SenderFlow,
    now_us: u64,
    seq: u32,
}

impl Rounds {
    fn new(policy: &str) -> Self {
        let mut rounds = Self {
            flow: flow(policy, 100),
            now_us: START_US,
            seq: 0,
        };
        // The first acknowledgement opens a round of the 16 segments behind it.
        rounds.acknowledge(80_000);
        rounds
    }

    fn acknowledge(&mut self, rtt_us: u32) {
        self.seq += 1;
        self.now_us += 2500;
        self.flow.on_ack(&SenderAck {
            ack_seq: self.seq * 1000,
            snd_nxt: (self.seq + 16) * 1000,
            ..ack(&self.flow, self.now_us, 1, rtt_us)
        });
    }

    /// So many rounds with an RTT; answers by how much each raised the window.
    fn run(&mut self, rtt_us: u32, rounds: usize) -> Vec<u32> {
        let mut gains = Vec::new();
        for _ in 0..rounds {
            let before = self.flow.window().cwnd_pkts;
            (0..16).for_each(|_| self.acknowledge(rtt_us));
            gains.push(self.flow.window().cwnd_pkts - before);
        }
        gains
    }

    fn is_over(&self) -> bool {
        self.flow.window().ssthresh_pkts <= self.flow.window().cwnd_pkts
    }
}

#[test]
fn a_round_that_is_an_eighth_slower_slows_slow_start_down_and_five_rounds_end_it() {
    let mut rounds = Rounds::new("cubic");
    assert_eq!(rounds.run(80_000, 2), [16, 16]);
    // Below 80 + 80/8 = 90 ms there is no queue.
    assert_eq!(rounds.run(89_900, 1), [16]);
    // At 89.9 + 89.9/8 = 101.1 ms there is: the eighth sample tells, the eight others earn
    // a segment for each four. The round in which that is found is the first of five.
    assert_eq!(rounds.run(101_200, 1), [8 + 2]);
    assert_eq!(rounds.run(101_200, 3), [4, 4, 4]);
    assert!(!rounds.is_over());
    rounds.run(101_200, 1);
    assert!(rounds.is_over());
}

#[test]
fn slow_start_goes_on_when_the_delay_was_a_passing_one() {
    let mut rounds = Rounds::new("cubic");
    rounds.run(80_000, 2);
    assert_eq!(rounds.run(95_000, 2), [10, 4]);
    // The eighth sample tells.
    assert_eq!(rounds.run(80_000, 3), [1 + 9, 16, 16]);
    assert!(!rounds.is_over());
}

#[test]
fn difference_7_hystart_plus_is_for_the_first_slow_start_only() {
    let mut rounds = Rounds::new("cubic");
    rounds.flow.on_timeout(&event(&rounds.flow));
    rounds.run(80_000, 1);
    assert_eq!(rounds.run(200_000, 2), [16, 16]);
}

#[test]
fn hystart_can_be_switched_off() {
    let mut rounds = Rounds::new("cubic:hystart=0");
    assert_eq!(rounds.run(80_000, 1), [16]);
    assert_eq!(rounds.run(160_000, 2), [16, 16]);
}

#[test]
fn the_hystart_of_linux_ends_slow_start_at_once_by_delay() {
    let mut rounds = Rounds::new("cubic:hystart=2");
    rounds.run(80_000, 3);
    rounds.run(90_000, 3);
    assert!(!rounds.is_over(), "up to 80 + 80/8 ms is no queue");
    rounds.run(90_001, 2);
    assert!(rounds.is_over());
}

#[test]
fn the_hystart_of_linux_ends_slow_start_at_a_train_of_half_the_rtt() {
    let mut flow = flow("cubic:hystart=2", 100);
    // 100 acknowledgements 1.2 ms apart: (100 + 1) / 2 = 50.5 ms are over with the 43rd
    // after the first, 51.6 ms later.
    for index in 0..60u32 {
        flow.on_ack(&SenderAck {
            ack_seq: index * 1000,
            snd_nxt: 1_000_000,
            ..ack(&flow, START_US + u64::from(index) * 1200, 1, 100_000)
        });
        let is_over = flow.window().ssthresh_pkts <= flow.window().cwnd_pkts;
        assert_eq!(is_over, index >= 43, "{index}");
    }
}

#[test]
fn the_hystart_of_linux_takes_no_train_with_gaps() {
    let mut flow = flow("cubic:hystart=2", 100);
    for index in 0..60u32 {
        flow.on_ack(&SenderAck {
            ack_seq: index * 1000,
            snd_nxt: 1_000_000,
            ..ack(&flow, START_US + u64::from(index) * 2400, 1, 100_000)
        });
    }
    assert_eq!(flow.window().ssthresh_pkts, 0x7fff_ffff);
}
