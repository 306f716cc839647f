// SPDX-License-Identifier: Apache-2.0 OR MIT
mod cake;
mod dual_pi2;

use serde::{Deserialize, Serialize};

use crate::{Nanos, Probability, QueueLimit};

pub use cake::{CakeSpec, Isolation};
pub use dual_pi2::DualPi2Spec;

/// Where packets wait for the bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum QueueSpec {
    /// One queue for everybody, which drops what does not fit.
    DropTail(QueueLimit),
    /// Two queues: less-than-best-effort is sent only while no best effort waits. A
    /// packet that is being sent is not interrupted.
    StrictPriority {
        /// Limit of the queue that goes first.
        best_effort: QueueLimit,
        /// Limit of the queue that yields.
        less_than_best_effort: QueueLimit,
    },
    /// Random early detection, the same for everybody.
    Red(RedSpec),
    /// Random early detection on one queue, with thresholds by class.
    ClassRed(ClassRedSpec),
    /// Controlled delay.
    Codel(CodelSpec),
    /// A queue for each flow, each with controlled delay.
    FqCodel(FqCodelSpec),
    /// Proportional integral controller enhanced.
    Pie(PieSpec),
    /// Two coupled queues, one of them for L4S.
    #[serde(rename = "dualpi2")]
    DualPi2(DualPi2Spec),
    /// A queue for each flow, each under COBALT, with equal shares for hosts.
    Cake(CakeSpec),
}

/// Random early detection (Floyd and Jacobson, 1993). Thresholds are of the moving
/// average of the queue, in packets or in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct RedSpec {
    /// What the queue holds.
    pub limit: QueueLimit,
    /// Below this average nothing is marked.
    pub min_threshold: QueueLimit,
    /// At this average the probability is `max_probability`.
    pub max_threshold: QueueLimit,
    /// The probability to mark a packet at the maximum threshold.
    pub max_probability: Probability,
    /// Above the maximum threshold the probability rises to 1 at twice the threshold;
    /// if not, it is 1.
    pub gentle: bool,
    /// Weight of each packet in the average, above 0 to 1.
    pub weight: f64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Size of the packets that an idle link could have sent. *Units:* bytes.
    pub typical_packet_bytes: u32,
}

/// Random early detection with thresholds by class on one queue: both classes are
/// counted in one average.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct ClassRedSpec {
    /// What the queue holds.
    pub limit: QueueLimit,
    /// Thresholds for best effort; without, only what does not fit is dropped.
    pub best_effort: Option<RedCurve>,
    /// Thresholds for less than best effort, likewise.
    pub less_than_best_effort: Option<RedCurve>,
    /// Weight of each packet in the average, above 0 to 1.
    pub weight: f64,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Whether packets that are not ECN-capable (acknowledgements, retransmissions) pass
    /// where the others are marked: the router of TCP-LP/ECN never drops early.
    pub only_marks: bool,
    /// Size of the packets that an idle link could have sent. *Units:* bytes.
    pub typical_packet_bytes: u32,
}

/// The thresholds of one class.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct RedCurve {
    /// As in [`RedSpec`].
    pub min_threshold: QueueLimit,
    /// As in [`RedSpec`].
    pub max_threshold: QueueLimit,
    /// As in [`RedSpec`]; always if not given.
    #[serde(default = "always")]
    pub max_probability: Probability,
    /// As in [`RedSpec`]; not if not given.
    #[serde(default)]
    pub gentle: bool,
}

/// Controlled delay (RFC 8289).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct CodelSpec {
    /// What the queue holds.
    pub limit: QueueLimit,
    /// The waiting time that is accepted for long.
    pub target: Nanos,
    /// How long it may be exceeded: about the longest round trip.
    pub interval: Nanos,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
}

/// A queue for each flow, each with controlled delay (RFC 8290).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct FqCodelSpec {
    /// What all queues hold together; more is dropped from the longest.
    pub limit: QueueLimit,
    /// As in [`CodelSpec`].
    pub target: Nanos,
    /// As in [`CodelSpec`].
    pub interval: Nanos,
    /// Whether ECN-capable packets are marked instead of dropped.
    pub ecn: bool,
    /// Queues that flows are hashed to.
    pub flows: u32,
    /// What a flow may send in one turn. *Units:* bytes.
    pub quantum_bytes: u32,
}

