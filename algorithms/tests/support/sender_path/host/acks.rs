// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a host does with an acknowledgement: losses, phases, PRR, samples for the law.

use super::{Host, Sent};
use crate::sender_path::{Ack, World};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};

/// What an acknowledgement says of what was sent.
struct Delivery {
    newest: Sent,
    pkts: u64,
    prior_inflight_pkts: u32,
    in_order_bytes: u64,
}

impl Host {
    pub(in crate::sender_path) fn on_ack(&mut self, world: &mut World, ack: &Ack) {
        let Some(delivery) = self.take_delivered(ack) else {
            return self.send(world);
        };
        self.delivered_pkts += delivery.pkts;
        self.delivered_us = world.now_us;
        let rtt_us = world.now_us - delivery.newest.sent_us;
        self.sample_rtt(rtt_us);
        let lost_now_pkts = self.find_losses(delivery.newest.number);
        let is_ece = ack.is_ece && world.path.mark_pkts.is_some();
        self.prr_delivered += delivery.pkts;
        self.move_phase(world, lost_now_pkts, is_ece);
        let input = SenderAck {
            lost_now_pkts,
            rtt_us: rtt_us as u32,
            tsval: ack.tsval,
            tsecr: ack.tsecr,
            local_ts: world.timestamp(false),
            is_ece: u8::from(is_ece),
            ..self.sender_ack(world, &delivery)
        };
        self.first_sent_us = delivery.newest.sent_us;
        self.flow.on_ack(&input);
        self.obey();
        if !self.may_raise() && !self.has_full_control() {
            self.reduce_proportionally(delivery.pkts);
        }
        self.backoff = 0;
        self.restart_timer(world);
        self.outcome.cwnd_pkts[world.bin()] = self.cwnd_pkts;
        self.send(world);
    }

    /// None: nothing that is outstanding.
    fn take_delivered(&mut self, ack: &Ack) -> Option<Delivery> {
        let prior_inflight_pkts = self.outstanding.len() as u32;
        let prior_una = self.una;
        let mut newest: Option<Sent> = None;
        let mut pkts = 0;
        for number in [Some(ack.numbers.0), ack.numbers.1].into_iter().flatten() {
            let found = self
                .outstanding
                .binary_search_by_key(&number, |sent| sent.number);
            if let Ok(at) = found {
                let sent = self.outstanding.remove(at).expect("found");
                pkts += 1;
                if newest.is_none_or(|newest| sent.number > newest.number) {
                    newest = Some(sent);
                }
            }
        }
        self.una = self.una.max(ack.rcv_nxt);
        Some(Delivery {
            newest: newest?,
            pkts,
            prior_inflight_pkts,
            in_order_bytes: self.una - prior_una,
        })
    }

    /// What the host knows by itself, with the rate sample.
    fn sender_ack(&mut self, world: &World, delivery: &Delivery) -> SenderAck {
        let newest = &delivery.newest;
        let send_us = newest.sent_us - newest.first_sent_us;
        let ack_us = world.now_us - newest.delivered_us;
        let may_raise = u32::from(self.may_raise());
        SenderAck {
            now_us: self.clock_us + world.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: newest.delivered_pkts,
            rate_delivered_pkts: (self.delivered_pkts - newest.delivered_pkts) as u32,
            rate_interval_us: send_us.max(ack_us) as u32,
            ack_seq: self.wire_seq(self.una),
            snd_nxt: self.wire_seq(self.next_seq),
            acked_pkts: may_raise * delivery.pkts as u32,
            acked_bytes: may_raise * delivery.in_order_bytes as u32,
            delivered_now_pkts: delivery.pkts as u32,
            prior_inflight_pkts: delivery.prior_inflight_pkts,
            inflight_pkts: self.outstanding.len() as u32,
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            srtt_us: self.srtt_us as u32,
            local_tick_us: self.tick_us,
            mss_bytes: self.mss_bytes,
            random: self.draw(),
            phase: self.phase as u8,
            is_cwnd_limited: u8::from(self.is_cwnd_limited),
            is_app_limited: u8::from(newest.is_app_limited),
            has_timestamps: u8::from(self.tick_us > 0),
            ..SenderAck::default()
        }
    }

    fn may_raise(&self) -> bool {
        !matches!(self.phase, Phase::Recovery | Phase::Cwr)
    }

    fn find_losses(&mut self, newest: u64) -> u32 {
        let mut lost = 0;
        while let Some(sent) = self.outstanding.front() {
            if sent.number + 3 > newest {
                break;
            }
            self.lost.insert(sent.seq, sent.bytes);
            self.outstanding.pop_front();
            lost += 1;
        }
        self.outcome.lost_pkts += u64::from(lost);
        lost
    }

    fn move_phase(&mut self, world: &World, lost_now_pkts: u32, is_ece: bool) {
        if self.phase as u8 >= Phase::Cwr as u8 && self.una >= self.recovery_point {
            if self.phase != Phase::Loss && !self.has_full_control() {
                self.cwnd_pkts = self.ssthresh_pkts;
            }
            self.phase = Phase::Open;
        }
        let is_repairing = matches!(self.phase, Phase::Recovery | Phase::Loss);
        if lost_now_pkts > 0 && !is_repairing {
            let was_reduced = self.phase == Phase::Cwr;
            self.enter(world, Phase::Recovery, was_reduced);
        } else if is_ece && self.phase == Phase::Open {
            self.enter(world, Phase::Cwr, false);
        }
    }

    fn enter(&mut self, world: &World, phase: Phase, was_reduced: bool) {
        if !was_reduced {
            let event = SenderEvent {
                is_ecn: u8::from(phase == Phase::Cwr),
                ..self.event(world)
            };
            self.outcome.reductions_us.push(world.now_us);
            self.prr_from_pkts = u64::from(self.cwnd_pkts.max(1));
            self.flow.on_loss(&event);
            self.ssthresh_pkts = self.flow.window().ssthresh_pkts;
        }
        self.phase = phase;
        self.recovery_point = self.next_seq;
        self.prr_delivered = 1;
        self.prr_sent = 0;
    }

    /// Proportional rate reduction (RFC 6937 with its slow-start reduction bound).
    fn reduce_proportionally(&mut self, delivered_now_pkts: u64) {
        let inflight = self.outstanding.len() as u64;
        let target = u64::from(self.ssthresh_pkts);
        let more = if inflight > target {
            let share = (self.prr_delivered * target).div_ceil(self.prr_from_pkts);
            share.saturating_sub(self.prr_sent)
        } else {
            let limit = self.prr_delivered.saturating_sub(self.prr_sent);
            (target - inflight).min(limit.max(delivered_now_pkts) + 1)
        };
        // The first retransmission goes out at once.
        let more = more.max(u64::from(self.prr_sent == 0));
        self.cwnd_pkts = (inflight + more) as u32;
    }

    fn sample_rtt(&mut self, rtt_us: u64) {
        if self.srtt_us == 0 {
            self.srtt_us = rtt_us;
            self.rttvar_us = rtt_us / 2;
        } else {
            self.rttvar_us = (3 * self.rttvar_us + self.srtt_us.abs_diff(rtt_us)) / 4;
            self.srtt_us = (7 * self.srtt_us + rtt_us) / 8;
        }
    }
}
