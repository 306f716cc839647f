// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of the delayed window update, from its paper. It is one mechanism, in
//! `delayed_update.h`, and makes both `reno+` and `cubic+`: their tests stand together.

mod closed_loop;
#[path = "../support/models/cubic.rs"]
mod cubic_model;
mod differences;
#[path = "../support/models/hystart.rs"]
mod hystart_model;
mod mechanism;
mod oracle;
#[path = "../support/models/reno.rs"]
mod reno_model;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};

const LEAST_US: u32 = 20_000;

/// A sender in slow start: each acknowledgement that the law inside sees earns a segment.
struct Sender {
    flow: SenderFlow,
    now_us: u64,
    random: u32,
}

impl Sender {
    /// At 100 segments; the first acknowledgement opens the first period.
    fn new(policy: &str) -> Self {
        let start = SenderStart {
            mss_bytes: 1448,
            cwnd_pkts: 99,
            ..SenderStart::default()
        };
        let mut sender = Self {
            flow: SenderFlow::new(Policy::sender(policy).unwrap(), &start),
            now_us: 1_000_000,
            random: u32::MAX,
        };
        sender.acknowledge(LEAST_US);
        sender
    }

    fn acknowledge(&mut self, rtt_us: u32) {
        let window = self.flow.window();
        self.flow.on_ack(&SenderAck {
            now_us: self.now_us,
            acked_pkts: 1,
            cwnd_pkts: window.cwnd_pkts,
            ssthresh_pkts: window.ssthresh_pkts,
            rtt_us,
            srtt_us: rtt_us,
            random: self.random,
            is_cwnd_limited: 1,
            ..SenderAck::default()
        });
    }

    /// A period of 100 ms with these RTTs; answers by how much the window has changed.
    fn period(&mut self, rtts_us: &[u32]) -> i64 {
        let from_us = self.now_us;
        let before = self.cwnd_pkts();
        for (index, rtt_us) in rtts_us.iter().enumerate() {
            self.now_us = from_us + 100_000 * (index as u64 + 1) / rtts_us.len() as u64;
            self.acknowledge(*rtt_us);
        }
        i64::from(self.cwnd_pkts()) - i64::from(before)
    }

    fn cwnd_pkts(&self) -> u32 {
        self.flow.window().cwnd_pkts
    }

    fn event(&self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            cwnd_pkts: self.flow.window().cwnd_pkts,
            ssthresh_pkts: self.flow.window().ssthresh_pkts,
            ..SenderEvent::default()
        }
    }
}

/// So many RTTs, of which so many are the least.
fn rtts(count: usize, least: usize, other_us: u32) -> Vec<u32> {
    let mut rtts = vec![other_us; count];
    rtts[..least].fill(LEAST_US);
    rtts
}
