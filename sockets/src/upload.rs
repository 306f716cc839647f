// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a connection sends: a sender law told by `TCP_INFO`, obeyed by the pace.

use std::io;

use ebb_algorithms::{
    Floor, FloorMember, Phase, Policy, SenderAck, SenderEvent, SenderFlow, SenderStart,
};
use ebb_host::TcpInfo;

use crate::hold::Own;
use crate::socket::{CopiedSocket, NO_PACE};

/// What is sent at first is not limited: requests, and short answers.
const FREE_BYTES: u64 = 10 * 1_448;
/// The least that may wait unsent, and the same in windows.
const LEAST_UNSENT_BYTES: u64 = 64 << 10;
/// A pace is set again when it differs by more than this part.
const PACE_GRAIN: u64 = 64;
/// Slower than this nothing is paced: a timer would wait for seconds.
const LEAST_PACE: u64 = 2_000;

/// The sending direction of a connection.
#[derive(Debug)]
pub(crate) struct Upload {
    flow: SenderFlow,
    floor: FloorMember,
    begun_bytes: u64,
    pace_bytes_per_s: u64,
    unsent_bytes: u32,
    own: Own,
    /// The code point is to be set, and whether it was looked after.
    marks: bool,
    has_marked: bool,
    is_stale: bool,
    phase: Phase,
}

impl Upload {
    pub(crate) fn new(
        policy: Policy,
        floor: &Floor,
        (info, now_us): (&TcpInfo, u64),
        own: Own,
        marks: bool,
    ) -> Self {
        Self {
            flow: SenderFlow::new(policy, &start(info, now_us)),
            floor: FloorMember::new(floor),
            begun_bytes: info.bytes_acked,
            pace_bytes_per_s: NO_PACE,
            unsent_bytes: 0,
            own,
            marks,
            has_marked: false,
            is_stale: false,
            phase: Phase::Open,
        }
    }

    /// Goes on under another law, which knows nothing yet.
    pub(crate) fn restart(&mut self, policy: Policy, info: &TcpInfo, now_us: u64) {
        self.flow = SenderFlow::new(policy, &start(info, now_us));
    }

    pub(crate) fn is_of(&self, policy: &Policy) -> bool {
        self.flow.policy().law().number == policy.law().number
    }

    /// Goes on with other parameters.
    pub(crate) fn set_policy(&mut self, policy: &Policy) {
        self.flow.set_policy(policy.clone());
    }

    /// Has a part of another floor from now on.
    pub(crate) fn set_floor(&mut self, floor: &Floor) {
        self.floor = FloorMember::new(floor);
    }

    pub(crate) fn policy(&self) -> &Policy {
        self.flow.policy()
    }

    pub(crate) fn state_bytes(&self) -> &[u8] {
        self.flow.state_bytes()
    }

    /// The pace that it may have at the most; none: it is not limited.
    pub(crate) fn pace_bytes_per_s(&self) -> Option<u64> {
        (self.pace_bytes_per_s != NO_PACE).then_some(self.pace_bytes_per_s)
    }

    /// What the pace is in a round trip, or the kernel's own window where there is none.
    pub(crate) fn window_bytes(&self, info: &TcpInfo) -> u32 {
        let own_bytes = u64::from(info.snd_cwnd) * u64::from(info.snd_mss);
        let bytes = self.pace_bytes_per_s().map_or(own_bytes, |pace| {
            pace.min(1 << 40) * u64::from(info.rtt_us) / 1_000_000
        });
        u32::try_from(bytes).unwrap_or(u32::MAX)
    }

