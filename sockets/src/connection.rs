// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection: what is seen of it, what its laws are told, what is set.

use std::io;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use ebb_algorithms::{Policy, ReceiverFlow, Segment, Start};
use ebb_host::TcpInfo;

use crate::claim::Claim;
use crate::hold::Own;
use crate::socket::{CopiedSocket, NO_CLAMP_BYTES};
use crate::timing::until_next_look;
use crate::upload::Upload;
use crate::wish::{Flow, Way, Wish, address};

/// Nothing is known of the path yet: look soon.
const UNKNOWN_RTT_US: u32 = 100_000;
/// A segment's payload on nearly every path, until it is known.
const USUAL_MSS_BYTES: u32 = 1_448;

/// What a look led to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Look {
    /// Payload that has arrived since the last.
    pub(crate) received_bytes: u64,
    /// Payload that was acknowledged since the last.
    pub(crate) sent_bytes: u64,
    /// Limits that were set.
    pub(crate) settings: u64,
    /// Nothing can move any more.
    pub(crate) has_ended: bool,
}

/// A connection that is to be governed, as it is met.
pub(crate) struct Met {
    pub(crate) cookie: u64,
    pub(crate) info: TcpInfo,
    pub(crate) own: Own,
    pub(crate) ends: ((IpAddr, u16), (IpAddr, u16)),
    pub(crate) claim: Claim,
    /// What is sent is not marked.
    pub(crate) keeps_code_point: bool,
}

/// A connection under laws.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) cookie: u64,
    pub(crate) own: Own,
    ends: ((IpAddr, u16), (IpAddr, u16)),
    wish: Wish,
    download: Option<ReceiverFlow>,
    upload: Option<Upload>,
    keeps_code_point: bool,
    begun: TcpInfo,
    last: TcpInfo,
    clamp_bytes: u32,
    /// The clamp may have been lifted by somebody else.
    is_stale: bool,
    idle_looks: u32,
    samples: SenderSamples,
    pub(crate) due: Instant,
    /// Nobody else's while it lives.
    _claim: Claim,
}

impl Connection {
    /// Takes a connection over as it is now.
    pub(crate) fn new(met: Met, wish: &Wish, now: (Instant, u64)) -> Self {
        let mut connection = Self {
            cookie: met.cookie,
            own: met.own,
            ends: met.ends,
            wish: Wish::default(),
            download: None,
            upload: None,
            keeps_code_point: met.keeps_code_point,
            begun: met.info,
            last: met.info,
            clamp_bytes: NO_CLAMP_BYTES,
            is_stale: false,
            idle_looks: 0,
            samples: SenderSamples::default(),
            due: now.0,
            _claim: met.claim,
        };
        connection.set_wish(wish.clone(), now);
        connection
    }

    /// What is wanted of it.
    pub(crate) fn wish(&self) -> &Wish {
        &self.wish
    }

    /// Wants something else of it from the next look on, which is at once. A law goes on with
    /// new parameters; another one starts anew.
    pub(crate) fn set_wish(&mut self, wish: Wish, now: (Instant, u64)) {
        match (&mut self.download, &wish.download) {
            (Some(flow), Some(policy)) if is_same_law(flow.policy(), policy) => {
                flow.set_policy(policy.clone());
            }
            (_, policy) => {
                let start = start(&self.last, now.1);
                let flow = |policy: &Policy| ReceiverFlow::new(policy.clone(), &start);
                self.download = policy.as_ref().map(flow);
            }
        }
        match (&mut self.upload, &wish.upload) {
            (Some(upload), Some(policy)) if upload.is_of(policy) => upload.set_policy(policy),
            (Some(upload), Some(policy)) => upload.restart(policy.clone(), &self.last, now.1),
            (None, Some(policy)) => {
                let marks = !self.keeps_code_point;
                let upload = Upload::new(policy.clone(), &self.last, now.1, self.own, marks);
                self.upload = Some(upload);
            }
            // It stays until its limits are lifted.
            (_, None) => {}
        }
        self.wish = wish;
        self.due = now.0;
    }

