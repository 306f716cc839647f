// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an acknowledgement brings: segments leave the scoreboard, times are measured,
//! losses are found, the window moves.

use ebb_algorithms::Phase;
use ebb_link::Nanos;
use ebb_scenario::TcpProfile;

use super::clock::is_before32;
use super::rate::RateSample;
use super::scoreboard::{Sent, mark};
use super::sender::{Sender, micros_between};
use crate::segment::{Flags, Segment};

/// What is known of an acknowledgement: bits of [`FlagSet`].
pub(super) mod flag {
    /// It came with data.
    pub(in crate::tcp) const WITH_DATA: u16 = 0x001;
    /// It changed the peer's window.
    pub(in crate::tcp) const WINDOW: u16 = 0x002;
    /// It acknowledged data in order.
    pub(in crate::tcp) const ACKED: u16 = 0x004;
    /// Some of it had been sent again.
    pub(in crate::tcp) const ACKED_RESENT: u16 = 0x008;
    /// It brought new SACKs.
    pub(in crate::tcp) const SACKED: u16 = 0x010;
    /// It echoes a congestion mark.
    pub(in crate::tcp) const MARKED: u16 = 0x020;
    /// It reports a duplicate.
    pub(in crate::tcp) const DUPLICATE: u16 = 0x040;
    /// The duplicate is a tail loss probe.
    pub(in crate::tcp) const PROBE_DUPLICATE: u16 = 0x080;
    /// Something arrived that was sent once, before the repair began.
    pub(in crate::tcp) const ORIGINAL_ARRIVED: u16 = 0x100;
    /// The retransmission timer is to be set anew.
    pub(in crate::tcp) const SET_TIMER: u16 = 0x200;
    /// What was sent again was lost again.
    pub(in crate::tcp) const LOST_AGAIN: u16 = 0x400;
    /// It acknowledged the SYN.
    pub(in crate::tcp) const SYN_ACKED: u16 = 0x800;
}

#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FlagSet(u16);

impl FlagSet {
    /// Whether any of these is set.
    #[inline]
    pub(super) fn has(self, flags: u16) -> bool {
        self.0 & flags != 0
    }

    #[inline]
    pub(super) fn set(&mut self, flags: u16) {
        self.0 |= flags;
    }

    #[inline]
    pub(super) fn clear(&mut self, flags: u16) {
        self.0 &= !flags;
    }
}

/// What an acknowledgement has brought so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Progress {
    pub(super) flags: FlagSet,
    pub(super) prior_una: u64,
    pub(super) prior_highest_sacked: u64,
    /// First byte that arrived after later ones; `u64::MAX`: none.
    pub(super) overtaken_from: u64,
    pub(super) sack_rtt_us: Option<u32>,
    pub(super) last_sack_rtt_us: Option<u32>,
    pub(super) rtt_us: u32,
    pub(super) rate: RateSample,
    pub(super) prior_inflight_pkts: u32,
    /// When the repair looks again for losses.
    pub(super) look_again_at: Option<Nanos>,
    pub(super) resend: Resend,
}

/// What is to be sent after an acknowledgement was taken in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Resend {
    /// New data, as the window allows.
    #[default]
    Nothing,
    /// Lost segments first.
    Lost,
    /// New data first: F-RTO finds out by it whether the time-out was spurious.
    NewFirst,
}

/// The timestamp clock at an acknowledgement.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckTime {
    pub(super) now: Nanos,
    pub(super) local_ts: u32,
    pub(super) tick_us: u32,
    pub(super) has_timestamps: bool,
    /// Our clock as echoed, if there are timestamps.
    pub(super) echo: Option<u32>,
}

impl AckTime {
    /// The round-trip time by the echo of our clock, unless that is from the future.
    #[inline]
    fn echoed_rtt_us(self) -> Option<u32> {
        let ticks = self.local_ts.wrapping_sub(self.echo?);
        (ticks.cast_signed() >= 0).then(|| ticks.max(1).saturating_mul(self.tick_us))
    }
}

