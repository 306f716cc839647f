// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Members that share by weight what others leave, over links that are worked out by hand.

use ebb_sharing::{Preferences, Target, Weighing};

const MBIT: f64 = 1e6;

/// A member: how hard it pushes for its part of the link, and what it could do with.
#[derive(Clone, Copy)]
struct Flow {
    weight: u32,
    minimum: f64,
    push: f64,
    wants: f64,
    link: usize,
    /// Of what it may have below its ceiling it has this.
    obeys: f64,
    /// What it takes more in a second, of the link.
    grows: f64,
}

const FLOW: Flow = Flow {
    weight: 1,
    minimum: 0.0,
    push: 1.0,
    wants: f64::INFINITY,
    link: 0,
    obeys: 1.0,
    grows: 0.5,
};

/// Links that leave so much, and what flows through them has after some seconds.
struct World {
    flows: Vec<Flow>,
    /// *Units:* Mbit/s.
    links: Vec<f64>,
    rates: Vec<f64>,
    weighing: Weighing,
    seed: u64,
}

impl World {
    fn new(links: &[f64], flows: &[Flow]) -> Self {
        Self {
            flows: flows.to_vec(),
            links: links.to_vec(),
            rates: vec![0.0; flows.len()],
            weighing: Weighing::new(flows.len()),
            seed: 7,
        }
    }

    /// Between -1 and 1, always the same ones.
    fn noise(&mut self) -> f64 {
        self.seed = self
            .seed
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (self.seed >> 40) as f64 / f64::from(1 << 23) - 1.0
    }

    /// What each would have in the end: the link by how they push, and none more than it may.
    fn ends(&self) -> Vec<f64> {
        let most = |(place, flow): (usize, &Flow)| match self.weighing.ceiling(place) {
            Target::Free => flow.wants,
            Target::At(rate) => flow.wants.min(rate as f64 / MBIT * flow.obeys),
        };
        let most: Vec<f64> = self.flows.iter().enumerate().map(most).collect();
        let mut ends = vec![0.0; most.len()];
        for (link, capacity) in self.links.iter().enumerate() {
            let mut left = *capacity;
            let mut open: Vec<usize> = (0..most.len())
                .filter(|it| self.flows[*it].link == link)
                .collect();
            while !open.is_empty() && left > 1e-9 {
                let push: f64 = open.iter().map(|it| self.flows[*it].push).sum();
                let offer = left;
                let mut is_any = false;
                open.retain(|it| {
                    let share = offer * self.flows[*it].push / push;
                    let is_full = most[*it] - ends[*it] <= share;
                    let has = if is_full { most[*it] - ends[*it] } else { 0.0 };
                    ends[*it] += has;
                    left -= has;
                    is_any |= is_full;
                    !is_full
                });
                if !is_any {
                    for it in &open {
                        ends[*it] += offer * self.flows[*it].push / push;
                    }
                    break;
                }
            }
        }
        ends
    }

    /// Answers what each had, on average. *Units:* Mbit/s.
    fn run(&mut self, seconds: u32) -> Vec<f64> {
        let mut sums = vec![0.0; self.flows.len()];
        for _ in 0..seconds {
            let ends = self.ends();
            for (place, end) in ends.into_iter().enumerate() {
                let (noise, rate) = (self.noise(), self.rates[place]);
                // Who has to give way does so at once, who may take more does so in time.
                let flow = &self.flows[place];
                let more = (flow.grows * self.links[flow.link]).min(end - rate);
                let change = if end < rate { 0.9 * (end - rate) } else { more };
                self.rates[place] = (rate + change) * (1.0 + 0.03 * noise);
                sums[place] += self.rates[place];
            }
            let wanted = self.flows.iter().map(|flow| {
                Some(Preferences {
                    weight: flow.weight,
                    minimum_bits_per_s: (flow.minimum * MBIT) as u64,
                    ..Preferences::default()
                })
            });
            let received = self.rates.iter().map(|rate| (rate * MBIT) as u64);
            if std::env::var("TRACE").is_ok() {
                println!(
                    "{:.2?} {:?} {:?}",
                    self.rates,
                    self.weighing.ceiling(0),
                    self.weighing.ceiling(1)
                );
            }
            self.weighing
                .on_period(&wanted.collect::<Vec<_>>(), &received.collect::<Vec<_>>())
                .unwrap();
        }
        sums.iter().map(|sum| sum / f64::from(seconds)).collect()
    }

    fn is_free(&self) -> bool {
        (0..self.flows.len()).all(|place| self.weighing.ceiling(place) == Target::Free)
    }
}

fn weights(weights: &[u32]) -> Vec<Flow> {
    weights
        .iter()
        .map(|weight| Flow {
            weight: *weight,
            ..FLOW
        })
        .collect()
}

#[track_caller]
fn assert_near(had: f64, expected: f64, tolerance: f64) {
    assert!(
        (had / expected - 1.0).abs() < tolerance,
        "{had} for {expected}"
    );
}

