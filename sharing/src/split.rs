// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::rates::part;

/// A connection that receives such a part of its limit is held by it. *Units:* 1/1 000 000.
const HELD_PPM: u32 = 800_000;
/// What a connection that does not is left, of what it receives: it may want more at any time.
/// *Units:* 1/1 000 000.
const HEADROOM_PPM: u32 = 1_250_000;

/// The one limit for each connection of a member with which they receive its target together:
/// what some do not use is for the others.
///
/// `limit_bits_per_s` is the limit that they were under while they received that much; none if
/// they were free. *Units:* bit/s. *Returns:* the whole target if there is no connection.
pub fn split(target: u64, limit_bits_per_s: Option<u64>, received_bits_per_s: &[u64]) -> u64 {
    let need = |rate: &u64| match limit_bits_per_s {
        Some(limit) if *rate < part(limit, HELD_PPM) => part(*rate, HEADROOM_PPM),
        _ => u64::MAX,
    };
    let mut needs: Vec<u64> = received_bits_per_s.iter().map(need).collect();
    needs.sort_unstable();
    let (mut left, count) = (target, needs.len() as u64);
    for (place, need) in (0..).zip(&needs) {
        let share = left / (count - place);
        if *need >= share {
            return share;
        }
        left -= need;
    }
    // Nobody is held: any of them may have what is left over.
    left.saturating_add(needs.last().copied().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_connections_equal_parts_until_it_is_known_what_they_take() {
        assert_eq!(split(900, None, &[0, 500, 100]), 300);
        assert_eq!(split(900, Some(300), &[300, 290, 260]), 300);
        assert_eq!(split(900, Some(300), &[]), 900);
    }

    #[test]
    fn leaves_to_others_what_one_does_not_use() {
        // 40 with a quarter more is 50; 950 are left for two.
        assert_eq!(split(1_000, Some(333), &[40, 333, 333]), 475);
        // It wants more: all are held again.
        assert_eq!(split(1_000, Some(475), &[475, 475, 460]), 333);
    }

    #[test]
    fn does_not_hold_who_takes_less_than_there_is() {
        // 50 and 100 of 1000: the second may take all but what the first is left.
        assert_eq!(split(1_000, Some(500), &[40, 80]), 950);
    }
}
