// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What happens when: a heap of alarms, the earliest first.

use ebb_link::Nanos;

/// Who is woken. *Shape:* the kind in the upper bits, the place in its list below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entity {
    /// A link has a packet to deliver.
    Link(u32),
    /// A TCP endpoint has a timer.
    Endpoint(u32),
    /// A flow's application has a timer, or starts or stops.
    Flow(u32),
    /// It is time to read all meters.
    Sampler,
}

const PLACE_BITS: u32 = 22;
const ENTITY_BITS: u32 = PLACE_BITS + 2;
/// How many entities of one kind there may be.
pub(crate) const MAX_PLACES: u32 = 1 << PLACE_BITS;

impl Entity {
    fn code(self) -> u128 {
        let (kind, place) = match self {
            Self::Link(place) => (0, place),
            Self::Endpoint(place) => (1, place),
            Self::Flow(place) => (2, place),
            Self::Sampler => (3, 0),
        };
        debug_assert!(place < MAX_PLACES);
        u128::from(kind << PLACE_BITS | place)
    }

    fn from_code(code: u32) -> Self {
        let place = code & (MAX_PLACES - 1);
        match (code >> PLACE_BITS) & 3 {
            0 => Self::Link(place),
            1 => Self::Endpoint(place),
            2 => Self::Flow(place),
            _ => Self::Sampler,
        }
    }
}

/// Alarms in order of time; those of one instant in the order in which they were set.
///
/// Links have a heap of their own: their alarms come and go with every packet, and few are
/// set at a time, while each endpoint has one or two that mostly wait for long.
#[derive(Default)]
pub(crate) struct Schedule {
    links: Heap,
    others: Heap,
    /// Alarms set so far; 2^40 are a day of computing.
    number: u64,
}

impl Schedule {
    /// Wakes the entity at this time.
    #[inline]
    pub(crate) fn set(&mut self, at: Nanos, entity: Entity) {
        let order = u128::from(self.number) << ENTITY_BITS;
        self.number += 1;
        let key = u128::from(at.0) << 64 | order | entity.code();
        match entity {
            Entity::Link(_) => self.links.add(key),
            _ => self.others.add(key),
        }
    }

    /// Takes the alarm that is due first, unless it is later than `end`.
    #[inline]
    pub(crate) fn take(&mut self, end: Nanos) -> Option<(Nanos, Entity)> {
        let (link, other) = (self.links.first(), self.others.first());
        let key = link.min(other);
        let at = Nanos((key >> 64) as u64);
        if at > end || key == NONE {
            return None;
        }
        if link < other {
            self.links.take_first();
        } else {
            self.others.take_first();
        }
        let code = key as u32 & ((1 << ENTITY_BITS) - 1);
        Some((at, Entity::from_code(code)))
    }
}

/// No alarm: later than any.
const NONE: u128 = u128::MAX;

/// A heap of four children a node, each alarm one 128-bit number: the time, then a running
/// number, then the entity.
///
/// The place of the alarm that was taken last stays open until the next is set, which mostly
/// follows at once: one walk through the heap instead of two.
#[derive(Default)]
struct Heap {
    keys: Vec<u128>,
    /// Whether `keys[0]` was taken.
    has_hole: bool,
}

impl Heap {
    #[inline(never)]
    fn add(&mut self, key: u128) {
        if self.has_hole {
            self.has_hole = false;
            self.sift_down(key);
        } else {
            self.keys.push(key);
            self.sift_up(key);
        }
    }

    /// The least; [`NONE`] if there is none.
    #[inline]
    fn first(&mut self) -> u128 {
        if self.has_hole {
            self.close_hole();
        }
        self.keys.first().copied().unwrap_or(NONE)
    }

    #[inline]
    fn take_first(&mut self) {
        self.has_hole = true;
    }

    #[inline(never)]
    fn close_hole(&mut self) {
        self.has_hole = false;
        if let Some(last) = self.keys.pop()
            && !self.keys.is_empty()
        {
            self.sift_down(last);
        }
    }

    /// Puts `key` in the place of the first one, then where it belongs.
    #[inline]
    fn sift_down(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut place = 0;
        loop {
            let first = 4 * place + 1;
            let (offset, least) = match keys.get(first..) {
                Some([one, two, three, four, ..]) => {
                    let left = lesser((0, *one), (1, *two));
                    lesser(left, lesser((2, *three), (3, *four)))
                }
                Some([one, rest @ ..]) => {
                    let numbered = rest.iter().enumerate();
                    numbered.fold((0, *one), |least, (index, child)| {
                        lesser(least, (index + 1, *child))
                    })
                }
                _ => break,
            };
            if key <= least {
                break;
            }
            keys[place] = least;
            place = first + offset;
        }
        keys[place] = key;
    }

