// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Probability;
use rand::{Rng, RngExt, SeedableRng};
use rand_xoshiro::Xoshiro256PlusPlus;

/// Flips one bit of some packets, as bad memory in a router does. The receiver's checksums find
/// it: to TCP it is a loss.
pub(super) struct Corruption {
    share: Probability,
    random: Xoshiro256PlusPlus,
    pub(super) corrupted_pkts: u64,
}

impl Corruption {
    pub(super) fn new(share: Probability, seed: u64) -> Self {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(seed);
        // The link has the same seed, and its draws lie before that.
        random.long_jump();
        Self {
            share,
            random,
            corrupted_pkts: 0,
        }
    }

    /// Flips a bit anywhere in the packet, if that is chosen. *Returns:* whether it was.
    pub(super) fn apply(&mut self, packet: &mut [u8]) -> bool {
        if self.share == Probability::NEVER || !self.random.random_bool(self.share.as_f64()) {
            return false;
        }
        let bit = self.random.next_u64() as usize % (packet.len() * 8);
        packet[bit / 8] ^= 1 << (bit % 8);
        self.corrupted_pkts += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many bits differ from a packet of zeroes, for each of a hundred packets.
    fn flipped(share: f64) -> (Vec<u32>, u64) {
        let mut corruption = Corruption::new(Probability::new(share).unwrap(), 7);
        let count = |_| {
            let mut packet = [0; 40];
            corruption.apply(&mut packet);
            packet.iter().map(|byte| byte.count_ones()).sum()
        };
        ((0..100).map(count).collect(), corruption.corrupted_pkts)
    }

    #[test]
    fn one_bit_is_flipped_in_the_share_of_packets_that_was_asked_for() {
        assert_eq!(flipped(0.0), (vec![0; 100], 0));
        assert_eq!(flipped(1.0), (vec![1; 100], 100));
        let (bits, counted) = flipped(0.5);
        assert!(bits.iter().all(|flipped| *flipped <= 1));
        let chosen = bits.iter().filter(|flipped| **flipped == 1).count();
        assert_eq!(chosen as u64, counted);
        assert!((30..70).contains(&chosen), "{chosen} of 100");
    }
}
