// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came out of a run. All lists are in the order of the scenario, so that the same
//! run gives the same bytes.
use ebb_link::Class;
use serde::{Deserialize, Serialize};

use crate::Interval;

/// The format that this crate writes; it changes when the meaning of a key does.
pub const OUTCOME_FORMAT: u32 = 1;

/// What one run gave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// [`OUTCOME_FORMAT`] of the writer.
    pub format: u32,
    /// Name of the scenario.
    pub scenario: String,
    /// What ran it: `simulator` or `lab`.
    pub engine: String,
    /// Version of Ebb.
    pub version: String,
    /// Number of the run, from 0.
    pub run: u32,
    /// Seed of the run.
    pub seed: u64,
    /// Length of the run.
    pub duration_s: f64,
    /// The parts of the run that flows and links are measured in.
    pub intervals: Vec<Period>,
    /// Flows.
    pub flows: Vec<FlowOutcome>,
    /// Links that are reported.
    pub links: Vec<LinkOutcome>,
    /// Everything over time.
    pub series: Series,
}

/// An [`Interval`] in seconds.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Period {
    /// Its name.
    pub name: String,
    /// Its first instant.
    pub from_s: f64,
    /// Its end.
    pub to_s: f64,
}

impl From<&Interval> for Period {
    fn from(interval: &Interval) -> Self {
        Self {
            name: interval.name.clone(),
            from_s: interval.from.as_secs_f64(),
            to_s: interval.to.as_secs_f64(),
        }
    }
}

/// What became of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// Name of the entry that it came from.
    pub group: String,
    /// Its class.
    pub class: Class,
    /// Sender policy; empty for UDP.
    pub sender: String,
    /// Receiver policy.
    pub receiver: Option<String>,
    /// When it started.
    pub start_s: f64,
    /// From its start until the last byte of a fixed size had arrived; none: it had not,
    /// or it has no size.
    pub completion_s: Option<f64>,
    /// One for each interval.
    pub measures: Vec<FlowMeasure>,
}

/// A flow in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowMeasure {
    /// What its receiver's application was given, in order and once.
    pub delivered_bytes: u64,
    /// The same per second of the whole interval.
    pub goodput_bits_per_s: f64,
    /// Data that it sent, retransmissions included.
    pub sent_bytes: u64,
    /// Packets with data that it sent, retransmissions included.
    pub sent_pkts: u64,
    /// Data that it sent again.
    pub retransmitted_bytes: u64,
    /// Packets with data that it sent again.
    pub retransmitted_pkts: u64,
    /// Times that its retransmission timer went off.
    pub timeouts: u64,
    /// Times that it began to repair losses without a timeout; none: not known (lab).
    pub recoveries: Option<u64>,
    /// Packets of it that queues dropped or links lost, on the way of the data; none: not
    /// known (lab).
    pub lost_pkts: Option<u64>,
    /// Round-trip times that its sender measured.
    pub rtt_ms: Distribution,
    /// Packet interval variations of the round trips that a watching Vulture saw; none: it
    /// watched none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variations: Option<Variations>,
    /// What its application saw.
    pub application: Option<ApplicationMeasure>,
}

/// How packets came closer together or further apart on their way, by round trips.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Variations {
    /// Round trips in which there were any.
    pub rounds: u64,
    /// The greatest share of positive ones in a round trip.
    pub max_positive_share: f64,
    /// The greatest sum of a round trip's. *Units:* jiffies of the law.
    pub max_sum_jiffies: i64,
}

/// The packet interval variations of one round trip.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct VariationRound {
    /// When it was over, from the start of the run.
    pub at_s: f64,
    /// How many there were, never none.
    pub all: u32,
    /// How many of these were positive.
    pub positive: u32,
    /// Their sum. *Units:* jiffies of the law.
    pub sum_jiffies: i64,
}

impl Variations {
    /// Of these round trips together; none if there are none.
    pub fn of(rounds: impl IntoIterator<Item = VariationRound>) -> Option<Self> {
        rounds
            .into_iter()
            .fold(None, |so_far: Option<Self>, round| {
                let share = f64::from(round.positive) / f64::from(round.all);
                let so_far = so_far.unwrap_or(Self {
                    max_sum_jiffies: i64::MIN,
                    ..Self::default()
                });
                Some(Self {
                    rounds: so_far.rounds + 1,
                    max_positive_share: so_far.max_positive_share.max(share),
                    max_sum_jiffies: so_far.max_sum_jiffies.max(round.sum_jiffies),
                })
            })
    }
}

/// Values that were measured, without the values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Distribution {
    /// How many; if none, the rest is 0.
    pub count: u64,
    /// Their mean.
    pub mean: f64,
    /// The least.
    pub min: f64,
    /// Half of them are at the most so large.
    pub median: f64,
    /// 95 % of them are at the most so large.
    pub p95: f64,
    /// The greatest.
    pub max: f64,
}

