// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The packet interval variations that some laws go by, without the law.

use crate::native::{NativePairs, Variations};
use crate::policy::Policy;
use crate::registry::Native;

/// Pairs of packets of one connection, by the law's own code.
#[derive(Debug, Clone)]
pub struct PacketPairs {
    policy: Policy,
    native: &'static NativePairs,
    /// As 64-bit words, so that the C struct is aligned.
    pairs: Vec<u64>,
}

impl PacketPairs {
    /// None if the policy's law goes by no pairs; its parameters say what one is.
    pub fn new(policy: Policy) -> Option<Self> {
        let Native::Receiver(law) = policy.law().native else {
            return None;
        };
        let native = law.pairs?;
        Some(Self {
            policy,
            native,
            pairs: vec![0; (native.state_bytes as usize).div_ceil(8)],
        })
    }

    /// Takes an arriving data segment. *Units:* `now_us` in µs, `tsval` in the sender's ticks.
    pub fn on_segment(&mut self, now_us: u64, tsval: u32) {
        // SAFETY: the struct began zeroed, is aligned to 8 and as large as it says; the
        // values are those of its law.
        unsafe {
            (self.native.on_segment)(
                self.pairs.as_mut_ptr().cast(),
                now_us,
                tsval,
                self.policy.values().as_ptr().cast(),
            );
        }
    }

    /// Ends a round trip. *Returns:* what its variations amount to.
    pub fn end_round(&mut self) -> Variations {
        let mut variations = Variations::default();
        // SAFETY: as in `on_segment`.
        unsafe { (self.native.end_round)(self.pairs.as_mut_ptr().cast(), &raw mut variations) };
        variations
    }
}

/// The pairs of a connection, round trip by round trip.
#[derive(Debug, Clone)]
pub struct PairRounds {
    pairs: PacketPairs,
    /// Our clock when the round trip began.
    began_ts: Option<u32>,
}

impl PairRounds {
    /// None if the policy's law goes by no pairs.
    pub fn new(policy: Policy) -> Option<Self> {
        Some(Self {
            pairs: PacketPairs::new(policy)?,
            began_ts: None,
        })
    }

    /// Takes an arriving data segment, which ends a round trip if it echoes a later time than
    /// that of its beginning. *Units:* `now_us` in µs; `local_ts` in our ticks, as in `tsecr`.
    /// *Returns:* the variations of a round trip that is over, if there were any.
    pub fn on_segment(
        &mut self,
        now_us: u64,
        local_ts: u32,
        (tsval, tsecr): (u32, u32),
    ) -> Option<Variations> {
        let began = *self.began_ts.get_or_insert(local_ts);
        // The clock wraps.
        let is_over = began.wrapping_sub(tsecr).cast_signed() < 0;
        let ended = is_over.then(|| {
            self.began_ts = Some(local_ts);
            self.pairs.end_round()
        });
        self.pairs.on_segment(now_us, tsval);
        ended.filter(|variations| variations.all > 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs() -> PacketPairs {
        PacketPairs::new("vulture".parse().unwrap()).unwrap()
    }

    /// Packets each 4 ms by a clock of 4 ms, for three seconds, after which the tick is known,
    /// and then for one in which each is later than the one before by `more_us`.
    fn after_a_second(more_us: u64) -> Variations {
        let mut pairs = pairs();
        let mut now_us = 1_000_000;
        for packet in 0..1_000 {
            now_us += 4_000 + if packet < 750 { 0 } else { more_us };
            if packet == 750 {
                pairs.end_round();
            }
            pairs.on_segment(now_us, packet);
        }
        pairs.end_round()
    }

    #[test]
    fn intervals_that_grow_give_positive_variations_and_equal_ones_none() {
        let steady = after_a_second(0);
        assert!(steady.all > 100, "{steady:?}");
        assert_eq!((steady.sum_jiffies, steady.positive), (0, 0));
        let growing = after_a_second(1_000);
        assert!(growing.positive > growing.all / 2, "{growing:?}");
        assert!(growing.sum_jiffies > 0, "{growing:?}");
    }

    #[test]
    fn a_round_trip_that_is_over_is_forgotten() {
        let mut pairs = pairs();
        for packet in 0..100_u32 {
            pairs.on_segment(u64::from(packet) * 5_000, packet);
        }
        assert!(pairs.end_round().all > 0);
        assert_eq!(pairs.end_round(), Variations::default());
    }

    #[test]
    fn a_round_trip_ends_with_the_first_echo_of_a_later_time() {
        let mut rounds = PairRounds::new("vulture".parse().unwrap()).unwrap();
        // A packet each 5 ms; what it echoes is 100 ms old; the clock wraps on the way.
        let began_ts = u32::MAX - 150;
        let ended: Vec<u32> = (0..100_u32)
            .filter(|packet| {
                let local_ts = began_ts.wrapping_add(packet * 5);
                let echoes = (packet * 5, local_ts.wrapping_sub(100));
                let now_us = u64::from(*packet) * 5_000 + 1_000_000;
                rounds.on_segment(now_us, local_ts, echoes).is_some()
            })
            .collect();
        // 105, 210, 315, 420 ms after the beginning.
        assert_eq!(ended, [21, 42, 63, 84]);
    }

    #[test]
    fn other_laws_have_no_pairs() {
        assert!(PacketPairs::new("ebb".parse().unwrap()).is_none());
        assert!(PairRounds::new("ebb".parse().unwrap()).is_none());
    }
}
