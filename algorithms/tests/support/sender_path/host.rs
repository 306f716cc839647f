// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A sending host: what TCP does around a sender law. Loss by three later deliveries, PRR,
//! a retransmission timer, delivery rate samples, pacing if the law asks for it.

mod acks;

use super::{Data, Event, FlowOutcome, Path, Plan, World};
use ebb_algorithms::{Phase, SenderEvent, SenderFlow, SenderStart};
use std::collections::{BTreeMap, VecDeque};

const NO_SSTHRESH_PKTS: u32 = 0x7fff_ffff;
const LEAST_TIMEOUT_US: u64 = 200_000;

#[derive(Clone, Copy)]
struct Sent {
    number: u64,
    seq: u64,
    bytes: u32,
    sent_us: u64,
    first_sent_us: u64,
    delivered_pkts: u64,
    delivered_us: u64,
    is_app_limited: bool,
}

pub(super) struct Host {
    index: usize,
    plan: Plan,
    flow: SenderFlow,
    pub(super) outcome: FlowOutcome,
    first_seq: u32,
    clock_us: u64,
    mss_bytes: u32,
    tick_us: u32,
    outstanding: VecDeque<Sent>,
    lost: BTreeMap<u64, u32>,
    next_number: u64,
    next_seq: u64,
    una: u64,
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
    phase: Phase,
    recovery_point: u64,
    prr_delivered: u64,
    prr_sent: u64,
    prr_from_pkts: u64,
    delivered_pkts: u64,
    delivered_us: u64,
    first_sent_us: u64,
    app_limited_until: u64,
    is_cwnd_limited: bool,
    last_sent_us: u64,
    next_paced_ns: u64,
    send_timer_us: Option<u64>,
    srtt_us: u64,
    rttvar_us: u64,
    backoff: u32,
    deadline_us: u64,
    has_timer: bool,
    random: u32,
}

impl Host {
    pub(super) fn new(index: usize, path: &Path, plan: &Plan, bins: usize) -> Self {
        let mut host = Self {
            index,
            plan: plan.clone(),
            flow: SenderFlow::new(plan.policy.clone(), &start_of(path, plan)),
            outcome: FlowOutcome::of_bins(bins),
            first_seq: path.first_seq,
            clock_us: path.clock_us,
            mss_bytes: path.mss_bytes,
            tick_us: path.tick_us as u32,
            outstanding: VecDeque::new(),
            lost: BTreeMap::new(),
            next_number: 0,
            next_seq: 0,
            una: 0,
            cwnd_pkts: 10,
            ssthresh_pkts: NO_SSTHRESH_PKTS,
            phase: Phase::Open,
            recovery_point: 0,
            prr_delivered: 0,
            prr_sent: 0,
            prr_from_pkts: 1,
            delivered_pkts: 0,
            delivered_us: plan.from_us,
            first_sent_us: plan.from_us,
            app_limited_until: 0,
            is_cwnd_limited: false,
            last_sent_us: plan.from_us,
            next_paced_ns: 0,
            send_timer_us: None,
            srtt_us: 0,
            rttvar_us: 0,
            backoff: 0,
            deadline_us: u64::MAX,
            has_timer: false,
            random: 0x9e37_79b9 ^ index as u32,
        };
        host.obey();
        host
    }

    /// The outcome, with the window carried through bins without an acknowledgement.
    pub(super) fn finish(mut self) -> FlowOutcome {
        let mut last = 0;
        for cwnd_pkts in &mut self.outcome.cwnd_pkts {
            last = if *cwnd_pkts == 0 { last } else { *cwnd_pkts };
            *cwnd_pkts = last;
        }
        self.outcome
    }

    /// Sends what the window, the pace and the application allow.
    pub(super) fn send(&mut self, world: &mut World) {
        if self
            .send_timer_us
            .is_some_and(|at_us| at_us <= world.now_us)
        {
            self.send_timer_us = None;
        }
        if world.now_us < self.plan.from_us {
            return;
        }
        loop {
            if self.outstanding.is_empty() && self.lost.is_empty() && self.next_seq > 0 {
                self.end_idleness(world);
            }
            self.is_cwnd_limited = self.outstanding.len() as u32 >= self.cwnd_pkts;
            if self.is_cwnd_limited {
                return;
            }
            let Some((seq, bytes)) = self.next_segment(world) else {
                return;
            };
            if world.now_us * 1000 < self.next_paced_ns {
                return self.wake_at(world, self.next_paced_ns.div_ceil(1000));
            }
            self.transmit(world, seq, bytes);
        }
    }

    /// The retransmission timer, which is re-armed lazily.
    pub(super) fn on_timer(&mut self, world: &mut World) {
        self.has_timer = false;
        if self.outstanding.is_empty() {
            return;
        }
        if world.now_us < self.deadline_us {
            return self.arm(world);
        }
        self.outcome.timeouts += 1;
        self.backoff = (self.backoff + 1).min(10);
        let event = self.event(world);
        for sent in self.outstanding.drain(..) {
            self.lost.insert(sent.seq, sent.bytes);
        }
        if self.phase != Phase::Loss {
            self.flow.on_timeout(&event);
        }
        self.phase = Phase::Loss;
        self.recovery_point = self.next_seq;
        self.obey();
        if !self.has_full_control() {
            self.cwnd_pkts = 1;
        }
        self.outcome.cwnd_pkts[world.bin()] = self.cwnd_pkts;
        self.restart_timer(world);
        self.send(world);
    }

