// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use serde::{Deserialize, Serialize};

/// Both ends of a TCP connection, but for the laws that govern it.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TcpOptions {
    /// The profile that the other values were taken from before they were changed.
    pub profile: TcpProfile,
    /// Maximum segment size as announced: what timestamps take of it (12 bytes) is not
    /// payload. *Units:* bytes.
    pub mss_bytes: u32,
    /// Headers of IP and TCP without options. *Units:* bytes.
    pub header_bytes: u32,
    /// Segments that a connection sends before the first acknowledgement.
    pub initial_window_pkts: u32,
    /// When arriving data is acknowledged.
    pub delayed_acks: DelayedAcks,
    /// RFC 7323 timestamps; none: not used.
    pub timestamps: Option<Timestamps>,
    /// Selective acknowledgements.
    pub has_sack: bool,
    /// RFC 7323 window scaling; without it windows end at 65 535 bytes.
    pub has_window_scaling: bool,
    /// RFC 3168 congestion notification.
    pub has_ecn: bool,
    /// What the receiver holds for its application.
    pub receive_buffer: Buffer,
    /// The receiver may take back window that it has advertised (what Linux does with
    /// `net.ipv4.tcp_shrink_window`). Results from before this could be chosen are of such
    /// as may not.
    #[serde(default)]
    pub shrinks_window: bool,
    /// For so long a receiving host waits for more of a connection, which it hands over as one packet
    /// that does not say of how many; zero: it hands over each. Only a kernel can (the lab's).
    #[serde(default, skip_serializing_if = "is_zero")]
    pub receive_offload: Nanos,
    /// The receiver closes its window where its law wants less than a segment, and opens it when
    /// the law says so. Without it such a window is as small as a clamp can make it, as in the
    /// kernel backend.
    #[serde(default)]
    pub closes_window: bool,
    /// What the sender holds until it is acknowledged.
    pub send_buffer: Buffer,
    /// Retransmission timer before the first RTT sample.
    pub initial_rto: Nanos,
    /// Lower end of the retransmission timer. Linux bounds the variance term by it, the
    /// papers' simulators the whole: see [`TcpProfile`].
    pub min_rto: Nanos,
    /// Upper end of the retransmission timer.
    pub max_rto: Nanos,
    /// Timers go off at multiples of this; in the papers' profile RTT samples are rounded up
    /// to it if there are no timestamps. Zero: exact.
    pub timer_granularity: Nanos,
    /// How losses are found and repaired.
    pub recovery: Recovery,
    /// RFC 3042: the first two duplicate acknowledgements send new data.
    pub has_limited_transmit: bool,
    /// RFC 5682: finds out after a timeout whether it was necessary.
    pub has_frto: bool,
    /// A window that was not used for a retransmission timeout shrinks.
    pub has_idle_restart: bool,
    /// Whether segments of a window are spread over the round trip.
    pub pacing: Pacing,
    /// Segments that leave back to back as one large one does; 1: none do.
    pub tso_pkts: u32,
}

/// A named set of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum TcpProfile {
    /// As Linux speaks it.
    #[default]
    Linux,
    /// As ns-2 and OPNET did at the time of the papers.
    Paper,
}

/// When arriving data is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DelayedAcks {
    /// Full-sized segments that are acknowledged at once; 1: each is.
    pub segments: u32,
    /// What is acknowledged after this if fewer came.
    pub timeout: Nanos,
    /// Segments at the start (and after silence) that are acknowledged each.
    pub quick_pkts: u32,
}

/// RFC 7323 timestamps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timestamps {
    /// Length of a tick of both ends' clocks.
    pub tick: Nanos,
    /// How much faster the sender's clock runs than the receiver's. *Units:* 10⁻⁶.
    pub drift_ppm: i32,
}

/// A buffer of a connection's end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Buffer {
    /// Always so much data. *Units:* bytes of payload.
    Fixed(u64),
    /// Grows with what the connection needs. *Units:* bytes of payload.
    Autotuned {
        /// At first.
        initial_bytes: u64,
        /// At the most.
        max_bytes: u64,
    },
}

