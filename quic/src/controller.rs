// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sender law as quinn's congestion controller.

use std::any::Any;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ebb_algorithms::{Phase, Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};
use quinn_proto::RttEstimator;
use quinn_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};

use crate::error::Error;
use crate::rates::Rates;
use crate::samples::Samples;

/// RFC 9002 §7.2. *Units:* packets.
const INITIAL_WINDOW_PKTS: u32 = 10;
/// The law's clock when the connection begins, since laws want one that is never 0.
const FIRST_US: u64 = 1_000_000;
/// Nothing here has ticks: those of timestamps, which QUIC lacks.
const TICK_US: u32 = 1_000;

/// A policy of the sending end for quinn's
/// [`congestion_controller_factory`](quinn_proto::TransportConfig::congestion_controller_factory).
#[derive(Clone, Debug)]
pub struct LawConfig {
    policy: Policy,
}

impl LawConfig {
    /// Reads a policy, `name:key=value,…`.
    ///
    /// *Errors:* [`Error::Policy`] if it cannot be read, is of the receiving end or for hosts that
    /// see counters alone; [`Error::SetsPace`] if the law leaves nothing to the host's own pacing.
    pub fn new(policy: &str) -> Result<Self, Error> {
        let policy = Policy::sender(policy)?;
        // What sees only counters sets only a pace.
        if policy.law().has_full_control() || policy.law().is_for_counters() {
            return Err(Error::SetsPace(policy.law().name));
        }
        Ok(Self { policy })
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }
}

impl ControllerFactory for LawConfig {
    fn build(self: Arc<Self>, now: Instant, current_mtu: u16) -> Box<dyn Controller> {
        Box::new(LawController::new(self.policy.clone(), now, current_mtu))
    }
}

/// One path under a law: the host that `sender_contract.h` speaks of.
///
/// Bytes are counted as quinn counts them, with all headers, so that a segment of the law's is a
/// packet of the path's MTU. QUIC numbers no bytes of a connection: the law's sequence is of what
/// was sent, and all of it that is not in flight counts as acknowledged.
#[derive(Clone, Debug)]
struct LawController {
    law: SenderFlow,
    began: Instant,
    mtu: u16,
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
    phase: Phase,
    /// What was sent up to then was sent before the last reduction.
    reduced_at: Option<Instant>,
    sent_bytes: u64,
    inflight_bytes: u64,
    acked: Acked,
    rates: Rates,
    samples: Samples,
    lost_pkts: u32,
    is_marked: bool,
    /// Before the first acknowledgement quinn's estimate is none.
    has_rtt: bool,
    srtt_us: u32,
    is_app_limited: bool,
    /// Since when nothing was in flight, as far as that is known.
    idle_since: Option<Instant>,
    random: u64,
}

/// What one frame acknowledges.
#[derive(Clone, Copy, Debug, Default)]
struct Acked {
    pkts: u32,
    bytes: u64,
    /// When the last of it was sent.
    sent: Option<Instant>,
    srtt: Duration,
    least_rtt: Duration,
}

impl LawController {
    fn new(policy: Policy, now: Instant, mtu: u16) -> Self {
        let start = SenderStart {
            now_us: FIRST_US,
            mss_bytes: mtu.into(),
            cwnd_pkts: INITIAL_WINDOW_PKTS,
            local_tick_us: TICK_US,
            has_timestamps: 0,
        };
        let mut controller = Self {
            law: SenderFlow::new(policy, &start),
            began: now,
            mtu,
            cwnd_pkts: INITIAL_WINDOW_PKTS,
            ssthresh_pkts: 0,
            phase: Phase::Open,
            reduced_at: None,
            sent_bytes: 0,
            inflight_bytes: 0,
            acked: Acked::default(),
            rates: Rates::new(now),
            samples: Samples::default(),
            lost_pkts: 0,
            is_marked: false,
            has_rtt: false,
            srtt_us: 0,
            is_app_limited: false,
            idle_since: None,
            random: RandomState::new().hash_one(mtu),
        };
        controller.obey();
        controller
    }

