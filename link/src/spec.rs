// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

use crate::{LinkError, Nanos, Probability, QueueLimit, QueueSpec, Rate, RateSteps, Trace};

/// How fast the bottleneck sends.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Capacity {
    /// At once: there is no bottleneck, and the queue stays empty.
    #[default]
    Unlimited,
    /// At a constant bit rate.
    Rate(Rate),
    /// At the times of a trace.
    Trace(Trace),
    /// At a bit rate that changes.
    Steps(RateSteps),
}

/// A link that is fast for as long as its bucket has tokens, as cable modems and shapers are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct TokenBucket {
    /// How fast tokens come: the rate that lasts, below that of the link.
    pub rate: Rate,
    /// What can be sent at the rate of the link before. *Units:* bytes.
    pub size_bytes: u64,
}

/// A link that sends what waits in one, as Wi-Fi does: all of it arrives when the last of it
/// was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Aggregation {
    /// What goes before each transmission: contention, preamble, the answer to the last one.
    pub overhead: Nanos,
    /// No further packet is put in after so much, the overhead not counted.
    pub airtime: Nanos,
    /// Nor after so many. *Units:* packets.
    pub max_pkts: u32,
}

/// Packets take another way from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reroute {
    /// When, since the link began.
    pub at: Nanos,
    /// The propagation delay from then on; what the bottleneck has sent before keeps its own.
    pub delay: Nanos,
}

/// A one-way link. The default passes everything on at once.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct LinkSpec {
    /// The bottleneck.
    pub capacity: Capacity,
    /// A bucket that bounds for how long the bottleneck sends at its rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bucket: Option<TokenBucket>,
    /// How the bottleneck sends several packets in one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aggregation: Option<Aggregation>,
    /// The queue in front of it.
    pub queue: QueueSpec,
    /// Marks ECN-capable packets that find more than this in their queue.
    pub ecn_threshold: Option<QueueLimit>,
    /// Propagation delay, after the bottleneck.
    pub delay: Nanos,
    /// Changes of that delay, in the order of their times. After one to a shorter way,
    /// packets overtake those that still travel on the longer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub reroutes: Vec<Reroute>,
    /// Each packet has an additional delay, uniform from 0 to this.
    pub jitter: Nanos,
    /// Whether jitter lets packets overtake each other; if not, a packet waits for
    /// the one before it.
    pub jitter_reorders: bool,
    /// Share of packets that the wire loses.
    pub loss: Probability,
    /// Share of packets that arrive `reorder_delay` later than they should, so that
    /// packets behind them overtake.
    pub reorder: Probability,
    /// How much later reordered packets arrive.
    pub reorder_delay: Nanos,
    /// Share of packets that arrive twice.
    pub duplicate: Probability,
}

impl Default for LinkSpec {
    fn default() -> Self {
        Self {
            capacity: Capacity::Unlimited,
            bucket: None,
            aggregation: None,
            queue: QueueSpec::DropTail(QueueLimit::Packets(1000)),
            ecn_threshold: None,
            delay: Nanos::ZERO,
            reroutes: Vec::new(),
            jitter: Nanos::ZERO,
            jitter_reorders: false,
            loss: Probability::NEVER,
            reorder: Probability::NEVER,
            reorder_delay: Nanos::ZERO,
            duplicate: Probability::NEVER,
        }
    }
}

impl LinkSpec {
    /// A link with a drop-tail queue: rate, one-way delay, queue limit.
    pub fn drop_tail(rate: Rate, delay: Nanos, limit: QueueLimit) -> Self {
        Self {
            capacity: Capacity::Rate(rate),
            queue: QueueSpec::DropTail(limit),
            delay,
            ..Self::default()
        }
    }

    /// The same link with two strict priorities of `limit` each.
    pub fn strict_priority(rate: Rate, delay: Nanos, limit: QueueLimit) -> Self {
        let queue = QueueSpec::StrictPriority {
            best_effort: limit,
            less_than_best_effort: limit,
        };
        Self {
            queue,
            ..Self::drop_tail(rate, delay, limit)
        }
    }

