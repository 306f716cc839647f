// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Algorithm 6: the congestion window as the receiver sees it, and the first window.

use crate::connection::*;

fn observing() -> Connection {
    let mut connection = Connection::new(as_printed(""));
    connection.is_observing = true;
    connection
}

/// The first flight: no acknowledgement has triggered it.
fn first_flight(connection: &mut Connection, segments: u32) {
    for packet in 0..segments {
        connection.segment(0, 40_000 + u64::from(packet) * 1000, OLD_ECHO);
    }
}

#[test]
fn the_first_flight_is_counted_whole() {
    let mut connection = observing();
    first_flight(&mut connection, 10);
    assert_eq!(connection.estimate(), 10 * MSS);
}

#[test]
fn a_window_that_stays_keeps_its_estimate() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 4);
    // Each acknowledgement of 2 MSS triggers 2 MSS: 4 + 0.
    connection.ack(50_000, 2 * MSS);
    connection.ack(60_000, 4 * MSS);
    for echo_ms in [50, 50, 60, 60] {
        connection.segment(90, 150_000, ORIGIN_TS + echo_ms);
    }
    assert_eq!(connection.estimate(), 4 * MSS);
}

#[test]
fn slow_start_doubles_the_estimate() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 4);
    // Each acknowledgement of 2 MSS triggers 4 MSS: the second two are extra.
    connection.ack(50_000, 2 * MSS);
    connection.ack(60_000, 4 * MSS);
    for echo_ms in [50, 50, 50, 50, 60, 60, 60, 60] {
        connection.segment(90, 150_000, ORIGIN_TS + echo_ms);
    }
    assert_eq!(connection.estimate(), 8 * MSS);
}

#[test]
fn acknowledgements_that_trigger_less_lower_the_estimate() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 4);
    connection.ack(50_000, 2 * MSS);
    connection.ack(60_000, 4 * MSS);
    // One of the two that the first allowed; the echo of the second settles it.
    connection.segment(90, 150_000, ORIGIN_TS + 50);
    assert_eq!(
        connection.estimate(),
        4 * MSS,
        "the other may be on its way"
    );
    connection.segment(90, 160_000, ORIGIN_TS + 60);
    assert_eq!(connection.estimate(), 3 * MSS);
}

#[test]
fn difference_6_acknowledgements_of_one_jiffy_count_together() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 6);
    connection.ack(50_000, 2 * MSS);
    connection.ack(50_000, 4 * MSS);
    connection.ack(53_000, 6 * MSS);
    for echo_ms in [50, 50, 50, 50, 53, 53] {
        connection.segment(90, 150_000, ORIGIN_TS + echo_ms);
    }
    assert_eq!(connection.estimate(), 6 * MSS);
    // All six bytes are used up: what more echoes the same is growth.
    connection.segment(90, 150_000, ORIGIN_TS + 53);
    assert_eq!(connection.estimate(), 7 * MSS);
}

#[test]
fn difference_7_a_segment_longer_than_its_acknowledgement_counts_the_rest() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 1);
    connection.ack(50_000, 400);
    connection.segment(90, 150_000, ORIGIN_TS + 50);
    assert_eq!(connection.estimate(), MSS + 600);
}

#[test]
fn difference_6_more_acknowledgements_than_the_ring_holds_are_not_lost() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 100);
    for ack in 1..=100 {
        connection.ack(50_000 + u64::from(ack) * 10_000, ack * MSS);
    }
    // 64 groups; the last holds 37 acknowledgements. Each triggers one segment.
    for ack in 1..=100 {
        let arrived_us = 1_200_000 + u64::from(ack) * 1000;
        connection.segment(1100, arrived_us, ORIGIN_TS + 50 + ack * 10);
    }
    assert_eq!(connection.estimate(), 100 * MSS);
}

#[test]
fn difference_8_the_estimate_stays_at_zero_and_a_segment_discards_8_groups() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 2);
    for ack in 1..=10 {
        connection.ack(50_000 + u64::from(ack) * 10_000, ack * MSS);
    }
    // Echoes what comes after all ten: 2 - 8 segments are none, and this one is new.
    connection.segment(1100, 1_200_000, ORIGIN_TS + 1000);
    assert_eq!(connection.estimate(), MSS);
    // The ninth is there still: this one is what it has triggered.
    connection.segment(1100, 1_201_000, ORIGIN_TS + 50 + 90);
    assert_eq!(connection.estimate(), MSS);
}

#[test]
fn the_estimate_is_the_first_window_when_observation_ends() {
    let mut connection = observing();
    connection.ack(0, 0);
    first_flight(&mut connection, 24);
    assert_eq!(connection.window(), 0x7fff_ffff, "no limit while observing");
    assert_eq!(connection.ack(70_000, 20 * MSS), 0x7fff_ffff);
    connection.is_observing = false;
    connection.segment(30, 75_000, OLD_ECHO);
    // 25 segments, none of them triggered by an acknowledgement that was counted.
    assert_eq!(connection.window(), 25 * MSS);
    assert_eq!(connection.ack(76_000, 25 * MSS), 25 * MSS);
    connection.is_observing = true;
    connection.segment(31, 77_000, OLD_ECHO);
    assert_eq!(connection.window(), 0x7fff_ffff, "released again");
}

#[test]
fn a_share_of_the_estimate_can_be_the_first_window() {
    let mut connection = Connection::new(as_printed("first_window_x1024=512"));
    connection.is_observing = true;
    first_flight(&mut connection, 23);
    connection.is_observing = false;
    connection.segment(30, 75_000, OLD_ECHO);
    assert_eq!(connection.window(), 12 * MSS);
}

#[test]
fn a_connection_that_was_never_observed_has_a_first_window_of_its_own() {
    let mut connection = Connection::new(as_printed("first_window_mss=7"));
    assert_eq!(connection.window(), 7 * MSS);
    connection.segment(0, 40_000, OLD_ECHO);
    assert_eq!(connection.ack(41_000, MSS), 7 * MSS);
}

#[test]
fn a_connection_of_which_nothing_was_seen_has_that_first_window_too() {
    let mut connection = Connection::new(as_printed("first_window_mss=7"));
    connection.ack(0, 0);
    connection.ack(10_000, MSS);
    connection.is_observing = true;
    // All that came is what the acknowledgement triggered: the estimate stays at zero.
    connection.segment(20, 60_000, ORIGIN_TS + 10);
    assert_eq!(connection.estimate(), 0);
    connection.ack(61_000, 2 * MSS);
    connection.is_observing = false;
    connection.segment(61, 101_000, ORIGIN_TS + 61);
    assert_eq!(connection.window(), 7 * MSS);
}
