// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The figures that Ebb is measured by: where each comes from and what is expected.

use ebb_algorithms::{Policy, PolicyError, Side};
use serde::Serialize;

use super::figure::Figure;
use super::paper::{Timing, vulture_scenarios};
use super::scenario::{MEASURED_S, Scenario, ebb_scenarios, upload_scenarios};

/// What a figure is compared with.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Target {
    /// The mean must be at least this.
    AtLeast(f64),
    /// The mean must be at the most this.
    AtMost(f64),
    /// The paper has this; it is shown beside ours.
    Paper(f64),
}

impl Target {
    /// Whether a mean is as it must be; `None` if nothing is demanded.
    pub fn holds(self, mean: f64) -> Option<bool> {
        match self {
            Self::AtLeast(bound) => Some(mean >= bound),
            Self::AtMost(bound) => Some(mean <= bound),
            Self::Paper(_) => None,
        }
    }
}

/// One line of the table of figures.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Entry {
    /// The figure's name, `set/figure`.
    pub name: &'static str,
    /// The scenario that it is measured in.
    pub scenario: &'static str,
    /// What is measured; see [`super::measure()`].
    pub metric: &'static str,
    /// The same in words.
    pub meaning: &'static str,
    /// What is expected.
    pub target: Target,
}

const fn entry(
    name: &'static str,
    scenario: &'static str,
    metric: &'static str,
    meaning: &'static str,
    target: Target,
) -> Entry {
    Entry {
        name,
        scenario,
        metric,
        meaning,
        target,
    }
}

use Target::{AtLeast, AtMost, Paper};

