// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Capacity, LinkSpec, Nanos, Probability, QueueLimit, Rate, Trace};
use ebb_scenario::{
    ApplicationMeasure, Connections, Distribution, Draw, Outcome, Scenario, SizeClass, Traffic, Web,
};

use crate::{between_two_hosts, outcome, seen};

const MINUTE: Nanos = Nanos::from_secs(60);

/// One person, pages of one object of 1000 bytes, a second of thought.
fn plain() -> Web {
    Web {
        sessions: 1,
        objects: 1,
        object_bytes: Draw::Constant(1_000),
        request_bytes: 400,
        think: Draw::Constant(Nanos::from_secs(1).0),
        waits: true,
        object_gap: Draw::Constant(0),
        connections: Connections::PerObject,
        parallel: 6,
    }
}

/// 100 ms there and back, transmission hardly counts.
fn fast() -> LinkSpec {
    LinkSpec::drop_tail(
        Rate::from_mbit_per_s(100),
        Nanos::from_millis(50),
        QueueLimit::Packets(10_000),
    )
}

fn scenario(web: Web, there: LinkSpec, length: Nanos) -> Scenario {
    between_two_hosts(there, fast(), Traffic::Web(web), length)
}

struct Times {
    page_s: Distribution,
    object_s: Distribution,
    by_size: Vec<SizeClass>,
}

fn times_of(outcome: &Outcome) -> Times {
    match seen(outcome, 0) {
        ApplicationMeasure::Web {
            page_s,
            object_s,
            object_s_by_size: by_size,
        } => Times {
            page_s,
            object_s,
            by_size,
        },
        other => panic!("not web: {other:?}"),
    }
}

fn times(web: Web, there: LinkSpec, length: Nanos) -> Times {
    times_of(&outcome(&scenario(web, there, length)))
}

#[test]
fn an_object_on_a_connection_of_its_own_takes_two_round_trips() {
    let times = times(plain(), fast(), MINUTE);
    // A round trip for the handshake, one for request and answer.
    assert!(
        (0.2..0.203).contains(&times.object_s.min),
        "{}",
        times.object_s.min
    );
    assert!(
        (0.2..0.203).contains(&times.object_s.max),
        "{}",
        times.object_s.max
    );
    // A page each 1.2 s, the first begins after a second: 60 / 1.2, less the last.
    assert!(
        (48..=50).contains(&times.page_s.count),
        "{}",
        times.page_s.count
    );
    assert_eq!(times.page_s, times.object_s, "a page is one object");
}

#[test]
fn who_does_not_wait_opens_pages_whatever_the_network_does() {
    let web = Web {
        think: Draw::Constant(Nanos::from_millis(50).0),
        waits: false,
        ..plain()
    };
    let times = times(web, fast(), MINUTE);
    // One each 50 ms, though each takes 200 ms: 60 s / 50 ms, less those under way.
    assert!(
        (1_194..=1_198).contains(&times.page_s.count),
        "{}",
        times.page_s.count
    );
    assert!(times.page_s.max < 0.21, "{}", times.page_s.max);
}

#[test]
fn an_object_on_a_persistent_connection_takes_one_round_trip_but_for_the_first() {
    let web = Web {
        connections: Connections::Persistent,
        ..plain()
    };
    let times = times(web, fast(), MINUTE);
    assert!((0.1..0.103).contains(&times.object_s.median));
    assert!((0.2..0.203).contains(&times.object_s.max));
    assert!(
        (53..=54).contains(&times.page_s.count),
        "{}",
        times.page_s.count
    );
}

#[test]
fn objects_wait_for_a_connection_when_there_are_only_so_many() {
    for (parallel, connections, round_trips) in [
        (1, Connections::PerObject, 20.0),
        (5, Connections::PerObject, 4.0),
        (10, Connections::PerObject, 2.0),
        (1, Connections::Persistent, 10.0),
        (2, Connections::Persistent, 5.0),
    ] {
        let web = Web {
            objects: 10,
            parallel,
            connections,
            ..plain()
        };
        let times = times(web, fast(), MINUTE);
        let median_s = times.page_s.median;
        let expected_s = 0.1 * round_trips;
        let is_right = (expected_s..expected_s * 1.03).contains(&median_s);
        assert!(is_right, "{parallel} {connections:?}: {median_s}");
        assert_eq!(times.object_s.count / 10, times.page_s.count);
    }
}

#[test]
fn the_same_is_wanted_whatever_the_network_does() {
    // Thoughts of 20 s: five pages fit into 120 s, over fast and over slow links.
    let web = Web {
        sessions: 3,
        objects: 4,
        object_bytes: Draw::Pareto {
            mean: 12_000,
            shape: 1.2,
            max: Some(50_000),
        },
        think: Draw::Constant(Nanos::from_secs(20).0),
        object_gap: Draw::Exponential {
            mean: Nanos::from_millis(1).0,
        },
        ..plain()
    };
    let slow = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(2),
        Nanos::from_millis(100),
        QueueLimit::Packets(20),
    );
    let [fast, slow] = [fast(), slow].map(|link| times(web, link, Nanos::from_secs(119)));
    let sizes = |times: &Times| -> Vec<_> {
        let classes = times.by_size.iter();
        classes
            .map(|class| (class.from_bytes, class.count))
            .collect()
    };
    assert_eq!(fast.object_s.count, 3 * 4 * 5);
    assert_eq!(sizes(&fast), sizes(&slow));
    assert!(slow.object_s.mean > 1.5 * fast.object_s.mean);
}

