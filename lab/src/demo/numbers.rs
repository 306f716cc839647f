// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The numbers that the demo's table shows, from what was measured.

use super::Part;
use ebb_scenario::stats::{self, percentile};

/// A part's pages, call and download in numbers; `None` where there is nothing to count.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Numbers {
    /// Pages loaded.
    pub pages: usize,
    /// Median page load time in seconds.
    pub page_median_s: Option<f64>,
    /// 95th percentile of the page load times in seconds.
    pub page_p95_s: Option<f64>,
    /// Mean one-way delay of the call in milliseconds.
    pub call_mean_ms: Option<f64>,
    /// 95th percentile of the call's delay in milliseconds.
    pub call_p95_ms: Option<f64>,
    /// Share of the call's datagrams that never arrived.
    pub call_loss: Option<f64>,
    /// Mean rate of the download in bits per second of file content.
    pub download_bits_per_s: Option<f64>,
}

impl Numbers {
    /// Sums a part up; the download's rate counts up to the part's planned end.
    pub fn of(part: &Part) -> Self {
        let loads: Vec<f64> = part.pages.iter().map(|page| page.load_s).collect();
        let delays: Vec<f64> = part
            .call
            .iter()
            .filter_map(|spoken| spoken.delay_ms)
            .collect();
        let lost = part.call.len() - delays.len();
        Self {
            pages: loads.len(),
            page_median_s: percentile(&loads, 50.0),
            page_p95_s: percentile(&loads, 95.0),
            call_mean_ms: stats::Spread::of(&delays).map(|delay| delay.mean),
            call_p95_ms: percentile(&delays, 95.0),
            call_loss: (!part.call.is_empty()).then(|| lost as f64 / part.call.len() as f64),
            download_bits_per_s: part
                .download
                .as_ref()
                .map(|received| super::download::mean_bits_per_s(received, part.duration_s)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Page, PartKind, Received, Spoken};
    use super::*;

    fn part() -> Part {
        let loads = [0.7, 0.9, 0.8, 4.0];
        let delays = [Some(50.0), None, Some(60.0), Some(70.0)];
        Part {
            kind: PartKind::Plain,
            duration_s: 2.0,
            pages: loads
                .map(|load_s| Page {
                    start_s: 0.0,
                    load_s,
                })
                .to_vec(),
            call: delays
                .map(|delay_ms| Spoken {
                    sent_s: 0.0,
                    delay_ms,
                })
                .to_vec(),
            shares: Vec::new(),
            download: Some(vec![
                Received {
                    at_s: 1.0,
                    total_bytes: 500_000,
                },
                Received {
                    at_s: 2.0,
                    total_bytes: 1_000_000,
                },
                Received {
                    at_s: 2.5,
                    total_bytes: 9_000_000,
                },
            ]),
        }
    }

    #[test]
    fn pages_and_the_call_are_summed_up_by_their_spread() {
        let numbers = Numbers::of(&part());
        assert_eq!(numbers.pages, 4);
        // Between 0.8 and 0.9.
        assert!((numbers.page_median_s.unwrap() - 0.85).abs() < 1e-9);
        // 0.95 of the way over three gaps: 85 % of the gap from 0.9 to 4.
        assert!((numbers.page_p95_s.unwrap() - 3.535).abs() < 1e-9);
        assert!((numbers.call_p95_ms.unwrap() - 69.0).abs() < 1e-9);
    }

    #[test]
    fn lost_datagrams_count_as_lost_and_not_as_delay() {
        let numbers = Numbers::of(&part());
        assert_eq!(
            (numbers.call_loss, numbers.call_mean_ms),
            (Some(0.25), Some(60.0))
        );
    }

    #[test]
    fn the_rate_stops_counting_at_the_planned_end() {
        assert_eq!(Numbers::of(&part()).download_bits_per_s, Some(4_000_000.0));
    }

    #[test]
    fn nothing_measured_gives_no_number() {
        let nothing = Part {
            pages: vec![],
            call: vec![],
            download: None,
            ..part()
        };
        let numbers = Numbers::of(&nothing);
        assert_eq!(
            (
                numbers.page_median_s,
                numbers.call_mean_ms,
                numbers.call_loss
            ),
            (None, None, None)
        );
        assert_eq!(numbers.download_bits_per_s, None);
    }
}
