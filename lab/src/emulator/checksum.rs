// SPDX-License-Identifier: Apache-2.0 OR MIT
/// The sum of RFC 1071, of an even number of bytes or with a zero after the last.
pub(super) fn ones_complement_sum(bytes: &[u8]) -> u16 {
    let word =
        |pair: &[u8]| u32::from(pair[0]) << 8 | pair.get(1).map_or(0, |byte| u32::from(*byte));
    let sum: u32 = bytes.chunks(2).map(word).sum();
    let sum = (sum & 0xffff) + (sum >> 16);
    ((sum & 0xffff) + (sum >> 16)) as u16
}
