// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{Scenario, Traffic};

use crate::{between_two_hosts, outcome};

/// Two seconds on, three off, for twenty seconds at 10 Mbit/s.
fn scenario(reconnect: bool) -> Scenario {
    let link = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(10),
        Nanos::from_millis(10),
        QueueLimit::Packets(50),
    );
    let traffic = Traffic::OnOff {
        on: Nanos::from_secs(2),
        off: Nanos::from_secs(3),
        reconnect,
    };
    let mut scenario = between_two_hosts(link.clone(), link, traffic, Nanos::from_secs(20));
    scenario.bin = Nanos::from_millis(500);
    scenario
}

#[test]
fn fills_the_link_while_it_is_on_and_leaves_it_alone_while_it_is_off() {
    for reconnect in [false, true] {
        let outcome = outcome(&scenario(reconnect));
        let goodput = &outcome.series.flows[0].goodput_bits_per_s;
        for (bin, bits_per_s) in goodput.iter().enumerate() {
            let mbit = bits_per_s / 1e6;
            // Bins of half a second; a period has ten, and is on for four. What was
            // written and what is on its way arrives in the fifth, at most 150 kB.
            match bin % 10 {
                1..=3 => assert!(mbit > 9.0, "{reconnect} {bin}: {mbit}"),
                4 => assert!(mbit < 2.5, "{reconnect} {bin}: {mbit}"),
                5..=9 => assert!(mbit == 0.0, "{reconnect} {bin}: {mbit}"),
                _ => {}
            }
        }
    }
}

#[test]
fn is_silent_for_good_after_its_stop() {
    let mut scenario = scenario(false);
    scenario.flows[0].stop = Some(Nanos::from_secs(7));
    let outcome = outcome(&scenario);
    let goodput = &outcome.series.flows[0].goodput_bits_per_s;
    assert!(goodput[11] > 5e6 && goodput[16..].iter().all(|rate| *rate == 0.0));
}

#[test]
fn goes_on_where_its_window_takes_more_at_once_than_it_writes() {
    let link = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(100),
        Nanos::from_millis(50),
        QueueLimit::Packets(1_000),
    );
    // The pause is shorter than the timer, so that a window of a megabyte stays.
    let traffic = Traffic::OnOff {
        on: Nanos::from_secs(2),
        off: Nanos::from_millis(190),
        reconnect: false,
    };
    let scenario = between_two_hosts(link.clone(), link, traffic, Nanos::from_secs(4));
    let bytes = outcome(&scenario).flows[0].measures[0].delivered_bytes;
    assert!(bytes > 35_000_000, "{bytes}");
}
