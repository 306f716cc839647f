// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `bbr`, from its draft, and what it does on a path.

mod sender_path;

use ebb_algorithms::{Phase, Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};
use sender_path::{Path, Plan, run};

const MSS: u32 = 1000;
const RTT_US: u32 = 100_000;

/// A host that tells of one round trip per acknowledgement.
struct Rounds {
    flow: SenderFlow,
    now_us: u64,
    delivered_pkts: u64,
    random: u32,
}

impl Rounds {
    fn new(policy: &str) -> Self {
        let start = SenderStart {
            now_us: 1_000_000,
            mss_bytes: MSS,
            cwnd_pkts: 10,
            ..SenderStart::default()
        };
        Self {
            flow: SenderFlow::new(Policy::sender(policy).unwrap(), &start),
            now_us: 1_000_000,
            delivered_pkts: 0,
            random: 0,
        }
    }

    /// A round trip in which so many segments are delivered.
    fn round(&mut self, pkts: u32) -> &mut Self {
        self.round_with(pkts, &SenderAck::default())
    }

    fn round_with(&mut self, pkts: u32, more: &SenderAck) -> &mut Self {
        self.now_us += u64::from(RTT_US);
        let prior_delivered_pkts = self.delivered_pkts;
        self.delivered_pkts += u64::from(pkts);
        self.flow.on_ack(&SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: prior_delivered_pkts,
            rate_delivered_pkts: pkts,
            rate_interval_us: RTT_US,
            delivered_now_pkts: pkts,
            acked_pkts: pkts,
            prior_inflight_pkts: more.inflight_pkts + pkts,
            cwnd_pkts: self.flow.window().cwnd_pkts,
            rtt_us: if more.rtt_us > 0 { more.rtt_us } else { RTT_US },
            srtt_us: RTT_US,
            mss_bytes: MSS,
            random: self.random,
            is_cwnd_limited: 1,
            ..*more
        });
        self
    }

    fn event(&self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            cwnd_pkts: self.flow.window().cwnd_pkts,
            mss_bytes: MSS,
            ..SenderEvent::default()
        }
    }

    /// Through STARTUP to PROBE_BW at 100 segments per round trip: 1 MB/s.
    fn probing(policy: &str, random: u32) -> Self {
        let mut rounds = Self::new(policy);
        rounds.random = random;
        for pkts in [10, 20, 40, 80, 100, 100, 100, 100, 100] {
            rounds.round(pkts);
        }
        rounds
    }

    /// The pace in thousandths of a bandwidth of 1 MB/s.
    fn pace_x1000(&self) -> u64 {
        self.flow.window().pacing_bytes_per_s / 1000
    }
}

#[test]
fn paces_at_first_by_the_window_and_the_rtt_times_the_high_gain() {
    let mut rounds = Rounds::new("bbr");
    // 10 segments of 1000 bytes in 1 ms, x 2.885.
    assert_eq!(rounds.flow.window().pacing_bytes_per_s, 28_857_421);
    // As soon as the RTT is known: 20 segments in 100 ms, x 2.885 = 577 kB/s; a rate sample
    // of 10 in 100 ms gives less.
    rounds.round(10);
    assert!((280_000..=580_000).contains(&rounds.flow.window().pacing_bytes_per_s));
}

#[test]
fn startup_doubles_the_pace_and_the_window_per_round_trip() {
    let mut rounds = Rounds::new("bbr");
    rounds.round(10).round(20);
    let before = rounds.flow.window();
    rounds.round(40);
    let after = rounds.flow.window();
    // 40 segments in 100 ms: 400 kB/s x 2.885 x 0.99.
    assert_eq!(after.pacing_bytes_per_s / 1000, 1142);
    assert_eq!(after.cwnd_pkts, before.cwnd_pkts + 40);
}

