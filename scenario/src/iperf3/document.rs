// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The keys of `iperf3 --json`, in its order.

use serde::{Serialize, Serializer};

#[derive(Serialize)]
pub struct Document<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub title: Option<&'a str>,
    pub start: Start<'a>,
    pub intervals: Vec<Bin>,
    pub end: End<'a>,
}

#[derive(Serialize)]
pub struct Start<'a> {
    pub connected: Vec<Connected<'a>>,
    pub version: String,
    pub system_info: &'a str,
    pub timestamp: Timestamp,
    pub test_start: TestStart,
}

/// When a run begins, which has no time of day: at the epoch.
#[derive(Serialize)]
pub struct Timestamp {
    pub time: &'static str,
    pub timesecs: u64,
}

impl Timestamp {
    pub const EPOCH: Self = Self {
        time: "Thu, 01 Jan 1970 00:00:00 GMT",
        timesecs: 0,
    };
}

/// `flow` is ours: iperf3 has no names.
#[derive(Serialize)]
pub struct Connected<'a> {
    pub socket: usize,
    pub flow: &'a str,
    pub local_host: &'a str,
    pub local_port: u16,
    pub remote_host: &'a str,
    pub remote_port: u16,
}

#[derive(Serialize)]
pub struct TestStart {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<&'static str>,
    pub num_streams: usize,
    pub blksize: u32,
    #[serde(serialize_with = "whole")]
    pub omit: f64,
    #[serde(serialize_with = "whole")]
    pub duration: f64,
    #[serde(serialize_with = "whole")]
    pub interval: f64,
    pub reverse: u8,
}

#[derive(Serialize)]
pub struct Bin {
    pub streams: Vec<Rate>,
    pub sum: Rate,
}

/// Bytes in a time. What a stream, a sum or a protocol does not have is none.
#[derive(Default, Serialize)]
pub struct Rate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub socket: Option<usize>,
    pub start: f64,
    pub end: f64,
    pub seconds: f64,
    pub bytes: u64,
    pub bits_per_second: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retransmits: Option<u64>,
    #[serde(flatten)]
    pub now: Option<Now>,
    #[serde(flatten)]
    pub most: Option<Most>,
    #[serde(flatten)]
    pub packets: Option<Packets>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub omitted: Option<bool>,
    pub sender: bool,
}

/// What a sender saw in a bin. *Units:* bytes, microseconds.
#[derive(Serialize)]
pub struct Now {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_cwnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub snd_wnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt: Option<u64>,
}

/// What a sender saw in all the time that counts. *Units:* bytes, microseconds.
#[derive(Serialize)]
pub struct Most {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snd_cwnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_snd_wnd: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rtt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rtt: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mean_rtt: Option<u64>,
}

/// Of a stream of UDP: those that were sent in the time that counts.
#[derive(Clone, Copy, Serialize)]
pub struct Packets {
    pub lost_packets: u64,
    pub packets: u64,
    pub lost_percent: f64,
}

#[derive(Serialize)]
pub struct End<'a> {
    pub streams: Vec<Ended>,
    /// iperf3 has it for UDP alone.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sum: Option<Rate>,
    pub sum_sent: Rate,
    pub sum_received: Rate,
    pub cpu_utilization_percent: Processors,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sender_tcp_congestion: Option<&'a str>,
}

/// In percent. Hosts here take none.
#[derive(Default, Serialize)]
pub struct Processors {
    pub host_total: f64,
    pub host_user: f64,
    pub host_system: f64,
    pub remote_total: f64,
    pub remote_user: f64,
    pub remote_system: f64,
}

#[derive(Serialize)]
#[serde(untagged)]
pub enum Ended {
    Tcp {
        sender: Box<Rate>,
        receiver: Box<Rate>,
    },
    Udp {
        udp: Box<Rate>,
    },
}

/// iperf3 has whole seconds there, and not everybody reads `5.0` as one.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for it")]
fn whole<S: Serializer>(seconds: &f64, to: S) -> Result<S::Ok, S::Error> {
    match seconds.fract() == 0.0 {
        true => to.serialize_u64(*seconds as u64),
        false => to.serialize_f64(*seconds),
    }
}
