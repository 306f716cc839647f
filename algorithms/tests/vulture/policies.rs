// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Algorithm 5: how policies act, when they are judged again, and losses.

use crate::connection::*;

/// A connection that has just decided: window 10 MSS, all data acknowledged.
fn decided(settings: &str, variations: &[i32]) -> Connection {
    let mut connection = Connection::new(as_printed(settings));
    connection.ack(0, 0);
    connection.round(0, variations);
    connection
}

const STILL: [i32; 4] = [0; 4];
const GROWING: [i32; 4] = [2; 4];

#[test]
fn double_adds_what_is_acknowledged_up_to_twice_the_window() {
    let mut connection = decided("", &STILL);
    assert_eq!(connection.policy(), DOUBLE);
    assert_eq!(connection.ack(100_000, 4 * MSS), 14 * MSS);
    assert_eq!(connection.ack(101_000, 9 * MSS), 19 * MSS);
    assert_eq!(connection.ack(102_000, 14 * MSS), 20 * MSS);
    assert_eq!(connection.ack(103_000, 40 * MSS), 20 * MSS);
}

#[test]
fn double_without_stop_goes_on_to_the_next_decision() {
    let mut connection = decided("double_stop=1", &STILL);
    connection.ack(100_000, 9 * MSS);
    assert_eq!(connection.ack(101_000, 29 * MSS), 39 * MSS);
}

#[test]
fn halve_takes_what_is_acknowledged_down_to_half() {
    let mut connection = decided("", &GROWING);
    assert_eq!(connection.ack(100_000, 2 * MSS), 8 * MSS);
    assert_eq!(connection.ack(101_000, 4 * MSS), 6 * MSS);
    assert_eq!(connection.ack(102_000, 9 * MSS), 5 * MSS);
    assert_eq!(connection.ack(103_000, 99 * MSS), 5 * MSS);
}

#[test]
fn difference_9_halve_without_stop_ends_at_the_least_window() {
    let mut connection = decided("halve_stop=1,min_window_mss=3", &GROWING);
    assert_eq!(connection.ack(100_000, 6 * MSS), 4 * MSS);
    assert_eq!(connection.ack(101_000, 20 * MSS), 3 * MSS);
}

#[test]
fn slow_halving_takes_half_of_each_acknowledgement() {
    let mut connection = decided("halve_stop=2", &GROWING);
    assert_eq!(connection.ack(100_000, 4 * MSS), 8 * MSS);
    assert_eq!(connection.ack(101_000, 10 * MSS), 5 * MSS);
    assert_eq!(connection.ack(102_000, 20 * MSS), 5 * MSS);
}

#[test]
fn increase_adds_one_segment_each_round_trip() {
    let mut connection = decided("first_thresh_x1024=1024", &STILL);
    assert_eq!(connection.policy(), INCREASE);
    assert_eq!(connection.ack(101_000, 2 * MSS), 11 * MSS);
    assert_eq!(connection.ack(110_000, 4 * MSS), 11 * MSS);
    // The echo of what was sent at 110 ms: a round trip has passed since the increase.
    connection.segment(150, 190_000, ORIGIN_TS + 110);
    assert_eq!(connection.ack(190_000, 6 * MSS), 12 * MSS);
}

#[test]
fn increase_per_decision_adds_one_segment_only() {
    let mut connection = decided("first_thresh_x1024=1024,increase_rule=1", &STILL);
    connection.ack(101_000, 2 * MSS);
    connection.segment(110, 150_000, ORIGIN_TS + 90);
    connection.segment(150, 190_000, ORIGIN_TS + 110);
    assert_eq!(connection.ack(190_000, 6 * MSS), 11 * MSS);
}

#[test]
fn the_threshold_remembers_the_window_before_a_decrease() {
    for (rule, thresh_mss) in [(0, 10), (1, 10), (2, 5)] {
        let connection = decided(&format!("thresh_rule={rule}"), &GROWING);
        assert_eq!(connection.thresh(), thresh_mss * MSS, "thresh_rule={rule}");
    }
    for (rule, thresh_mss) in [(0, 5), (1, 10), (2, 2)] {
        let settings = format!("thresh_rule={rule},pause_packets=2");
        let mut connection = decided(&settings, &GROWING);
        connection.ack(100_000, 9 * MSS);
        connection.round(200, &GROWING);
        assert_eq!(connection.policy(), HALVE);
        let expected = if rule == 2 {
            5 * MSS / 2
        } else {
            thresh_mss * MSS
        };
        assert_eq!(
            connection.thresh(),
            expected,
            "second in a row, thresh_rule={rule}"
        );
    }
}