    /// A link that only delays.
    pub fn delay_only(delay: Nanos) -> Self {
        Self {
            delay,
            ..Self::default()
        }
    }

    /// The rate of the bottleneck in the long run, without what aggregation takes; none if there
    /// is no bottleneck. *Units:* bits per second.
    pub fn mean_bits_per_s(&self) -> Option<f64> {
        match (&self.capacity, &self.bucket) {
            (Capacity::Unlimited, _) => None,
            (Capacity::Rate(_), Some(bucket)) => Some(bucket.rate.bits_per_s() as f64),
            (Capacity::Rate(rate), None) => Some(rate.bits_per_s() as f64),
            (Capacity::Trace(trace), _) => Some(trace.mean_bits_per_s()),
            (Capacity::Steps(rates), _) => Some(rates.mean_bits_per_s()),
        }
    }

    /// The propagation delay of what the bottleneck has sent at a time.
    #[inline]
    pub fn delay_at(&self, sent_at: Nanos) -> Nanos {
        let past = self.reroutes.iter().rev().find(|route| route.at <= sent_at);
        past.map_or(self.delay, |route| route.delay)
    }

    /// Whether the parts fit together.
    ///
    /// *Errors:* [`LinkError::Spec`] names the contradiction.
    pub fn validate(&self) -> Result<(), LinkError> {
        self.queue.validate()?;
        let is_simple = matches!(
            self.queue,
            QueueSpec::DropTail(_) | QueueSpec::StrictPriority { .. }
        );
        if !is_simple && self.ecn_threshold.is_some() {
            return Err(LinkError::Spec(
                "an ECN threshold goes with drop-tail or strict priority; RED, CoDel, \
                 FQ-CoDel, PIE and CAKE mark by themselves (ecn = true), and so does DualPI2",
            ));
        }
        if !is_simple && self.capacity == Capacity::Unlimited {
            return Err(LinkError::Spec(
                "RED, CoDel, FQ-CoDel, PIE, DualPI2 and CAKE need a bottleneck with a rate or a \
                 trace",
            ));
        }
        if self.capacity == Capacity::Unlimited && self.ecn_threshold.is_some() {
            return Err(LinkError::Spec(
                "an ECN threshold needs a bottleneck with a rate or a trace",
            ));
        }
        self.validate_sending()?;
        self.validate_order()
    }
}

impl LinkSpec {
    fn validate_order(&self) -> Result<(), LinkError> {
        if self.reorder > Probability::NEVER && self.reorder_delay == Nanos::ZERO {
            return Err(LinkError::Spec(
                "reordering needs a delay for the packets that come later, like 5ms",
            ));
        }
        if self.jitter_reorders && self.jitter == Nanos::ZERO {
            return Err(LinkError::Spec(
                "jitter that reorders needs a jitter, like 5ms",
            ));
        }
        if !self.reroutes.is_sorted_by(|one, next| one.at < next.at) {
            return Err(LinkError::Spec(
                "reroutes need times in order, each later than the one before it",
            ));
        }
        Ok(())
    }