    /// Moves the last one, which is `key`, up to where it belongs.
    #[inline]
    fn sift_up(&mut self, key: u128) {
        let keys = self.keys.as_mut_slice();
        let mut place = keys.len() - 1;
        while place > 0 {
            let parent = (place - 1) / 4;
            if keys[parent] <= key {
                break;
            }
            keys[place] = keys[parent];
            place = parent;
        }
        keys[place] = key;
    }
}

#[inline(always)]
fn lesser(first: (usize, u128), second: (usize, u128)) -> (usize, u128) {
    if second.1 < first.1 { second } else { first }
}

/// The alarms of one entity that wakes at its earliest deadline, which moves.
///
/// A deadline that moves away leaves its alarm where it is: going off too early, it is
/// set again. One that comes nearer sets a second alarm and keeps the first for later.
/// So most movements cost nothing.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Alarm {
    /// The alarms that are set, the earlier first; `NEVER` if there is none.
    set: [Nanos; 2],
}

const NEVER: Nanos = Nanos(u64::MAX);

impl Default for Alarm {
    fn default() -> Self {
        Self {
            set: [NEVER, NEVER],
        }
    }
}

impl Alarm {
    /// Makes sure that the entity wakes at the deadline or before it.
    #[inline]
    pub(crate) fn at(&mut self, deadline: Nanos, entity: Entity, schedule: &mut Schedule) {
        if deadline < self.set[0] {
            self.set = [deadline, self.set[0]];
            schedule.set(deadline, entity);
        }
    }

    /// Takes note that an alarm went off; false if it was given up long ago.
    #[inline]
    pub(crate) fn went_off(&mut self, at: Nanos) -> bool {
        if at == self.set[0] {
            self.set = [self.set[1], NEVER];
            return true;
        }
        if at == self.set[1] {
            self.set[1] = NEVER;
            return true;
        }
        false
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn gives_alarms_of_one_instant_in_the_order_in_which_they_were_set() {
        let mut schedule = Schedule::default();
        for place in [3, 1, 2] {
            schedule.set(Nanos(7), Entity::Flow(place));
        }
        schedule.set(Nanos(6), Entity::Sampler);
        let end = Nanos(100);
        assert_eq!(schedule.take(end), Some((Nanos(6), Entity::Sampler)));
        assert_eq!(schedule.take(end), Some((Nanos(7), Entity::Flow(3))));
        schedule.set(Nanos(7), Entity::Endpoint(9));
        assert_eq!(schedule.take(end), Some((Nanos(7), Entity::Flow(1))));
        assert_eq!(schedule.take(end), Some((Nanos(7), Entity::Flow(2))));
        assert_eq!(schedule.take(end), Some((Nanos(7), Entity::Endpoint(9))));
        assert_eq!(schedule.take(end), None);
    }

    #[test]
    fn keeps_what_is_due_after_the_end() {
        let mut schedule = Schedule::default();
        schedule.set(Nanos(8), Entity::Link(0));
        assert_eq!(schedule.take(Nanos(7)), None);
        assert_eq!(schedule.take(Nanos(8)), Some((Nanos(8), Entity::Link(0))));
    }

    #[test]
    fn wakes_once_for_a_deadline_that_moves_away_and_comes_back() {
        let mut schedule = Schedule::default();
        let mut alarm = Alarm::default();
        let entity = Entity::Endpoint(0);
        for deadline in [50, 60, 20, 55] {
            alarm.at(Nanos(deadline), entity, &mut schedule);
        }
        let mut woken = Vec::new();
        while let Some((at, _)) = schedule.take(Nanos(100)) {
            assert!(alarm.went_off(at));
            woken.push(at.0);
        }
        assert_eq!(woken, [20, 50]);
    }

    proptest! {
        #[test]
        fn gives_what_sorting_gives(steps in prop::collection::vec((0_u64..50, any::<bool>()), 0..400)) {
            let entity = |place: u32| match place % 3 {
                0 => Entity::Endpoint(place),
                _ => Entity::Link(place),
            };
            let mut schedule = Schedule::default();
            let mut expected: Vec<(u64, u32)> = Vec::new();
            for (number, (time, is_taking)) in steps.into_iter().enumerate() {
                let place = u32::try_from(number).unwrap();
                if is_taking {
                    let least = expected.iter().min().copied();
                    expected.retain(|entry| Some(*entry) != least);
                    let taken = schedule.take(Nanos(1_000));
                    prop_assert_eq!(
                        taken,
                        least.map(|(time, place)| (Nanos(time), entity(place)))
                    );
                } else {
                    expected.push((time, place));
                    schedule.set(Nanos(time), entity(place));
                }
            }
        }
    }
}
