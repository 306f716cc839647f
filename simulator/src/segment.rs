// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TCP segment as it travels: header fields and the length of the payload.

use std::fmt;
use std::ops::{BitOr, BitOrAssign};

use ebb_link::Ecn;

/// Header flags of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u8);

impl Flags {
    /// No flag.
    pub const NONE: Self = Self(0);
    /// Nothing more will be sent.
    pub const FIN: Self = Self(0x01);
    /// Opens a connection.
    pub const SYN: Self = Self(0x02);
    /// Ends a connection at once.
    pub const RST: Self = Self(0x04);
    /// The sender has nothing more for now.
    pub const PSH: Self = Self(0x08);
    /// The acknowledgement is valid.
    pub const ACK: Self = Self(0x10);
    /// Echo of a congestion mark.
    pub const ECE: Self = Self(0x40);
    /// The window was reduced.
    pub const CWR: Self = Self(0x80);

    /// Whether all of these are set.
    pub const fn has(self, flags: Self) -> bool {
        self.0 & flags.0 == flags.0
    }

    /// As in the header.
    pub const fn bits(self) -> u8 {
        self.0
    }
}

impl BitOr for Flags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}

impl BitOrAssign for Flags {
    fn bitor_assign(&mut self, other: Self) {
        self.0 |= other.0;
    }
}

/// Up to three ranges of SACK. *Shape:* first byte, first byte after; the latest first.
#[derive(Clone, Copy, Default)]
pub struct SackBlocks {
    /// An empty range is none, and none follows it.
    blocks: [(u32, u32); Self::MAX],
}

impl SackBlocks {
    /// What fits beside timestamps.
    pub const MAX: usize = 3;

    /// Adds a range if there is room, and if there is anything in it.
    pub fn push(&mut self, start_seq: u32, end_seq: u32) {
        let count = self.as_slice().len();
        if let Some(block) = self.blocks.get_mut(count) {
            *block = (start_seq, end_seq);
        }
    }

    /// The ranges.
    #[inline]
    pub fn as_slice(&self) -> &[(u32, u32)] {
        let is_none = |block: &(u32, u32)| block.0 == block.1;
        let count = self.blocks.iter().position(is_none);
        &self.blocks[..count.unwrap_or(Self::MAX)]
    }

    /// Whether there is none.
    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.blocks[0].0 == self.blocks[0].1
    }

    /// Becomes the same as another one; mostly both are empty, which is all that matters.
    #[inline]
    pub(crate) fn assign(&mut self, other: &Self) {
        if !(self.is_empty() && other.is_empty()) {
            self.blocks = other.blocks;
        }
    }
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl fmt::Debug for SackBlocks {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_list().entries(self.as_slice()).finish()
    }
}

/// RFC 7323 timestamps of a segment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimestampOption {
    /// The sender's clock.
    pub value: u32,
    /// The receiver's clock as the sender has heard of it.
    pub echo: u32,
}

/// Options of a SYN.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SynOptions {
    /// Largest segment that the sender takes, options counted. *Units:* bytes.
    pub mss_bytes: u16,
    /// Window scale, if the option is there.
    pub window_scale: Option<u8>,
    /// SACK permitted.
    pub has_sack: bool,
}

/// A segment on its way; of the payload only the length is known.
///
/// All of it is in one line of the cache.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Segment {
    /// First byte.
    pub seq: u32,
    /// First byte that the sender expects, if [`Flags::ACK`].
    pub ack: u32,
    /// Payload. *Units:* bytes.
    pub payload_bytes: u32,
    /// Size on the link: all headers and the payload. *Units:* bytes.
    pub size_bytes: u32,
    /// Timestamps.
    pub timestamps: Option<TimestampOption>,
    /// The window field as it stands in the header, scaled.
    pub window: u16,
    /// Flags.
    pub flags: Flags,
    /// The congestion notification field with which the packet is sent.
    pub ecn: Ecn,
    /// Options of a SYN.
    pub syn: SynOptions,
    /// Selective acknowledgements.
    pub sack: SackBlocks,
}

const _: () = assert!(size_of::<Segment>() == 64);

impl Segment {
    /// Becomes the same as another one.
    #[inline]
    pub(crate) fn assign(&mut self, other: &Self) {
        self.seq = other.seq;
        self.ack = other.ack;
        self.payload_bytes = other.payload_bytes;
        self.size_bytes = other.size_bytes;
        self.timestamps = other.timestamps;
        self.window = other.window;
        self.flags = other.flags;
        self.ecn = other.ecn;
        self.syn = other.syn;
        self.sack.assign(&other.sack);
    }

    /// First sequence number after the segment: SYN and FIN take one each.
    pub const fn end_seq(&self) -> u32 {
        let controls = self.flags.has(Flags::SYN) as u32 + self.flags.has(Flags::FIN) as u32;
        self.seq
            .wrapping_add(self.payload_bytes)
            .wrapping_add(controls)
    }

    /// Length of the options as Linux lays them out, filled up to whole words.
    /// *Units:* bytes.
    pub fn option_bytes(&self) -> u32 {
        let mut bytes = 0;
        if self.flags.has(Flags::SYN) {
            bytes += 4;
            bytes += if self.syn.window_scale.is_some() {
                4
            } else {
                0
            };
            // Beside timestamps "SACK permitted" takes the place of their filling.
            bytes += if self.syn.has_sack && self.timestamps.is_none() {
                4
            } else {
                0
            };
        }
        if self.timestamps.is_some() {
            bytes += 12;
        }
        let blocks = self.sack.as_slice().len() as u32;
        bytes + if blocks > 0 { 4 + 8 * blocks } else { 0 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_options_as_linux_lays_them_out() {
        let mut segment = Segment {
            flags: Flags::SYN,
            timestamps: Some(TimestampOption::default()),
            syn: SynOptions {
                mss_bytes: 1460,
                window_scale: Some(7),
                has_sack: true,
            },
            ..Segment::default()
        };
        assert_eq!(segment.option_bytes(), 20);
        segment.flags = Flags::ACK;
        assert_eq!(segment.option_bytes(), 12);
        segment.sack.push(1, 2);
        segment.sack.push(5, 6);
        assert_eq!(segment.option_bytes(), 12 + 20);
    }

    #[test]
    fn wraps_past_the_last_sequence_number() {
        let segment = Segment {
            seq: u32::MAX - 9,
            payload_bytes: 20,
            flags: Flags::ACK | Flags::FIN,
            ..Segment::default()
        };
        assert_eq!(segment.end_seq(), 11);
    }
}
