// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A router with a queue for each flow, as FQ-CoDel has: others' packets come between ours, one by
//! one, and a flow that was silent has the next two turns.

/// Turns of a flow that was silent.
const NEW_TURNS: u32 = 2;

/// Our queue, when others always have a packet in theirs.
#[derive(Default)]
pub struct Fair {
    left_at_us: u64,
    new_turns: u32,
}

impl Fair {
    /// When a packet of ours that comes now has left, if each takes so long.
    pub fn pass(&mut self, now_us: u64, packet_us: u64) -> u64 {
        if now_us >= self.left_at_us {
            self.new_turns = NEW_TURNS;
        }
        let others_us = if self.new_turns > 0 { 0 } else { packet_us };
        self.new_turns = self.new_turns.saturating_sub(1);
        self.left_at_us = self.left_at_us.max(now_us) + others_us + packet_us;
        self.left_at_us
    }
}
