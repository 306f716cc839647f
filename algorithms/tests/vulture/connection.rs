// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A connection by hand: every time, echo and sequence number is the test's own.

use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start};

pub const MSS: u32 = 1000;
/// Arrival of the first segment: a whole number of 4 ms jiffies on both clocks.
pub const ORIGIN_US: u64 = 1_000_000_000;
/// Our timestamp at the origin.
pub const ORIGIN_TS: u32 = 5_000_000;
/// An echo from before the origin.
pub const OLD_ECHO: u32 = ORIGIN_TS - 60;

pub const FIX: u8 = 0;
pub const DOUBLE: u8 = 1;
pub const INCREASE: u8 = 2;
pub const HALVE: u8 = 3;

/// The paper's algorithms as printed; each test names what it sets otherwise.
pub fn as_printed(settings: &str) -> Policy {
    let base = "vulture:jiffy_us=4000,piv_clock=0,pair_rule=0,mode_rule=0,no_piv_rule=0,\
                alpha_is_enough=0,echo_is_later=1,pause_rule=1,pause_scope=0,pause_packets=0,\
                double_stop=0,double_to_thresh=0,halve_stop=0,increase_rule=0,\
                first_thresh_x1024=0,thresh_rule=0,thresh_on_loss=1,loss_rule=0,loss_guard=1,\
                first_window_mss=10,min_window_mss=2,growth_limit_x1024=0,queue_packets=512";
    let kept: Vec<&str> = base["vulture:".len()..]
        .split(',')
        .map(str::trim)
        .filter(|pair| {
            let key = pair.split('=').next().unwrap();
            !settings
                .split(',')
                .any(|set| set.split('=').next() == Some(key))
        })
        .collect();
    format!("vulture:{},{settings}", kept.join(","))
        .parse()
        .unwrap()
}

pub struct Connection {
    pub flow: ReceiverFlow,
    pub next_seq: u32,
    pub kernel_rtt_us: u32,
    pub has_timestamps: bool,
    pub is_observing: bool,
}

impl Connection {
    pub fn new(policy: Policy) -> Self {
        Self::starting_at(policy, 0)
    }

    pub fn starting_at(policy: Policy, next_seq: u32) -> Self {
        let start = Start {
            now_us: ORIGIN_US,
            mss_bytes: MSS,
            rcv_nxt: next_seq,
            has_timestamps: 1,
            tsval: 0,
        };
        Self {
            flow: ReceiverFlow::new(policy, &start),
            next_seq,
            kernel_rtt_us: 0,
            has_timestamps: true,
            is_observing: false,
        }
    }

    /// A segment that was sent and arrives at these times after the origin.
    pub fn segment(&mut self, sent_ms: u32, arrived_us: u64, echo: u32) {
        let seq = self.next_seq;
        self.segment_at(sent_ms, arrived_us, echo, seq);
    }

    /// The same with a sequence number of its own: later data than expected leaves a hole.
    pub fn segment_at(&mut self, sent_ms: u32, arrived_us: u64, echo: u32, seq: u32) {
        self.flow.on_segment(&Segment {
            now_us: ORIGIN_US + arrived_us,
            seq,
            payload_bytes: MSS,
            segments: 1,
            tsval: 77_000 + sent_ms,
            tsecr: echo,
            local_ts: ORIGIN_TS + (arrived_us / 1000) as u32,
            local_tick_us: 1000,
            rcv_nxt: self.next_seq,
            right_edge_seq: self.next_seq + 50 * MSS,
            mss_bytes: MSS,
            kernel_rtt_us: self.kernel_rtt_us,
            has_timestamps: u8::from(self.has_timestamps),
            is_observing: u8::from(self.is_observing),
            ..Segment::default()
        });
        if seq == self.next_seq {
            self.next_seq += MSS;
        }
    }

    /// An acknowledgement of so many bytes more than the last one.
    pub fn ack(&mut self, at_us: u64, ack_seq: u32) -> u32 {
        self.flow.on_ack(&Ack {
            now_us: ORIGIN_US + at_us,
            ack_seq,
            local_ts: ORIGIN_TS + (at_us / 1000) as u32,
            local_tick_us: 1000,
            right_edge_seq: ack_seq + 50 * MSS,
            mss_bytes: MSS,
            has_timestamps: u8::from(self.has_timestamps),
            is_observing: u8::from(self.is_observing),
            ..Ack::default()
        });
        self.flow.window_bytes()
    }

    /// One round trip whose pairs vary by so many jiffies each, from a time on that
    /// needs 100 ms. Ends with a segment that echoes what was sent after its start.
    pub fn round(&mut self, from_ms: u32, variations: &[i32]) {
        let delay_ms = 40;
        let at_us = |ms: u32, jiffies: i32| {
            (i64::from(ms + delay_ms) * 1000 + i64::from(jiffies) * 4000) as u64
        };
        let heads = variations.len() as u32;
        assert!(heads <= 16, "heads share 5 jiffies less one");
        for head in 0..heads {
            let sent_ms = from_ms + head;
            self.segment(sent_ms, at_us(sent_ms, 0), self.old_echo(from_ms));
        }
        for (tail, jiffies) in variations.iter().enumerate() {
            let sent_ms = from_ms + 20 + tail as u32;
            self.segment(sent_ms, at_us(sent_ms, *jiffies), self.old_echo(from_ms));
        }
        let echo = ORIGIN_TS + from_ms + 60;
        self.segment(from_ms + 60, at_us(from_ms + 60, 0), echo);
    }

    fn old_echo(&self, from_ms: u32) -> u32 {
        (ORIGIN_TS + from_ms).wrapping_sub(60)
    }

    fn u32_at(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(
            self.flow.state_bytes()[offset..offset + 4]
                .try_into()
                .unwrap(),
        )
    }

    fn u64_at(&self, offset: usize) -> u64 {
        u64::from_ne_bytes(
            self.flow.state_bytes()[offset..offset + 8]
                .try_into()
                .unwrap(),
        )
    }

    pub fn window(&self) -> u32 {
        self.flow.window_bytes()
    }

    pub fn thresh(&self) -> u32 {
        self.u32_at(4)
    }

    pub fn policy(&self) -> u8 {
        self.flow.state_bytes()[28]
    }

    pub fn is_pausing(&self) -> bool {
        self.flow.state_bytes()[29] != 0
    }

    /// When a halving began last.
    pub fn halved_at_us(&self) -> u64 {
        self.u64_at(72)
    }

    pub fn estimate(&self) -> u32 {
        self.u32_at(self.estimate_offset())
    }

    /// pivSum, pivCount, negative and positive variations so far in this round trip.
    pub fn counts(&self) -> (i64, u32, u32, u32) {
        let ring_bytes = 512 * 8;
        let offset = self.estimate_offset() - ring_bytes - 16 - 40;
        let sum = self.u64_at(offset) as i64;
        (
            sum,
            self.u32_at(offset + 8),
            self.u32_at(offset + 12),
            self.u32_at(offset + 16),
        )
    }

    fn estimate_offset(&self) -> usize {
        self.flow.state_bytes().len() - 16 - 64 * 12
    }
}
