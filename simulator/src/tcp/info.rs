// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What can be asked of an endpoint.

use ebb_algorithms::Phase;
use ebb_link::Nanos;

use super::{Connection, State, WatchedRound};

/// What an endpoint has counted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Data segments sent for the first time.
    pub sent_pkts: u64,
    /// Their payload.
    pub sent_bytes: u64,
    /// Data segments sent again, probes included.
    pub resent_pkts: u64,
    /// Their payload.
    pub resent_bytes: u64,
    /// Segments taken for lost, rightly or not.
    pub lost_pkts: u64,
    /// Times that the retransmission timer expired, that of the SYN included.
    pub timeouts: u32,
    /// Fast recoveries.
    pub recoveries: u32,
    /// Reductions of the window outside of time-outs: losses, marks, repaired tails.
    pub reductions: u32,
    /// Reductions that were taken back.
    pub undos: u32,
    /// Tail loss probes and zero-window probes.
    pub probes: u32,
    /// Bare acknowledgements sent.
    pub acks: u64,
    /// Data segments received that brought nothing new.
    pub duplicate_pkts: u64,
}

/// What an endpoint is doing.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Info {
    /// Where the connection stands.
    pub state: State,
    /// What the sender does about losses.
    pub phase: Phase,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow-start threshold; `0x7fff_ffff`: none.
    pub ssthresh_pkts: u32,
    /// On the way, as far as the sender knows.
    pub inflight_pkts: u32,
    /// Not acknowledged.
    pub out_pkts: u32,
    /// Payload of a segment as sent now.
    pub segment_bytes: u32,
    /// The peer's window.
    pub peer_window_bytes: u32,
    /// Window that this end has advertised last.
    pub advertised_window_bytes: u32,
    /// What the receiver law wants; none without a law.
    pub law_window_bytes: Option<u32>,
    /// Smoothed round-trip time; 0: none.
    pub srtt_us: u32,
    /// Least round-trip time of the last minutes; none before the first sample.
    pub least_rtt_us: Option<u32>,
    /// The retransmission time-out with its backoff.
    pub rto: Nanos,
    /// Pace; 0: none.
    pub pacing_bytes_per_s: u64,
}

impl Connection {
    /// Where the connection stands.
    #[inline]
    pub fn state(&self) -> State {
        self.state
    }

    /// Payload that has arrived in order.
    #[inline]
    pub fn received_bytes(&self) -> u64 {
        self.receiver.received_bytes()
    }

    /// Payload that has arrived in order and waits for the application.
    #[inline]
    pub fn readable_bytes(&self) -> u64 {
        let controls = u64::from(self.receiver.is_finished());
        self.receiver
            .nxt
            .saturating_sub(self.receiver.read.max(1) + controls)
    }

    /// Payload that the peer has acknowledged.
    #[inline]
    pub fn acknowledged_bytes(&self) -> u64 {
        self.sender.una.min(self.sender.written).saturating_sub(1)
    }

    /// Payload written and not acknowledged.
    #[inline]
    pub fn unacknowledged_bytes(&self) -> u64 {
        self.sender.written.saturating_sub(self.sender.una.max(1))
    }

    /// Payload written and not sent.
    #[inline]
    pub fn unsent_bytes(&self) -> u64 {
        self.sender.written.saturating_sub(self.sender.nxt.max(1))
    }

    /// What the receiver law takes the peer's congestion window for; none without a law that
    /// has such an estimate.
    pub fn estimate_bytes(&self) -> Option<u32> {
        self.receiver.estimate_bytes()
    }

    /// Round trips whose packet interval variations a law that observes has counted. *Shape:*
    /// in order of time.
    pub fn watched_rounds(&self) -> &[WatchedRound] {
        self.receiver.watched_rounds()
    }

    /// Whether everything that the peer will ever send has arrived.
    #[inline]
    pub fn is_peer_closed(&self) -> bool {
        self.receiver.is_finished()
    }

    /// First byte that the peer must not send, counted from its first one.
    #[inline]
    pub fn right_edge_bytes(&self) -> u64 {
        self.receiver.right_edge().saturating_sub(1)
    }

    /// The latest sample of the smoothed round-trip time; 0: none. *Units:* µs.
    #[inline]
    pub fn srtt_us(&self) -> u32 {
        self.sender.rtt.srtt_us()
    }

    /// How many round-trip times were measured, and the last of them. *Units:* µs.
    #[inline]
    pub fn rtt_samples(&self) -> (u64, u32) {
        (self.sender.rtt_samples, self.sender.last_rtt_us)
    }

    /// The sum of all round-trip times that were measured. *Units:* µs.
    #[inline]
    pub fn rtt_sum_us(&self) -> u64 {
        self.sender.rtt_sum_us
    }

    /// What it has counted.
    pub fn counters(&self) -> Counters {
        let sender = &self.sender.counters;
        Counters {
            sent_pkts: sender.sent_pkts,
            sent_bytes: sender.sent_bytes,
            resent_pkts: sender.resent_pkts,
            resent_bytes: sender.resent_bytes,
            lost_pkts: sender.lost_pkts,
            timeouts: sender.timeouts,
            recoveries: sender.recoveries,
            reductions: sender.reductions,
            undos: sender.undos,
            probes: sender.probes,
            acks: self.acks_sent,
            duplicate_pkts: u64::from(self.receiver.duplicate_pkts),
        }
    }

    /// What it is doing.
    pub fn info(&self) -> Info {
        let sender = &self.sender;
        let least_rtt_us = sender.least_rtt.us();
        Info {
            state: self.state,
            phase: sender.phase,
            cwnd_pkts: sender.cwnd_pkts,
            ssthresh_pkts: sender.ssthresh_pkts,
            inflight_pkts: sender.board.inflight_pkts(),
            out_pkts: sender.board.out_pkts(),
            segment_bytes: sender.segment_bytes,
            peer_window_bytes: sender.peer_window_bytes,
            advertised_window_bytes: self.receiver.window_bytes,
            law_window_bytes: self.receiver.law_window_bytes(),
            srtt_us: sender.rtt.srtt_us(),
            least_rtt_us: (least_rtt_us < u32::MAX).then_some(least_rtt_us),
            rto: sender.rto(),
            pacing_bytes_per_s: sender.pacing.bytes_per_s,
        }
    }
}