    /// Tells the law and sets the pace; answers how many limits were set.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn look(
        &mut self,
        socket: &CopiedSocket,
        last: &TcpInfo,
        info: &TcpInfo,
        now_us: u64,
    ) -> io::Result<u64> {
        self.tell(last, info, now_us);
        if self.marks && (!self.has_marked || self.is_stale) {
            self.has_marked = true;
            // What cannot be marked yields all the same.
            let _ = socket.mark_lower_effort();
        }
        if info.bytes_acked.saturating_sub(self.begun_bytes) < FREE_BYTES {
            return Ok(0);
        }
        self.limit(socket, info)
    }

    /// Sets everything again at the next look: somebody else may have lifted it.
    pub(crate) fn forget_settings(&mut self) {
        self.is_stale = true;
    }

    /// Gives back what the program had set itself; answers how many limits that were.
    ///
    /// *Errors:* the copy is no TCP socket.
    pub(crate) fn release(&mut self, socket: &CopiedSocket) -> io::Result<u64> {
        if self.pace_bytes_per_s == NO_PACE && !self.has_marked {
            return Ok(0);
        }
        self.pace_bytes_per_s = NO_PACE;
        self.unsent_bytes = 0;
        self.has_marked = false;
        self.own.restore(socket)?;
        Ok(1)
    }

    fn tell(&mut self, last: &TcpInfo, info: &TcpInfo, now_us: u64) {
        let phase = phase(info.ca_state);
        let has_worsened = phase as u8 > self.phase as u8;
        if has_worsened && phase == Phase::Loss {
            self.flow.on_timeout(&self.event(info, now_us));
        } else if has_worsened && matches!(phase, Phase::Recovery | Phase::Cwr) {
            self.flow.on_loss(&self.event(info, now_us));
        }
        self.phase = phase;
        if info.bytes_acked > last.bytes_acked {
            let ack = self.ack(last, info, now_us);
            self.flow.on_ack(&ack);
            self.floor
                .hear(now_us, ack.acked_bytes, ack.srtt_us, ack.mss_bytes);
            // Its window is the kernel's: a pace of ours is all that can be too little.
            self.floor
                .reckon(ack.cwnd_pkts.saturating_mul(ack.mss_bytes));
        }
    }

    /// The law's window is not the kernel's: it lives in the pace, and its own last answer is
    /// where it goes on from.
    fn ack(&self, last: &TcpInfo, info: &TcpInfo, now_us: u64) -> SenderAck {
        let window = self.flow.window();
        let acked_bytes = info.bytes_acked - last.bytes_acked;
        let acked_pkts = acked_bytes.div_ceil(u64::from(info.snd_mss.max(64)));
        SenderAck {
            now_us,
            delivered_pkts: info.delivered.into(),
            ack_seq: info.bytes_acked as u32,
            snd_nxt: next_seq(info),
            acked_pkts: u32::try_from(acked_pkts).unwrap_or(u32::MAX),
            acked_bytes: u32::try_from(acked_bytes).unwrap_or(u32::MAX >> 2),
            delivered_now_pkts: info.delivered.wrapping_sub(last.delivered),
            lost_now_pkts: info.lost.saturating_sub(last.lost),
            prior_inflight_pkts: in_flight_pkts(last),
            inflight_pkts: in_flight_pkts(info),
            cwnd_pkts: window.cwnd_pkts.max(1),
            ssthresh_pkts: window.ssthresh_pkts,
            rtt_us: least_rtt_us(info),
            srtt_us: info.rtt_us,
            local_tick_us: 1_000,
            mss_bytes: info.snd_mss.max(64),
            random: (now_us as u32).wrapping_mul(2_654_435_761),
            phase: phase(info.ca_state) as u8,
            is_cwnd_limited: u8::from(info.notsent_bytes > 0),
            is_app_limited: u8::from(info.notsent_bytes == 0),
            is_ece: u8::from(info.delivered_ce != last.delivered_ce),
            ..SenderAck::default()
        }
    }

    fn event(&self, info: &TcpInfo, now_us: u64) -> SenderEvent {
        let window = self.flow.window();
        SenderEvent {
            now_us,
            ack_seq: info.bytes_acked as u32,
            snd_nxt: next_seq(info),
            cwnd_pkts: window.cwnd_pkts.max(1),
            ssthresh_pkts: window.ssthresh_pkts,
            inflight_pkts: in_flight_pkts(info),
            mss_bytes: info.snd_mss.max(64),
            srtt_us: info.rtt_us,
            random: (now_us as u32).wrapping_mul(2_654_435_761),
            is_ecn: u8::from(phase(info.ca_state) == Phase::Cwr),
            phase: self.phase as u8,
            ..SenderEvent::default()
        }
    }

    fn limit(&mut self, socket: &CopiedSocket, info: &TcpInfo) -> io::Result<u64> {
        let window = self.flow.window();
        let window_bytes = u64::from(window.cwnd_pkts) * u64::from(info.snd_mss);
        let pace = match window.pacing_bytes_per_s {
            0 => window_bytes * 1_000_000 / u64::from(info.rtt_us.max(1)),
            pace => pace,
        };
        let floor_bytes = u64::from(self.floor.window_bytes());
        let pace = pace.max(floor_bytes * 1_000_000 / u64::from(info.rtt_us.max(1)));
        let window_bytes = window_bytes.max(floor_bytes);
        let mut settings = 0;
        let pace = pace.min(self.own.pace_bytes_per_s).max(LEAST_PACE);
        let is_other = pace.abs_diff(self.pace_bytes_per_s) > self.pace_bytes_per_s / PACE_GRAIN;
        // A program that writes far ahead would not notice that it is held back. This comes first,
        // and goes last: whoever finds a pace with it knows whose that is.
        let unsent = (2 * window_bytes)
            .max(LEAST_UNSENT_BYTES)
            .next_power_of_two();
        let unsent = u32::try_from(unsent).unwrap_or(u32::MAX >> 1);
        if unsent != self.unsent_bytes || self.is_stale {
            socket.set_unsent_limit(unsent)?;
            self.unsent_bytes = unsent;
            settings += 1;
        }
        if is_other || self.is_stale {
            socket.set_max_pace(pace)?;
            self.pace_bytes_per_s = pace;
            settings += 1;
        }
        self.is_stale = false;
        Ok(settings)
    }
}

