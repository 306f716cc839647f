// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::collections::VecDeque;

use ebb_link::Nanos;
use ebb_scenario::{Stream, Web};

use super::Object;
use crate::traffic::draw::draw;
use crate::{ConnectionId, Host};

/// A page of which objects are missing.
struct Page {
    number: u32,
    opened_at: Nanos,
    missing: u32,
}

/// Somebody at a browser.
pub(super) struct Person {
    spec: Web,
    sizes: Stream,
    gaps: Stream,
    thoughts: Stream,
    /// Pages that are not there yet. *Shape:* in order of number.
    pages: Vec<Page>,
    /// Pages that were opened.
    opened: u32,
    /// Objects for which there is no connection yet.
    pub(super) waiting: VecDeque<Object>,
    /// Connections that are open and have nothing to do.
    pub(super) idle: Vec<ConnectionId>,
    /// Connections in use or idle.
    pub(super) connections: u32,
}

impl Person {
    pub(super) fn new(number: u32, spec: Web, host: &Host<'_>) -> Self {
        Self::with_streams(spec, |purpose| host.stream(&format!("{purpose} {number}")))
    }

    fn with_streams(spec: Web, stream: impl Fn(&str) -> Stream) -> Self {
        Self {
            spec,
            sizes: stream("web sizes"),
            gaps: stream("web gaps"),
            thoughts: stream("web thoughts"),
            pages: Vec::new(),
            opened: 0,
            waiting: VecDeque::new(),
            idle: Vec::new(),
            connections: 0,
        }
    }

    /// How long until the next page.
    pub(super) fn think(&mut self) -> Nanos {
        Nanos(draw(self.spec.think, &mut self.thoughts))
    }

    /// Opens the next page. *Returns:* its number; gaps before its objects, the first has
    /// none, and their sizes.
    pub(super) fn open_page(&mut self, now: Nanos) -> (u32, Vec<(Nanos, u64)>) {
        let count = self.spec.objects.max(1);
        self.opened += 1;
        self.pages.push(Page {
            number: self.opened,
            opened_at: now,
            missing: count,
        });
        let objects = (0..count)
            .map(|number| {
                let gap = if number == 0 {
                    Nanos::ZERO
                } else {
                    Nanos(draw(self.spec.object_gap, &mut self.gaps))
                };
                (gap, draw(self.spec.object_bytes, &mut self.sizes).max(1))
            })
            .collect();
        (self.opened, objects)
    }

    /// One object more of a page is there; with the last one answers when the page was wanted.
    pub(super) fn got_object(&mut self, page: u32) -> Option<Nanos> {
        let place = self.pages.iter().position(|open| open.number == page)?;
        let open = &mut self.pages[place];
        open.missing -= 1;
        if open.missing > 0 {
            return None;
        }
        Some(self.pages.remove(place).opened_at)
    }
}

#[cfg(test)]
mod tests {
    use ebb_scenario::{Connections, Draw};

    use super::*;
    use ebb_scenario::Seeds;

    fn person(seed: u64, objects: u32) -> Person {
        let spec = Web {
            sessions: 1,
            objects,
            object_bytes: Draw::Pareto {
                mean: 12_000,
                shape: 1.2,
                max: None,
            },
            request_bytes: 400,
            think: Draw::Exponential {
                mean: Nanos::from_secs(1).0,
            },
            waits: true,
            object_gap: Draw::Exponential {
                mean: Nanos::from_millis(1).0,
            },
            connections: Connections::PerObject,
            parallel: 6,
        };
        Person::with_streams(spec, |purpose| Seeds::new(seed).stream(purpose, "web"))
    }

    #[test]
    fn pages_have_as_many_objects_as_asked_for_with_gaps_between() {
        let mut person = person(1, 10);
        let (number, page) = person.open_page(Nanos(5));
        assert_eq!(page.len(), 10);
        assert_eq!(page[0].0, Nanos::ZERO);
        assert!(page[1..].iter().all(|(gap, _)| *gap > Nanos::ZERO));
        for _ in 0..9 {
            assert_eq!(person.got_object(number), None);
        }
        assert_eq!(person.got_object(number), Some(Nanos(5)));
        assert_eq!(person.got_object(number), None, "no page is open");
    }

    #[test]
    fn pages_that_are_open_at_the_same_time_are_counted_apart() {
        let mut person = person(1, 2);
        let (first, _) = person.open_page(Nanos(5));
        let (second, _) = person.open_page(Nanos(7));
        assert_eq!(person.got_object(first), None);
        assert_eq!(person.got_object(second), None);
        assert_eq!(person.got_object(second), Some(Nanos(7)));
        assert_eq!(person.got_object(first), Some(Nanos(5)));
    }

    #[test]
    fn gaps_and_thoughts_have_the_means_of_the_paper() {
        let mut person = person(1, 101);
        let mut gap_ns = 0;
        let mut thought_ns = 0;
        for _ in 0..100 {
            gap_ns += person
                .open_page(Nanos::ZERO)
                .1
                .iter()
                .map(|(gap, _)| gap.0)
                .sum::<u64>();
        }
        for _ in 0..10_000 {
            thought_ns += person.think().0;
        }
        // 10 000 each: one sigma of the mean is 1 %.
        assert!((gap_ns as f64 / 1e4 / 1e6 - 1.0).abs() < 0.05);
        assert!((thought_ns as f64 / 1e4 / 1e9 - 1.0).abs() < 0.05);
    }

    #[test]
    fn wants_the_same_whenever_the_network_lets_it() {
        let (mut fast, mut slow) = (person(1, 10), person(1, 10));
        for number in 0..20 {
            let pages = [
                fast.open_page(Nanos(number)),
                slow.open_page(Nanos(number * 1_000)),
            ];
            assert_eq!(pages[0], pages[1]);
            assert_eq!(fast.think(), slow.think());
            // Thoughts that are drawn earlier or later change no page.
            slow.think();
            fast.think();
        }
        assert_ne!(
            person(1, 10).open_page(Nanos::ZERO),
            person(2, 10).open_page(Nanos::ZERO)
        );
    }
}