/// Proportional integral controller enhanced (RFC 8033).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
pub struct PieSpec {
    /// What the queue holds.
    pub limit: QueueLimit,
    /// The waiting time that it steers for.
    pub target: Nanos,
    /// How often the probability is updated.
    pub update: Nanos,
    /// Weight of the deviation from the target. *Units:* 1/s.
    pub alpha: f64,
    /// Weight of the growth of the delay. *Units:* 1/s.
    pub beta: f64,
    /// Nothing is dropped so long when congestion begins.
    pub max_burst: Nanos,
    /// Whether ECN-capable packets are marked instead of dropped, as long as the
    /// probability is at most a tenth.
    pub ecn: bool,
}

const fn always() -> Probability {
    Probability::ALWAYS
}

impl Default for RedSpec {
    /// Thresholds of 5 and 15 packets, weight 0.002, as Floyd and Jacobson propose,
    /// with the probability of a tenth and `gentle` that Floyd recommended later.
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(100),
            min_threshold: QueueLimit::Packets(5),
            max_threshold: QueueLimit::Packets(15),
            max_probability: Probability::new(0.1).expect("from 0 to 1"),
            gentle: true,
            weight: 0.002,
            ecn: true,
            typical_packet_bytes: 500,
        }
    }
}

impl Default for ClassRedSpec {
    /// Drop-tail: no class has thresholds.
    fn default() -> Self {
        let RedSpec {
            limit,
            weight,
            ecn,
            typical_packet_bytes,
            ..
        } = RedSpec::default();
        Self {
            limit,
            best_effort: None,
            less_than_best_effort: None,
            weight,
            ecn,
            only_marks: false,
            typical_packet_bytes,
        }
    }
}

impl Default for CodelSpec {
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(1_000),
            target: Nanos::from_millis(5),
            interval: Nanos::from_millis(100),
            ecn: true,
        }
    }
}

impl Default for FqCodelSpec {
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(10_240),
            target: Nanos::from_millis(5),
            interval: Nanos::from_millis(100),
            ecn: true,
            flows: 1_024,
            quantum_bytes: 1_514,
        }
    }
}

impl Default for PieSpec {
    fn default() -> Self {
        Self {
            limit: QueueLimit::Packets(1_000),
            target: Nanos::from_millis(15),
            update: Nanos::from_millis(15),
            alpha: 0.125,
            beta: 1.25,
            max_burst: Nanos::from_millis(150),
            ecn: true,
        }
    }
}

impl RedSpec {
    /// The thresholds, which are everybody's.
    pub(crate) fn curve(&self) -> RedCurve {
        RedCurve {
            min_threshold: self.min_threshold,
            max_threshold: self.max_threshold,
            max_probability: self.max_probability,
            gentle: self.gentle,
        }
    }
}

impl QueueSpec {
    /// The router of TCP-LP/ECN (Kuzmanovic and Knightly, 2006, section IV-A): marks
    /// less than best effort while the average queue is above `delta` times the limit,
    /// and treats best effort as drop-tail does.
    ///
    /// The threshold is rounded to whole packets.
    pub fn tcp_lp_ecn(limit_pkts: u64, delta: f64) -> Self {
        let threshold = QueueLimit::Packets((limit_pkts as f64 * delta).round() as u64);
        Self::ClassRed(ClassRedSpec {
            limit: QueueLimit::Packets(limit_pkts),
            less_than_best_effort: Some(RedCurve {
                min_threshold: threshold,
                max_threshold: threshold,
                max_probability: Probability::ALWAYS,
                gentle: false,
            }),
            only_marks: true,
            ..ClassRedSpec::default()
        })
    }

    /// What the queue holds; of two priorities, the one that goes first.
    pub fn limit(&self) -> QueueLimit {
        match self {
            Self::DropTail(limit) => *limit,
            Self::StrictPriority { best_effort, .. } => *best_effort,
            Self::Red(red) => red.limit,
            Self::ClassRed(red) => red.limit,
            Self::Codel(codel) => codel.limit,
            Self::FqCodel(codel) => codel.limit,
            Self::Pie(pie) => pie.limit,
            Self::DualPi2(dual) => dual.limit,
            Self::Cake(cake) => cake.limit,
        }
    }

    /// The name of the discipline, as specifications have it.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropTail(_) => "drop-tail",
            Self::StrictPriority { .. } => "strict-priority",
            Self::Red(_) => "red",
            Self::ClassRed(_) => "class-red",
            Self::Codel(_) => "codel",
            Self::FqCodel(_) => "fq-codel",
            Self::Pie(_) => "pie",
            Self::DualPi2(_) => "dualpi2",
            Self::Cake(_) => "cake",
        }
    }
}
