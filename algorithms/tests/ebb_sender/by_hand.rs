// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb-sender` told by hand.

use ebb_algorithms::{Phase, Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};

const MSS: u32 = 1_448;
const RTT_US: u64 = 100_000;

/// A sender whose segments wait for nobody: each pair is acknowledged `gap_us` after the last one.
struct Upload {
    flow: SenderFlow,
    now_us: u64,
    acked: u32,
    sent: u32,
    delivered_pkts: u64,
    /// Segments, and in what time: the sample of the delivery rate.
    rate: (u32, u32),
}

impl Upload {
    fn new(cwnd_pkts: u32) -> Self {
        let start = SenderStart {
            now_us: 1_000_000,
            mss_bytes: MSS,
            cwnd_pkts,
            local_tick_us: 1_000,
            has_timestamps: 0,
        };
        Self {
            flow: SenderFlow::new(Policy::sender("ebb-sender").unwrap(), &start),
            now_us: 1_000_000 + RTT_US,
            acked: 0,
            sent: cwnd_pkts,
            delivered_pkts: 0,
            rate: (0, 0),
        }
    }

    fn cwnd_pkts(&self) -> u32 {
        self.flow.window().cwnd_pkts
    }

    /// So many segments are acknowledged, after so long a round trip; then what may leave does.
    fn ack_after(&mut self, gap_us: u64, pkts: u32, rtt_us: u64) {
        let prior_inflight_pkts = self.sent - self.acked;
        self.now_us += gap_us;
        self.acked += pkts;
        self.delivered_pkts += u64::from(pkts);
        self.flow.on_ack(&SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_delivered_pkts: self.rate.0,
            rate_interval_us: self.rate.1,
            ack_seq: self.acked * MSS,
            snd_nxt: self.sent * MSS,
            acked_pkts: pkts,
            acked_bytes: pkts * MSS,
            delivered_now_pkts: pkts,
            prior_inflight_pkts,
            inflight_pkts: prior_inflight_pkts - pkts,
            cwnd_pkts: self.cwnd_pkts(),
            rtt_us: rtt_us as u32,
            srtt_us: rtt_us as u32,
            mss_bytes: MSS,
            is_cwnd_limited: 1,
            ..SenderAck::default()
        });
        self.sent = self.sent.max(self.acked + self.cwnd_pkts());
    }

    fn event(&self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            ack_seq: self.acked * MSS,
            snd_nxt: self.sent * MSS,
            cwnd_pkts: self.cwnd_pkts(),
            inflight_pkts: self.sent - self.acked,
            mss_bytes: MSS,
            srtt_us: RTT_US as u32,
            phase: Phase::Open as u8,
            ..SenderEvent::default()
        }
    }

    /// Others' queue of 60 ms comes: it yields, and what it had sent has been acknowledged.
    fn yield_to_others(&mut self) {
        self.alone_for(3_000_000);
        while self.cwnd_pkts() > 2 || self.sent - self.acked > 2 {
            self.ack_after(2_400, 2, RTT_US + 60_000);
        }
    }

    /// What is in flight comes back after a queue; a lone segment is acknowledged 40 ms late.
    fn flight_after(&mut self, queue_us: u64) {
        let pkts = self.sent - self.acked;
        let held_us = if pkts == 1 { 40_000 } else { 0 };
        let rtt_us = RTT_US + queue_us + held_us;
        self.ack_after(rtt_us, pkts, rtt_us);
    }

    /// A link of 10 Mbit/s for a while: a pair comes back each 2.4 ms.
    fn alone_for(&mut self, us: u64) {
        let until_us = self.now_us + us;
        while self.now_us < until_us {
            // What is in flight beyond the link's product waits.
            let inflight_us = u64::from(self.sent - self.acked) * 1_200;
            self.ack_after(2_400, 2, RTT_US.max(inflight_us));
        }
    }
}

/// Difference 2: each segment acknowledged is one more, from the first one on.
#[test]
fn ten_segments_are_twenty_when_they_have_been_acknowledged() {
    let mut upload = Upload::new(10);
    assert_eq!(upload.cwnd_pkts(), 10);
    upload.ack_after(0, 2, RTT_US);
    assert_eq!(upload.cwnd_pkts(), 12);
    for _ in 0..4 {
        upload.ack_after(2_400, 2, RTT_US);
    }
    assert_eq!(upload.cwnd_pkts(), 20);
    for _ in 0..10 {
        upload.ack_after(2_400, 2, RTT_US);
    }
    assert_eq!(upload.cwnd_pkts(), 40);
}

/// Difference 9: 40 segments queue for 60 ms. 30 in 160 ms are 18.75 in a round trip without the
/// queue. Of the last flight 40 in 160 ms come back, which are 25. Half-way are 21.9.
#[test]
fn slow_start_ends_at_what_the_path_delivers() {
    let mut upload = Upload::new(10);
    for _ in 0..15 {
        upload.ack_after(2_400, 2, RTT_US);
    }
    assert_eq!(upload.cwnd_pkts(), 40);
    upload.rate = (30, 160_000);
    for acks in 0..5 {
        upload.ack_after(2_400, 2, RTT_US + 60_000);
        assert_eq!(upload.cwnd_pkts(), 42 + 2 * acks);
    }
    upload.ack_after(2_400, 2, RTT_US + 60_000);
    assert_eq!(upload.cwnd_pkts(), 18);
    upload.rate = (40, 160_000);
    upload.ack_after(2_400, 2, RTT_US + 60_000);
    assert_eq!(upload.cwnd_pkts(), 21);
}

