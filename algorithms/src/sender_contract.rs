// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Mirrors of the structs in `sender_contract.h`; see there for the meaning of each field.

use crate::receiver_contract::as_bytes;

/// What the host is doing about losses, as Linux's `tcp_ca_state` has it.
#[repr(u8)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Phase {
    /// Nothing out of the ordinary.
    #[default]
    Open,
    /// Duplicate acknowledgements, nothing is taken for lost yet.
    Disorder,
    /// Answering a congestion mark.
    Cwr,
    /// Repairing a loss.
    Recovery,
    /// After a time-out.
    Loss,
}

/// A law's answer.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderWindow {
    /// 0: the host's own pacing, or none.
    pub pacing_bytes_per_s: u64,
    /// Congestion window.
    pub cwnd_pkts: u32,
    /// Slow-start threshold.
    pub ssthresh_pkts: u32,
    /// Payload of a segment; 0: the MSS.
    pub segment_bytes: u32,
    /// Zero.
    pub reserved: u32,
}

/// What a law is told when it takes over a connection.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderStart {
    /// Sender's monotonic clock.
    pub now_us: u64,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// The host's initial window.
    pub cwnd_pkts: u32,
    /// Length of a tick of our timestamps.
    pub local_tick_us: u32,
    /// Nonzero if RFC 7323 timestamps are in use.
    pub has_timestamps: u32,
}

/// An acknowledgement that acknowledges or SACKs something.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderAck {
    /// Sender's monotonic clock.
    pub now_us: u64,
    /// Delivered on the whole connection, cumulatively or by SACK.
    pub delivered_pkts: u64,
    /// `delivered_pkts` when the segment of the rate sample was sent.
    pub rate_prior_delivered_pkts: u64,
    /// Delivered since then.
    pub rate_delivered_pkts: u32,
    /// The time that it took; 0: no sample.
    pub rate_interval_us: u32,
    /// First byte not acknowledged.
    pub ack_seq: u32,
    /// First byte not sent.
    pub snd_nxt: u32,
    /// Newly acknowledged in order; 0 where they must not raise the window.
    pub acked_pkts: u32,
    /// The same in bytes.
    pub acked_bytes: u32,
    /// Newly acknowledged or SACKed.
    pub delivered_now_pkts: u32,
    /// Newly taken for lost.
    pub lost_now_pkts: u32,
    /// In flight before this acknowledgement.
    pub prior_inflight_pkts: u32,
    /// In flight after it.
    pub inflight_pkts: u32,
    /// The host's window now.
    pub cwnd_pkts: u32,
    /// The host's threshold now.
    pub ssthresh_pkts: u32,
    /// This acknowledgement's RTT sample; 0: none.
    pub rtt_us: u32,
    /// Smoothed by the host; 0: none.
    pub srtt_us: u32,
    /// Peer's clock in its ticks.
    pub tsval: u32,
    /// Our clock in our ticks, as echoed.
    pub tsecr: u32,
    /// Our timestamp clock now, in our ticks.
    pub local_ts: u32,
    /// Length of our tick.
    pub local_tick_us: u32,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Uniform, fresh at each call.
    pub random: u32,
    /// A [`Phase`], after this acknowledgement.
    pub phase: u8,
    /// Nonzero if the window, not the application, limited the last round trip.
    pub is_cwnd_limited: u8,
    /// Nonzero if the rate sample is a lower bound only.
    pub is_app_limited: u8,
    /// Nonzero if the receiver echoes a congestion mark.
    pub is_ece: u8,
    /// Nonzero if timestamps are in use.
    pub has_timestamps: u8,
    /// Zero.
    pub reserved: [u8; 3],
}

/// A loss, a time-out, an undo, an end of idleness.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SenderEvent {
    /// Sender's monotonic clock.
    pub now_us: u64,
    /// First byte not acknowledged.
    pub ack_seq: u32,
    /// First byte not sent.
    pub snd_nxt: u32,
    /// The host's window before the event.
    pub cwnd_pkts: u32,
    /// The host's threshold before the event.
    pub ssthresh_pkts: u32,
    /// In flight.
    pub inflight_pkts: u32,
    /// Payload of a full segment.
    pub mss_bytes: u32,
    /// Smoothed by the host; 0: none.
    pub srtt_us: u32,
    /// After an idle time: how long nothing was outstanding.
    pub idle_us: u32,
    /// Uniform, fresh at each call.
    pub random: u32,
    /// Nonzero if it is a congestion mark, not a loss.
    pub is_ecn: u8,
    /// A [`Phase`], before the event.
    pub phase: u8,
    /// Zero.
    pub reserved: [u8; 2],
}

as_bytes!(SenderStart, SenderAck, SenderEvent);
