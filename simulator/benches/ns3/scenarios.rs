// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios A to F, for both sides.

use ebb_link::{Nanos, QueueLimit, Rate};
use ebb_scenario::{DelayedAcks, Scenario};

use crate::common::{Dumbbell, DumbbellFlow};

/// One scenario on both sides.
pub struct Case {
    pub letter: &'static str,
    pub what: &'static str,
    /// Arguments of `dumbbell.cc`.
    pub ns3: &'static str,
    dumbbell: fn() -> Dumbbell,
}

impl Case {
    /// The same for the simulator: acknowledgements for each second segment from the start.
    pub fn scenario(&self) -> Scenario {
        let mut scenario = (self.dumbbell)().scenario();
        for flow in &mut scenario.flows {
            let delayed_acks = &mut flow.tcp.delayed_acks;
            *delayed_acks = DelayedAcks {
                quick_pkts: 0,
                ..*delayed_acks
            };
        }
        scenario
    }
}

/// All of them.
///
/// Long because it is a table: each scenario stands whole in one place.
pub fn cases() -> [Case; 7] {
    [
        Case {
            letter: "A",
            what: "1 CUBIC, 10 Mbit/s, RTT 100 ms, 180 s",
            ns3: "--rate=10Mbps --rtt=0.1 --queue=86 --dur=180 --access=1Gbps --flows=TcpCubic",
            dumbbell: || slow(100, 86, 180, vec![DumbbellFlow::greedy("cubic")]),
        },
        Case {
            letter: "B",
            what: "CUBIC, LEDBAT from 45 to 135 s, else as A",
            ns3: "--rate=10Mbps --rtt=0.1 --queue=86 --dur=180 --access=1Gbps --marks=45,135 \
                  --flows=TcpCubic,TcpLedbat@45-135",
            dumbbell: || {
                slow(
                    100,
                    86,
                    180,
                    vec![DumbbellFlow::greedy("cubic"), ledbat(100, 45, 135)],
                )
            },
        },
        Case {
            letter: "C",
            what: "Reno and TCP-LP, 10 Mbit/s, RTT 48 ms, 1000 s",
            ns3: "--rate=10Mbps --rtt=0.048 --access=100Mbps --accessDelay=0.002 --queue=104 \
                  --dur=1000 --marks=10 --flows=TcpLinuxReno,TcpLp",
            dumbbell: || Dumbbell {
                access: Rate::from_mbit_per_s(100),
                access_delay: Nanos::from_millis(2),
                ..slow(
                    48,
                    104,
                    1_000,
                    vec![DumbbellFlow::greedy("reno"), DumbbellFlow::greedy("tcp-lp")],
                )
            },
        },
        Case {
            letter: "D",
            what: "100 CUBIC, 100 Mbit/s, RTT 50 ms, 60 s",
            ns3: "--rate=100Mbps --rtt=0.05 --queue=416 --dur=60 --access=1Gbps \
                  --flows=TcpCubic*100 --stagger=0.01",
            dumbbell: || Dumbbell {
                rate: Rate::from_mbit_per_s(100),
                ..slow(50, 416, 60, staggered(100))
            },
        },
        Case {
            letter: "E",
            what: "2 CUBIC, 1 Gbit/s, RTT 20 ms, 20 s",
            ns3: "--rate=1Gbps --rtt=0.02 --queue=1667 --dur=20 --access=10Gbps \
                  --flows=TcpCubic*2",
            dumbbell: || Dumbbell {
                rate: Rate::from_mbit_per_s(1_000),
                access: Rate::from_mbit_per_s(10_000),
                ..slow(20, 1_667, 20, vec![DumbbellFlow::greedy("cubic"); 2])
            },
        },
        Case {
            letter: "F25",
            what: "CUBIC, LEDBAT (25 ms) from 500 s, RTT 500 ms, no loss, 1.25 MB windows, 800 s",
            ns3: "--rate=10Mbps --rtt=0.5 --queue=10000000 --dur=800 --access=1Gbps \
                  --flows=TcpCubic,TcpLedbat@500-800 --marks=500 --buf=1250000 --target=25",
            dumbbell: || without_loss(25),
        },
        Case {
            letter: "F100",
            what: "as F25 with a target of 100 ms",
            ns3: "--rate=10Mbps --rtt=0.5 --queue=10000000 --dur=800 --access=1Gbps \
                  --flows=TcpCubic,TcpLedbat@500-800 --marks=500 --buf=1250000 --target=100",
            dumbbell: || without_loss(100),
        },
    ]
}

fn slow(rtt_ms: u64, queue_pkts: u64, seconds: u64, flows: Vec<DumbbellFlow>) -> Dumbbell {
    Dumbbell {
        rate: Rate::from_mbit_per_s(10),
        rtt: Nanos::from_millis(rtt_ms),
        queue: QueueLimit::Packets(queue_pkts),
        access: Rate::from_mbit_per_s(1_000),
        access_delay: Nanos::ZERO,
        duration: Nanos::from_secs(seconds),
        flows,
        buffer_bytes: 16 << 20,
    }
}

fn without_loss(target_ms: u32) -> Dumbbell {
    let flows = vec![DumbbellFlow::greedy("cubic"), ledbat(target_ms, 500, 800)];
    Dumbbell {
        buffer_bytes: 1_250_000,
        ..slow(500, 10_000_000, 800, flows)
    }
}

fn ledbat(target_ms: u32, start_s: u64, stop_s: u64) -> DumbbellFlow {
    DumbbellFlow {
        start: Nanos::from_secs(start_s),
        stop: Some(Nanos::from_secs(stop_s)),
        ..DumbbellFlow::greedy(&format!(
            "ledbat:target_us={},init_cwnd_pkts=10",
            target_ms * 1_000
        ))
    }
}

fn staggered(flows: u64) -> Vec<DumbbellFlow> {
    (0..flows)
        .map(|number| DumbbellFlow {
            start: Nanos::from_millis(10 * number),
            ..DumbbellFlow::greedy("cubic")
        })
        .collect()
}