    fn obey(&mut self) {
        let window = self.law.window();
        self.cwnd_pkts = window.cwnd_pkts.max(1);
        self.ssthresh_pkts = window.ssthresh_pkts;
    }

    fn now_us(&self, now: Instant) -> u64 {
        let us = now.saturating_duration_since(self.began).as_micros();
        FIRST_US + u64::try_from(us).unwrap_or(u64::MAX >> 1)
    }

    fn pkts(&self, bytes: u64) -> u32 {
        let pkts = bytes.div_ceil(self.mtu.max(1).into());
        u32::try_from(pkts).unwrap_or(u32::MAX)
    }

    /// SplitMix64.
    fn draw(&mut self) -> u32 {
        self.random = self.random.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let value = (self.random ^ (self.random >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (value >> 32) as u32
    }

    /// While a loss or a mark is answered, the window stands at the threshold.
    fn is_reducing(&self) -> bool {
        matches!(self.phase, Phase::Recovery | Phase::Cwr)
    }

    fn on_packet(&mut self, sent: Instant, bytes: u64, srtt: Duration, least_rtt: Duration) {
        let acked = &mut self.acked;
        acked.pkts = acked.pkts.saturating_add(1);
        acked.bytes += bytes;
        acked.sent = acked.sent.max(Some(sent));
        (acked.srtt, acked.least_rtt) = (srtt, least_rtt);
    }

    fn on_frame(&mut self, now: Instant, inflight_bytes: u64) {
        let acked = std::mem::take(&mut self.acked);
        self.inflight_bytes = inflight_bytes;
        self.idle_since = (inflight_bytes == 0).then_some(now);
        let Some(sent) = acked.sent else {
            return;
        };
        if self.reduced_at.is_some_and(|at| sent > at) {
            self.phase = Phase::Open;
        }
        let ack = self.describe(now, sent, &acked);
        self.law.on_ack(&ack);
        if !self.is_reducing() {
            self.obey();
        }
        self.lost_pkts = 0;
        self.is_marked = false;
    }

    /// Long because each field of what a law is told has a line in it.
    fn describe(&mut self, now: Instant, sent: Instant, acked: &Acked) -> SenderAck {
        let sample_us = micros32(now.saturating_duration_since(sent)).max(1);
        let rtt_us = self.samples.take(now, sample_us);
        self.srtt_us = match self.has_rtt {
            true => micros32(acked.srtt),
            false => rtt_us,
        };
        self.has_rtt = true;
        let rate = self.rates.on_acks(now, acked.pkts, sent, acked.least_rtt);
        let (acked_pkts, acked_bytes) = match self.is_reducing() {
            true => (0, 0),
            false => (acked.pkts, acked.bytes),
        };
        SenderAck {
            now_us: self.now_us(now),
            delivered_pkts: self.rates.delivered_pkts(),
            rate_prior_delivered_pkts: rate.prior_delivered_pkts,
            rate_delivered_pkts: rate.delivered_pkts,
            rate_interval_us: rate.interval_us,
            ack_seq: self.ack_seq(),
            snd_nxt: self.sent_bytes as u32,
            acked_pkts,
            acked_bytes: u32::try_from(acked_bytes).unwrap_or(u32::MAX),
            delivered_now_pkts: acked.pkts,
            lost_now_pkts: self.lost_pkts,
            prior_inflight_pkts: self.pkts(self.inflight_bytes + acked.bytes),
            inflight_pkts: self.pkts(self.inflight_bytes),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            rtt_us,
            srtt_us: self.srtt_us,
            local_tick_us: TICK_US,
            mss_bytes: self.mtu.into(),
            random: self.draw(),
            phase: self.phase as u8,
            is_cwnd_limited: u8::from(!self.is_app_limited),
            is_app_limited: u8::from(rate.is_app_limited),
            is_ece: u8::from(self.is_marked),
            ..SenderAck::default()
        }
    }

    fn ack_seq(&self) -> u32 {
        self.sent_bytes.wrapping_sub(self.inflight_bytes) as u32
    }

    fn event(&mut self, now: Instant) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us(now),
            ack_seq: self.ack_seq(),
            snd_nxt: self.sent_bytes as u32,
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.pkts(self.inflight_bytes),
            mss_bytes: self.mtu.into(),
            srtt_us: self.srtt_us,
            random: self.draw(),
            phase: self.phase as u8,
            ..SenderEvent::default()
        }
    }