fn start(info: &TcpInfo, now_us: u64) -> SenderStart {
    SenderStart {
        now_us,
        mss_bytes: info.snd_mss.max(64),
        cwnd_pkts: info.snd_cwnd.max(1),
        local_tick_us: 1_000,
        has_timestamps: 0,
    }
}

fn next_seq(info: &TcpInfo) -> u32 {
    info.bytes_sent.saturating_sub(info.bytes_retrans) as u32
}

/// The only sample that is told: the least of the last five minutes; 0: none.
fn least_rtt_us(info: &TcpInfo) -> u32 {
    // Before the first sample the kernel has the greatest number that there is.
    match info.min_rtt_us {
        u32::MAX => 0,
        min_rtt_us => min_rtt_us,
    }
}

fn in_flight_pkts(info: &TcpInfo) -> u32 {
    (info.unacked + info.retrans).saturating_sub(info.sacked + info.lost)
}

fn phase(ca_state: u8) -> Phase {
    match ca_state {
        0 => Phase::Open,
        1 => Phase::Disorder,
        2 => Phase::Cwr,
        3 => Phase::Recovery,
        _ => Phase::Loss,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn info(bytes_acked: u64) -> TcpInfo {
        TcpInfo {
            snd_mss: 1_448,
            bytes_acked,
            bytes_sent: bytes_acked + 14_480,
            bytes_retrans: 1_448,
            unacked: 10,
            sacked: 2,
            lost: 1,
            retrans: 1,
            rtt_us: 100_000,
            min_rtt_us: 90_000,
            ..TcpInfo::default()
        }
    }

    #[test]
    fn an_acknowledgement_is_what_came_between_two_looks() {
        let policy = Policy::sender("paced").unwrap();
        let own = Own {
            pace_bytes_per_s: NO_PACE,
            unsent_bytes: 0,
            traffic_class: 0,
        };
        let upload = Upload::new(policy, &Floor::default(), (&info(0), 1), own, false);
        let ack = upload.ack(&info(14_480), &info(28_960), 2);
        assert_eq!((ack.acked_bytes, ack.acked_pkts), (14_480, 10));
        assert_eq!(ack.snd_nxt, 28_960 + 14_480 - 1_448);
        assert_eq!(ack.inflight_pkts, 8);
        assert_eq!((ack.rtt_us, ack.srtt_us), (90_000, 100_000));
    }

    #[test]
    fn there_is_no_least_round_trip_before_the_first() {
        let mut info = info(0);
        info.min_rtt_us = u32::MAX;
        assert_eq!(least_rtt_us(&info), 0);
    }
}
