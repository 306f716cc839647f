// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mistakes in what is said of links and their queues.

use super::told;

#[test]
fn a_link_with_a_rate_needs_a_queue() {
    assert_eq!(
        told("queue = 86\n", ""),
        "\
try.toml:3:1: [bottleneck]: `queue` is missing; write queue = 86 (packets), \"128kb\" or a \
table with a kind
 3 | [bottleneck]
     ^^^^^^^^^^^^"
    );
}

#[test]
fn an_unknown_kind_of_queue_is_answered_with_the_nearest() {
    assert_eq!(
        told("queue = 86", "queue = { kind = \"fqcodel\", limit = 1000 }"),
        "\
try.toml:6:18: [queue]: `kind`: there is no `fqcodel`; did you mean `fq-codel`?
 6 | queue = { kind = \"fqcodel\", limit = 1000 }
                      ^^^^^^^^^"
    );
}

#[test]
fn bad_parameters_of_dualpi2_and_cake_are_told_with_what_would_be_right() {
    for (queue, expected) in [
        (
            "{ kind = \"dualpi2\", coupling = 0.5 }",
            "queue `dualpi2`: `coupling` is 0.5, but must be from 1 to 255; usual is 2",
        ),
        (
            "{ kind = \"dualpi2\", classic_share = 0 }",
            "`classic-share` is 0, but must be above 0 and below 1; usual is 0.1",
        ),
        (
            "{ kind = \"dualpi2\", step_min = -1 }",
            "[queue]: `step_min`",
        ),
        (
            "{ kind = \"cake\", isolation = \"hosts\" }",
            "[queue]: `isolation`: there is no `hosts`",
        ),
        (
            "{ kind = \"cake\", flows = 100 }",
            "queue `cake`: `flows` is 100, but must be a multiple of 8; usual is 1024",
        ),
        (
            "{ kind = \"cake\", quantum = 10 }",
            "[queue]: `quantum`: 10 is out of range; it can be 300 to 1048576",
        ),
    ] {
        let told = told("queue = 86", &format!("queue = {queue}"));
        assert!(told.contains(expected), "{queue}: {told}");
    }
}

#[test]
fn a_reroute_needs_a_time_and_a_delay_and_times_go_on() {
    let message = told(
        "delay = \"50ms\"",
        "delay = \"50ms\"\nreroute = [{ at = \"9s\" }]",
    );
    assert!(
        message.contains("[[reroute]]: `delay` is missing; write delay = \"80ms\""),
        "{message}"
    );
    let message = told(
        "delay = \"50ms\"",
        "delay = \"50ms\"\nreroute = [{ at = \"9s\", delay = \"1ms\" }, { at = \"8s\", delay = 0 }]",
    );
    assert!(message.contains("times in order"), "{message}");
}