#[test]
fn double_can_be_held_at_the_threshold() {
    let settings = "double_to_thresh=1,first_thresh_x1024=1536";
    let mut connection = decided(settings, &STILL);
    assert_eq!(connection.policy(), DOUBLE);
    assert_eq!(connection.ack(100_000, 9 * MSS), 15 * MSS);
}

#[test]
fn growth_can_be_limited_to_the_estimate() {
    // 9 segments came, none by an acknowledgement that was counted: estimate 9 MSS.
    let mut connection = decided("growth_limit_x1024=1024", &STILL);
    assert_eq!(connection.estimate(), 9 * MSS);
    assert_eq!(connection.ack(100_000, 4 * MSS), 10 * MSS);
}

#[test]
fn nothing_is_judged_until_a_segment_reflects_the_policy() {
    let mut connection = decided("", &GROWING);
    connection.ack(101_000, 9 * MSS);
    // Echoes from before the decision at 100 ms: paired in vain.
    for packet in 0..8 {
        connection.segment(
            70 + packet * 5,
            110_000 + u64::from(packet) * 5000,
            ORIGIN_TS + 95,
        );
    }
    assert!(connection.is_pausing());
    connection.segment(150, 190_000, ORIGIN_TS + 101);
    assert!(!connection.is_pausing());
    let (_, pairs, ..) = connection.counts();
    assert_eq!(
        pairs, 1,
        "only the pair of the segment that ended the pause"
    );
}

#[test]
fn each_choice_treats_the_packets_of_a_pause_as_it_says() {
    // In the pause come 8 packets 5 ms apart. The one that ends it, 45 ms later, finds
    // partners in the queue unless that stood still from empty or was emptied.
    for (choice, pairs) in [(0, 1), (1, 1), (2, 0), (3, 1), (4, 5)] {
        let mut connection = decided(&format!("pause_packets={choice}"), &GROWING);
        for packet in 0..8 {
            let arrived_us = 110_000 + u64::from(packet) * 5000;
            connection.segment(70 + packet * 5, arrived_us, ORIGIN_TS + 95);
        }
        connection.segment(150, 190_000, ORIGIN_TS + 101);
        assert_eq!(connection.counts().1, pairs, "pause_packets={choice}");
    }
}

#[test]
fn each_pause_rule_ends_when_it_says() {
    let mut none = decided("pause_rule=0", &GROWING);
    assert_eq!(none.policy(), HALVE);
    none.segment(110, 150_000, ORIGIN_TS + 101);
    assert_eq!(none.policy(), INCREASE, "judged a round trip later");

    let mut edge = decided("pause_rule=2", &GROWING);
    edge.segment(110, 150_000, ORIGIN_TS + 140);
    assert!(edge.is_pausing(), "within the window at the decision");
    let beyond = edge.next_seq + 50 * MSS;
    edge.segment_at(111, 151_000, ORIGIN_TS + 140, beyond);
    assert!(!edge.is_pausing() || edge.policy() == HALVE);

    let mut twice = decided("pause_rule=3", &GROWING);
    twice.segment(110, 150_000, ORIGIN_TS + 101);
    assert!(twice.is_pausing());
    twice.segment(170, 210_000, ORIGIN_TS + 151);
    assert!(!twice.is_pausing());
}

#[test]
fn the_scope_of_the_pause_can_be_narrowed() {
    assert!(decided("pause_scope=0", &[1; 4]).is_pausing(), "fix");
    assert!(!decided("pause_scope=1", &[1; 4]).is_pausing());
    assert!(
        !decided("pause_scope=2", &[1; 4]).is_pausing(),
        "fix as before"
    );
    assert!(decided("pause_scope=2", &GROWING).is_pausing());
}

