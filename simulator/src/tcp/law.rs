// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sender law of a connection: told what happened, asked for the window.

use ebb_algorithms::{Phase, SenderAck, SenderEvent, SenderFlow, SenderStart};
use ebb_link::Nanos;

use super::ack::{AckTime, Progress, flag};
use super::sender::{Sender, micros_between};
use crate::segment::Segment;

/// Smallest segment that a law can ask for. *Units:* bytes of payload.
const LEAST_SEGMENT_BYTES: u32 = 32;

impl Sender {
    /// Puts the connection under its law, when there is first something to send.
    pub(super) fn start_law(&mut self, now: Nanos, tick_us: u32, has_timestamps: bool) {
        if self.law.is_some() {
            return;
        }
        let start = SenderStart {
            now_us: now.0 / 1_000,
            mss_bytes: self.mss_bytes,
            cwnd_pkts: self.cwnd_pkts,
            local_tick_us: tick_us,
            has_timestamps: u32::from(has_timestamps),
        };
        let mut law = SenderFlow::new(self.config.sender.clone(), &start);
        if let Some(floor) = &self.config.floor {
            law.set_floor(floor);
        }
        self.law = Some(law);
        self.obey_pace();
        // Its first window counts, as the kernel's programs have it.
        self.obey_window();
    }

    /// The law's answer on windows.
    fn obey_window(&mut self) {
        if let Some(law) = &self.law {
            let window = law.window();
            self.cwnd_pkts = window.cwnd_pkts.max(1);
            self.ssthresh_pkts = window.ssthresh_pkts;
        }
    }

    /// The law's answer on everything else.
    fn obey_pace(&mut self) {
        let Some(law) = &self.law else {
            return;
        };
        let window = law.window();
        self.segment_bytes = match window.segment_bytes {
            0 => self.mss_bytes,
            bytes => bytes.clamp(LEAST_SEGMENT_BYTES.min(self.mss_bytes), self.mss_bytes),
        };
        self.pacing.is_by_law = window.pacing_bytes_per_s > 0;
        if self.pacing.is_by_law {
            self.pacing.bytes_per_s = window.pacing_bytes_per_s;
        }
    }

    /// Moves the window after an acknowledgement.
    pub(super) fn control(
        &mut self,
        time: AckTime,
        segment: &Segment,
        delivered_pkts: u32,
        lost_pkts: u32,
        progress: &Progress,
    ) {
        let has_advanced = self.una > progress.prior_una;
        let reduces = self.is_reducing() && !self.config.has_full_control;
        if reduces {
            self.reduce(delivered_pkts, lost_pkts, has_advanced);
        }
        if delivered_pkts > 0 && self.law.is_some() {
            let ack = self.describe(time, segment, delivered_pkts, lost_pkts, progress);
            if let Some(law) = &mut self.law {
                law.on_ack(&ack);
            }
            if !reduces {
                self.obey_window();
            }
            self.obey_pace();
        }
        self.update_pacing();
    }

    /// Segments by which this acknowledgement may raise the window.
    fn raising_pkts(&self, delivered_pkts: u32, progress: &Progress) -> u32 {
        if self.is_reducing() {
            return 0;
        }
        let is_forward = progress.flags.has(flag::ACKED)
            || (self.reordering_pkts > super::sender::DUPLICATE_THRESHOLD
                && progress.flags.has(flag::SACKED));
        if is_forward { delivered_pkts } else { 0 }
    }

    /// Long because each field of what a law is told has a line in it.
    fn describe(
        &mut self,
        time: AckTime,
        segment: &Segment,
        delivered_pkts: u32,
        lost_pkts: u32,
        progress: &Progress,
    ) -> SenderAck {
        let acked_pkts = self.raising_pkts(delivered_pkts, progress);
        let acked_bytes = if acked_pkts > 0 {
            self.una - progress.prior_una
        } else {
            0
        };
        let timestamps = segment.timestamps.unwrap_or_default();
        let rate = &progress.rate;
        SenderAck {
            now_us: time.now.0 / 1_000,
            delivered_pkts: self.rate.delivered_pkts,
            rate_prior_delivered_pkts: rate.prior_delivered_pkts.unwrap_or(0),
            rate_delivered_pkts: rate.delivered_pkts,
            rate_interval_us: rate.interval_us,
            ack_seq: self.wire(self.una),
            snd_nxt: self.wire(self.nxt),
            acked_pkts,
            acked_bytes: acked_bytes.min(u64::from(u32::MAX)) as u32,
            delivered_now_pkts: delivered_pkts,
            lost_now_pkts: lost_pkts,
            prior_inflight_pkts: progress.prior_inflight_pkts,
            inflight_pkts: self.board.inflight_pkts(),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            rtt_us: progress.rtt_us,
            srtt_us: self.rtt.srtt_us(),
            tsval: timestamps.value,
            tsecr: timestamps.echo,
            local_ts: time.local_ts,
            local_tick_us: time.tick_us,
            mss_bytes: self.mss_bytes,
            random: self.draw(),
            phase: self.phase as u8,
            is_cwnd_limited: u8::from(self.is_cwnd_limited()),
            is_app_limited: u8::from(rate.is_app_limited),
            is_ece: u8::from(progress.flags.has(flag::MARKED)),
            has_timestamps: u8::from(time.has_timestamps && segment.timestamps.is_some()),
            reserved: [0; 3],
        }
    }

