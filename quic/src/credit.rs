// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A download bounded by flow-control credit, under a law of the receiving end.

use std::time::{Duration, Instant};

use ebb_algorithms::{Policy, ReceiverFlow, Segment, Start};
use quinn_proto::{ConnectionStats, VarInt};

use crate::controller::micros32;
use crate::error::Error;
use crate::samples::Samples;

/// The law's clock when the connection begins, since laws want one that is never 0.
const FIRST_US: u64 = 1_000_000;
/// RFC 9000 §14.1: any path carries it. *Units:* bytes.
const LEAST_DATAGRAM_BYTES: u32 = 1_200;
/// The law is made for Linux's estimate, which falls at once and rises by 1/8 of the way with each
/// segment. After so many it counts no more of them.
const SEGMENTS_OF_A_SAMPLE: u32 = 12;

/// quinn tells of credit by eighths of the window, which the peer sends as bursts; of one byte more
/// it tells at once, and of all the rest with it. So each look asks for one byte more, and after so
/// many for the window again. *Units:* bytes.
const NUDGES: u32 = 64;

/// What was seen of a connection up to now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Seen {
    /// Bytes in datagrams that arrived.
    pub arrived_bytes: u64,
    /// Datagrams that arrived.
    pub datagrams: u64,
    /// ACK frames that arrived: each may have brought a sample of the round trip.
    pub acks: u64,
    /// The smoothed round trip, as RFC 9002 §5.3 has it.
    pub smoothed_rtt: Duration,
}

impl Seen {
    /// The mean of the datagrams that came since `last`.
    pub(crate) fn datagram_bytes(&self, last: &Self) -> u64 {
        let datagrams = self.datagrams.saturating_sub(last.datagrams).max(1);
        self.arrived_bytes.saturating_sub(last.arrived_bytes) / datagrams
    }
}

impl From<&ConnectionStats> for Seen {
    fn from(stats: &ConnectionStats) -> Self {
        Self {
            arrived_bytes: stats.udp_rx.bytes,
            datagrams: stats.udp_rx.datagrams,
            acks: stats.frame_rx.acks,
            smoothed_rtt: stats.path.rtt,
        }
    }
}

/// How much a peer may send, by what arrives.
///
/// Give [`Self::window`] to `TransportConfig::receive_window` before the connection is made: QUIC
/// takes no credit back. Then call [`Self::look`] with `Connection::stats` every
/// [`Self::LOOK_EVERY`], and what it answers to `Connection::set_receive_window`.
///
/// ```
/// use std::time::Instant;
///
/// use ebb_quic::{Credit, Seen};
/// use quinn_proto::TransportConfig;
///
/// let mut credit = Credit::new("sampled", Instant::now())?;
/// let mut transport = TransportConfig::default();
/// transport.receive_window(credit.window());
/// # let seen = Seen::default();
/// // With a connection: `let seen = Seen::from(&connection.stats())`.
/// if let Some(window) = credit.look(Instant::now(), seen) {
///     // connection.set_receive_window(window);
/// }
/// # Ok::<(), ebb_quic::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Credit {
    flow: ReceiverFlow,
    began: Instant,
    last: Seen,
    /// All that the law was told of.
    taken_bytes: u64,
    samples: Samples,
    /// As Linux has it, so that the law finds the sample again.
    estimate_us: u32,
    datagram_bytes: u32,
    window_bytes: u32,
    nudge_bytes: u32,
}

impl Credit {
    /// The time from one look to the next: the law takes no more of them.
    pub const LOOK_EVERY: Duration = Duration::from_millis(5);

    /// Reads a policy, `name:key=value,…`.
    ///
    /// *Errors:* [`Error::Policy`] if it cannot be read or is of the sending end,
    /// [`Error::JudgesSegments`] if the law needs more than QUIC tells.
    pub fn new(policy: &str, now: Instant) -> Result<Self, Error> {
        let policy = Policy::receiver(policy)?;
        if !policy.law().is_for_counters() {
            return Err(Error::JudgesSegments(policy.law().name));
        }
        let start = Start {
            now_us: FIRST_US,
            mss_bytes: LEAST_DATAGRAM_BYTES,
            has_timestamps: 1,
            ..Start::default()
        };
        let flow = ReceiverFlow::new(policy, &start);
        Ok(Self {
            began: now,
            last: Seen::default(),
            taken_bytes: 0,
            samples: Samples::default(),
            estimate_us: 0,
            datagram_bytes: LEAST_DATAGRAM_BYTES,
            window_bytes: flow.window_bytes(),
            nudge_bytes: 0,
            flow,
        })
    }

    /// What the peer may send beyond what was read.
    pub fn window(&self) -> VarInt {
        VarInt::from_u32(self.window_bytes + self.nudge_bytes)
    }

