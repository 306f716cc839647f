// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

/// Which way the data goes. The client always connects, the server listens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the server to the client.
    #[default]
    Download,
    /// From the client to the server.
    Upload,
}

/// What a flow sends.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FlowKind {
    /// TCP, always more to send.
    Greedy,
    /// TCP with so much application data per second. What TCP cannot take for more than 1 s
    /// is given up.
    ConstantRate {
        /// Application data, headers not counted. *Units:* bit/s.
        rate_bit_per_s: u64,
        /// Length of the pieces that it is written in.
        piece_bytes: u32,
        /// What is due while more than this waits to be sent is given up at once; none: it
        /// waits, too.
        backlog_bytes: Option<u64>,
    },
    /// TCP on one connection: greedy for a period, silent for a period, and so on.
    OnOff {
        /// Length of an on and of an off period.
        period_s: f64,
    },
    /// TCP until so much is sent; the connection is closed then.
    Fixed {
        /// Application data.
        bytes: u64,
    },
    /// UDP at a constant rate; each packet carries its number and its time.
    Udp {
        /// Packets per second.
        rate_pkts_per_s: u32,
        /// Application data of one packet, at least 16.
        payload_bytes: u32,
    },
    /// UDP in the first half of each period, silence in the second.
    UdpSquareWave {
        /// Packets per second, while there are some.
        rate_pkts_per_s: u32,
        /// Application data of one packet, at least 16.
        payload_bytes: u32,
        /// Length of a period, from the start of the flow on.
        period_s: f64,
    },
}

/// One flow of an experiment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowSpec {
    /// A name, unique in its experiment.
    pub name: String,
    /// What it sends.
    pub kind: FlowKind,
    /// Which way.
    pub direction: Direction,
    /// The sender's congestion control, one that the kernel has.
    pub congestion_control: String,
    /// When the client connects (TCP) or the first packet leaves (UDP).
    pub start_s: f64,
    /// When the sender writes no more; the end of the experiment if absent.
    pub stop_s: Option<f64>,
    /// Samples the sender's `TCP_INFO` so often.
    pub sample_every_ms: Option<u32>,
}

impl FlowSpec {
    /// A greedy download with CUBIC that starts with the experiment.
    pub fn new(name: impl Into<String>, kind: FlowKind) -> Self {
        Self {
            name: name.into(),
            kind,
            direction: Direction::Download,
            congestion_control: "cubic".into(),
            start_s: 0.0,
            stop_s: None,
            sample_every_ms: None,
        }
    }

    /// The same flow with another congestion control at its sender.
    pub fn with_congestion_control(mut self, name: &str) -> Self {
        self.congestion_control = name.into();
        self
    }
}

/// What the kernel of the sender knew at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TcpSample {
    /// Time in the experiment.
    pub time_s: f64,
    /// Congestion window.
    pub cwnd_segments: u32,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// The window that the receiver advertised last.
    pub peer_window_bytes: u32,
    /// Smoothed round-trip time.
    pub rtt_us: u32,
    /// Segments sent again, from the beginning.
    pub retransmitted_segments: u32,
    /// Data sent again, from the beginning.
    pub retransmitted_bytes: u64,
    /// Segments with data sent, retransmissions included, from the beginning.
    pub sent_segments: u32,
    /// Data sent, retransmissions included, from the beginning.
    pub sent_bytes: u64,
    /// Times that the retransmission timer went off, from the beginning; 0 before Linux 6.7.
    pub timeouts: u16,
}

/// What became of a UDP flow's packets.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct UdpResult {
    /// Packets that left.
    pub sent_pkts: u64,
    /// One-way delays of the packets that arrived, in order of arrival.
    pub delays_us: Vec<u32>,
}