/// Every figure, in the order of the table. One entry per line, as a table.
#[rustfmt::skip]
pub(super) const CATALOGUE: &[Entry] = &[
    entry("ebb/alone", "s1", "utilisation", "alone: share of the link over 60 s", AtLeast(0.985)),
    entry("ebb/alone", "s1", "settled", "alone: share of the link after 20 s", AtLeast(0.995)),
    entry("ebb/constant", "s2", "be_kept", "BE 6 Mbit/s: BE, of alone", AtLeast(0.998)),
    entry("ebb/constant", "s2", "spare_used", "BE 6 Mbit/s: LBE, of the spare", AtLeast(0.95)),
    entry("ebb/constant", "s2", "queue_added_ms", "BE 6 Mbit/s: queueing added, ms", AtMost(10.0)),
    entry("ebb/share", "s3", "be_share", "BE greedy, first: BE's share", AtLeast(0.985)),
    entry("ebb/share", "s3b", "be_share", "BE greedy, second: BE's share", AtLeast(0.97)),
    entry("ebb/share", "s6", "be_share", "BE greedy, LBE sender BBR: BE's share", AtLeast(0.97)),
    entry("ebb/share", "s7", "be_share", "BE greedy, queue of 500: BE's share", AtLeast(0.99)),
    entry("ebb/on-off", "s4t3", "be_on_kept", "BE 3 s on, 3 s off: BE while on, of alone", AtLeast(0.94)),
    entry("ebb/on-off", "s4t3", "off_used", "BE 3 s on, 3 s off: LBE while off", AtLeast(0.60)),
    entry("ebb/on-off", "s4t10", "be_on_kept", "BE 10 s on, 10 s off: BE while on, of alone", AtLeast(0.965)),
    entry("ebb/on-off", "s4t10", "off_used", "BE 10 s on, 10 s off: LBE while off", AtLeast(0.80)),
    entry("ebb/fairness", "s5", "jain", "four LBE flows: Jain's index", AtLeast(0.98)),
    entry("ebb/fairness", "s5", "utilisation", "four LBE flows: share of the link", AtLeast(0.92)),
    entry("upload/alone", "s1", "utilisation", "upload alone: share of the link over 60 s", AtLeast(0.95)),
    entry("upload/constant", "s2", "be_kept", "BE 6 Mbit/s: BE, of alone", AtLeast(0.99)),
    entry("upload/constant", "s2", "spare_used", "BE 6 Mbit/s: upload, of the spare", AtLeast(0.93)),
    entry("upload/share", "s3", "be_share", "BE greedy, first: BE's share", AtLeast(0.96)),
    entry("upload/share", "s3b", "be_share", "BE greedy, second: BE's share", AtLeast(0.96)),
    entry("upload/fairness", "s5", "jain", "four uploads: Jain's index", AtLeast(0.95)),
    entry("upload/fairness", "s5", "utilisation", "four uploads: share of the link", AtLeast(0.92)),
    entry("user/alone", "s1", "utilisation", "alone: share of the link over 60 s", AtLeast(0.97)),
    entry("user/alone", "s1", "settled", "alone: share of the link after 20 s", AtLeast(0.995)),
    entry("user/constant", "s2", "be_kept", "BE 6 Mbit/s: BE, of alone", AtLeast(0.995)),
    entry("user/constant", "s2", "spare_used", "BE 6 Mbit/s: LBE, of the spare", AtLeast(0.93)),
    entry("user/constant", "s2", "queue_added_ms", "BE 6 Mbit/s: queueing added, ms", AtMost(12.0)),
    entry("user/share", "s3", "be_share", "BE greedy, first: BE's share", AtLeast(0.975)),
    entry("user/share", "s3b", "be_share", "BE greedy, second: BE's share", AtLeast(0.97)),
    entry("user/share", "s6", "be_share", "BE greedy, LBE sender BBR: BE's share", AtLeast(0.98)),
    entry("user/on-off", "s4t3", "be_on_kept", "BE 3 s on, 3 s off: BE while on, of alone", AtLeast(0.93)),
    entry("user/on-off", "s4t3", "off_used", "BE 3 s on, 3 s off: LBE while off", AtLeast(0.50)),
    entry("user-upload/alone", "s1", "utilisation", "upload alone: share of the link over 60 s", AtLeast(0.93)),
    entry("user-upload/constant", "s2", "be_kept", "BE 6 Mbit/s: BE, of alone", AtLeast(0.97)),
    entry("user-upload/share", "s3", "be_share", "BE greedy, first: BE's share", AtLeast(0.93)),
    entry("tcp-lp/alone", "up1-rtt50", "utilisation", "upload alone, RTT 50 ms: share of the link over 60 s", AtLeast(0.90)),
    entry("tcp-lp/alone", "up1-rtt100", "utilisation", "upload alone, RTT 100 ms: share of the link over 60 s", AtLeast(0.90)),
    entry("tcp-lp/share", "up3-rtt50", "be_kept", "BE greedy, RTT 50 ms: BE beside the upload, of alone", AtLeast(0.96)),
    entry("tcp-lp/share", "up3-rtt100", "be_kept", "BE greedy, RTT 100 ms: BE beside the upload, of alone", AtLeast(0.96)),
    entry("vulture/fig-13", "fig-14", "window_of_cwnd", "window after the switch, of cwnd before", Paper(1.0)),
    entry("vulture/fig-14", "fig-14", "yield_s", "BE has its 6 Mbit/s again after, s", Paper(0.0)),
    entry("vulture/fig-14", "fig-14", "be_during_mbit_per_s", "BE 6 Mbit/s beside LBE, Mbit/s", Paper(5.58)),
    entry("vulture/fig-14", "fig-14", "lbe_mbit_per_s", "LBE after the switch, Mbit/s", Paper(2.82)),
    entry("vulture/fig-13", "fig-14-shrinking", "window_of_cwnd", "the same, granted window taken back", Paper(1.0)),
    entry("vulture/fig-14", "fig-14-shrinking", "yield_s", "taken back: BE has its 6 Mbit/s after, s", Paper(0.0)),
    entry("vulture/fig-14", "fig-14-shrinking", "be_during_mbit_per_s", "taken back: BE beside LBE, Mbit/s", Paper(5.58)),
    entry("vulture/fig-14", "fig-14-shrinking", "lbe_mbit_per_s", "taken back: LBE, Mbit/s", Paper(2.82)),
    entry("vulture/fig-15", "fig-15", "be_before_mbit_per_s", "BE before, Mbit/s", Paper(5.97)),
    entry("vulture/fig-15", "fig-15", "be_during_mbit_per_s", "BE beside LBE, Mbit/s", Paper(5.98)),
    entry("vulture/fig-15", "fig-15", "be_after_mbit_per_s", "BE after, Mbit/s", Paper(5.97)),
    entry("vulture/fig-15", "fig-15", "lbe_mbit_per_s", "LBE, Mbit/s", Paper(2.84)),
    entry("vulture/fig-15", "fig-15", "spare_used", "LBE, of the spare", Paper(0.83)),
    entry("vulture/fig-16", "fig-15", "rtt_before_ms", "RTT of BE before, ms", Paper(104.0)),
    entry("vulture/fig-16", "fig-15", "rtt_during_ms", "RTT of BE beside LBE, ms", Paper(146.0)),
    entry("vulture/fig-16", "fig-15", "rtt_after_ms", "RTT of BE after, ms", Paper(104.0)),
    entry("vulture/fig-17", "fig-17", "utilisation", "alone: share of the link as LBE", Paper(0.93)),
    entry("vulture/fig-17", "fig-17", "settled", "alone: the same after 20 s", Paper(0.99)),
    entry("vulture/fig-17", "fig-17", "recovery_s", "alone: recovered after, s", Paper(20.0)),
    entry("vulture/fig-17", "fig-17-shrinking", "utilisation", "taken back: share of the link as LBE", Paper(0.93)),
    entry("vulture/fig-17", "fig-17-shrinking", "settled", "taken back: the same after 20 s", Paper(0.99)),
    entry("vulture/fig-17", "fig-17-shrinking", "recovery_s", "taken back: recovered after, s", Paper(20.0)),
    entry("vulture/table-1", "table-1-t3", "off_used", "T = 3 s: LBE while BE is off", Paper(0.20)),
    entry("vulture/table-1", "table-1-t3", "be_on_share", "T = 3 s: BE's share while on", Paper(0.88)),
    entry("vulture/table-1", "table-1-t10", "off_used", "T = 10 s: LBE while BE is off", Paper(0.33)),
    entry("vulture/table-1", "table-1-t10", "be_on_share", "T = 10 s: BE's share while on", Paper(0.86)),
    entry("vulture/table-2", "table-2-n2", "jain", "2 LBE flows: Jain's index", Paper(0.96)),
    entry("vulture/table-2", "table-2-n4", "jain", "4 LBE flows: Jain's index", Paper(0.99)),
    entry("vulture/table-2", "table-2-n8", "jain", "8 LBE flows: Jain's index", Paper(0.98)),
];

