// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Parts of rates, rounded down.

/// A rate times `by / of`, as much as there can be at the most; `of` is above zero.
pub(crate) fn scaled(rate: u64, by: u64, of: u64) -> u64 {
    let scaled = u128::from(rate) * u128::from(by) / u128::from(of.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

/// A part of a rate. *Units:* `ppm` of it.
pub(crate) fn part(rate: u64, ppm: u32) -> u64 {
    scaled(rate, ppm.into(), 1_000_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_rounded_down_and_do_not_overflow() {
        assert_eq!(scaled(10, 2, 3), 6);
        assert_eq!(scaled(u64::MAX, 3, 3), u64::MAX);
        assert_eq!(scaled(u64::MAX, 3, 2), u64::MAX);
        assert_eq!([part(1_000, 970_000), part(3, 500_000)], [970, 1]);
    }
}