#[test]
fn a_hole_halves_once_in_a_round_trip() {
    let mut connection = Connection::new(as_printed(""));
    connection.ack(0, 0);
    connection.segment(0, 40_000, OLD_ECHO);
    connection.segment_at(1, 41_000, OLD_ECHO, 2 * MSS);
    assert_eq!(connection.policy(), HALVE);
    assert_eq!(connection.thresh(), 10 * MSS);
    connection.segment_at(2, 42_000, OLD_ECHO, 5 * MSS);
    assert_eq!(connection.ack(43_000, 20 * MSS), 5 * MSS);
    // A further hole within the round trip, then one after it.
    connection.segment_at(3, 44_000, OLD_ECHO, 8 * MSS);
    assert_eq!(connection.ack(45_000, 40 * MSS), 5 * MSS);
    connection.segment_at(70, 110_000, ORIGIN_TS + 45, 12 * MSS);
    assert_eq!(connection.ack(111_000, 60 * MSS), 5 * MSS / 2);
}

#[test]
fn guards_and_rules_of_loss_act_as_they_say() {
    // Segment 1 is missing; 2, 3, 4 come: one hole, three segments out of order.
    let halvings = |settings: &str| {
        let mut connection = Connection::new(as_printed(settings));
        connection.ack(0, 0);
        connection.segment(0, 40_000, OLD_ECHO);
        for packet in 2..5 {
            connection.segment_at(
                packet,
                40_000 + u64::from(packet) * 1000,
                OLD_ECHO,
                packet * MSS,
            );
            connection.ack(40_000 + u64::from(packet) * 1000, packet * 20 * MSS);
        }
        10 * MSS / connection.window()
    };
    assert_eq!(halvings("loss_rule=0,loss_guard=0,min_window_mss=1"), 2);
    assert_eq!(halvings("loss_rule=2,loss_guard=1,min_window_mss=1"), 2);
    // 10 -> 5 -> 2.5 -> 1.25 MSS.
    assert_eq!(halvings("loss_rule=2,loss_guard=0,min_window_mss=1"), 8);
}

#[test]
fn one_recovery_halves_once_under_its_guard() {
    for (guard, window) in [(1, 5 * MSS / 2), (2, 5 * MSS)] {
        let mut connection = Connection::new(as_printed(&format!("loss_guard={guard}")));
        connection.ack(0, 0);
        connection.segment_at(1, 41_000, OLD_ECHO, 2 * MSS);
        connection.ack(42_000, 20 * MSS);
        // A round trip later the first hole is still open, and another opens.
        connection.segment_at(70, 110_000, ORIGIN_TS + 45, 6 * MSS);
        assert_eq!(
            connection.ack(111_000, 40 * MSS),
            window,
            "loss_guard={guard}"
        );
    }
}

#[test]
fn a_loss_leaves_the_threshold_alone_if_told_so() {
    let mut connection = Connection::new(as_printed("thresh_on_loss=0,first_thresh_x1024=4096"));
    connection.segment_at(0, 40_000, OLD_ECHO, 2 * MSS);
    assert_eq!(connection.policy(), HALVE);
    assert_eq!(connection.thresh(), 40 * MSS);
}

#[test]
fn late_data_counts_if_told_so() {
    for (rule, window) in [(0, 5 * MSS), (1, 5 * MSS / 2)] {
        let settings = format!("loss_rule={rule},loss_guard=0");
        let mut connection = Connection::new(as_printed(&settings));
        connection.ack(0, 0);
        connection.segment_at(1, 41_000, OLD_ECHO, MSS);
        connection.ack(42_000, 20 * MSS);
        connection.segment_at(2, 43_000, OLD_ECHO, 0);
        assert_eq!(connection.ack(44_000, 40 * MSS), window, "loss_rule={rule}");
    }
}

#[test]
fn repeated_old_data_is_no_loss() {
    let mut connection = Connection::new(as_printed("loss_rule=2"));
    for packet in 0..4 {
        connection.segment(packet, 40_000 + u64::from(packet) * 1000, OLD_ECHO);
    }
    connection.segment_at(5, 46_000, OLD_ECHO, MSS);
    assert_eq!(connection.policy(), FIX);
}
