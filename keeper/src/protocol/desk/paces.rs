// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often each user may ask.

use std::collections::HashMap;
use std::time::{Duration, Instant};

/// So much may be asked for at once by who has not asked for a while.
const AHEAD: Duration = Duration::from_secs(1);
/// Nobody has more than this part of the time of who answers.
const LEAST_SHARE: u32 = 5;
/// More users than these are looked through for those who need not be remembered.
const WORTH_FORGETTING: usize = 256;

/// Up to which moment each user has used what is its own.
#[derive(Debug, Default)]
pub(super) struct Paces(HashMap<u32, Instant>);

impl Paces {
    /// When a user may ask again; none: now.
    pub(super) fn due(&self, uid: u32) -> Option<Instant> {
        let due = *self.0.get(&uid)? - AHEAD;
        (due > Instant::now()).then_some(due)
    }

    /// A user has asked for something, which took so long.
    pub(super) fn note(&mut self, uid: u32, per_second: u32, took: Duration) {
        let now = Instant::now();
        if self.0.len() > WORTH_FORGETTING {
            self.0.retain(|_, used_until| *used_until > now);
        }
        let cost = (took * LEAST_SHARE).max(Duration::from_secs(1) / per_second.max(1));
        let used_until = self.0.entry(uid).or_insert(now);
        *used_until = (*used_until).max(now) + cost;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_asks_often_or_for_much_waits_and_nobody_else_does() {
        let mut paces = Paces::default();
        for _ in 0..20 {
            assert_eq!(paces.due(7), None);
            paces.note(7, 20, Duration::ZERO);
        }
        paces.note(7, 20, Duration::ZERO);
        let soon = paces.due(7).unwrap();
        assert!(soon <= Instant::now() + Duration::from_millis(50));
        assert_eq!(paces.due(8), None);
        paces.note(8, 20, Duration::from_secs(1));
        let late = paces.due(8).unwrap();
        assert!(late > Instant::now() + Duration::from_millis(3_500));
    }

    #[test]
    fn users_who_have_gone_are_forgotten() {
        let mut paces = Paces::default();
        for uid in 0..10_000 {
            paces.note(uid, u32::MAX, Duration::ZERO);
        }
        assert!(paces.0.len() <= WORTH_FORGETTING + 2, "{}", paces.0.len());
    }
}