    /// All that was sent for longer than anything could be late was lost (RFC 9002 §7.6).
    fn time_out(&mut self, now: Instant) {
        let event = self.event(now);
        self.law.on_timeout(&event);
        self.ssthresh_pkts = self.law.window().ssthresh_pkts;
        self.cwnd_pkts = 1;
        self.phase = Phase::Loss;
        self.reduced_at = Some(now);
    }

    /// Down to the threshold at once, as RFC 9002 §7.3.2 has it: Linux spreads that over a round
    /// trip.
    fn reduce(&mut self, now: Instant, is_ecn: bool) {
        let event = SenderEvent {
            is_ecn: u8::from(is_ecn),
            ..self.event(now)
        };
        self.law.on_loss(&event);
        self.ssthresh_pkts = self.law.window().ssthresh_pkts;
        self.cwnd_pkts = self.cwnd_pkts.min(self.ssthresh_pkts).max(1);
        self.phase = match is_ecn {
            true => Phase::Cwr,
            false => Phase::Recovery,
        };
        self.reduced_at = Some(now);
    }
}

impl Controller for LawController {
    fn on_sent(&mut self, now: Instant, bytes: u64, _last_packet_number: u64) {
        if let Some(since) = self.idle_since.take() {
            let event = SenderEvent {
                idle_us: micros32(now.saturating_duration_since(since)),
                ..self.event(now)
            };
            self.law.on_idle(&event);
            if !self.is_reducing() {
                self.obey();
            }
        }
        let is_first = self.inflight_bytes == 0;
        self.rates.on_sent(now, is_first, self.is_app_limited);
        self.sent_bytes += bytes;
        self.inflight_bytes += bytes;
    }

    fn on_ack(
        &mut self,
        _now: Instant,
        sent: Instant,
        bytes: u64,
        app_limited: bool,
        rtt: &RttEstimator,
    ) {
        self.is_app_limited = app_limited;
        self.on_packet(sent, bytes, rtt.get(), rtt.min());
    }

    fn on_end_acks(
        &mut self,
        now: Instant,
        in_flight: u64,
        app_limited: bool,
        _largest_packet_num_acked: Option<u64>,
    ) {
        self.is_app_limited = app_limited;
        self.on_frame(now, in_flight);
    }

    fn on_congestion_event(
        &mut self,
        now: Instant,
        sent: Instant,
        is_persistent_congestion: bool,
        lost_bytes: u64,
    ) {
        let is_ecn = lost_bytes == 0;
        self.is_marked |= is_ecn;
        self.inflight_bytes = self.inflight_bytes.saturating_sub(lost_bytes);
        self.lost_pkts = self.lost_pkts.saturating_add(self.pkts(lost_bytes));
        if is_persistent_congestion && self.phase != Phase::Loss {
            self.time_out(now);
        } else if self.reduced_at.is_none_or(|at| sent > at) {
            self.reduce(now, is_ecn);
        }
    }

    fn on_mtu_update(&mut self, new_mtu: u16) {
        self.mtu = new_mtu;
    }

    /// One byte more than so many packets: quinn sends only what leaves a part of it unused.
    fn window(&self) -> u64 {
        u64::from(self.cwnd_pkts) * u64::from(self.mtu) + 1
    }

    fn metrics(&self) -> ControllerMetrics {
        let pace_bytes_per_s = self.law.window().pacing_bytes_per_s;
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = Some(u64::from(self.ssthresh_pkts) * u64::from(self.mtu));
        metrics.pacing_rate = (pace_bytes_per_s > 0).then_some(pace_bytes_per_s.saturating_mul(8));
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        u64::from(INITIAL_WINDOW_PKTS) * u64::from(self.mtu)
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}

/// Microseconds, within 32 bits.
pub(crate) fn micros32(duration: Duration) -> u32 {
    u32::try_from(duration.as_micros()).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests;
