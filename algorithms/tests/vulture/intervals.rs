// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Algorithms 1 to 4: pairs, their variations, modes, and the policies that follow.

use crate::connection::*;

fn decision(settings: &str, variations: &[i32]) -> u8 {
    let mut connection = Connection::new(as_printed(settings));
    connection.round(0, variations);
    assert!(connection.is_pausing(), "the round trip was judged");
    connection.policy()
}

#[test]
fn packets_closer_than_psi_make_no_pair() {
    let mut connection = Connection::new(as_printed(""));
    connection.segment(0, 0, OLD_ECHO);
    // 19 ms are 4 whole jiffies of 4 ms: less than PSI = 5.
    connection.segment(19, 19_000, OLD_ECHO);
    assert_eq!(connection.counts(), (0, 0, 0, 0));
    // 20 ms are 5; arrival interval 28 ms = 7 jiffies: variation 7 - 5 = 2.
    connection.segment(20, 28_000, OLD_ECHO);
    assert_eq!(connection.counts(), (2, 1, 0, 1));
}

#[test]
fn both_clocks_are_cut_to_jiffies_before_they_are_subtracted() {
    let mut connection = Connection::new(as_printed(""));
    connection.segment(0, 0, OLD_ECHO);
    // 24 - 21 = 3 ms are less than a jiffy, but 24 ms are 6 of them and 21 ms are 5.
    connection.segment(21, 24_000, OLD_ECHO);
    assert_eq!(connection.counts(), (1, 1, 0, 1));
}

#[test]
fn exact_clocks_round_or_cut_the_difference() {
    for (clock, jiffies) in [(1, 2), (2, 1)] {
        let mut connection = Connection::new(as_printed(&format!("piv_clock={clock}")));
        connection.segment(0, 0, OLD_ECHO);
        // 26.1 - 20 = 6.1 ms: 1.5 jiffies, to the nearest 2, cut 1.
        connection.segment(20, 26_100, OLD_ECHO);
        assert_eq!(connection.counts().0, jiffies, "piv_clock={clock}");
    }
}

#[test]
fn each_pair_rule_pairs_as_it_says() {
    // Packets every 4 ms = 1 jiffy, 24 of them. Printed: 0-4 are queued, 5-9 pair with
    // them and are not queued, and so on in tens: 5 + 5 + 4 = 14 queue up, 10 pairs.
    // Queued always: each from the sixth on pairs: 19. Nearest: the same. Chain: 5, 10,
    // 15, 20 pair with the one before: 4.
    for (rule, pairs) in [(0, 10), (1, 19), (2, 19), (3, 4)] {
        let mut connection = Connection::new(as_printed(&format!("pair_rule={rule}")));
        for packet in 0..24 {
            connection.segment(packet * 4, u64::from(packet) * 4000, OLD_ECHO);
        }
        assert_eq!(connection.counts().1, pairs, "pair_rule={rule}");
    }
}

#[test]
fn nearest_partners_follow_a_gap_and_printed_ones_do_not() {
    // Four packets, a gap of 100 ms in which the queue grows by 40 ms, four packets.
    for (rule, largest) in [(0, 4 * 10), (2, 10)] {
        let mut connection = Connection::new(as_printed(&format!("pair_rule={rule}")));
        for packet in 0..4 {
            connection.segment(packet * 4, u64::from(packet) * 4000, OLD_ECHO);
        }
        for packet in 0..4_u32 {
            let sent_ms = 116 + packet * 4;
            connection.segment(sent_ms, u64::from(sent_ms) * 1000 + 40_000, OLD_ECHO);
        }
        // Printed: each of the four finds a head from before the gap: 4 x 10 jiffies.
        // Nearest: all four pair with the fourth, the youngest that is PSI older.
        let (sum, pairs, ..) = connection.counts();
        assert_eq!(pairs, 4);
        assert_eq!(sum, if rule == 0 { largest } else { 4 * largest });
    }
}

#[test]
fn old_partners_can_be_refused() {
    let mut connection = Connection::new(as_printed("max_psi_jiffies=20"));
    connection.segment(0, 0, OLD_ECHO);
    connection.segment(84, 84_000, OLD_ECHO);
    assert_eq!(connection.counts().1, 0, "21 jiffies ago");
    connection.segment(164, 164_000, OLD_ECHO);
    assert_eq!(connection.counts().1, 1, "20 jiffies ago");
}