#[test]
fn startup_ends_when_bandwidth_has_not_grown_by_a_quarter_for_three_round_trips() {
    let mut rounds = Rounds::new("bbr");
    for pkts in [10, 20, 40, 80, 100] {
        rounds.round(pkts);
    }
    // 100 is a quarter more than 80; 100, 110 and 124 are not a quarter more than 100.
    rounds.round(100).round(110);
    let pace = rounds.pace_x1000();
    assert_eq!(pace, 1100 * 2885 / 1000 * 99 / 100 + 1);
    // DRAIN at ln 2 / 2 of the bandwidth while more than the path holds is in flight.
    rounds.round_with(
        124,
        &SenderAck {
            inflight_pkts: 300,
            ..SenderAck::default()
        },
    );
    // 1240 kB/s x 355 / 1024 x 0.99
    assert_eq!(rounds.pace_x1000(), 425);
}

#[test]
fn drain_ends_when_the_flight_is_the_path_s() {
    let mut rounds = Rounds::new("bbr");
    for pkts in [10, 20, 40, 80, 100, 100, 100] {
        rounds.round(pkts);
    }
    let inflight = |inflight_pkts| SenderAck {
        inflight_pkts,
        ..SenderAck::default()
    };
    rounds.round_with(100, &inflight(200));
    assert_eq!(rounds.pace_x1000(), 343, "draining");
    // 1 MB/s x 0.1 s = 100 segments, and three bursts of two: 106.
    rounds.round_with(100, &inflight(107));
    assert_eq!(rounds.pace_x1000(), 343, "still draining");
    rounds.round_with(100, &inflight(106));
    assert!(rounds.pace_x1000() >= 742);
}

#[test]
fn probe_bw_goes_round_in_eight_phases() {
    // The draw 0 starts with the phase that probes, at 1.25 x 0.99.
    let mut rounds = Rounds::probing("bbr", 0);
    let mut paces = Vec::new();
    for _ in 0..16 {
        // A round trip is longer than RTprop, and what is in flight is what is asked for.
        let more = SenderAck {
            inflight_pkts: 130,
            rtt_us: RTT_US + 1000,
            ..SenderAck::default()
        };
        rounds.now_us += 1000;
        rounds.round_with(100, &more);
        paces.push(rounds.pace_x1000());
    }
    let from = paces.iter().position(|pace| *pace == 1237).unwrap();
    let cycle = [1237, 742, 990, 990, 990, 990, 990, 990];
    for (index, pace) in paces[from..].iter().enumerate() {
        assert_eq!(*pace, cycle[index % 8], "{paces:?}");
    }
}

#[test]
fn the_first_phase_is_drawn_and_is_never_the_one_that_yields() {
    let mut paces = Vec::new();
    for draw in 0..7u64 {
        let random = ((draw << 32) / 7 + 1) as u32;
        // Enters PROBE_BW with the last round of the start.
        let mut rounds = Rounds::new("bbr");
        rounds.random = random;
        for pkts in [10, 20, 40, 80, 100, 100, 100, 100] {
            rounds.round(pkts);
        }
        paces.push(rounds.pace_x1000());
    }
    assert_eq!(paces, [1237, 990, 990, 990, 990, 990, 990]);
}

#[test]
fn the_window_is_two_bandwidth_delay_products_and_room_for_bursts() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    for _ in 0..4 {
        rounds.round(100);
    }
    // 2 x 100 + 3 x 2, and two more in the phase that probes.
    assert!((206..=208).contains(&rounds.flow.window().cwnd_pkts));
}

#[test]
fn bandwidth_is_forgotten_after_ten_round_trips() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    for _ in 0..9 {
        rounds.round(50);
    }
    assert!(rounds.flow.window().cwnd_pkts > 200);
    for _ in 0..2 {
        rounds.round(50);
    }
    // 2 x 50 + 6, or two more in the phase that probes.
    assert!((106..=108).contains(&rounds.flow.window().cwnd_pkts));
}

#[test]
fn samples_of_a_lazy_application_do_not_lower_the_bandwidth() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    let lazy = SenderAck {
        is_app_limited: 1,
        ..SenderAck::default()
    };
    for _ in 0..5 {
        rounds.round_with(20, &lazy);
    }
    assert!((206..=208).contains(&rounds.flow.window().cwnd_pkts));
    rounds.round_with(200, &lazy);
    assert!(rounds.pace_x1000() > 1400, "but they may raise it");
}

