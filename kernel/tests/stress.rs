// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Both ends of a policy switched over and over at the same time, while connections carry data and
//! leases are renewed: whatever the order, what was asked for last is so, and nothing is left of it
//! in the end. For a few seconds, or for `EBB_STRESS_SECONDS`; the seed is fixed.

mod support;

use ebb_kernel::{AttachOptions, Attachment, Flow, requires_root};
use std::collections::BTreeSet;
use std::time::{Duration, Instant};
use support::Cable;
use support::many::Many;
use support::process::role;
use support::transfer::{congestion_control, window_clamp};

const CONNECTIONS: usize = 40;
/// Each of them brings a kilobyte so often.
const PAUSE: Duration = Duration::from_millis(20);
const SECONDS: u64 = 3;
/// What TCP has as its clamp by itself; a law's is less after a few kilobytes.
const FREE_CLAMP_BYTES: u32 = 60_000;
/// One law with two settings, and another one, which takes programs of its own.
const DOWNLOADS: [&str; 3] = ["ebb", "ebb:target_us=9000", "vulture"];
const UPLOADS: [&str; 3] = ["ledbat", "ledbat:target_us=9000", "tcp-lp"];

#[test]
fn play_a_role() {
    role();
}

#[test]
fn whatever_both_ends_are_switched_to_at_once_is_so_and_nothing_is_left() {
    if !requires_root("whatever_both_ends_are_switched_to_at_once_is_so_and_nothing_is_left") {
        return;
    }
    let seconds = std::env::var("EBB_STRESS_SECONDS");
    let seconds = seconds.map_or(SECONDS, |seconds| seconds.parse().unwrap());
    let cable = Cable::new();
    let many = Many::lay(&cable, CONNECTIONS, PAUSE);
    let until = Instant::now() + Duration::from_secs(seconds);
    let switches = std::thread::scope(|scope| {
        let ends = [(DOWNLOADS, 1), (UPLOADS, 2)];
        let ends = ends.map(|(policies, seed)| {
            let attachment = attach(&cable, policies[0]);
            scope.spawn(move || Switching::of(attachment, policies, seed).work(until))
        });
        ends.map(|end| end.join().unwrap())
    });
    eprintln!("{switches:?} switches");
    assert!(switches.iter().all(|count| *count > 10), "{switches:?}");
    let sockets = many.server.sockets();
    // The one that listens is among them.
    assert_eq!(sockets.len(), CONNECTIONS + 1);
    for socket in &sockets {
        let is_clamped = (1..FREE_CLAMP_BYTES).contains(&window_clamp(socket));
        assert!(!is_clamped && !congestion_control(socket).starts_with("ebb"));
    }
}

/// One end, and what it was switched to.
struct Switching {
    attachment: Attachment,
    policies: [&'static str; 3],
    random: u64,
    /// All connections are meant to be free.
    is_observing: bool,
    /// Those that are the other way round.
    apart: BTreeSet<u64>,
}

impl Switching {
    fn of(attachment: Attachment, policies: [&'static str; 3], seed: u64) -> Self {
        Self {
            attachment,
            policies,
            random: seed,
            is_observing: false,
            apart: BTreeSet::new(),
        }
    }

    /// Switches until then; answers how often.
    fn work(mut self, until: Instant) -> usize {
        let mut switches = 0;
        while Instant::now() < until {
            match self.below(8) {
                0 => self.observe(),
                1 => self.change_policy(),
                _ => self.switch_one(),
            }
            self.check();
            switches += 1;
        }
        assert_eq!(self.attachment.ending(), None);
        self.attachment.detach().unwrap();
        switches
    }

    fn observe(&mut self) {
        self.is_observing = !self.is_observing;
        self.apart.clear();
        self.attachment.set_observing(self.is_observing).unwrap();
    }

    fn change_policy(&mut self) {
        let policy = self.policies[self.below(self.policies.len())];
        self.attachment
            .set_policy(&policy.parse().unwrap())
            .unwrap();
    }

    fn switch_one(&mut self) {
        let flows = self.attachment.flows().unwrap();
        let cookie = flows[self.below(flows.len())].cookie;
        let is_free = self.below(2) == 0;
        assert_eq!(self.attachment.set_free(&[cookie], is_free).unwrap(), 1);
        match is_free == self.is_observing {
            true => self.apart.remove(&cookie),
            false => self.apart.insert(cookie),
        };
    }

    fn check(&self) {
        let flows = self.attachment.flows().unwrap();
        assert_eq!(flows.len(), CONNECTIONS);
        let is_as_meant = |flow: &&Flow| {
            let is_free = self.is_observing != self.apart.contains(&flow.cookie);
            flow.is_clamped != is_free
        };
        let wrong = flows.iter().find(|flow| !is_as_meant(flow));
        assert!(wrong.is_none(), "{}: {wrong:?}", self.attachment.policy());
    }

    /// A number below that, from a generator of Knuth's (MMIX).
    fn below(&mut self, bound: usize) -> usize {
        let next = self.random.wrapping_mul(6_364_136_223_846_793_005);
        self.random = next.wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % bound
    }
}

fn attach(cable: &Cable, policy: &str) -> Attachment {
    let policy = policy.parse().unwrap();
    Attachment::attach(&cable.cgroup, &policy, AttachOptions::default()).unwrap()
}