impl Buffer {
    /// The most that it ever holds. *Units:* bytes.
    pub const fn max_bytes(self) -> u64 {
        match self {
            Self::Fixed(bytes) => bytes,
            Self::Autotuned { max_bytes, .. } => max_bytes,
        }
    }
}

/// How losses are found and repaired.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Recovery {
    /// RACK-TLP (RFC 8985) with PRR; needs SACK.
    Rack,
    /// RFC 6675 with PRR; needs SACK.
    Sack,
    /// RFC 6582.
    NewReno,
    /// RFC 5681: fast recovery ends with the first new acknowledgement.
    Reno,
}

/// Whether segments of a window are spread over the round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pacing {
    /// Only where the sender law asks for a rate.
    ByLaw,
    /// At 200 % of window per round trip in slow start, 120 % after it, as Linux does.
    On,
}

/// Scenarios of before keep their bytes.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde's signature")]
fn is_zero(time: &Nanos) -> bool {
    *time == Nanos::ZERO
}

impl TcpOptions {
    /// As Linux 6.x speaks it over Ethernet; both ends have large buffers.
    pub const LINUX: Self = Self {
        profile: TcpProfile::Linux,
        mss_bytes: 1460,
        header_bytes: 40,
        initial_window_pkts: 10,
        delayed_acks: DelayedAcks {
            segments: 2,
            timeout: Nanos::from_millis(40),
            quick_pkts: 16,
        },
        timestamps: Some(Timestamps {
            tick: Nanos::from_millis(1),
            drift_ppm: 0,
        }),
        has_sack: true,
        has_window_scaling: true,
        has_ecn: false,
        receive_buffer: Buffer::Autotuned {
            // tcp_rmem's 128 KiB, in which 1448 bytes of payload take 2304.
            initial_bytes: 82_375,
            max_bytes: 3 << 20,
        },
        shrinks_window: false,
        receive_offload: Nanos::ZERO,
        closes_window: false,
        send_buffer: Buffer::Autotuned {
            initial_bytes: 16_384,
            max_bytes: 4 << 20,
        },
        initial_rto: Nanos::from_secs(1),
        min_rto: Nanos::from_millis(200),
        max_rto: Nanos::from_secs(120),
        // A jiffy, with the usual CONFIG_HZ=250.
        timer_granularity: Nanos::from_millis(4),
        recovery: Recovery::Rack,
        has_limited_transmit: true,
        has_frto: true,
        has_idle_restart: true,
        pacing: Pacing::ByLaw,
        tso_pkts: 1,
    };

    /// As the papers' simulators had it: Reno's recovery, 1000-byte packets, no delayed
    /// acknowledgements, coarse timers, no limit by buffers.
    pub const PAPER: Self = Self {
        profile: TcpProfile::Paper,
        mss_bytes: 960,
        header_bytes: 40,
        initial_window_pkts: 2,
        delayed_acks: DelayedAcks {
            segments: 1,
            timeout: Nanos::from_millis(100),
            quick_pkts: 0,
        },
        timestamps: None,
        has_sack: false,
        has_window_scaling: true,
        has_ecn: false,
        receive_buffer: Buffer::Fixed(64 << 20),
        shrinks_window: false,
        receive_offload: Nanos::ZERO,
        closes_window: false,
        send_buffer: Buffer::Fixed(64 << 20),
        initial_rto: Nanos::from_secs(3),
        min_rto: Nanos::from_secs(1),
        max_rto: Nanos::from_secs(60),
        timer_granularity: Nanos::from_millis(100),
        recovery: Recovery::NewReno,
        has_limited_transmit: false,
        has_frto: false,
        has_idle_restart: false,
        pacing: Pacing::ByLaw,
        tso_pkts: 1,
    };

    /// The values of a profile.
    pub const fn of(profile: TcpProfile) -> Self {
        match profile {
            TcpProfile::Linux => Self::LINUX,
            TcpProfile::Paper => Self::PAPER,
        }
    }

    /// Payload of a full segment: what options leave of the segment size. *Units:* bytes.
    pub const fn payload_bytes(&self) -> u32 {
        match self.timestamps {
            Some(_) => self.mss_bytes.saturating_sub(12),
            None => self.mss_bytes,
        }
    }
}

impl Default for TcpOptions {
    fn default() -> Self {
        Self::LINUX
    }
}