    fn event(&mut self, now: Nanos) -> SenderEvent {
        SenderEvent {
            now_us: now.0 / 1_000,
            ack_seq: self.wire(self.una),
            snd_nxt: self.wire(self.nxt),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.board.inflight_pkts(),
            mss_bytes: self.mss_bytes,
            srtt_us: self.rtt.srtt_us(),
            idle_us: 0,
            random: self.draw(),
            is_ecn: 0,
            phase: self.phase as u8,
            reserved: [0; 2],
        }
    }

    fn tell(&mut self, event: SenderEvent, call: fn(&mut SenderFlow, &SenderEvent)) {
        if let Some(law) = &mut self.law {
            call(law, &event);
            self.ssthresh_pkts = law.window().ssthresh_pkts;
        }
        self.obey_pace();
        if self.config.has_full_control {
            self.obey_window();
        }
    }

    pub(super) fn tell_loss(&mut self, now: Nanos, is_ecn: bool) {
        let event = SenderEvent {
            is_ecn: u8::from(is_ecn),
            ..self.event(now)
        };
        self.tell(event, SenderFlow::on_loss);
    }

    pub(super) fn tell_timeout(&mut self, now: Nanos) {
        let event = self.event(now);
        self.tell(event, SenderFlow::on_timeout);
    }

    pub(super) fn tell_undo(&mut self, now: Nanos) {
        let event = self.event(now);
        self.tell(event, SenderFlow::on_undo);
        self.obey_window();
    }

    /// After an idle time: the window is halved for each time-out that has passed
    /// (RFC 5681 §4.1 as Linux has it), then the law is told.
    pub(super) fn end_idle(&mut self, now: Nanos) {
        let Some(last_sent_at) = self.last_sent_at() else {
            return;
        };
        let idle = now.since(last_sent_at);
        let options = &self.config.options;
        if options.has_idle_restart && !self.config.has_full_control && idle > self.rto() {
            self.restart(now, idle);
        }
        let event = SenderEvent {
            idle_us: micros_between(now, last_sent_at),
            ..self.event(now)
        };
        self.tell(event, SenderFlow::on_idle);
        self.obey_window();
    }

    fn restart(&mut self, now: Nanos, idle: Nanos) {
        self.ssthresh_pkts = self.current_ssthresh_pkts();
        let least_pkts = self.config.options.initial_window_pkts.min(self.cwnd_pkts);
        // One for each whole time-out that was exceeded.
        let halvings = (idle.0.saturating_sub(1) / self.rto().0.max(1)).min(31);
        self.cwnd_pkts = (self.cwnd_pkts >> halvings).max(least_pkts);
        self.usage.full_at = now;
        self.usage.used_pkts = 0;
    }

    /// Whether the window, not the application, limits the sender: in slow start it must
    /// be at least half used.
    #[inline]
    pub(super) fn is_cwnd_limited(&self) -> bool {
        self.usage.is_limited
            || (self.is_in_slow_start() && self.cwnd_pkts < 2 * self.usage.max_out_pkts)
    }

    /// Keeps track of how much of the window is used, after sending.
    pub(super) fn note_usage(&mut self, now: Nanos, is_limited: bool) {
        let out_pkts = self.board.out_pkts();
        let usage = &mut self.usage;
        if self.una >= usage.round_end
            || is_limited
            || (!usage.is_limited && out_pkts > usage.max_out_pkts)
        {
            usage.is_limited = is_limited;
            usage.max_out_pkts = out_pkts;
            usage.round_end = self.nxt;
        }
        if self.is_cwnd_limited() {
            self.usage.used_pkts = 0;
            self.usage.full_at = now;
            return;
        }
        self.usage.used_pkts = self.usage.used_pkts.max(out_pkts);
        let has_restart = self.config.options.has_idle_restart && !self.config.has_full_control;
        if has_restart && now.since(self.usage.full_at) >= self.rto() {
            self.shrink_unused(now);
        }
    }

    /// RFC 2861: halfway back to what is used.
    fn shrink_unused(&mut self, now: Nanos) {
        let is_buffer_limited = self.written > self.sendable_end();
        if self.phase == Phase::Open && !is_buffer_limited {
            let used_pkts = self
                .usage
                .used_pkts
                .max(self.config.options.initial_window_pkts);
            if used_pkts < self.cwnd_pkts {
                self.ssthresh_pkts = self.current_ssthresh_pkts();
                self.cwnd_pkts = (self.cwnd_pkts + used_pkts) / 2;
            }
            self.usage.used_pkts = 0;
        }
        self.usage.full_at = now;
    }
}