#[test]
fn difference_2_variations_are_counted_by_sign_as_they_are_found() {
    let mut connection = Connection::new(as_printed("no_piv_rule=2"));
    let variations = [2, 0, -1, -1, 3];
    for head in 0..5 {
        connection.segment(head, u64::from(head + 40) * 1000, OLD_ECHO);
    }
    for (tail, jiffies) in variations.iter().enumerate() {
        let sent_ms = 20 + tail as u32;
        let arrived_us = i64::from(sent_ms + 40) * 1000 + i64::from(*jiffies) * 4000;
        connection.segment(sent_ms, arrived_us as u64, OLD_ECHO);
    }
    // Sum 2 + 0 - 1 - 1 + 3 = 3; five pairs, two negative, two positive.
    assert_eq!(connection.counts(), (3, 5, 2, 2));
}

#[test]
fn a_growing_queue_halves_in_conservative_mode() {
    // Sum 8 > 0: conservative; 4 of 4 reach cHigh = 2.
    assert_eq!(decision("", &[2, 2, 2, 2]), HALVE);
    // 4 of 4 are cLow = 1: middle.
    assert_eq!(decision("", &[1, 1, 1, 1]), FIX);
}

#[test]
fn size_counts_in_both_directions() {
    // Positive 3 > 4/2: conservative, and -4 <= -cHigh is high as well.
    assert_eq!(decision("", &[2, 2, 2, -4]), HALVE);
}

#[test]
fn a_shrinking_queue_is_tolerated_in_aggressive_mode() {
    // Sum < 0 and none positive: aggressive. 3 = aLow is low, 4 middle, 5 = aHigh high.
    assert_eq!(decision("", &[-3, -3, -3, -3]), DOUBLE);
    assert_eq!(decision("", &[-4, -4, -4, -4]), FIX);
    assert_eq!(decision("", &[-5, -5, -5, -5]), HALVE);
}

#[test]
fn a_still_path_is_used_more() {
    assert_eq!(decision("", &[0, 0, 0, 0]), DOUBLE);
    // rwndThresh is the first window: not below it, so one MSS at a time.
    assert_eq!(decision("first_thresh_x1024=1024", &[0, 0, 0, 0]), INCREASE);
}

#[test]
fn the_mode_rule_tells_how_positives_count() {
    // Five of eight positive, sum 5 - 9 = -4. Conservative: 3 high, 5 middle: fix.
    // Aggressive: all low.
    let variations = [1, 1, 1, 1, 1, -3, -3, -3];
    assert_eq!(decision("mode_rule=0", &variations), FIX);
    assert_eq!(decision("mode_rule=1", &variations), DOUBLE);
    assert_eq!(decision("mode_rule=2", &variations), DOUBLE);
}

#[test]
fn exactly_alpha_decides_only_if_it_is_enough() {
    // 7 of 8 high: 7 > 7/8 x 8 is false.
    let variations = [2, 2, 2, 2, 2, 2, 2, 0];
    assert_eq!(decision("alpha_is_enough=0", &variations), FIX);
    assert_eq!(decision("alpha_is_enough=1", &variations), HALVE);
    assert_eq!(decision("alpha_x1024=512", &variations), HALVE);
}

#[test]
fn a_round_trip_without_pairs_is_decided_by_its_rule() {
    for (rule, policy) in [(0, FIX), (1, HALVE)] {
        let mut connection =
            Connection::new(as_printed(&format!("no_piv_rule={rule},pause_packets=2")));
        connection.round(0, &[2, 2, 2, 2]);
        connection.segment(200, 240_000, ORIGIN_TS + 220);
        connection.segment(210, 250_000, ORIGIN_TS + 245);
        assert_eq!(connection.policy(), policy, "no_piv_rule={rule}");
    }
    let mut connection = Connection::new(as_printed("no_piv_rule=2"));
    connection.segment(0, 40_000, OLD_ECHO);
    connection.segment(10, 50_000, ORIGIN_TS + 45);
    assert!(!connection.is_pausing(), "waits for a pair");
    connection.segment(20, 60_000, ORIGIN_TS + 55);
    assert!(connection.is_pausing());
}
