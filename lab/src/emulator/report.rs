// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkStatistics, Nanos};
use serde::Serialize;

use super::{Lateness, QueueSeries};

/// Beyond this share of packets more than 1 ms late a run is disturbed.
const DISTURBED_SHARE: f64 = 0.005;
/// With any packet later than this a run is disturbed.
const DISTURBED_NS: u64 = 20_000_000;

/// What an emulator did from start to stop.
#[derive(Clone, Debug, Serialize)]
pub struct EmulatorReport {
    /// When it started, by CLOCK_MONOTONIC.
    pub epoch: Nanos,
    /// When it stopped.
    pub stopped: Nanos,
    /// Processor time that its thread used.
    pub cpu_time: Nanos,
    /// Whether its thread had real-time priority.
    pub is_realtime: bool,
    /// Lateness of all packets of all paths.
    pub lateness: Lateness,
    /// The paths, in the order of [`super::Testbed::start`].
    pub paths: Vec<PathReport>,
}

/// Both directions of a path.
#[derive(Clone, Debug, Serialize)]
pub struct PathReport {
    /// From the server to the client.
    pub forward: DirectionReport,
    /// From the client to the server.
    pub reverse: DirectionReport,
}

/// One direction of a path.
#[derive(Clone, Debug, Serialize)]
pub struct DirectionReport {
    /// What the link counted.
    pub statistics: LinkStatistics,
    /// Waiting at the bottleneck over time.
    pub series: QueueSeries,
    /// Packets of which a bit was flipped.
    pub corrupted_pkts: u64,
    /// Packets that the receiving device refused; they are lost.
    pub refused_pkts: u64,
    /// Multicast and broken packets, which are not carried.
    pub ignored_pkts: u64,
}

impl EmulatorReport {
    /// Whether results of the run are to be thrown away: more than 0.5 % of packets
    /// were delivered over 1 ms late, or any over 20 ms late.
    pub fn is_disturbed(&self) -> bool {
        self.lateness.late_share() > DISTURBED_SHARE || self.lateness.max_ns > DISTURBED_NS
    }

    /// One line for people about how exactly packets were delivered.
    pub fn summary(&self) -> String {
        let Lateness {
            count,
            late_pkts,
            max_ns,
            ..
        } = self.lateness;
        let quantile_us = |share| self.lateness.quantile_ns(share) as f64 / 1e3;
        format!(
            "emulator: {count} packets, late by median {:.0} us, 99 % within {:.0} us, worst \
             {:.2} ms, {late_pkts} over 1 ms{}{}",
            quantile_us(0.5),
            quantile_us(0.99),
            max_ns as f64 / 1e6,
            if self.is_realtime {
                ""
            } else {
                "; without real-time priority"
            },
            if self.is_disturbed() {
                "; DISTURBED"
            } else {
                ""
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(late_us: &[u64]) -> EmulatorReport {
        let mut lateness = Lateness::default();
        for late_us in late_us {
            lateness.add(Nanos::from_micros(*late_us));
        }
        EmulatorReport {
            epoch: Nanos(1),
            stopped: Nanos(3),
            cpu_time: Nanos(1),
            is_realtime: true,
            lateness,
            paths: vec![],
        }
    }

    #[test]
    fn is_disturbed_by_many_late_packets_or_one_very_late() {
        let mut late_us = vec![10; 995];
        late_us.extend([1_100; 5]);
        assert!(!report(&late_us).is_disturbed(), "0.5 % exactly");
        late_us.push(1_100);
        assert!(report(&late_us).is_disturbed(), "6 of 1001");
        let mut late_us = vec![10; 100_000];
        late_us.push(20_000);
        assert!(!report(&late_us).is_disturbed());
        late_us.push(20_001);
        assert!(report(&late_us).is_disturbed());
        assert!(report(&late_us).summary().ends_with("; DISTURBED"));
    }
}