/// What an application saw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum ApplicationMeasure {
    /// Web pages that were complete in the interval.
    Web {
        /// From a page's first request to its last byte.
        page_s: Distribution,
        /// From an object's request to its last byte.
        object_s: Distribution,
        /// The same by the size of the object. *Shape:* in order of size, without classes
        /// that no object was in.
        #[serde(default)]
        object_s_by_size: Vec<SizeClass>,
    },
    /// Packets of the video whose turn was in the interval.
    Video {
        /// One for each pre-buffering time.
        late: Vec<LateShare>,
    },
    /// Packets of the call that were sent in the interval.
    Call {
        /// One-way delay.
        delay_ms: Distribution,
        /// How many were sent.
        sent_pkts: u64,
        /// How many of these never arrived.
        lost_pkts: u64,
        /// How many of these arrived too late.
        late_pkts: u64,
    },
    /// UDP packets that were sent in the interval.
    Udp {
        /// One-way delay.
        delay_ms: Distribution,
        /// How many never arrived.
        lost_pkts: u64,
    },
}

/// Objects of about the same size.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SizeClass {
    /// The least size.
    pub from_bytes: u64,
    /// The least size that is too large.
    pub to_bytes: u64,
    /// How many there were.
    pub count: u64,
    /// Mean from request to last byte.
    pub mean_s: f64,
}

/// Packets that were late with a pre-buffering time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LateShare {
    /// The pre-buffering time.
    pub pre_buffer_s: f64,
    /// Packets whose turn came.
    pub due_pkts: u64,
    /// Packets that had not arrived then.
    pub late_pkts: u64,
}

/// What became of a link.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Its name.
    pub name: String,
    /// Its rate, the mean if it varies; none: unlimited.
    pub rate_bits_per_s: Option<f64>,
    /// One for each interval.
    pub measures: Vec<LinkMeasure>,
}

/// A link in an interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkMeasure {
    /// Share of its rate that was used; none: it has no limit.
    pub utilisation: Option<f64>,
    /// Waiting in its queue, own transmission not counted, of packets that left it.
    pub queue_delay_ms: Distribution,
    /// Most packets that waited at the same time; none: not known (lab).
    pub max_queue_pkts: Option<u64>,
    /// Most bytes that waited at the same time; none: not known (lab).
    pub max_queue_bytes: Option<u64>,
    /// Best effort.
    pub best_effort: ClassMeasure,
    /// Less than best effort.
    pub less_than_best_effort: ClassMeasure,
}

/// Packets of a class on a link in an interval.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClassMeasure {
    /// Packets that came to the link.
    pub offered_pkts: u64,
    /// Packets that left the link at its other end.
    pub delivered_pkts: u64,
    /// Bytes of these, headers included.
    pub delivered_bytes: u64,
    /// Packets that the queue dropped.
    pub dropped_pkts: u64,
    /// Packets that the wire lost; none: not known (lab).
    pub lost_pkts: Option<u64>,
    /// Packets that the queue marked "congestion experienced"; none: not known (lab).
    pub marked_pkts: Option<u64>,
    /// Mean waiting in the queue of those that left it.
    pub mean_queue_delay_ms: f64,
}

/// Everything over time, in bins of equal length from the start of the run.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Series {
    /// Length of a bin.
    pub bin_s: f64,
    /// Flows.
    pub flows: Vec<FlowSeries>,
    /// Links that are reported.
    pub links: Vec<LinkSeries>,
}

/// A flow over time. *Shape:* one value for each bin; lists are empty where the flow has
/// no such thing. A value that is not known in a bin (nothing was sent) is null.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowSeries {
    /// Its name.
    pub name: String,
    /// What its application was given in the bin, per second.
    pub goodput_bits_per_s: Vec<f64>,
    /// Congestion window at the end of the bin; of several connections the sum.
    pub cwnd_bytes: Vec<Option<u64>>,
    /// Window that the sender was told last; of several connections the sum.
    pub rwnd_bytes: Vec<Option<u64>>,
    /// What its receiver's law takes the congestion window for; empty: the law has no such
    /// estimate.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub estimate_bytes: Vec<Option<u64>>,
    /// Round trips that a Vulture watched, in order of time; not one for each bin.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub variation_rounds: Vec<VariationRound>,
    /// Mean of the RTT samples in the bin.
    pub rtt_ms: Vec<Option<f64>>,
    /// Packets with data that it sent again in the bin; empty: not known (lab, UDP).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub retransmitted_pkts: Vec<u64>,
}

/// A link over time. *Shape:* one value for each bin.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LinkSeries {
    /// Its name.
    pub name: String,
    /// What left it in the bin, per second, headers included.
    pub rate_bits_per_s: Vec<f64>,
    /// Packets that waited at the end of the bin; empty: not known (lab).
    pub queue_pkts: Vec<u64>,
    /// Bytes that waited at the end of the bin; empty: not known (lab).
    pub queue_bytes: Vec<u64>,
    /// Mean waiting of packets that left the queue in the bin.
    pub queue_delay_ms: Vec<Option<f64>>,
    /// Packets that the queue dropped in the bin.
    pub dropped_pkts: Vec<u64>,
}