impl Sender {
    /// Takes a segment that acknowledges. *Returns:* what it brought; none: it is of no
    /// use.
    pub(super) fn on_ack(
        &mut self,
        time: AckTime,
        segment: &Segment,
        peer_seq: u64,
    ) -> Option<Progress> {
        let ack = self.offset(segment.ack);
        if ack > self.nxt {
            return None;
        }
        let mut progress = self.begin_progress(segment);
        if ack >= self.una {
            self.update_window(segment, ack, peer_seq, &mut progress);
        }
        let has_sack = !segment.sack.is_empty() && self.uses_sack();
        self.take_echo(segment, &mut progress);
        if self.board.is_empty() && !has_sack {
            // Who only receives is mostly done here, without a look at all that follows.
            return Some(progress);
        }
        let lost_before_pkts = self.counters.lost_pkts;
        let delivered_before_pkts = self.rate.delivered_pkts;
        if has_sack {
            self.take_sack(time.now, segment, ack, &mut progress);
        }
        if self.board.is_empty() {
            return Some(progress);
        }
        self.take_acknowledged(time, ack, &mut progress);
        let delivered_pkts = (self.rate.delivered_pkts - delivered_before_pkts) as u32;
        let lost_pkts = (self.counters.lost_pkts - lost_before_pkts) as u32;
        self.rate_finish(time.now, delivered_pkts, &mut progress.rate);
        self.control(time, segment, delivered_pkts, lost_pkts, &progress);
        self.board.settle();
        Some(progress)
    }

    /// What is acknowledged is done with, and losses are answered.
    #[inline]
    fn take_acknowledged(&mut self, time: AckTime, ack: u64, progress: &mut Progress) {
        if ack > self.una {
            self.timeouts_in_row = 0;
        }
        self.clean(time, ack, progress);
        self.rack_adapt_window(progress.rate.prior_delivered_pkts);
        if self.probe_end > 0 {
            self.judge_probe(time.now, ack, progress.flags);
        }
        if self.is_dubious(progress.flags) {
            self.react(time, progress);
        }
    }

    fn begin_progress(&self, segment: &Segment) -> Progress {
        let mut flags = FlagSet::default();
        if segment.payload_bytes > 0 {
            flags.set(flag::WITH_DATA);
        }
        Progress {
            flags,
            prior_una: self.una,
            prior_highest_sacked: if self.board.sacked_pkts > 0 {
                self.board.highest_sacked
            } else {
                0
            },
            overtaken_from: u64::MAX,
            sack_rtt_us: None,
            last_sack_rtt_us: None,
            rtt_us: 0,
            rate: RateSample::default(),
            prior_inflight_pkts: self.board.inflight_pkts(),
            look_again_at: None,
            resend: Resend::Nothing,
        }
    }

    /// The echo of a mark; on a SYN it belongs to the negotiation.
    #[inline]
    fn take_echo(&self, segment: &Segment, progress: &mut Progress) {
        let is_echo = segment.flags.has(Flags::ECE) && !segment.flags.has(Flags::SYN);
        if self.has_ecn && is_echo {
            progress.flags.set(flag::MARKED);
        }
    }

    /// RFC 9293 §3.10.7.4: a window counts if the segment is not older than the one that
    /// brought the last.
    fn update_window(
        &mut self,
        segment: &Segment,
        ack: u64,
        peer_seq: u64,
        progress: &mut Progress,
    ) {
        let scale = if segment.flags.has(Flags::SYN) {
            0
        } else {
            self.peer_scale
        };
        let window_bytes = u32::from(segment.window) << scale;
        let is_newer = ack > self.una
            || peer_seq > self.window_from_seq
            || (peer_seq == self.window_from_seq && window_bytes > self.peer_window_bytes);
        if is_newer {
            self.window_from_seq = peer_seq;
            if window_bytes != self.peer_window_bytes {
                self.peer_window_bytes = window_bytes;
                progress.flags.set(flag::WINDOW);
            }
        }
    }

    /// Takes what is acknowledged in order off the scoreboard.
    fn clean(&mut self, time: AckTime, ack: u64, progress: &mut Progress) {
        let highest_sacked_end = self.board.highest_sacked_end(self.una);
        let mut first_sent_at = None;
        let mut last_sent_at = Nanos::ZERO;
        let mut acked_pkts = 0;
        while let Some(&sent) = self.board.front() {
            if sent.end() > ack {
                if sent.start < ack {
                    self.board.trim(ack);
                }
                break;
            }
            if sent.is(mark::EVER_RESENT) {
                progress.flags.set(flag::ACKED_RESENT);
            } else if !sent.is(mark::SACKED) {
                first_sent_at.get_or_insert(sent.sent_at);
                last_sent_at = sent.sent_at;
                progress.overtaken_from = progress.overtaken_from.min(sent.start);
                if sent.end() <= self.high_seq {
                    progress.flags.set(flag::ORIGINAL_ARRIVED);
                }
            }
            self.note_acknowledged(time.now, &sent, progress);
            acked_pkts += 1;
            self.board.pop();
        }
        self.una = self.una.max(ack);
        if !self.uses_sack() && acked_pkts > 0 {
            self.remove_duplicates(acked_pkts);
        }
        if self.uses_sack() && progress.overtaken_from < highest_sacked_end {
            self.note_reordering(progress.overtaken_from, highest_sacked_end);
        }
        self.measure(time, first_sent_at, last_sent_at, progress);
    }