/// All scenarios by name: those of the law `ebb`, then the paper's.
pub(super) fn all_scenarios(is_quick: bool) -> Vec<Scenario> {
    let (measured_s, timing) = if is_quick {
        (20.0, Timing::QUICK)
    } else {
        (MEASURED_S, Timing::PAPER)
    };
    let ours = ebb_scenarios().into_iter().chain(upload_scenarios());
    ours.map(|scenario| scenario.measured_for(measured_s))
        .chain(vulture_scenarios(timing))
        .collect()
}

impl Entry {
    /// Whether a name asks for this figure: the figure's, or that of its set.
    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name || self.set() == name
    }

    /// What the figure is measured with unless told otherwise: the law that its set is named
    /// after, for uploads what they yield by, for those of the user backend what it has.
    pub(super) fn policy(&self) -> Result<Policy, PolicyError> {
        match self.set() {
            "upload" => Ok(Policy::default_of(Side::Sender)),
            "user" => "sampled".parse(),
            "user-upload" => "paced".parse(),
            law => law.parse(),
        }
    }

    /// The set that it belongs to.
    pub(super) fn set(&self) -> &'static str {
        self.name.split_once('/').map_or(self.name, |(set, _)| set)
    }

    /// This figure among those that were measured.
    pub(super) fn find<'a>(&self, figures: &'a [Figure], policy: &str) -> Option<&'a Figure> {
        figures.iter().find(|figure| {
            figure.scenario == self.scenario
                && figure.metric == self.metric
                && figure.policy == policy
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_has_its_scenario() {
        for is_quick in [false, true] {
            let scenarios = all_scenarios(is_quick);
            for entry in CATALOGUE {
                let found = scenarios.iter().any(|it| it.name == entry.scenario);
                assert!(found, "{} needs {}", entry.name, entry.scenario);
            }
        }
    }

    #[test]
    fn bounds_include_their_value() {
        assert_eq!(Target::AtLeast(0.9).holds(0.9), Some(true));
        assert_eq!(Target::AtLeast(0.9).holds(0.899), Some(false));
        assert_eq!(Target::AtMost(10.0).holds(10.1), Some(false));
        assert_eq!(Target::Paper(1.0).holds(0.0), None);
    }
}
