// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

use crate::{LinkError, Nanos, Probability, QueueLimit, QueueSpec, Rate, Trace};

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
        if self.capacity == Capacity::Unlimited && self.ecn_threshold.is_some() {
            return Err(LinkError::Spec(
                "an ECN threshold needs a bottleneck with a rate or a trace",
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
