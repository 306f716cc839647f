// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What all connections of a policy have together at the least: what was asked for, or what a
//! deadline needs if that is more.

use std::time::{Duration, Instant};

use ebb_algorithms::FLOOR_UNBOUND_BYTES_PER_S;
use ebb_host::clock::unix_time;

use crate::flow::FlowView;
use crate::policies::{Policies, floor_bytes_per_s};
use crate::pursuit::{Pursued, Pursuit};

/// What a deadline needs is reckoned so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The floor of one policy; its backend applies it.
#[derive(Debug)]
pub(crate) struct Floor {
    /// *Units:* bytes per second.
    minimum: u64,
    pursuit: Option<Pursuit>,
    look_due: Instant,
    /// What it was last. *Units:* bytes per second.
    now: u64,
}

impl Floor {
    /// Nothing has come under these policies yet.
    pub(crate) fn new(policies: &Policies) -> Self {
        let mut floor = Self {
            minimum: 0,
            pursuit: None,
            look_due: Instant::now(),
            now: 0,
        };
        floor.follow(policies, 0);
        floor
    }

    /// Goes on by these policies. What a deadline that is the same has seen is not forgotten.
    pub(crate) fn follow(&mut self, policies: &Policies, seen_bytes: u64) {
        self.minimum = floor_bytes_per_s(policies.minimum);
        if self.pursuit.as_ref().map(Pursuit::deadline) != policies.deadline {
            let begin = |deadline| Pursuit::new(deadline, unix_time().as_secs_f64(), seen_bytes);
            self.pursuit = policies.deadline.map(begin);
        }
        self.take_note(seen_bytes);
    }

    /// What has come until now came before these policies. *Units:* bytes.
    pub(crate) fn begin_after(&mut self, seen_bytes: u64) {
        let deadline = self.pursuit.as_ref().map(Pursuit::deadline);
        self.pursuit = deadline.map(|it| Pursuit::new(it, unix_time().as_secs_f64(), seen_bytes));
    }

    /// Takes note of what has come under the policies, if that is due; answers whether the floor is
    /// another one. *Units:* bytes.
    pub(crate) fn look(&mut self, seen_bytes: impl FnOnce() -> u64) -> bool {
        let before = self.now;
        if self.pursuit.is_some() && Instant::now() >= self.look_due {
            self.take_note(seen_bytes());
        }
        self.now != before
    }

    /// The same, due or not. *Units:* bytes.
    pub(crate) fn take_note(&mut self, seen_bytes: u64) {
        self.look_due = Instant::now() + LOOK_EVERY;
        let pursuit = self.pursuit.as_mut();
        let needed = pursuit.map_or(0, |it| it.look(unix_time().as_secs_f64(), seen_bytes));
        self.now = self.minimum.max(needed);
    }

    /// *Units:* bytes per second; 0: there is none.
    pub(crate) fn bytes_per_s(&self) -> u64 {
        self.now
    }

    /// How it stands with the deadline, if there is one.
    pub(crate) fn pursued(&self) -> Option<Pursued> {
        self.pursuit.as_ref().map(Pursuit::pursued)
    }

    /// Says of connections what their laws do not know: that nothing holds them back.
    pub(crate) fn mark(&self, flows: &mut [FlowView]) {
        if self.now < FLOOR_UNBOUND_BYTES_PER_S {
            return;
        }
        for flow in flows.iter_mut().filter(|flow| flow.is_acting) {
            "late".clone_into(&mut flow.mode);
            flow.reason.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::Backend;
    use crate::deadline::{By, Deadline};
    use crate::policies::{Minimum, Wanted};

    fn policies(minimum: &str, deadline: Option<Deadline>) -> Policies {
        let wanted = Wanted {
            minimum: minimum.parse::<Minimum>().unwrap().0,
            deadline,
            ..Wanted::default()
        };
        Policies::new(&wanted, Backend::Kernel).unwrap()
    }

    #[test]
    fn the_larger_one_counts_and_another_minimum_leaves_the_deadline_alone() {
        let late = Deadline {
            by: By::At(unix_time().as_secs() + 1_000),
            size_bytes: 1_000,
        };
        let mut floor = Floor::new(&policies("2mbit", Some(late)));
        assert_eq!(floor.bytes_per_s(), 250_000);
        assert!(!floor.look(|| panic!("it is not due")));
        floor.look_due = Instant::now();
        assert!(!floor.look(|| 100));
        floor.follow(&policies("1mbit", Some(late)), 100);
        assert_eq!(floor.bytes_per_s(), 125_000);
        assert_eq!(floor.pursued().unwrap().done_bytes, 100);
        let soon = Deadline {
            by: By::At(unix_time().as_secs() + 10),
            size_bytes: 1 << 40,
        };
        floor.follow(&policies("none", Some(soon)), 100);
        assert_eq!(floor.pursued().unwrap().done_bytes, 0);
        floor.begin_after(5_000);
        floor.take_note(5_100);
        assert_eq!(floor.pursued().unwrap().done_bytes, 100);
        floor.follow(&policies("none", None), 100);
        assert_eq!((floor.bytes_per_s(), floor.pursued()), (0, None));
    }
}
