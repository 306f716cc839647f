// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a connection receives: a receiver law told by `TCP_INFO`, obeyed by the window's clamp.

use std::io;

use ebb_algorithms::{Floor, Policy, ReceiverFlow, Segment, Start};
use ebb_host::TcpInfo;

use crate::socket::{CopiedSocket, NO_CLAMP_BYTES, NO_PACE};

/// A segment's payload on nearly every path, until it is known.
const USUAL_MSS_BYTES: u32 = 1_448;

/// The receiving direction of a connection.
#[derive(Debug)]
pub(crate) struct Download {
    /// None: it is left alone.
    flow: Option<ReceiverFlow>,
    /// What all have together at the least.
    floor: Floor,
    clamp_bytes: u32,
    /// The clamp may have been lifted by somebody else.
    is_stale: bool,
    samples: SenderSamples,
    /// As the law was told it last; 0: not yet.
    rtt_us: u32,
}

impl Download {
    /// One without a law.
    pub(crate) fn new(floor: &Floor) -> Self {
        Self {
            flow: None,
            floor: floor.clone(),
            clamp_bytes: NO_CLAMP_BYTES,
            is_stale: false,
            samples: SenderSamples::default(),
            rtt_us: 0,
        }
    }

    /// Goes on with other parameters; another law starts anew.
    pub(crate) fn set_policy(&mut self, policy: Option<&Policy>, info: &TcpInfo, now_us: u64) {
        match (&mut self.flow, policy) {
            (Some(flow), Some(policy)) if is_same_law(flow.policy(), policy) => {
                flow.set_policy(policy.clone());
            }
            (flow, policy) => {
                let start = start(info, now_us);
                *flow = policy.map(|policy| ReceiverFlow::new(policy.clone(), &start));
                if let Some(flow) = flow {
                    flow.set_floor(&self.floor);
                }
            }
        }
    }

    /// Has a part of another floor from now on.
    pub(crate) fn set_floor(&mut self, floor: &Floor) {
        self.floor = floor.clone();
        if let Some(flow) = &mut self.flow {
            flow.set_floor(floor);
        }
    }

    /// Sets everything again at the next look: somebody else may have lifted it.
    pub(crate) fn forget_settings(&mut self) {
        self.is_stale = true;
    }

    /// Tells the law and sets the clamp, unless it is to be free; answers how many limits were
    /// set.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn look(
        &mut self,
        socket: &CopiedSocket,
        last: &TcpInfo,
        info: &TcpInfo,
        now_us: u64,
        is_free: bool,
    ) -> io::Result<u64> {
        let Some(flow) = &mut self.flow else {
            return self.release(socket);
        };
        self.samples.look(last, info, now_us);
        if let Some(mut segment) = arrived(last, info, now_us) {
            let estimate_us = segment.kernel_rtt_us;
            segment.kernel_rtt_us = self.samples.rtt_us(info, now_us, estimate_us);
            self.rtt_us = segment.kernel_rtt_us;
            segment.is_observing = is_free.into();
            flow.on_segment(&segment);
        }
        if is_free {
            return self.release(socket);
        }
        // The kernel raises the clamp by itself as a transfer becomes faster.
        let is_raised = info.rcv_ssthresh > self.clamp_bytes || self.is_stale;
        let clamp_bytes = flow.window_bytes().clamp(1, NO_CLAMP_BYTES);
        if clamp_bytes == self.clamp_bytes && !is_raised {
            return Ok(0);
        }
        self.clamp_bytes = clamp_bytes;
        self.is_stale = false;
        socket.set_window_clamp(clamp_bytes)?;
        Ok(1)
    }

    /// Lifts the clamp; answers how many limits that were.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn release(&mut self, socket: &CopiedSocket) -> io::Result<u64> {
        if self.clamp_bytes == NO_CLAMP_BYTES {
            return Ok(0);
        }
        self.clamp_bytes = NO_CLAMP_BYTES;
        socket.set_window_clamp(NO_CLAMP_BYTES)?;
        Ok(1)
    }

    /// Its law, which there may be none of.
    pub(crate) fn flow(&self) -> Option<&ReceiverFlow> {
        self.flow.as_ref()
    }

    /// The round trip that its law goes by, if there was one.
    pub(crate) fn rtt_us(&self) -> Option<u32> {
        (self.rtt_us > 0).then_some(self.rtt_us)
    }

    /// Whether a clamp is set.
    pub(crate) fn is_limited(&self) -> bool {
        self.clamp_bytes != NO_CLAMP_BYTES
    }

    /// The bound on the window that is advertised.
    pub(crate) fn window_bytes(&self, info: &TcpInfo) -> u32 {
        match self.clamp_bytes {
            NO_CLAMP_BYTES => window_bytes(info),
            clamp_bytes => clamp_bytes,
        }
    }
}