    /// A segment is acknowledged in order; if it was SACKed it has been counted.
    #[inline]
    fn note_acknowledged(&mut self, now: Nanos, sent: &Sent, progress: &mut Progress) {
        if !sent.is(mark::SACKED) {
            self.rate_on_delivered(sent, &mut progress.rate);
            self.rate.delivered_pkts += 1;
            if self.uses_rack() {
                self.rack_advance(now, sent);
            }
        }
        let kind = if sent.is(mark::SYN) {
            flag::SYN_ACKED
        } else {
            flag::ACKED
        };
        progress.flags.set(kind | flag::SET_TIMER);
    }

    /// Without SACK: duplicate acknowledgements stood for segments that are acknowledged
    /// now, all but one, which was the missing one.
    fn remove_duplicates(&mut self, acked_pkts: u32) {
        let gone = acked_pkts - 1;
        self.rate.delivered_pkts -= u64::from(gone.min(self.board.sacked_pkts));
        self.board.sacked_pkts = self.board.sacked_pkts.saturating_sub(gone);
        self.board.sacked_pkts = self.board.sacked_pkts.min(self.board.out_pkts());
    }

    /// RTT samples: never of a segment that was sent again (Karn), but for timestamps.
    fn measure(
        &mut self,
        time: AckTime,
        first: Option<Nanos>,
        last: Nanos,
        progress: &mut Progress,
    ) {
        let is_clean = !progress.flags.has(flag::ACKED_RESENT);
        let acked = first.filter(|_| is_clean);
        let mut rtt_us = acked.map(|first| micros_between(time.now, first));
        let mut law_rtt_us = acked.map(|_| micros_between(time.now, last));
        if let Some(sack_rtt_us) = progress.sack_rtt_us {
            law_rtt_us = progress.last_sack_rtt_us;
            // Not if it was measured by what was sent after the first segment was sent
            // again: the timer would be put off for the whole recovery.
            if sack_rtt_us > self.front_age_us(time.now) {
                progress.flags.set(flag::SET_TIMER);
            }
            rtt_us = rtt_us.or(Some(sack_rtt_us));
        }
        if rtt_us.is_none() && progress.flags.has(flag::ACKED) {
            rtt_us = time.echoed_rtt_us();
            law_rtt_us = law_rtt_us.or(rtt_us);
        }
        let Some(rtt_us) = rtt_us else {
            return;
        };
        let law_rtt_us = law_rtt_us.unwrap_or(rtt_us);
        let (rtt_us, law_rtt_us) = (self.in_ticks(rtt_us), self.in_ticks(law_rtt_us));
        self.least_rtt.add(time.now, law_rtt_us);
        self.rtt
            .add(rtt_us, self.una, self.nxt, &self.config.options);
        self.backoff = 0;
        progress.rtt_us = law_rtt_us;
        self.rtt_samples += 1;
        self.last_rtt_us = law_rtt_us;
        self.rtt_sum_us += u64::from(law_rtt_us);
    }

    /// Coarse timers of the papers' simulators measure whole ticks; Linux measures in µs.
    fn in_ticks(&self, rtt_us: u32) -> u32 {
        let options = &self.config.options;
        let tick_us = (options.timer_granularity.0 / 1_000) as u32;
        let is_exact = options.profile == TcpProfile::Linux;
        if tick_us == 0 || is_exact || options.timestamps.is_some() {
            return rtt_us;
        }
        rtt_us.max(1).next_multiple_of(tick_us)
    }

    /// Whether the acknowledgement is anything but news in good order.
    fn is_dubious(&self, flags: FlagSet) -> bool {
        let is_duplicate =
            !flags.has(flag::WITH_DATA | flag::WINDOW | flag::ACKED | flag::SYN_ACKED);
        let is_alarming = flags.has(flag::SACKED | flag::MARKED | flag::DUPLICATE);
        is_duplicate || is_alarming || self.phase != Phase::Open
    }

    /// Whether what is acknowledged was sent before the repair began: the peer echoes a
    /// clock from before the first retransmission (Eifel).
    pub(super) fn is_delayed_original(&self, time: AckTime) -> bool {
        match (self.undo.first_resent, time.echo) {
            (Some((_, resent_ts)), Some(echo)) => is_before32(echo, resent_ts),
            _ => false,
        }
    }
}
