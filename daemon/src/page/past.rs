// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The history as the page draws it: sums of ten minutes each.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::history::Minute;

const BIN_S: u64 = 600;
const BINS: usize = 144;

/// 24 hours in bins.
#[derive(Debug, PartialEq, Serialize)]
pub(super) struct Bins {
    bin_s: u64,
    rules: BTreeMap<String, Series>,
    /// What interfaces carried beside the payload of rules.
    others: Series,
}

/// Bytes in each bin, the oldest first.
#[derive(Debug, PartialEq, Serialize)]
struct Series {
    down: Vec<u64>,
    up: Vec<u64>,
}

impl Series {
    fn empty() -> Self {
        Self {
            down: vec![0; BINS],
            up: vec![0; BINS],
        }
    }

    fn add(&mut self, bin: usize, down: u64, up: u64) {
        self.down[bin] += down;
        self.up[bin] += up;
    }
}

impl Bins {
    /// Those of the 24 hours before a moment.
    pub(super) fn of(minutes: &[Minute], now_unix_s: u64) -> Self {
        let mut bins = Self {
            bin_s: BIN_S,
            rules: BTreeMap::new(),
            others: Series::empty(),
        };
        for minute in minutes {
            let age = now_unix_s.saturating_sub(minute.at_unix_s) / BIN_S;
            let Some(bin) = usize::try_from(age)
                .ok()
                .and_then(|age| (BINS - 1).checked_sub(age))
            else {
                continue;
            };
            for (name, past) in &minute.rules {
                let series = bins.rules.entry(name.clone()).or_insert_with(Series::empty);
                series.add(bin, past.received_bytes, past.sent_bytes);
            }
            if let Some(past) = minute.of_others() {
                bins.others.add(bin, past.received_bytes, past.sent_bytes);
            }
        }
        bins
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::history::Past;

    #[test]
    fn the_latest_bin_is_the_last_one_and_others_have_what_is_left() {
        let past = Past {
            received_bytes: 30,
            sent_bytes: 5,
            ..Past::default()
        };
        let minute = |at_unix_s| Minute {
            at_unix_s,
            seconds: 60.0,
            carried_bytes: Some([100, 7]),
            rules: [("a".to_owned(), past)].into(),
        };
        let now = 1_795_600_000;
        let oldest = now - BIN_S * BINS as u64;
        let minutes = [oldest, oldest + 1, now - 60, now].map(minute);
        let bins = Bins::of(&minutes, now);
        let a = &bins.rules["a"];
        assert_eq!((a.down[0], a.down[BINS - 1], a.up[BINS - 1]), (30, 60, 10));
        assert_eq!(bins.others.down[BINS - 1], 140);
        assert_eq!(bins.others.up[0], 2);
        assert_eq!(a.down.iter().sum::<u64>(), 90);
    }
}
