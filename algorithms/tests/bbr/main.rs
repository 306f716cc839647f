// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `bbr`, from its draft, and what it does on a path.

mod closed_loop;
mod differences;
mod model;
mod modes;
mod oracle;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};

const MSS: u32 = 1000;
const RTT_US: u32 = 100_000;

/// A host that tells of one round trip per acknowledgement.
struct Rounds {
    flow: SenderFlow,
    now_us: u64,
    delivered_pkts: u64,
    random: u32,
}

impl Rounds {
    fn new(policy: &str) -> Self {
        let start = SenderStart {
            now_us: 1_000_000,
            mss_bytes: MSS,
            cwnd_pkts: 10,
            ..SenderStart::default()
        };
        Self {
            flow: SenderFlow::new(Policy::sender(policy).unwrap(), &start),
            now_us: 1_000_000,
            delivered_pkts: 0,
            random: 0,
        }
    }

    /// A round trip in which so many segments are delivered.
    fn round(&mut self, pkts: u32) -> &mut Self {
        self.round_with(pkts, &SenderAck::default())
    }

    fn round_with(&mut self, pkts: u32, more: &SenderAck) -> &mut Self {
        self.now_us += u64::from(RTT_US);
        let prior_delivered_pkts = self.delivered_pkts;
        self.delivered_pkts += u64::from(pkts);
        self.flow.on_ack(&SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: prior_delivered_pkts,
            rate_delivered_pkts: pkts,
            rate_interval_us: RTT_US,
            delivered_now_pkts: pkts,
            acked_pkts: pkts,
            prior_inflight_pkts: more.inflight_pkts + pkts,
            cwnd_pkts: self.flow.window().cwnd_pkts,
            rtt_us: if more.rtt_us > 0 { more.rtt_us } else { RTT_US },
            srtt_us: RTT_US,
            mss_bytes: MSS,
            random: self.random,
            is_cwnd_limited: 1,
            ..*more
        });
        self
    }

    fn event(&self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            cwnd_pkts: self.flow.window().cwnd_pkts,
            mss_bytes: MSS,
            ..SenderEvent::default()
        }
    }

    /// Through STARTUP to PROBE_BW at 100 segments per round trip: 1 MB/s.
    fn probing(policy: &str, random: u32) -> Self {
        let mut rounds = Self::new(policy);
        rounds.random = random;
        for pkts in [10, 20, 40, 80, 100, 100, 100, 100, 100] {
            rounds.round(pkts);
        }
        rounds
    }

    /// The pace in thousandths of a bandwidth of 1 MB/s.
    fn pace_x1000(&self) -> u64 {
        self.flow.window().pacing_bytes_per_s / 1000
    }
}
