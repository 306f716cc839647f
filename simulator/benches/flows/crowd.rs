// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Many flows over one bottleneck.

use anyhow::Result;
use ebb_link::{LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{Buffer, NodeKind, Scenario, Traffic};
use ebb_simulator::{Options, run_counted};

use crate::common::Builder;

/// Whose hosts a flow's packets leave from and come to.
#[derive(Clone, Copy, PartialEq)]
pub enum Hosts {
    Own,
    Shared,
}

/// What a run was.
pub struct Run {
    /// Packets that the bottleneck sent, of the data's direction.
    pub packets: u64,
    pub events: u64,
}

/// Packets a second of each flow, about: 1 Mbit/s of them.
pub const PACKETS_A_SECOND: u64 = 83;

/// Runs so many flows for so long.
pub fn run(flows: u64, seconds: u64, hosts: Hosts) -> Result<Run> {
    let (outcome, cost) = run_counted(&crowd(flows, seconds, hosts), Options::default())?;
    let class = &outcome.links[0].measures[0].best_effort;
    Ok(Run {
        packets: class.offered_pkts - class.dropped_pkts,
        events: cost.events,
    })
}

/// So many CUBIC flows over one bottleneck, with 1 Mbit/s and four packets of queue for
/// each; as scenario D of the comparison with ns-3, but for its size.
fn crowd(flows: u64, seconds: u64, hosts: Hosts) -> Scenario {
    let mut builder = Builder::new(Nanos::from_secs(seconds));
    let left = builder.node(NodeKind::Router);
    let right = builder.node(NodeKind::Router);
    let queue = QueueLimit::Packets(4 * flows + 16);
    let rate = Rate::from_mbit_per_s(flows as u32);
    let core = LinkSpec::drop_tail(rate, Nanos::from_millis(25), queue);
    let there = builder.link(left, right, core.clone());
    let back = builder.link(right, left, core);
    builder.report(there);
    let plenty = QueueLimit::Packets(1_000_000);
    // Shared ones carry what all of their own would.
    let access_mbit = match hosts {
        Hosts::Own => 1_000,
        Hosts::Shared => 1_000 * flows.min(4_000) as u32,
    };
    let access = LinkSpec::drop_tail(Rate::from_mbit_per_s(access_mbit), Nanos::ZERO, plenty);
    let mut links = None;
    for number in 0..flows {
        let [up, down, up_back, down_back] = match links.filter(|_| hosts == Hosts::Shared) {
            Some(links) => links,
            None => {
                let from = builder.node(NodeKind::Host);
                let to = builder.node(NodeKind::Host);
                [(from, left), (right, to), (to, right), (left, from)]
                    .map(|(from, to)| builder.link(from, to, access.clone()))
            }
        };
        links = Some([up, down, up_back, down_back]);
        let path = [up, there, down];
        let flow = builder.flow(Traffic::Greedy, &path, &[up_back, back, down_back]);
        flow.sender = "cubic".to_owned();
        flow.start = Nanos(1_000_000_000 / flows * number);
        flow.tcp.receive_buffer = Buffer::Fixed(16 << 20);
        flow.tcp.send_buffer = Buffer::Fixed(16 << 20);
        flow.tcp.delayed_acks.quick_pkts = 0;
    }
    builder.scenario
}
