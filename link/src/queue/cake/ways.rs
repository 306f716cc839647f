// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A table by hash whose sets have eight places: two keys share a place only if eight others
//! of their set are in use.

/// Places of a set.
const WAYS: usize = 8;

/// Which key has which place. Whether a place is in use, its owner knows.
pub(super) struct Ways {
    keys: Vec<Option<u32>>,
    hash_key: u64,
}

impl Ways {
    /// A table of so many places, a multiple of eight.
    pub(super) fn new(places: usize, hash_key: u64) -> Self {
        Self {
            keys: vec![None; places],
            hash_key,
        }
    }

    /// The place of a key: its own; else a free one of its set; else that of another key.
    pub(super) fn place(&mut self, key: u32, is_in_use: impl Fn(usize) -> bool) -> usize {
        let first = self.direct(key);
        let set = first - first % WAYS;
        let places = || (0..WAYS).map(|way| set + (first + way) % WAYS);
        let own = places().find(|place| self.keys[*place] == Some(key));
        let place = own
            .or_else(|| places().find(|place| !is_in_use(*place)))
            .unwrap_or(first);
        self.keys[place] = Some(key);
        place
    }

    /// The place of a key whose set is empty.
    fn direct(&self, key: u32) -> usize {
        // Multiply and fold twice: every bit of both keys reaches the high bits.
        let mut mixed = (u64::from(key) ^ self.hash_key).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        mixed = (mixed ^ mixed >> 32).wrapping_mul(0xd6e8_feb8_6659_fd93);
        // Fits: a product of two numbers below 2^32, shifted by 32.
        (((mixed >> 32) * self.keys.len() as u64) >> 32) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_keeps_its_place_and_shares_none_while_its_set_has_room() {
        let mut ways = Ways::new(8, 7);
        let mut used = [false; 8];
        for key in 100..108 {
            let place = ways.place(key, |place| used[place]);
            assert!(!used[place], "{key}");
            used[place] = true;
            assert_eq!(ways.place(key, |place| used[place]), place);
        }
        // The ninth takes a place over, which is then its own.
        let place = ways.place(108, |place| used[place]);
        assert_eq!(ways.place(108, |place| used[place]), place);
        assert_eq!(place, ways.direct(108));
    }

    #[test]
    fn a_place_that_is_free_again_is_given_to_another() {
        let mut ways = Ways::new(8, 7);
        let place = ways.place(1, |_| false);
        let others: Vec<usize> = (2..9)
            .map(|key| ways.place(key, |taken| taken == place))
            .collect();
        assert!(!others.contains(&place));
    }

    #[test]
    fn hardly_any_of_a_hundred_flows_collide_where_plain_hashing_has_five() {
        let collisions = |seed| {
            let mut ways = Ways::new(1_024, seed);
            let mut used = vec![false; 1_024];
            let mut count = 0;
            for flow in 0..100 {
                let place = ways.place(flow, |place| used[place]);
                count += u32::from(used[place]);
                used[place] = true;
            }
            count
        };
        // Nine of 100 in one of 128 sets: C(100, 9) / 128^9 * 128 is 2 in 10^5.
        assert_eq!((1..=200).map(collisions).sum::<u32>(), 0);
    }
}