/// The round trips that are measured where this end sends as well.
///
/// The receiver's estimate can be far too short, which a law would remember. For a moment: Linux
/// takes the time that a window's bytes need, too, and that is less than a round trip where more
/// than a window is on its way. And for as long as what is sent is held to a pace: Linux stamps an
/// acknowledgement with the time at which the next segment may leave, and the echo of that comes
/// back too soon by as much, which at a slow pace is most of a round trip.
///
/// The sender knows better, as long as its samples are of now: that of a handshake behind others'
/// queue would hide the queue.
#[derive(Debug, Default)]
struct SenderSamples {
    last_us: u32,
    until_us: u64,
}

impl SenderSamples {
    fn look(&mut self, last: &TcpInfo, info: &TcpInfo, now_us: u64) {
        if info.delivered != last.delivered {
            self.last_us = last_sample_us(last, info);
            self.until_us = now_us + 2 * u64::from(info.rtt_us);
        }
    }

    /// The round trip, by the receiver's estimate and by what the sender measured.
    fn rtt_us(&self, info: &TcpInfo, now_us: u64, estimate_us: u32) -> u32 {
        // Before the first sample the kernel has the greatest number that there is.
        if now_us >= self.until_us || info.min_rtt_us == u32::MAX {
            estimate_us
        } else if info.max_pacing_rate != NO_PACE {
            estimate_us.max(self.last_us).max(info.min_rtt_us)
        } else {
            estimate_us.max(info.min_rtt_us)
        }
    }
}

/// What the sender measured between two looks, from its mean: that goes 1/8 of the way to each
/// sample, and mostly there is one for two segments [RFC6298 §2].
fn last_sample_us(last: &TcpInfo, info: &TcpInfo) -> u32 {
    let delivered = info.delivered.wrapping_sub(last.delivered);
    let samples = i32::try_from(delivered.div_ceil(2)).unwrap_or(i32::MAX);
    let gone = 1.0 - (7.0_f64 / 8.0).powi(samples);
    let (before_us, now_us) = (f64::from(last.rtt_us), f64::from(info.rtt_us));
    // The first sample is the mean.
    if last.rtt_us == 0 {
        return info.rtt_us;
    }
    (before_us + (now_us - before_us) / gone).max(0.0) as u32
}

/// Whether a receiver's round trip is measured. Without timestamps the kernel's estimate only
/// falls; by the time until a new window is used the law would starve the connection alone.
pub(crate) fn tells_queue(info: &TcpInfo) -> bool {
    info.has_timestamps()
}

fn start(info: &TcpInfo, now_us: u64) -> Start {
    Start {
        now_us,
        mss_bytes: mss_bytes(info),
        rcv_nxt: info.bytes_received as u32,
        has_timestamps: u32::from(info.has_timestamps()),
        tsval: 0,
    }
}

fn mss_bytes(info: &TcpInfo) -> u32 {
    // Before the first segments the kernel has a guess of 536, or what the peer announced.
    if info.data_segs_in == 0 {
        return info.advmss.clamp(536, USUAL_MSS_BYTES.max(info.snd_mss));
    }
    info.rcv_mss.max(64)
}

/// What arrived between two looks, as one aggregate of segments; none: nothing did.
///
/// Without holes the bytes are those that came in order. With holes these stand still, and
/// what came is so many full segments, the first of them beyond a missing one.
fn arrived(last: &TcpInfo, info: &TcpInfo, now_us: u64) -> Option<Segment> {
    let segments = info.data_segs_in.wrapping_sub(last.data_segs_in);
    let in_order_bytes = info.bytes_received.saturating_sub(last.bytes_received);
    if segments == 0 && in_order_bytes == 0 {
        return None;
    }
    let mss_bytes = mss_bytes(info);
    let has_hole = info.rcv_ooopack != last.rcv_ooopack;
    let wire_bytes = u64::from(segments.max(1)) * u64::from(mss_bytes);
    // A hole that was filled brings at once what had come long before.
    let payload_bytes = if has_hole || in_order_bytes > 2 * wire_bytes {
        wire_bytes
    } else {
        in_order_bytes
    };
    let rcv_nxt = info.bytes_received as u32;
    let payload_bytes = u32::try_from(payload_bytes).unwrap_or(u32::MAX >> 2);
    let seq = rcv_nxt.wrapping_sub(payload_bytes);
    Some(Segment {
        now_us,
        seq,
        payload_bytes,
        segments: segments.max(1),
        rcv_nxt: if has_hole {
            seq.wrapping_sub(mss_bytes)
        } else {
            seq
        },
        right_edge_seq: rcv_nxt.wrapping_add(window_bytes(info)),
        mss_bytes,
        kernel_rtt_us: match info.rcv_rtt_us {
            0 => info.rtt_us,
            rcv_rtt_us => rcv_rtt_us,
        },
        has_timestamps: u8::from(info.has_timestamps()),
        ..Segment::default()
    })
}