    fn transmit(&mut self, world: &mut World, seq: u64, bytes: u32) {
        if self.outstanding.is_empty() {
            self.first_sent_us = world.now_us;
            self.delivered_us = world.now_us;
        }
        self.lost.remove(&seq);
        self.next_seq = self.next_seq.max(seq + u64::from(bytes));
        let sent = Sent {
            number: self.next_number,
            seq,
            bytes,
            sent_us: world.now_us,
            first_sent_us: self.first_sent_us,
            delivered_pkts: self.delivered_pkts,
            delivered_us: self.delivered_us,
            is_app_limited: self.app_limited_until > self.delivered_pkts,
        };
        self.next_number += 1;
        self.outstanding.push_back(sent);
        self.prr_sent += 1;
        self.outcome.sent_pkts += 1;
        self.last_sent_us = world.now_us;
        let pace = self.flow.window().pacing_bytes_per_s;
        if let Some(gap_ns) = (u64::from(bytes) * 1_000_000_000).checked_div(pace) {
            self.next_paced_ns = self.next_paced_ns.max(world.now_us * 1000) + gap_ns;
        }
        if self.outstanding.len() == 1 {
            self.restart_timer(world);
        }
        world.send(Data {
            flow: self.index,
            number: sent.number,
            seq,
            bytes,
            tsval: world.timestamp(false),
            is_marked: false,
        });
    }

    /// A lost segment, or a new one if the application has it.
    fn next_segment(&mut self, world: &mut World) -> Option<(u64, u32)> {
        if let Some((seq, bytes)) = self.lost.first_key_value() {
            return Some((*seq, *bytes));
        }
        if world.now_us >= self.plan.until_us {
            return None;
        }
        let bytes = match self.flow.window().segment_bytes {
            0 => self.mss_bytes,
            bytes => bytes.min(self.mss_bytes),
        };
        if let Some(bits_per_s) = self.plan.app_bits_per_s {
            let wanted = (self.next_seq + u64::from(bytes)) * 8_000_000;
            let ready_us = self.plan.from_us + wanted.div_ceil(bits_per_s);
            if ready_us > world.now_us {
                self.app_limited_until =
                    (self.delivered_pkts + self.outstanding.len() as u64).max(1);
                self.wake_at(world, ready_us);
                return None;
            }
        }
        Some((self.next_seq, bytes))
    }

    /// Takes the law's answer where the host obeys it.
    fn obey(&mut self) {
        let window = self.flow.window();
        if self.has_full_control() || !matches!(self.phase, Phase::Recovery | Phase::Cwr) {
            self.cwnd_pkts = window.cwnd_pkts;
            self.ssthresh_pkts = window.ssthresh_pkts;
        }
    }

    fn end_idleness(&mut self, world: &World) {
        let idle_us = world.now_us - self.last_sent_us;
        if idle_us == 0 {
            return;
        }
        if idle_us > self.timeout_us() && !self.has_full_control() {
            self.cwnd_pkts = self.cwnd_pkts.min(10);
        }
        let event = SenderEvent {
            idle_us: idle_us as u32,
            ..self.event(world)
        };
        self.last_sent_us = world.now_us;
        self.flow.on_idle(&event);
        self.obey();
    }

    fn event(&mut self, world: &World) -> SenderEvent {
        SenderEvent {
            now_us: self.clock_us + world.now_us,
            ack_seq: self.wire_seq(self.una),
            snd_nxt: self.wire_seq(self.next_seq),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.outstanding.len() as u32,
            mss_bytes: self.mss_bytes,
            srtt_us: self.srtt_us as u32,
            random: self.draw(),
            phase: self.phase as u8,
            ..SenderEvent::default()
        }
    }

    fn has_full_control(&self) -> bool {
        self.plan.policy.law().has_full_control()
    }

    fn wire_seq(&self, byte: u64) -> u32 {
        self.first_seq.wrapping_add(byte as u32)
    }

    fn timeout_us(&self) -> u64 {
        let known_us = match self.srtt_us {
            0 => 1_000_000,
            srtt_us => srtt_us + (4 * self.rttvar_us).max(LEAST_TIMEOUT_US),
        };
        known_us << self.backoff
    }

    fn restart_timer(&mut self, world: &mut World) {
        self.deadline_us = world.now_us + self.timeout_us();
        if !self.has_timer && !self.outstanding.is_empty() {
            self.arm(world);
        }
    }

    fn arm(&mut self, world: &mut World) {
        self.has_timer = true;
        world.schedule(self.deadline_us, Event::Timeout(self.index));
    }

    fn wake_at(&mut self, world: &mut World, at_us: u64) {
        if self.send_timer_us.is_none_or(|set_us| at_us < set_us) {
            self.send_timer_us = Some(at_us);
            world.schedule(at_us, Event::Send(self.index));
        }
    }

    /// Numerical Recipes' linear congruential generator.
    fn draw(&mut self) -> u32 {
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        self.random
    }
}

fn start_of(path: &Path, plan: &Plan) -> SenderStart {
    SenderStart {
        now_us: path.clock_us + plan.from_us,
        mss_bytes: path.mss_bytes,
        cwnd_pkts: 10,
        local_tick_us: path.tick_us as u32,
        has_timestamps: u32::from(path.tick_us > 0),
    }
}
