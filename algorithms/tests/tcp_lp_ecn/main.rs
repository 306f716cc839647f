// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `tcp-lp-ecn`, from the TCP-LP paper, and a test of each difference from it.

mod closed_loop;
#[path = "../support/delay_laws.rs"]
mod delay_laws;
mod oracle;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
#[path = "../support/models/tcp_lp.rs"]
mod tcp_lp_model;

use delay_laws::Hand;

#[test]
fn marks_tell_the_ecn_variant_what_delays_tell_the_other() {
    let mut hand = Hand::new("tcp-lp-ecn", 40);
    hand.window.ssthresh_pkts = 40;
    assert_eq!(hand.mark(), 20);
    assert_eq!(hand.pass_round(100.0), 20, "inference phase");
    assert_eq!(hand.pass_round(100.0), 20, "inference phase");
    hand.wait_ms(200);
    assert_eq!(hand.mark(), 1);
    assert_eq!(hand.window.ssthresh_pkts, 1);
    hand.pass_round(100.0);
    hand.wait_ms(301);
    hand.ack(1, 100.0);
    assert_eq!(hand.cwnd(), 2);
}

#[test]
fn ecn_difference_1_one_mark_is_answered_per_round_trip_by_the_threshold() {
    let mut hand = Hand::new("tcp-lp-ecn", 40);
    assert_eq!(hand.mark(), 20);
    assert_eq!(hand.window.ssthresh_pkts, 20);
    assert_eq!(hand.mark(), 20);
}

#[test]
fn ecn_difference_2_an_inference_phase_without_a_second_mark_gives_back_four_fifths() {
    for (policy, back) in [("tcp-lp-ecn", 32), ("tcp-lp-ecn:resume_x1024=0", 20)] {
        let mut hand = Hand::new(policy, 40);
        hand.mark();
        hand.wait_ms(299);
        assert_eq!(hand.ack(1, 100.0), 20, "{policy}");
        hand.wait_ms(2);
        assert_eq!(hand.ack(1, 100.0), back, "{policy}");
    }
}

#[test]
fn ecn_difference_3_no_growth_while_the_application_leaves_the_window_unused() {
    let mut hand = Hand::new("tcp-lp-ecn", 10);
    hand.template.is_cwnd_limited = 0;
    assert_eq!(hand.ack(10, 100.0), 10);
    hand.template.is_cwnd_limited = 1;
    assert_eq!(hand.ack(10, 100.0), 20);
}