    /// Sets everything again at the next look, which is at once.
    pub(crate) fn forget_settings(&mut self, now: Instant) {
        self.is_stale = true;
        if let Some(upload) = &mut self.upload {
            upload.forget_settings();
        }
        self.due = now;
    }

    /// Whether it moved lately.
    pub(crate) fn is_moving(&self) -> bool {
        self.idle_looks < 4
    }

    /// Looks at it, asks the laws, sets what they want.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn look(
        &mut self,
        socket: &CopiedSocket,
        now: (Instant, u64),
        moving: usize,
    ) -> io::Result<Look> {
        let info = socket.info()?;
        let mut look = Look {
            received_bytes: info.bytes_received.saturating_sub(self.last.bytes_received),
            sent_bytes: info.bytes_acked.saturating_sub(self.last.bytes_acked),
            settings: 0,
            has_ended: !info.receives() && !info.sends(),
        };
        if info.receives() {
            look.settings += self.govern_download(socket, &info, now.1)?;
        }
        if info.sends() {
            look.settings += self.govern_upload(socket, &info, now.1)?;
        }
        let has_moved = look.received_bytes > 0 || look.sent_bytes > 0;
        self.idle_looks = if has_moved {
            0
        } else {
            self.idle_looks.saturating_add(1)
        };
        self.due = now.0 + self.until_next(&info, moving);
        self.last = info;
        Ok(look)
    }

    fn until_next(&self, info: &TcpInfo, moving: usize) -> Duration {
        let rtt_us = match (info.rcv_rtt_us, info.rtt_us) {
            (0, 0) => UNKNOWN_RTT_US,
            (0, rtt_us) | (rtt_us, 0) => rtt_us,
            (rcv_rtt_us, rtt_us) => rcv_rtt_us.min(rtt_us),
        };
        until_next_look(rtt_us, moving, self.idle_looks)
    }

    fn govern_download(
        &mut self,
        socket: &CopiedSocket,
        info: &TcpInfo,
        now_us: u64,
    ) -> io::Result<u64> {
        let Some(flow) = &mut self.download else {
            return self.lift_clamp(socket);
        };
        let is_free = self.wish.is_download_free || !tells_queue(info);
        let least_us = self.samples.least_us(&self.last, info, now_us);
        if let Some(mut segment) = arrived(&self.last, info, now_us) {
            segment.kernel_rtt_us = segment.kernel_rtt_us.max(least_us);
            segment.is_observing = is_free.into();
            flow.on_segment(&segment);
        }
        if is_free {
            return self.lift_clamp(socket);
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

    fn govern_upload(
        &mut self,
        socket: &CopiedSocket,
        info: &TcpInfo,
        now_us: u64,
    ) -> io::Result<u64> {
        let Some(upload) = &mut self.upload else {
            return Ok(0);
        };
        if self.wish.upload.is_none() || self.wish.is_upload_free {
            let settings = upload.release(socket)?;
            if self.wish.upload.is_none() {
                self.upload = None;
            }
            return Ok(settings);
        }
        upload.look(socket, &self.last, info, now_us)
    }

    fn lift_clamp(&mut self, socket: &CopiedSocket) -> io::Result<u64> {
        if self.clamp_bytes == NO_CLAMP_BYTES {
            return Ok(0);
        }
        self.clamp_bytes = NO_CLAMP_BYTES;
        socket.set_window_clamp(NO_CLAMP_BYTES)?;
        Ok(1)
    }

    /// Lifts every limit.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn release(&mut self, socket: &CopiedSocket) -> io::Result<()> {
        self.lift_clamp(socket)?;
        if let Some(upload) = &mut self.upload {
            upload.release(socket)?;
        }
        Ok(())
    }

    /// What is seen of it: one for each way that has a law.
    pub(crate) fn flows(&self, pid: u32) -> impl Iterator<Item = Flow> {
        let info = &self.last;
        let flow = move |way, policy: &Policy, state: &[u8]| Flow {
            cookie: self.cookie,
            pid,
            way,
            local: address(self.ends.0),
            peer: address(self.ends.1),
            law: policy.law().name,
            payload_bytes: 0,
            window_bytes: 0,
            pace_bytes_per_s: None,
            rtt_us: None,
            insight: policy.insight(state),
            is_limited: false,
            is_free: match way {
                Way::Down => self.wish.is_download_free || !tells_queue(info),
                Way::Up => self.wish.is_upload_free,
            },
        };
        let known = |us: u32| (us > 0).then_some(us);
        let download = self.download.as_ref().map(move |own| Flow {
            payload_bytes: info
                .bytes_received
                .saturating_sub(self.begun.bytes_received),
            window_bytes: match (self.clamp_bytes, info.rcv_wnd) {
                (NO_CLAMP_BYTES, 0) => info.rcv_ssthresh,
                (NO_CLAMP_BYTES, window_bytes) => window_bytes,
                (clamp_bytes, _) => clamp_bytes,
            },
            rtt_us: known(info.rcv_rtt_us).or(known(info.rtt_us)),
            is_limited: self.clamp_bytes != NO_CLAMP_BYTES,
            ..flow(Way::Down, own.policy(), own.state_bytes())
        });
        let upload = self.upload.as_ref().map(move |own| Flow {
            payload_bytes: info.bytes_acked.saturating_sub(self.begun.bytes_acked),
            window_bytes: own.window_bytes(info),
            pace_bytes_per_s: own.pace_bytes_per_s(),
            rtt_us: known(info.rtt_us),
            is_limited: own.pace_bytes_per_s().is_some(),
            ..flow(Way::Up, own.policy(), own.state_bytes())
        });
        download.into_iter().chain(upload)
    }
}