fn is_same_law(one: &Policy, other: &Policy) -> bool {
    one.law().number == other.law().number
}

/// The window that is advertised.
fn window_bytes(info: &TcpInfo) -> u32 {
    match info.rcv_wnd {
        // Older kernels do not tell it (tcpi_rcv_wnd, 6.2): its bound is close.
        0 => info.rcv_ssthresh,
        window_bytes => window_bytes,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(bytes_received: u64, data_segs_in: u32) -> TcpInfo {
        TcpInfo {
            state: ebb_host::tcp_info::ESTABLISHED,
            options: 1,
            rcv_mss: 1_448,
            advmss: 1_448,
            bytes_received,
            data_segs_in,
            rcv_rtt_us: 101_000,
            rcv_wnd: 28_960,
            ..TcpInfo::default()
        }
    }

    #[test]
    fn bytes_in_order_are_told_as_one_aggregate() {
        let segment = arrived(&info(14_480, 10), &info(20_272, 14), 7).unwrap();
        assert_eq!((segment.seq, segment.payload_bytes), (14_480, 5_792));
        assert_eq!((segment.segments, segment.rcv_nxt), (4, 14_480));
        assert_eq!(segment.right_edge_seq, 20_272 + 28_960);
        assert_eq!(segment.kernel_rtt_us, 101_000);
        assert_eq!(arrived(&info(5, 1), &info(5, 1), 7), None);
    }

    #[test]
    fn no_round_trip_is_shorter_than_the_senders_while_it_sends() {
        let told = |delivered, max_pacing_rate| TcpInfo {
            delivered,
            rtt_us: 130_000,
            min_rtt_us: 110_000,
            max_pacing_rate,
            ..info(14_480, 10)
        };
        let mut samples = SenderSamples::default();
        let mut rtt_us = |last, now, now_us, pace| {
            samples.look(&told(last, pace), &told(now, pace), now_us);
            samples.rtt_us(&told(now, pace), now_us, 101_000)
        };
        // A handshake is no sample of now.
        assert_eq!(rtt_us(2, 2, 1_000_000, NO_PACE), 101_000);
        assert_eq!(rtt_us(2, 4, 1_010_000, NO_PACE), 110_000);
        assert_eq!(rtt_us(4, 4, 1_200_000, NO_PACE), 110_000);
        // Paced, the receiver's estimate is too short.
        assert_eq!(rtt_us(4, 4, 1_200_000, 25_000), 130_000);
        assert_eq!(rtt_us(4, 4, 1_270_000, NO_PACE), 101_000);
        assert_eq!(rtt_us(4, 4, 1_270_000, 25_000), 101_000);
    }

    #[test]
    fn a_mean_tells_the_samples_that_moved_it() {
        let told = |delivered, rtt_us| TcpInfo {
            delivered,
            rtt_us,
            ..info(14_480, 10)
        };
        let sample_us = |samples: u32, rtt_us| {
            let mean_us = (0..samples).fold(100_000, |mean, _| mean + (rtt_us - mean) / 8);
            last_sample_us(&told(7, 100_000), &told(7 + 2 * samples, mean_us as u32))
        };
        assert_eq!(sample_us(1, 180_000), 180_000);
        assert_eq!(sample_us(1, 60_000), 60_000);
        assert!(sample_us(3, 180_000).abs_diff(180_000) < 20);
        assert_eq!(last_sample_us(&told(0, 0), &told(1, 90_000)), 90_000);
    }

    #[test]
    fn a_download_without_timestamps_is_left_alone() {
        let mut told = info(14_480, 10);
        assert!(tells_queue(&told));
        told.options = 0;
        assert!(!tells_queue(&told));
    }

    #[test]
    fn segments_beyond_a_hole_are_told_as_such() {
        let mut now = info(14_480, 13);
        now.rcv_ooopack = 3;
        let segment = arrived(&info(14_480, 10), &now, 7).unwrap();
        assert_eq!(segment.payload_bytes, 3 * 1_448);
        // The law takes a segment that begins behind what is expected for a sign of loss.
        assert_eq!(segment.rcv_nxt, segment.seq.wrapping_sub(1_448));
    }

    #[test]
    fn a_hole_that_was_filled_is_no_burst() {
        let segment = arrived(&info(14_480, 40), &info(72_400, 41), 7).unwrap();
        assert_eq!(segment.payload_bytes, 1_448);
    }
}
