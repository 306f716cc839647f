// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `sampled` told by hand; in closed loop it is in the simulator's tests.

use ebb_algorithms::{Policy, ReceiverFlow, Segment, Start, counter_laws, laws};
use proptest::prelude::*;

const MSS: u32 = 1_448;
const START: Start = Start {
    now_us: 1_000_000,
    mss_bytes: MSS,
    rcv_nxt: 0,
    has_timestamps: 1,
    tsval: 0,
};

/// A host that tells of ten segments every ten milliseconds.
struct Hand {
    flow: ReceiverFlow,
    segment: Segment,
}

impl Hand {
    fn new(policy: &str) -> Self {
        Self {
            flow: ReceiverFlow::new(Policy::receiver(policy).unwrap(), &START),
            segment: Segment {
                now_us: START.now_us,
                mss_bytes: MSS,
                segments: 8,
                payload_bytes: 8 * MSS,
                has_timestamps: 1,
                ..Segment::default()
            },
        }
    }

    /// Tells for so long that the host estimates this.
    fn tell(&mut self, looks: u32, rtt_us: u32) -> u32 {
        for _ in 0..looks {
            self.segment.now_us += 10_000;
            self.segment.kernel_rtt_us = rtt_us;
            self.segment.right_edge_seq = self.segment.seq + self.flow.window_bytes();
            self.flow.on_segment(&self.segment);
            self.segment.seq = self.segment.seq.wrapping_add(self.segment.payload_bytes);
            self.segment.rcv_nxt = self.segment.seq;
        }
        self.flow.window_bytes()
    }
}

#[test]
fn they_are_laws_of_their_own_outside_the_kernels_list() {
    let names: Vec<_> = counter_laws().iter().map(|law| law.name).collect();
    assert_eq!(names, ["sampled", "paced"]);
    assert!(laws().iter().all(|law| !law.is_for_counters()));
    assert!(counter_laws().iter().all(|law| law.is_for_counters()));
}

#[test]
fn the_window_grows_while_the_estimate_stays_at_its_least() {
    let mut hand = Hand::new("sampled");
    assert_eq!(hand.flow.window_bytes(), 10 * MSS);
    let window = hand.tell(100, 100_000);
    // 8 segments in 10 ms, 100 ms: 80, and what the target adds.
    assert!((70 * MSS..100 * MSS).contains(&window), "{}", window / MSS);
}

#[test]
fn a_queue_that_stands_while_the_link_is_ours_takes_the_window_to_two_segments() {
    let mut hand = Hand::new("sampled");
    hand.tell(100, 100_000);
    assert_eq!(hand.tell(3, 140_000), 2 * MSS);
    // Four seconds on it is one.
    assert_eq!(hand.tell(450, 140_000), MSS);
    // And the link is taken again when nobody is there.
    assert!(hand.tell(300, 100_000) > 60 * MSS);
}

/// Difference 1: the estimate has risen by 1/8 with each of two echoes, by 4.7 of 20 ms, and
/// once more.
#[test]
fn difference_1_a_slow_rise_is_read_for_what_it_is() {
    let mut hand = Hand::new("sampled");
    let before = hand.tell(100, 100_000);
    hand.segment.segments = 2;
    hand.segment.payload_bytes = 2 * MSS;
    hand.tell(1, 104_700);
    let after = hand.tell(1, 108_300);
    assert!(after < before, "{before} -> {after}");
}

#[test]
fn a_hole_without_any_queue_is_no_congestion() {
    let mut hand = Hand::new("sampled");
    let before = hand.tell(100, 100_000);
    hand.segment.rcv_nxt = hand.segment.seq.wrapping_sub(MSS);
    hand.segment.now_us += 10_000;
    hand.segment.kernel_rtt_us = 100_000;
    hand.flow.on_segment(&hand.segment);
    assert!(hand.flow.window_bytes() >= before);
}

/// A link that has filled stands still for 40 ms, and what came then queues behind itself.
fn after_a_standstill() -> Hand {
    let mut hand = Hand::new("sampled");
    hand.tell(100, 100_000);
    hand.tell(30, 104_000);
    hand.segment.now_us += 40_000;
    hand.segment.segments = 40;
    hand.segment.payload_bytes = 40 * MSS;
    hand.tell(1, 140_000);
    hand.segment.segments = 8;
    hand.segment.payload_bytes = 8 * MSS;
    hand
}

#[test]
fn difference_6_a_queue_among_our_own_segments_is_not_others() {
    let mut hand = after_a_standstill();
    assert!(hand.tell(4, 140_000) > 40 * MSS);
}

/// Difference 3: 40 segments in 10 ms did not become what the link carries.
#[test]
fn difference_3_a_standstill_does_not_hide_others() {
    let mut hand = after_a_standstill();
    hand.tell(100, 100_000);
    hand.segment.segments = 6;
    hand.segment.payload_bytes = 6 * MSS;
    assert_eq!(hand.tell(12, 140_000), 2 * MSS);
}

#[test]
fn difference_7_segments_told_one_by_one_are_looked_at_now_and_then() {
    let mut hand = Hand::new("sampled:look_us=100000");
    hand.tell(1, 100_000);
    let before = hand.flow.state_bytes().to_vec();
    let window = hand.tell(9, 500_000);
    assert_eq!(window, 10 * MSS);
    assert_ne!(hand.flow.state_bytes(), before);
}

fn any_segment() -> impl Strategy<Value = Segment> {
    (any::<[u32; 6]>(), any::<[u8; 4]>()).prop_map(|(words, flags)| Segment {
        now_us: u64::from(words[0]) >> (flags[3] % 24),
        seq: words[1],
        payload_bytes: words[2] >> (flags[3] % 32),
        segments: words[3],
        rcv_nxt: words[4],
        right_edge_seq: words[5],
        mss_bytes: words[2] >> (flags[3] % 17),
        kernel_rtt_us: words[3] >> (flags[3] % 29),
        has_timestamps: flags[0] % 2,
        is_ce: flags[1] / 200,
        is_observing: flags[2] / 200,
        ..Segment::default()
    })
}

proptest! {
    #[test]
    fn whatever_is_told_the_window_stays_within_what_tcp_can_say(
        segments in prop::collection::vec(any_segment(), 1..200)
    ) {
        let mut flow = ReceiverFlow::new(Policy::receiver("sampled").unwrap(), &START);
        let mut now_us = START.now_us;
        for mut segment in segments {
            now_us += segment.now_us;
            segment.now_us = now_us;
            flow.on_segment(&segment);
            prop_assert!((64..=0x3fff_ffff).contains(&flow.window_bytes()));
        }
    }
}