/// What became of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FlowResult {
    /// What it was.
    pub spec: FlowSpec,
    /// Length of one element of `received_bytes`.
    pub bin_us: u64,
    /// Application data that the receiver read, by time from the start of the experiment.
    pub received_bytes: Vec<u64>,
    /// Arrival of the last byte.
    pub last_byte_s: Option<f64>,
    /// When a flow of fixed size had arrived whole.
    pub completed_s: Option<f64>,
    /// Samples of the sender's state.
    pub samples: Vec<TcpSample>,
    /// The kernel's number for the receiving socket, never used twice; none before there is one.
    pub receiver_cookie: Option<u64>,
    /// For UDP flows.
    pub udp: Option<UdpResult>,
    /// Why the connection broke, if it did.
    pub failure: Option<String>,
}

impl FlowResult {
    /// A flow of which nothing has arrived yet.
    pub(crate) fn new(spec: FlowSpec, bin_us: u64) -> Self {
        Self {
            spec,
            bin_us,
            received_bytes: Vec::new(),
            last_byte_s: None,
            completed_s: None,
            samples: Vec::new(),
            receiver_cookie: None,
            udp: None,
            failure: None,
        }
    }

    /// Notes bytes that arrived now.
    pub(crate) fn note_arrival(&mut self, now_s: f64, count: u64) {
        let bin = (now_s * 1e6).max(0.0) as u64 / self.bin_us;
        let bin = usize::try_from(bin).expect("an experiment has fewer bins than memory");
        if self.received_bytes.len() <= bin {
            self.received_bytes.resize(bin + 1, 0);
        }
        self.received_bytes[bin] += count;
        self.last_byte_s = Some(now_s);
    }

    /// Bytes that arrived between two times, bins counted by the part that is inside.
    pub fn bytes_between(&self, from_s: f64, to_s: f64) -> f64 {
        let bin_s = self.bin_us as f64 / 1e6;
        let first = (from_s / bin_s).floor().max(0.0) as usize;
        let last = ((to_s / bin_s).ceil().max(0.0) as usize).min(self.received_bytes.len());
        (first..last)
            .map(|bin| {
                let start_s = bin as f64 * bin_s;
                let inside_s = (start_s + bin_s).min(to_s) - start_s.max(from_s);
                self.received_bytes[bin] as f64 * (inside_s / bin_s).clamp(0.0, 1.0)
            })
            .sum()
    }

    /// Mean goodput between two times. *Units:* bit/s.
    pub fn goodput_bit_per_s(&self, from_s: f64, to_s: f64) -> f64 {
        if to_s <= from_s {
            return 0.0;
        }
        self.bytes_between(from_s, to_s) * 8.0 / (to_s - from_s)
    }

    /// Everything that arrived.
    pub fn total_bytes(&self) -> u64 {
        self.received_bytes.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_bytes_in_the_bin_in_which_they_arrive() {
        let mut result = FlowResult::new(FlowSpec::new("f", FlowKind::Greedy), 10_000);
        for (now_s, count) in [(0.100, 500), (0.105, 200), (1.050, 1_000)] {
            result.note_arrival(now_s, count);
        }
        assert_eq!(result.received_bytes.len(), 106);
        assert_eq!(result.received_bytes[10], 700);
        assert_eq!(result.received_bytes[105], 1_000);
        assert_eq!(result.last_byte_s, Some(1.050));
    }

    #[test]
    fn counts_bins_by_the_part_that_lies_inside() {
        let mut result = FlowResult::new(FlowSpec::new("f", FlowKind::Greedy), 100_000);
        result.received_bytes = vec![100, 200, 400];
        // 0.05 … 0.25 s: half of the first bin, the second, half of the third.
        assert!((result.bytes_between(0.05, 0.25) - 450.0).abs() < 1e-6);
        assert!((result.bytes_between(0.0, 9.0) - 700.0).abs() < 1e-6);
        // 700 bytes in 0.3 s.
        let rate = result.goodput_bit_per_s(0.0, 0.3);
        assert!((rate - 700.0 * 8.0 / 0.3).abs() < 1e-6);
        assert_eq!(result.goodput_bit_per_s(2.0, 1.0), 0.0);
    }
}