#[test]
fn large_objects_take_longer_and_pages_as_long_as_their_last() {
    let web = Web {
        sessions: 5,
        objects: 10,
        object_bytes: Draw::Pareto {
            mean: 12_000,
            shape: 1.2,
            max: Some(1_000_000),
        },
        ..plain()
    };
    let link = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(10),
        Nanos::from_millis(25),
        QueueLimit::Packets(100),
    );
    let times = times(web, link, MINUTE);
    assert!(times.object_s.count > 1_000, "{}", times.object_s.count);
    assert_eq!(
        times.by_size.iter().map(|class| class.count).sum::<u64>(),
        times.object_s.count
    );
    let mean = |sizes: std::ops::Range<u64>| {
        let classes = times.by_size.iter();
        let (count, sum) = classes
            .filter(|class| sizes.contains(&class.from_bytes))
            .fold((0, 0.0), |(count, sum), class| {
                (count + class.count, sum + class.count as f64 * class.mean_s)
            });
        sum / count as f64
    };
    assert!(mean(0..3_000) < mean(30_000..1_000_000));
    assert!(times.page_s.mean > times.object_s.mean);
    assert!(times.page_s.max >= times.object_s.max);
}

#[test]
fn people_get_their_pages_over_a_path_that_loses_packets() {
    for connections in [Connections::PerObject, Connections::Persistent] {
        let web = Web {
            sessions: 4,
            objects: 5,
            object_bytes: Draw::Constant(20_000),
            connections,
            ..plain()
        };
        let lossy = LinkSpec {
            loss: Probability::new(0.05).unwrap(),
            ..fast()
        };
        let times = times(web, lossy, MINUTE);
        // Without losses about 45 pages each.
        assert!(
            times.page_s.count > 60,
            "{connections:?}: {}",
            times.page_s.count
        );
        assert!(
            times.object_s.max < 30.0,
            "{connections:?}: {}",
            times.object_s.max
        );
    }
}

#[test]
fn asks_again_on_another_connection_when_one_breaks() {
    // A link that sends for a second, then nothing for 1500 seconds, and again: long
    // enough for every connection that was waiting to be given up.
    let mut times: Vec<u64> = (1..=1_000).map(|ms| ms * 1_000_000).collect();
    times.push(1_501_000_000_000);
    let breaking = LinkSpec {
        capacity: Capacity::Trace(Trace::try_from(times).unwrap()),
        delay: Nanos::from_millis(50),
        ..LinkSpec::default()
    };
    for connections in [Connections::PerObject, Connections::Persistent] {
        let web = Web {
            connections,
            think: Draw::Constant(Nanos::from_millis(300).0),
            ..plain()
        };
        let times = times_of(&outcome(&scenario(
            web,
            breaking.clone(),
            Nanos::from_secs(3_004),
        )));
        // Some pages in each of the three seconds, and one that took the silence.
        assert!(
            times.page_s.count >= 4,
            "{connections:?}: {}",
            times.page_s.count
        );
        assert!(
            times.page_s.max > 1_400.0,
            "{connections:?}: {}",
            times.page_s.max
        );
        assert!(
            times.page_s.median < 1.0,
            "{connections:?}: {}",
            times.page_s.median
        );
    }
}

#[test]
fn stops_to_ask_when_told_to() {
    let mut scenario = scenario(plain(), fast(), MINUTE);
    scenario.flows[0].stop = Some(Nanos::from_secs(30));
    let times = times_of(&outcome(&scenario));
    assert!(
        (24..=25).contains(&times.page_s.count),
        "{}",
        times.page_s.count
    );
}

#[test]
fn equal_seeds_give_equal_outcomes_and_others_do_not() {
    let web = Web {
        sessions: 10,
        objects: 10,
        object_bytes: Draw::Pareto {
            mean: 12_000,
            shape: 1.2,
            max: Some(1_000_000),
        },
        think: Draw::Exponential {
            mean: Nanos::from_secs(1).0,
        },
        connections: Connections::Persistent,
        ..plain()
    };
    let link = LinkSpec::drop_tail(
        Rate::from_mbit_per_s(2),
        Nanos::from_millis(25),
        QueueLimit::Packets(30),
    );
    let mut scenario = scenario(web, link, Nanos::from_secs(30));
    let first = outcome(&scenario);
    assert_eq!(first, outcome(&scenario));
    scenario.seed += 1;
    assert_ne!(first.flows, outcome(&scenario).flows);
}