    fn validate_sending(&self) -> Result<(), LinkError> {
        if let Some(bucket) = &self.bucket {
            let Capacity::Rate(peak) = self.capacity else {
                return Err(LinkError::Spec(
                    "a token bucket goes with a rate, which is that of a full bucket",
                ));
            };
            if bucket.rate >= peak {
                return Err(LinkError::Spec(
                    "the rate of a token bucket must be below that of the link",
                ));
            }
            if bucket.size_bytes < 1_500 {
                return Err(LinkError::Spec(
                    "a token bucket must hold a packet of 1500 bytes",
                ));
            }
        }
        let Some(aggregation) = &self.aggregation else {
            return Ok(());
        };
        if !matches!(self.capacity, Capacity::Rate(_) | Capacity::Steps(_)) {
            return Err(LinkError::Spec(
                "aggregation needs a bottleneck with a rate, or rates that change",
            ));
        }
        if aggregation.airtime == Nanos::ZERO || aggregation.max_pkts == 0 {
            return Err(LinkError::Spec(
                "an aggregate needs an airtime, like 4ms, and room for packets, like 64",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn survives_serialisation_with_values_as_people_write_them() {
        let spec = LinkSpec {
            loss: "2%".parse().unwrap(),
            ..LinkSpec::strict_priority(
                Rate::from_mbit_per_s(10),
                Nanos::from_millis(50),
                QueueLimit::Packets(86),
            )
        };
        let text = serde_json::to_string(&spec).unwrap();
        assert!(text.contains(r#""rate":"10mbit""#), "{text}");
        assert!(text.contains(r#""delay":"50ms""#), "{text}");
        assert_eq!(serde_json::from_str::<LinkSpec>(&text).unwrap(), spec);
    }

    #[test]
    fn refuses_unknown_keys_and_wrong_values_in_files() {
        let error = serde_json::from_str::<LinkSpec>(r#"{"dealy":"50ms"}"#).unwrap_err();
        assert!(error.to_string().contains("dealy"), "{error}");
        let error = serde_json::from_str::<LinkSpec>(r#"{"delay":"50"}"#).unwrap_err();
        assert!(error.to_string().contains("the unit is missing"), "{error}");
    }

    #[test]
    fn refuses_contradictions() {
        let reorder = LinkSpec {
            reorder: Probability::ALWAYS,
            ..LinkSpec::default()
        };
        assert!(
            reorder
                .validate()
                .unwrap_err()
                .to_string()
                .contains("reordering needs a delay")
        );
        let queue = QueueSpec::DropTail(QueueLimit::Bytes(0));
        let empty = LinkSpec {
            queue,
            ..LinkSpec::default()
        };
        assert!(
            empty
                .validate()
                .unwrap_err()
                .to_string()
                .contains("at least one packet")
        );
        let jitter = LinkSpec {
            jitter_reorders: true,
            ..LinkSpec::default()
        };
        assert!(
            jitter
                .validate()
                .unwrap_err()
                .to_string()
                .contains("needs a jitter")
        );
        let at = Nanos::from_secs(1);
        let delay = Nanos::ZERO;
        let twice = LinkSpec {
            reroutes: vec![Reroute { at, delay }; 2],
            ..LinkSpec::default()
        };
        assert!(
            twice
                .validate()
                .unwrap_err()
                .to_string()
                .contains("times in order")
        );
        let bucket = |mbit_per_s, size_bytes| TokenBucket {
            rate: Rate::from_mbit_per_s(mbit_per_s),
            size_bytes,
        };
        let aggregation = Aggregation {
            overhead: Nanos::ZERO,
            airtime: Nanos::ZERO,
            max_pkts: 64,
        };
        let capacity = || Capacity::Rate(Rate::from_mbit_per_s(10));
        for (capacity, bucket, aggregation, expected) in [
            (
                Capacity::Unlimited,
                Some(bucket(1, 9_000)),
                None,
                "goes with a rate",
            ),
            (
                capacity(),
                Some(bucket(10, 9_000)),
                None,
                "below that of the link",
            ),
            (
                capacity(),
                Some(bucket(1, 1_000)),
                None,
                "a packet of 1500 bytes",
            ),
            (
                Capacity::Unlimited,
                None,
                Some(aggregation),
                "needs a bottleneck",
            ),
            (capacity(), None, Some(aggregation), "needs an airtime"),
        ] {
            let spec = LinkSpec {
                capacity,
                bucket,
                aggregation,
                ..LinkSpec::default()
            };
            let told = spec.validate().unwrap_err().to_string();
            assert!(told.contains(expected), "{told}");
        }
        let mark = LinkSpec {
            ecn_threshold: Some(QueueLimit::Packets(5)),
            ..LinkSpec::default()
        };
        assert!(
            mark.validate()
                .unwrap_err()
                .to_string()
                .contains("needs a bottleneck")
        );
    }
}