#[test]
fn what_is_left_over_is_shared_by_weight_and_all_of_it_is_used() {
    for push in [0.2, 1.0, 5.0] {
        let mut flows = weights(&[3, 1]);
        flows[0].push = push;
        let mut world = World::new(&[10.0], &flows);
        world.run(20);
        let had = world.run(40);
        println!("push {push}: {had:?}");
        assert_near(had[0] / had[1], 3.0, 0.12);
        assert!(had[0] + had[1] > 9.5, "{had:?}");
    }
    let mut world = World::new(&[12.0], &weights(&[1, 2, 3]));
    world.run(25);
    let had = world.run(40);
    println!("three: {had:?}");
    for (had, expected) in had.iter().zip([2.0, 4.0, 6.0]) {
        assert_near(*had, expected, 0.12);
    }
}

#[test]
fn one_that_is_alone_has_all_within_seconds() {
    let mut world = World::new(&[10.0], &weights(&[3, 1]));
    world.run(30);
    world.flows[0].wants = 0.0;
    world.run(8);
    let had = world.run(5);
    assert!(had[1] > 9.5 && world.is_free(), "{had:?}");
    world.flows[0].wants = f64::INFINITY;
    world.run(20);
    assert_near(world.run(20)[1], 2.5, 0.15);
}

#[test]
fn more_and_less_that_is_left_over_is_taken_as_soon_as_without_weights() {
    let mut world = World::new(&[10.0], &weights(&[3, 1]));
    world.run(30);
    for left in [1.0, 10.0, 0.3, 10.0] {
        world.links[0] = left;
        world.run(5);
        let had = world.run(15);
        println!("{left}: {had:?}");
        assert!(had[0] + had[1] > 0.93 * left, "{had:?} of {left}");
    }
    world.run(15);
    let had = world.run(20);
    assert_near(had[0] / had[1], 3.0, 0.12);
}

#[test]
fn nobody_loses_to_one_that_cannot_use_its_part() {
    let mut flows = weights(&[1, 1]);
    flows[1].wants = 2.0;
    let mut world = World::new(&[10.0], &flows);
    let at_first = world.run(60);
    let later = world.run(600);
    println!("{at_first:?}, later {later:?}");
    assert!(at_first[0] + at_first[1] > 9.0, "{at_first:?}");
    assert!(later[0] + later[1] > 9.8, "{later:?}");
}

#[test]
fn those_behind_different_links_are_left_alone() {
    let mut flows = weights(&[3, 1]);
    flows[1].link = 1;
    let mut world = World::new(&[4.0, 20.0], &flows);
    let at_first = world.run(60);
    let later = world.run(600);
    println!("{at_first:?}, later {later:?}");
    assert!(at_first[1] > 18.0, "{at_first:?}");
    assert!(later[0] > 3.9 && later[1] > 19.6, "{later:?}");
}

#[test]
fn minima_go_before_weights() {
    let mut flows = weights(&[1, 1]);
    flows[0].minimum = 4.0;
    let mut world = World::new(&[10.0], &flows);
    world.run(30);
    let had = world.run(30);
    // 4 + (10 - 4) / 2.
    assert_near(had[0], 7.0, 0.08);
    assert!(had[0] + had[1] > 9.5, "{had:?}");
}

#[test]
fn weights_that_change_are_followed_at_once() {
    let mut world = World::new(&[10.0], &weights(&[3, 1]));
    world.run(30);
    world.flows[0].weight = 1;
    world.run(8);
    let had = world.run(20);
    assert_near(had[0] / had[1], 1.0, 0.1);
}

#[test]
fn whoever_does_not_take_part_is_free_and_a_wrong_number_of_rates_is_refused() {
    let mut weighing = Weighing::new(2);
    let flow = Some(Preferences::default());
    for _ in 0..20 {
        weighing
            .on_period(&[flow, None], &[1_000_000, 9_000_000])
            .unwrap();
    }
    assert_eq!(weighing.ceiling(1), Target::Free);
    assert!(weighing.on_period(&[flow], &[0]).is_err());
}

#[test]
fn windows_that_give_less_than_they_are_to_do_not_wear_the_sum_down() {
    for (obeys, grows) in [
        (0.9, 0.5),
        (0.9, 0.05),
        (0.8, 0.05),
        (1.1, 0.05),
        (1.0, 0.03),
    ] {
        let mut flows = weights(&[3, 1]);
        for flow in &mut flows {
            (flow.obeys, flow.grows) = (obeys, grows);
        }
        let mut world = World::new(&[10.0], &flows);
        world.run(60);
        let had = world.run(60);
        println!("{obeys}, {grows}: {had:?}");
        assert!(had[0] + had[1] > 9.0, "{obeys}, {grows}: {had:?}");
        assert_near(had[0] / had[1], 3.0, 0.15);
    }
}