#[test]
fn bandwidth_is_kept_for_as_long_as_the_application_is_lazy() {
    let mut rounds = Rounds::probing("bbr:extra_gain_x1024=0", u32::MAX);
    let lazy = SenderAck {
        is_app_limited: 1,
        ..SenderAck::default()
    };
    for _ in 0..50 {
        rounds.round_with(20, &lazy);
    }
    assert!((206..=208).contains(&rounds.flow.window().cwnd_pkts));
    // The first sample that counts ends that.
    rounds.round(50).round(50);
    assert!(rounds.pace_x1000() < 630);
}

#[test]
fn samples_of_its_own_probe_rtt_do_not_lower_the_bandwidth() {
    let mut rounds = Rounds::probing("bbr:bandwidth_rounds=2,probe_rtt_ms=1000", u32::MAX);
    let longer = SenderAck {
        rtt_us: RTT_US + 5000,
        inflight_pkts: 100,
        ..SenderAck::default()
    };
    while rounds.flow.window().cwnd_pkts > 4 {
        rounds.round_with(100, &longer);
    }
    let small = SenderAck {
        inflight_pkts: 4,
        ..SenderAck::default()
    };
    for _ in 0..11 {
        rounds.round_with(4, &small);
    }
    // 4 segments per round trip for 11 of them, and still 1 MB/s.
    assert!(rounds.pace_x1000() >= 742, "{}", rounds.pace_x1000());
}

#[test]
fn probe_rtt_comes_after_ten_seconds_and_lasts_for_200_ms() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let longer = SenderAck {
        rtt_us: RTT_US + 5000,
        inflight_pkts: 100,
        ..SenderAck::default()
    };
    // The least RTT was met last at 1.1 s: equal ones do not count.
    while rounds.now_us < 11_100_000 {
        rounds.round_with(100, &longer);
    }
    assert!(rounds.flow.window().cwnd_pkts > 200);
    rounds.round_with(100, &longer);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4);
    let small = SenderAck {
        inflight_pkts: 4,
        ..SenderAck::default()
    };
    // From here on the flight is small enough: 200 ms and a round trip.
    rounds.round_with(4, &small);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4);
    rounds.round_with(4, &small).round_with(4, &small);
    assert_eq!(rounds.flow.window().cwnd_pkts, 4);
    rounds.round_with(4, &small);
    assert!(rounds.flow.window().cwnd_pkts > 200, "back");
    assert!(rounds.pace_x1000() >= 742, "and as fast as before");
}

#[test]
fn conserves_packets_in_the_first_round_of_a_recovery_and_restores_the_window() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let before = rounds.flow.window().cwnd_pkts;
    rounds.flow.on_loss(&rounds.event());
    let recovery = SenderAck {
        phase: Phase::Recovery as u8,
        lost_now_pkts: 30,
        inflight_pkts: 60,
        ..SenderAck::default()
    };
    rounds.round_with(10, &recovery);
    // In flight and delivered, but 30 are lost: 206 - 30 is more than that.
    assert_eq!(rounds.flow.window().cwnd_pkts, 70);
    rounds.round(100);
    assert!(rounds.flow.window().cwnd_pkts >= before);
}

#[test]
fn a_time_out_starts_from_what_is_in_flight_and_the_window_comes_back() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let before = rounds.flow.window().cwnd_pkts;
    rounds.flow.on_timeout(&rounds.event());
    assert_eq!(rounds.flow.window().cwnd_pkts, 1);
    let repairing = SenderAck {
        phase: Phase::Loss as u8,
        ..SenderAck::default()
    };
    rounds.round_with(1, &repairing);
    assert!(rounds.flow.window().cwnd_pkts < 10);
    rounds.round(4);
    assert!(rounds.flow.window().cwnd_pkts >= before);
}

#[test]
fn an_undo_brings_the_window_back() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    let before = rounds.flow.window().cwnd_pkts;
    rounds.flow.on_timeout(&rounds.event());
    rounds.flow.on_undo(&rounds.event());
    assert_eq!(rounds.flow.window().cwnd_pkts, before);
}

#[test]
fn an_idle_time_does_not_start_a_probe_of_the_rtt() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    rounds.now_us += 60_000_000;
    rounds.flow.on_idle(&rounds.event());
    assert_eq!(rounds.pace_x1000(), 990);
    rounds.round(100);
    assert!(rounds.flow.window().cwnd_pkts > 100);
}