    /// Takes what was seen; answers the window that is to be set, if anything came.
    pub fn look(&mut self, now: Instant, seen: Seen) -> Option<VarInt> {
        let last = std::mem::replace(&mut self.last, seen);
        self.take_round_trip(now, &last, &seen);
        let bytes = seen.arrived_bytes.saturating_sub(last.arrived_bytes);
        if bytes == 0 {
            return None;
        }
        self.take_bytes(now, bytes, seen.datagram_bytes(&last));
        self.next_nudge();
        Some(self.window())
    }

    /// What the law lets be under way.
    pub(crate) fn law_window_bytes(&self) -> u32 {
        self.window_bytes
    }

    /// The greatest mean that was seen.
    pub(crate) fn datagram_bytes(&self) -> u32 {
        self.datagram_bytes
    }

    /// By how much more than the law wants a window is to be.
    pub(crate) fn next_nudge(&mut self) -> u32 {
        self.nudge_bytes = (self.nudge_bytes + 1) % NUDGES;
        self.nudge_bytes
    }

    /// Takes the round trip that was measured between two looks, if one was.
    pub(crate) fn take_round_trip(&mut self, now: Instant, last: &Seen, seen: &Seen) {
        if let Some(sample_us) = sample_us(last, seen) {
            let sample_us = self.samples.take(now, sample_us);
            self.estimate_us = next_estimate_us(self.estimate_us, sample_us);
        }
    }

    /// So much came since the last look, in datagrams of so much each.
    pub(crate) fn take_bytes(&mut self, now: Instant, bytes: u64, each: u64) {
        let each = u32::try_from(each).unwrap_or(u32::MAX);
        self.datagram_bytes = self.datagram_bytes.max(each);
        let seq = self.taken_bytes as u32;
        self.taken_bytes += bytes;
        self.flow.on_segment(&Segment {
            now_us: FIRST_US + micros(now.saturating_duration_since(self.began)),
            seq,
            payload_bytes: u32::try_from(bytes).unwrap_or(u32::MAX),
            segments: SEGMENTS_OF_A_SAMPLE,
            rcv_nxt: seq,
            right_edge_seq: (self.taken_bytes as u32).wrapping_add(self.window_bytes),
            mss_bytes: self.datagram_bytes,
            kernel_rtt_us: self.estimate_us,
            has_timestamps: 1,
            ..Segment::default()
        });
        self.window_bytes = self.flow.window_bytes();
    }
}

/// The round trip that moved the mean between two looks, which goes 1/8 of the way to each sample;
/// none if nothing did. Acknowledgements that brought none make it nearer to the mean.
fn sample_us(last: &Seen, seen: &Seen) -> Option<u32> {
    if last.smoothed_rtt == seen.smoothed_rtt || seen.acks == last.acks {
        return None;
    }
    let samples = i32::try_from(seen.acks.saturating_sub(last.acks)).unwrap_or(i32::MAX);
    let gone = 1.0 - (7.0_f64 / 8.0).powi(samples);
    let [before, after] = [last.smoothed_rtt, seen.smoothed_rtt].map(|it| it.as_secs_f64());
    let sample = before + (after - before) / gone;
    Some(micros32(Duration::from_secs_f64(sample.max(1e-6))))
}

/// Linux's estimate after so many segments of one round trip.
fn next_estimate_us(estimate_us: u32, sample_us: u32) -> u32 {
    if sample_us <= estimate_us || estimate_us == 0 {
        return sample_us;
    }
    let gone = 1.0 - (7.0_f64 / 8.0).powi(SEGMENTS_OF_A_SAMPLE as i32);
    estimate_us + (f64::from(sample_us - estimate_us) * gone) as u32
}

fn micros(duration: Duration) -> u64 {
    u64::try_from(duration.as_micros()).unwrap_or(u64::MAX >> 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(acks: u64, smoothed_us: u64) -> Seen {
        Seen {
            acks,
            smoothed_rtt: Duration::from_micros(smoothed_us),
            ..Seen::default()
        }
    }

    #[test]
    fn a_mean_tells_the_sample_that_moved_it() {
        // 7/8 of 100 ms and 1/8 of 180 ms.
        assert_eq!(
            sample_us(&seen(3, 100_000), &seen(4, 110_000)),
            Some(180_000)
        );
        assert_eq!(
            sample_us(&seen(3, 110_000), &seen(4, 100_000)),
            Some(30_000)
        );
        let thrice = (0..3).fold(100_000_f64, |mean, _| mean + (164_000.0 - mean) / 8.0);
        let told = sample_us(&seen(3, 100_000), &seen(6, thrice as u64)).unwrap();
        assert!(told.abs_diff(164_000) < 10, "{told}");
        assert_eq!(sample_us(&seen(3, 100_000), &seen(4, 100_000)), None);
    }

    #[test]
    fn laws_that_judge_segments_are_refused_with_what_can_be_had() {
        let refused = |policy| Credit::new(policy, Instant::now()).unwrap_err().to_string();
        assert!(refused("vulture").contains("take sampled"));
        assert!(refused("ledbat++").contains("sampled"));
    }
}