/// Difference 4: no queue, hence 0.7 of the window; an undo gives it back.
#[test]
fn a_loss_without_a_queue_takes_three_tenths_and_may_be_undone() {
    let mut upload = Upload::new(10);
    upload.alone_for(80_000);
    let before = upload.cwnd_pkts();
    upload.flow.on_loss(&upload.event());
    let after = upload.cwnd_pkts();
    assert!(after.abs_diff(before * 7 / 10) <= 1, "{before}, {after}");
    assert_eq!(upload.flow.window().ssthresh_pkts, after);
    upload.flow.on_undo(&upload.event());
    assert_eq!(upload.cwnd_pkts(), before);
}

/// Differences 3 and 5: others' queue makes it send pairs; the late acknowledgement of a lone
/// segment is no sign of them, and what follows it is a pair at once.
#[test]
fn it_sends_pairs_while_others_queue_and_none_after_a_lone_segment_until_it_is_acknowledged() {
    let mut upload = Upload::new(10);
    upload.yield_to_others();
    for _ in 0..20 {
        upload.ack_after(160_000, 2, RTT_US + 60_000);
    }
    assert_eq!(upload.cwnd_pkts(), 2);

    upload.ack_after(140_000, 1, RTT_US + 40_000);
    assert_eq!(upload.cwnd_pkts(), 1);
    upload.ack_after(40_000, 1, RTT_US + 40_000);
    assert_eq!(upload.cwnd_pkts(), 2);
}

/// How many segments each of so many flights of a long YIELD has; others' queue swings by so much.
fn flights(upload: &mut Upload, count: u64, swing_us: u64) -> Vec<u32> {
    let mut flight = |i: u64| {
        upload.flight_after(60_000 + i % 3 * swing_us);
        upload.sent - upload.acked
    };
    (0..count).map(&mut flight).collect()
}

/// Difference 3: of four flights three are a lone segment, of two one if nothing changes; pairs again
/// when what a lone one shows may be how late its acknowledgement is.
#[test]
fn where_others_stay_most_flights_are_a_lone_segment() {
    let mut upload = Upload::new(10);
    upload.yield_to_others();
    assert_eq!(flights(&mut upload, 20, 10_000), [2; 20]);
    flights(&mut upload, 20, 10_000);
    for four in flights(&mut upload, 40, 10_000).chunks(4) {
        assert_eq!(four.iter().sum::<u32>(), 5, "{four:?}");
    }
    while upload.sent - upload.acked != 1 {
        upload.flight_after(60_000);
    }
    upload.flight_after(0);
    assert_eq!(upload.sent - upload.acked, 2);
    upload.flight_after(0);
    assert!(upload.cwnd_pkts() > 2);
}

#[test]
fn where_the_delay_may_be_a_longer_route_every_other_flight_is_a_pair_until_that_is_sure() {
    let mut upload = Upload::new(10);
    upload.yield_to_others();
    flights(&mut upload, 40, 0);
    for two in flights(&mut upload, 20, 0).chunks(2) {
        assert_eq!(two.iter().sum::<u32>(), 3, "{two:?}");
    }
    flights(&mut upload, 200, 0);
    assert!(upload.cwnd_pkts() > 2, "{}", upload.cwnd_pkts());
}

/// Difference 7: what comes back at half the pace has others' segments in it.
#[test]
fn a_train_that_others_are_in_ends_no_yield() {
    for (gap_us, is_stretched) in [(2_400, false), (4_800, true)] {
        let mut upload = Upload::new(10);
        upload.alone_for(3_000_000);
        while upload.cwnd_pkts() > 2 || upload.sent - upload.acked > 2 {
            upload.ack_after(2_400, 2, RTT_US + 60_000);
        }
        // The others' queue is gone, and the wait is over.
        while upload.cwnd_pkts() < 4 {
            upload.ack_after(100_000, 2, RTT_US);
        }
        assert_eq!(upload.sent - upload.acked, 4);
        upload.ack_after(100_000, 2, RTT_US);
        upload.ack_after(gap_us, 2, RTT_US);
        assert_eq!(upload.cwnd_pkts() == 2, is_stretched, "{gap_us} us");
    }
}

/// Difference 8: the link carries 86 segments in a round trip, so that a quarter is more than nine.
/// W is 14 a round trip later; the excess of 27.6 ms is more than `span_us` beyond what it grew by.
#[test]
fn it_comes_back_with_nine_segments_and_leaves_if_others_are_still_there() {
    let mut upload = Upload::new(10);
    upload.alone_for(3_000_000);
    while upload.cwnd_pkts() > 2 || upload.sent - upload.acked > 2 {
        upload.ack_after(2_400, 2, RTT_US + 60_000);
    }
    while upload.cwnd_pkts() < 4 {
        upload.ack_after(100_000, 2, RTT_US);
    }
    upload.ack_after(100_000, 2, RTT_US);
    upload.ack_after(2_400, 2, RTT_US);
    assert_eq!(upload.cwnd_pkts(), 9);

    // One round trip of nine.
    for _ in 0..5 {
        upload.ack_after(10_000, 2, RTT_US + 30_000);
    }
    assert_eq!(upload.cwnd_pkts(), 2);
}

/// Difference 6: 500 segments in flight are not its own.
#[test]
fn a_connection_taken_over_begins_with_the_first_window() {
    let mut upload = Upload::new(500);
    assert_eq!(upload.cwnd_pkts(), 10);
    for _ in 0..245 {
        upload.ack_after(2_400, 2, RTT_US + 50_000);
        assert_eq!(upload.cwnd_pkts(), 10, "{}", upload.acked);
    }
    upload.alone_for(400_000);
    assert!(upload.cwnd_pkts() > 10, "{}", upload.cwnd_pkts());
}
