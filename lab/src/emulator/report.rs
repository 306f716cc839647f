// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkStatistics, Nanos};
use serde::Serialize;

use super::{Lateness, QueueSeries};

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
    /// How late its packets were delivered.
    pub lateness: Lateness,
    /// Waiting at the bottleneck over time.
    pub series: QueueSeries,
    /// Packets of which a bit was flipped.
    pub corrupted_pkts: u64,
    /// Packets that the receiving device refused; they are lost.
    pub refused_pkts: u64,
    /// Multicast and broken packets, which are not carried.
    pub ignored_pkts: u64,
}

impl PathReport {
    /// How late packets of both directions were delivered.
    pub fn lateness(&self) -> Lateness {
        self.forward.lateness.clone().and(&self.reverse.lateness)
    }

    /// Whether what was measured over this path is to be thrown away.
    pub fn is_disturbed(&self) -> bool {
        self.lateness().is_disturbed()
    }
}

impl EmulatorReport {
    /// How late packets of all paths were delivered.
    pub fn lateness(&self) -> Lateness {
        let paths = self.paths.iter();
        paths.fold(Lateness::default(), |all, path| all.and(&path.lateness()))
    }

    /// Whether what was measured over any of the paths is to be thrown away.
    pub fn is_disturbed(&self) -> bool {
        self.paths.iter().any(PathReport::is_disturbed)
    }

    /// One line for people about how exactly packets were delivered.
    pub fn summary(&self) -> String {
        let lateness = self.lateness();
        let Lateness {
            count,
            late_pkts,
            max_ns,
            ..
        } = lateness;
        let quantile_us = |share| lateness.quantile_ns(share) as f64 / 1e3;
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
            self.told_disturbed(),
        )
    }

    fn told_disturbed(&self) -> String {
        let paths = self.paths.iter();
        match paths.filter(|path| path.is_disturbed()).count() {
            0 => String::new(),
            _ if self.paths.len() == 1 => "; DISTURBED".into(),
            disturbed => format!("; {disturbed} of {} paths DISTURBED", self.paths.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(late_us: &[u64]) -> DirectionReport {
        let mut lateness = Lateness::default();
        for late_us in late_us {
            lateness.add(Nanos::from_micros(*late_us));
        }
        DirectionReport {
            statistics: LinkStatistics::default(),
            lateness,
            series: QueueSeries::new(Nanos::ZERO, false),
            corrupted_pkts: 0,
            refused_pkts: 0,
            ignored_pkts: 0,
        }
    }

    fn report(paths: &[[&[u64]; 2]]) -> EmulatorReport {
        let paths = paths.iter().map(|[forward, reverse]| PathReport {
            forward: direction(forward),
            reverse: direction(reverse),
        });
        EmulatorReport {
            epoch: Nanos(1),
            stopped: Nanos(3),
            cpu_time: Nanos(1),
            is_realtime: true,
            paths: paths.collect(),
        }
    }

    #[test]
    fn is_disturbed_by_many_late_packets_or_one_very_late() {
        let is_disturbed = |late_us: &[u64]| report(&[[late_us, &[]]]).is_disturbed();
        let mut late_us = vec![10; 995];
        late_us.extend([1_100; 5]);
        assert!(!is_disturbed(&late_us), "0.5 % exactly");
        late_us.push(1_100);
        assert!(is_disturbed(&late_us), "6 of 1001");
        let mut late_us = vec![10; 100_000];
        late_us.push(20_000);
        assert!(!is_disturbed(&late_us));
        late_us.push(20_001);
        assert!(is_disturbed(&late_us));
        let summary = report(&[[&[], &late_us]]).summary();
        assert!(summary.ends_with("; DISTURBED"), "{summary}");
    }

    #[test]
    fn what_is_late_on_one_path_disturbs_no_other() {
        let (calm, late) = (vec![10; 1_000], vec![1_100; 10]);
        let report = report(&[[&calm, &calm], [&calm[..500], &late], [&calm, &[]]]);
        let disturbed: Vec<bool> = report.paths.iter().map(PathReport::is_disturbed).collect();
        assert_eq!(disturbed, [false, true, false]);
        // Of all packets it would be 0.3 %.
        assert!(!report.lateness().is_disturbed() && report.is_disturbed());
        let summary = report.summary();
        assert!(summary.ends_with("; 1 of 3 paths DISTURBED"), "{summary}");
        assert!(summary.contains("3510 packets"), "{summary}");
    }
}
