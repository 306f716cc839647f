// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How often to look, and to search.

use std::time::{Duration, Instant};

use ebb_host::clock::thread_processor_time;

/// Looks in one round trip, while they are few in all.
const LOOKS_PER_RTT: u32 = 16;
/// The shortest and the longest time between two looks at a connection that moves.
const SHORTEST: Duration = Duration::from_millis(4);
const LONGEST: Duration = Duration::from_millis(50);
/// A connection that does not move is looked at so often at the least.
const IDLE_LONGEST: Duration = Duration::from_millis(100);
/// and so often by a thread that a program did not ask for and that is to sleep.
const ASLEEP_LONGEST: Duration = Duration::from_millis(500);
/// Looks at all connections together, per second: each costs some microseconds.
const LOOKS_PER_S: u32 = 1_000;

/// New connections are looked for so often while there is little to search.
const SEARCH_EVERY: Duration = Duration::from_millis(25);
/// A search that cost much is not repeated before so many times that,
const SEARCH_SHARE: u32 = 250;
/// but after this: until it is found a transfer does not yield.
const SEARCH_LONGEST: Duration = Duration::from_millis(500);

/// A search for new connections, which tells when the next is due by what it cost.
///
/// What counts is processor time: on a busy machine most of the time that a search takes is
/// other programs' turn, and connections would not be found for a minute.
#[derive(Debug)]
pub struct Search {
    began: Duration,
}

impl Search {
    /// Begins one, in this thread.
    pub fn begin() -> Self {
        Self {
            began: thread_processor_time(),
        }
    }

    /// When the next is due, now that this one is over.
    pub fn due_again(self) -> Instant {
        let cost = thread_processor_time().saturating_sub(self.began);
        Instant::now() + until_next_search(cost)
    }
}

fn until_next_search(cost: Duration) -> Duration {
    (cost * SEARCH_SHARE).clamp(SEARCH_EVERY, SEARCH_LONGEST)
}

/// Time to the next look at a connection.
///
/// `moving` connections share the looks; one of them has `rtt_us` as its round trip and did
/// not move for `idle_looks` looks.
pub(crate) fn until_next_look(
    rtt_us: u32,
    moving: usize,
    idle_looks: u32,
    may_sleep: bool,
) -> Duration {
    let rtt = Duration::from_micros(rtt_us.into());
    let fair = Duration::from_secs(1) / LOOKS_PER_S * u32::try_from(moving).unwrap_or(u32::MAX);
    let wanted = (rtt / LOOKS_PER_RTT).clamp(SHORTEST, LONGEST).max(fair);
    if idle_looks < 4 {
        return wanted;
    }
    let longest = match may_sleep {
        true => ASLEEP_LONGEST,
        false => IDLE_LONGEST,
    };
    let slower = wanted.saturating_mul(1 << (idle_looks - 3).min(7));
    slower.min(longest.max(fair))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_connections_are_looked_at_many_times_in_a_round_trip() {
        assert_eq!(
            until_next_look(100_000, 1, 0, false),
            Duration::from_micros(6_250)
        );
        assert_eq!(until_next_look(1_000, 1, 0, false), SHORTEST);
        assert_eq!(until_next_look(3_000_000, 1, 0, false), LONGEST);
    }

    #[test]
    fn many_connections_share_a_fixed_number_of_looks() {
        // 1000 looks a second, 100 connections: each ten times a second.
        assert_eq!(
            until_next_look(100_000, 100, 0, false),
            Duration::from_millis(100)
        );
    }

    #[test]
    fn a_search_is_repeated_by_what_it_cost() {
        assert_eq!(until_next_search(Duration::ZERO), SEARCH_EVERY);
        let cost = Duration::from_micros(400);
        assert_eq!(until_next_search(cost), Duration::from_millis(100));
        assert_eq!(until_next_search(Duration::from_secs(1)), SEARCH_LONGEST);
    }

    #[test]
    fn a_search_that_was_held_up_cost_nothing() {
        let search = Search::begin();
        // As if others had the processor.
        std::thread::sleep(Duration::from_millis(100));
        let over = Instant::now();
        let next = search.due_again();
        // A hundred milliseconds 250 times would be 25 s.
        assert!(next < over + SEARCH_LONGEST, "{:?}", next - over);
        let search = Search::begin();
        while thread_processor_time() - search.began < Duration::from_millis(5) {}
        let over = Instant::now();
        assert!(search.due_again() >= over + SEARCH_LONGEST);
    }

    #[test]
    fn idle_connections_are_looked_at_less_often_but_not_never() {
        let idle = until_next_look(100_000, 1, 100, false);
        assert_eq!(idle, IDLE_LONGEST);
        assert!(until_next_look(100_000, 1, 5, false) < idle);
        assert_eq!(until_next_look(1_000, 1, 100, true), ASLEEP_LONGEST);
        assert_eq!(until_next_look(1_000, 1, 3, true), SHORTEST);
    }
}