/// A path that delivers 50 and drops 25 of each 75 segments, every fourth round trip
/// losing; answers the pace then.
fn policed(policy: &str) -> u64 {
    let mut rounds = Rounds::probing(policy, u32::MAX);
    for _ in 0..14 {
        let more = SenderAck {
            lost_now_pkts: 25,
            inflight_pkts: 60,
            ..SenderAck::default()
        };
        rounds.round_with(50, &more);
    }
    rounds.pace_x1000()
}

#[test]
fn a_policer_s_rate_is_used_after_two_like_intervals() {
    // 50 segments in 100 ms, x 0.99, without probing; the bandwidth filter has it, too, by
    // then, but probes, or yields.
    assert_eq!(policed("bbr"), 495);
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    // Without losses: nothing of the kind.
    for _ in 0..9 {
        rounds.round(50);
    }
    assert!(rounds.pace_x1000() > 700);
}

#[test]
fn a_policer_s_rate_is_forgotten_after_48_round_trips() {
    let mut rounds = Rounds::probing("bbr", u32::MAX);
    for _ in 0..14 {
        let more = SenderAck {
            lost_now_pkts: 25,
            inflight_pkts: 60,
            ..SenderAck::default()
        };
        rounds.round_with(50, &more);
    }
    let mut paces = Vec::new();
    for _ in 0..60 {
        paces.push(rounds.round(50).pace_x1000());
    }
    assert!(paces[..34].iter().all(|pace| *pace == 495), "{paces:?}");
    assert!(paces[34..].iter().any(|pace| *pace > 600), "{paces:?}");
}

#[test]
fn aggregated_acknowledgements_widen_the_window() {
    let widen = |policy| {
        let mut rounds = Rounds::probing(policy, u32::MAX);
        for _ in 0..12 {
            rounds.round(100);
        }
        rounds.flow.window().cwnd_pkts
    };
    // A round trip's worth comes in one batch: up to 100 segments more, 100 ms of them.
    let (without, with) = (widen("bbr:extra_gain_x1024=0"), widen("bbr"));
    assert!(
        with > without + 50 && with <= without + 102,
        "{without} {with}"
    );
}

#[test]
fn alone_it_fills_the_link_with_hardly_any_queue() {
    let path = Path {
        queue_pkts: 500,
        ..Path::default()
    };
    let outcome = run(&path, &[Plan::greedy("bbr")], 60);
    let share = outcome.share(0, 10.0, 60.0);
    let wait_ms = outcome.mean_wait_ms(10.0, 60.0);
    // 200 ms of each 10 s are for PROBE_RTT; 1 % is the pacing margin.
    assert!((0.93..1.0).contains(&share), "{share}");
    assert!(wait_ms < 12.0, "{wait_ms}");
}

#[test]
fn random_losses_do_not_slow_it_down() {
    let path = Path {
        loss_every: Some(50),
        ..Path::default()
    };
    let bbr = run(&path, &[Plan::greedy("bbr")], 60);
    let cubic = run(&path, &[Plan::greedy("cubic")], 60);
    let (bbr, cubic) = (bbr.share(0, 10.0, 60.0), cubic.share(0, 10.0, 60.0));
    assert!(bbr > 0.88 && bbr > 3.0 * cubic, "{bbr} {cubic}");
}

#[test]
fn takes_a_good_part_of_the_link_from_cubic() {
    let outcome = run(
        &Path::default(),
        &[Plan::greedy("bbr"), Plan::greedy("cubic")],
        120,
    );
    let shares = [outcome.share(0, 20.0, 120.0), outcome.share(1, 20.0, 120.0)];
    assert!(
        shares[0] > 0.25 && shares[0] + shares[1] > 0.95,
        "{shares:?}"
    );
}

#[test]
fn finds_more_bandwidth_when_others_leave() {
    let path = Path {
        others: vec![(0, 20_000_000, 5_000_000)],
        ..Path::default()
    };
    let outcome = run(&path, &[Plan::greedy("bbr")], 60);
    let shares = [outcome.share(0, 10.0, 20.0), outcome.share(0, 30.0, 60.0)];
    assert!((0.4..0.55).contains(&shares[0]), "{shares:?}");
    assert!(shares[1] > 0.92, "{shares:?}");
}
