// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Receive offload: segments wait for those that follow, and arrive as one packet.

/// What Linux's GRO merges: the next bytes with the same timestamps.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Aggregate {
    pub byte: u64,
    pub segments: u32,
    pub tsval: u32,
    pub tsecr: u32,
}

/// A device that holds an aggregate back for a time.
#[derive(Default)]
pub struct Offload {
    held: Option<(u64, Aggregate)>,
}

impl Offload {
    /// Takes a segment; answers what need not wait any longer.
    pub fn take(&mut self, until_us: u64, segment: Aggregate, mss: u64) -> Option<Aggregate> {
        if let Some((_, held)) = &mut self.held
            && held.byte + u64::from(held.segments) * mss == segment.byte
            && (held.tsval, held.tsecr) == (segment.tsval, segment.tsecr)
        {
            held.segments += segment.segments;
            return None;
        }
        let before = self.held.replace((until_us, segment));
        before.map(|(_, aggregate)| aggregate)
    }

    /// What has waited until now.
    pub fn flush(&mut self, now_us: u64) -> Option<Aggregate> {
        let is_due = |(until_us, _): &mut (u64, Aggregate)| *until_us <= now_us;
        self.held.take_if(is_due).map(|(_, aggregate)| aggregate)
    }
}