/// The round trips that are measured where this end sends as well.
///
/// The receiver's estimate can be far too short for a moment, which a law would remember: Linux
/// takes the time that a window's bytes need, too, and that is less than a round trip where more
/// than a window is on its way. The sender's least is a bound, as long as it is kept up to date:
/// that of a handshake behind others' queue would hide the queue.
#[derive(Debug, Default)]
struct SenderSamples {
    until_us: u64,
}

impl SenderSamples {
    /// No round trip is shorter; 0: nobody knows.
    fn least_us(&mut self, last: &TcpInfo, info: &TcpInfo, now_us: u64) -> u32 {
        if info.delivered != last.delivered {
            self.until_us = now_us + 2 * u64::from(info.rtt_us);
        }
        // Before the first sample the kernel has the greatest number that there is.
        if now_us < self.until_us && info.min_rtt_us < u32::MAX {
            info.min_rtt_us
        } else {
            0
        }
    }
}

/// Whether a receiver's round trip is measured. Without timestamps the kernel's estimate only
/// falls; by the time until a new window is used the law would starve the connection alone.
fn tells_queue(info: &TcpInfo) -> bool {
    info.has_timestamps()
}

fn is_same_law(one: &Policy, other: &Policy) -> bool {
    one.law().number == other.law().number
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
    // Older kernels do not tell the window (tcpi_rcv_wnd, 6.2): its bound is close.
    let window_bytes = if info.rcv_wnd > 0 {
        info.rcv_wnd
    } else {
        info.rcv_ssthresh
    };
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
        right_edge_seq: rcv_nxt.wrapping_add(window_bytes),
        mss_bytes,
        kernel_rtt_us: if info.rcv_rtt_us > 0 {
            info.rcv_rtt_us
        } else {
            info.rtt_us
        },
        has_timestamps: u8::from(info.has_timestamps()),
        ..Segment::default()
    })
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
        let told = |delivered| TcpInfo {
            delivered,
            rtt_us: 110_000,
            min_rtt_us: 100_000,
            ..info(14_480, 10)
        };
        let mut samples = SenderSamples::default();
        // A handshake is no sample of now.
        assert_eq!(samples.least_us(&told(2), &told(2), 1_000_000), 0);
        assert_eq!(samples.least_us(&told(2), &told(4), 1_010_000), 100_000);
        assert_eq!(samples.least_us(&told(4), &told(4), 1_200_000), 100_000);
        assert_eq!(samples.least_us(&told(4), &told(4), 1_230_000), 0);
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
