// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Worked examples of `cubic`, from RFC 9438 and RFC 9406.

mod avoidance;
mod closed_loop;
#[path = "../support/models/cubic.rs"]
mod cubic_model;
mod curve;
mod differences;
#[path = "../support/models/hystart.rs"]
mod hystart_model;
mod linux;
mod oracle;
#[path = "../support/sender_oracle.rs"]
mod sender_oracle;
#[path = "../support/sender_path/mod.rs"]
mod sender_path;
mod slow_start;

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};

const START_US: u64 = 1_000_000;

fn flow(policy: &str, cwnd_pkts: u32) -> SenderFlow {
    let start = SenderStart {
        now_us: START_US,
        mss_bytes: 1448,
        cwnd_pkts,
        ..SenderStart::default()
    };
    SenderFlow::new(Policy::sender(policy).unwrap(), &start)
}

fn ack(flow: &SenderFlow, now_us: u64, acked_pkts: u32, rtt_us: u32) -> SenderAck {
    SenderAck {
        now_us,
        acked_pkts,
        cwnd_pkts: flow.window().cwnd_pkts,
        ssthresh_pkts: flow.window().ssthresh_pkts,
        rtt_us,
        srtt_us: rtt_us,
        is_cwnd_limited: 1,
        ..SenderAck::default()
    }
}

fn event(flow: &SenderFlow) -> SenderEvent {
    SenderEvent {
        now_us: START_US,
        cwnd_pkts: flow.window().cwnd_pkts,
        ssthresh_pkts: flow.window().ssthresh_pkts,
        ..SenderEvent::default()
    }
}

/// A loss, after which the host has led the window to the threshold.
fn lose(flow: &mut SenderFlow) {
    flow.on_loss(&event(flow));
    let ssthresh_pkts = flow.window().ssthresh_pkts;
    flow.on_ack(&SenderAck {
        cwnd_pkts: ssthresh_pkts,
        ssthresh_pkts,
        ..SenderAck::default()
    });
}

/// A window's worth of acknowledgements in each round trip of congestion avoidance.
fn drive(flow: &mut SenderFlow, from_us: u64, until_us: u64, rtt_us: u32) -> u32 {
    let mut now_us = from_us;
    while now_us < until_us {
        let cwnd_pkts = flow.window().cwnd_pkts;
        let parts = cwnd_pkts.min(16);
        for part in 0..parts {
            let acked = cwnd_pkts * (part + 1) / parts - cwnd_pkts * part / parts;
            let at_us = now_us + u64::from(rtt_us * part / parts);
            flow.on_ack(&ack(flow, at_us, acked, rtt_us));
        }
        now_us += u64::from(rtt_us);
    }
    flow.window().cwnd_pkts
}
