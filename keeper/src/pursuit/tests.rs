// SPDX-License-Identifier: Apache-2.0 OR MIT
use super::*;

/// Seconds since 1970.
const BEGIN: u64 = 1_795_611_600;

fn pursuit(by: By, size_bytes: u64) -> Pursuit {
    Pursuit::new(Deadline { by, size_bytes }, BEGIN as f64, 0)
}

/// Looks every second while a path brings so much beside others, and what the floor asks for if
/// the path carries it; answers when all has come, and what was asked for at the most.
fn transfer(pursuit: &mut Pursuit, yields_to: impl Fn(u64) -> u64, carries: u64) -> (u64, u64) {
    let (mut seen, mut most) = (0, 0);
    for second in 1..1_000_000 {
        let floor = pursuit.look((BEGIN + second) as f64, seen);
        most = most.max(floor);
        if pursuit.standing() == Standing::Done {
            return (second, most);
        }
        seen += floor.min(carries).max(yields_to(second));
    }
    panic!("it never ends");
}

#[test]
fn on_time_it_asks_for_nothing() {
    let mut pursuit = pursuit(By::Within(10_000), 10_000_000);
    let (took_s, most) = transfer(&mut pursuit, |_| 1_200, 1_000_000);
    assert!(took_s < 9_500, "{took_s}");
    assert_eq!(most, 0);
    assert_eq!(pursuit.standing(), Standing::Done);
}

#[test]
fn beside_greedy_flows_it_asks_for_its_mean_rate_and_is_done_in_time() {
    let mut pursuit = pursuit(By::Within(10_000), 10_000_000);
    // A part of a slack goes by without asking for anything.
    let (took_s, most) = transfer(&mut pursuit, |_| 1, 1_000_000);
    assert!((9_000..=9_600).contains(&took_s), "{took_s}");
    assert!((1_000..1_300).contains(&most), "{most}");
}

#[test]
fn what_stood_still_for_half_of_the_time_asks_for_twice_as_much() {
    let mut pursuit = pursuit(By::Within(10_000), 10_000_000);
    let carries = |second| if second < 5_000 { 1 } else { 0 };
    let mut seen = 0;
    for second in 1..=5_000 {
        seen += carries(second);
        pursuit.look((BEGIN + second) as f64, seen);
    }
    let floor = pursuit.look((BEGIN + 5_001) as f64, seen);
    assert!((2_100..2_300).contains(&floor), "{floor}");
    assert_eq!(pursuit.standing(), Standing::Behind);
    let told = pursuit.pursued();
    assert_eq!(told.minimum.as_deref(), Some("17kbit"));
    assert!(told.to_string().contains("behind, 17kbit at the least"));
}

#[test]
fn what_the_path_does_not_carry_is_late_and_said_to_be() {
    let mut pursuit = pursuit(By::Within(1_000), 10_000_000);
    let (took_s, most) = transfer(&mut pursuit, |_| 1, 5_000);
    assert!((2_000..2_100).contains(&took_s), "{took_s}");
    assert_eq!(most, FLOOR_UNBOUND_BYTES_PER_S);
    let told = pursuit.pursued();
    assert!((1_000..1_100).contains(&told.late_s), "{told}");
    assert!(told.to_string().contains(": done, 10"), "{told}");

    let mut late = self::pursuit(By::Within(10), 1_000);
    late.look((BEGIN + 1) as f64, 1);
    let floor = late.look((BEGIN + 31) as f64, 2);
    assert_eq!(
        (floor, late.standing()),
        (FLOOR_UNBOUND_BYTES_PER_S, Standing::Late)
    );
    let told = late.pursued().to_string();
    assert!(
        told.ends_with(": late by 20 s, as any other transfer"),
        "{told}"
    );
}

#[test]
fn every_day_and_every_beginning_has_a_time_of_its_own() {
    for by in [By::Within(1_000), By::Daily { hour: 6, minute: 0 }] {
        let mut pursuit = pursuit(by, 1_000);
        let late = BEGIN + 90_000;
        assert_eq!(pursuit.standing(), Standing::Waiting);
        assert_eq!(pursuit.look(late as f64, 0), 0);
        // It begins with the first bytes, however late these are.
        pursuit.look((late + 1) as f64, 10);
        assert_eq!(pursuit.standing(), Standing::OnTime);
        let first = pursuit.by_unix_s.unwrap();
        assert!(first > late + 1);
        pursuit.look((late + 2) as f64, 2_000);
        assert_eq!(pursuit.standing(), Standing::Done);
        // What comes beyond that belongs to it until its time is over.
        pursuit.look((first - 1) as f64, 2_500);
        assert_eq!(pursuit.standing(), Standing::Done);
        pursuit.look((first + 1) as f64, 2_500);
        assert_eq!(pursuit.standing(), Standing::Done);
        pursuit.look((first + 2) as f64, 2_600);
        assert_eq!(pursuit.pursued().done_bytes, 100);
        assert!(pursuit.by_unix_s.unwrap() > first + 1);
    }
}

#[test]
fn what_ended_before_all_had_come_is_not_late_for_long() {
    for (by, then) in [
        (By::Within(1_000), Standing::Waiting),
        (By::At(BEGIN + 1_000), Standing::Over),
    ] {
        let mut pursuit = pursuit(by, 1_000);
        pursuit.look((BEGIN + 1) as f64, 500);
        pursuit.look((BEGIN + 800) as f64, 600);
        assert_eq!(
            pursuit.look((BEGIN + 1_010) as f64, 600),
            FLOOR_UNBOUND_BYTES_PER_S
        );
        assert_eq!(pursuit.standing(), Standing::Late);
        assert_eq!(pursuit.look((BEGIN + 1_200) as f64, 600), 0);
        assert_eq!(pursuit.standing(), then);
    }
}

#[test]
fn a_date_that_has_passed_asks_for_nothing_and_one_that_passes_does() {
    let mut passed = pursuit(By::At(BEGIN - 1), 1_000);
    assert_eq!(passed.look((BEGIN + 1) as f64, 10), 0);
    assert_eq!(passed.standing(), Standing::Over);
    // Nothing came until then, and that is late.
    let mut passes = pursuit(By::At(BEGIN + 10), 1_000);
    assert_eq!(passes.look((BEGIN + 5) as f64, 0), 0);
    assert_eq!(
        passes.look((BEGIN + 1_000) as f64, 0),
        FLOOR_UNBOUND_BYTES_PER_S
    );
    assert_eq!(passes.standing(), Standing::Late);
}

#[test]
fn counters_that_begin_anew_take_nothing_back() {
    let mut pursuit = pursuit(By::Within(1_000), 1_000);
    pursuit.look((BEGIN + 1) as f64, 400);
    pursuit.look((BEGIN + 2) as f64, 0);
    pursuit.look((BEGIN + 3) as f64, 100);
    assert_eq!(pursuit.pursued().done_bytes, 500);
}

#[test]
fn how_it_stands_is_told_in_words() {
    let mut pursuit = pursuit(By::Within(7_200), 40_000_000_000);
    let told = pursuit.pursued().to_string();
    assert_eq!(told, "0.0 of 40.0 GB by 2h: not begun");
    pursuit.look((BEGIN + 1) as f64, 12_345_000_000);
    let told = pursuit.pursued().to_string();
    assert!(told.starts_with("12.3 of 40.0 GB by 2026-11-2"), "{told}");
    assert!(told.ends_with(": on time"), "{told}");
}
