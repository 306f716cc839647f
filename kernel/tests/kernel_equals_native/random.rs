// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Random numbers of the tests.

/// Xorshift64*: small, and the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    pub fn below(&mut self, bound: u64) -> u64 {
        (self.next() >> 11) % bound
    }

    /// Numbers of all magnitudes, the extremes included.
    pub fn number(&mut self) -> u32 {
        match self.below(8) {
            0 => 0,
            1 => u32::MAX,
            2 => 1 << self.below(32),
            _ => (self.next() >> (32 + self.below(32))) as u32,
        }
    }

    pub fn flag(&mut self) -> u8 {
        (self.below(4) != 0).into()
    }
}
