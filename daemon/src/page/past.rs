// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The history as the page draws it: sums of ten minutes each.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::{Minute, Past};

const BIN_S: u64 = 600;
const BINS: usize = 144;

/// 24 hours in bins.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Bins {
    bin_s: u64,
    rules: BTreeMap<String, Series>,
    /// The same of gateways' rules.
    gateway_rules: BTreeMap<String, Series>,
    /// What interfaces carried beside the payload of rules.
    others: Series,
}

/// What there was in each bin, the oldest first.
#[derive(Debug, PartialEq, Serialize)]
struct Series {
    /// *Units:* bytes.
    down: Vec<u64>,
    /// *Units:* bytes.
    up: Vec<u64>,
    /// The mean queueing delay, where the laws saw any.
    queue_us: Vec<Option<u64>>,
}

/// What is added up.
type Sums = [Past; BINS];

impl Series {
    fn of(sums: &Sums) -> Self {
        Self {
            down: sums.iter().map(|past| past.received_bytes).collect(),
            up: sums.iter().map(|past| past.sent_bytes).collect(),
            queue_us: sums.iter().map(Past::queue_mean_us).collect(),
        }
    }
}

impl Bins {
    /// Those of the 24 hours before a moment.
    pub(super) fn of(minutes: &[Minute], now_unix_s: u64) -> Self {
        let none: Sums = [Past::default(); BINS];
        let mut rules = [BTreeMap::new(), BTreeMap::new()];
        let mut others = none;
        for minute in minutes {
            let age = now_unix_s.saturating_sub(minute.at_unix_s) / BIN_S;
            let Some(bin) = usize::try_from(age)
                .ok()
                .and_then(|age| (BINS - 1).checked_sub(age))
            else {
                continue;
            };
            for (rules, its) in rules.iter_mut().zip([&minute.rules, &minute.gateway_rules]) {
                for (name, past) in its {
                    let sums: &mut Sums = rules.entry(name.clone()).or_insert(none);
                    sums[bin].add(past);
                }
            }
            if let Some(past) = minute.of_others() {
                others[bin].add(&past);
            }
        }
        let series = |(name, sums): (&String, &Sums)| (name.clone(), Series::of(sums));
        let [rules, gateway_rules] = rules.map(|rules| rules.iter().map(series).collect());
        Self {
            bin_s: BIN_S,
            rules,
            gateway_rules,
            others: Series::of(&others),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_bin_is_the_last_one_and_others_have_what_is_left() {
        let past = Past {
            received_bytes: 30,
            sent_bytes: 5,
            queue_sum_us: 9_000,
            queue_looks: 2,
            ..Past::default()
        };
        let minute = |at_unix_s| Minute {
            at_unix_s,
            seconds: 60.0,
            carried_bytes: Some([100, 7]),
            rules: [("a".to_owned(), past)].into(),
            gateway_rules: [("home/tv".to_owned(), past)].into(),
        };
        let now = 1_795_600_000;
        let oldest = now - BIN_S * BINS as u64;
        let minutes = [oldest, oldest + 1, now - 60, now].map(minute);
        let bins = Bins::of(&minutes, now);
        let a = &bins.rules["a"];
        assert_eq!((a.down[0], a.down[BINS - 1], a.up[BINS - 1]), (30, 60, 10));
        assert_eq!(bins.others.down[BINS - 1], 70);
        assert_eq!(bins.others.up[0], 0);
        assert_eq!(bins.gateway_rules["home/tv"], *a);
        assert_eq!(a.down.iter().sum::<u64>(), 90);
        // The mean of all looks in it; none where nobody looked.
        assert_eq!((a.queue_us[BINS - 1], a.queue_us[1]), (Some(4_500), None));
    }
}
