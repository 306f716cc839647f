// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection's random life, told to a law and to its model at once. Whatever the path
//! does is the same for both; each has its own window.
#![allow(dead_code, reason = "each test binary uses a part of it")]

#[path = "sender_life.rs"]
mod life;

use ebb_algorithms::{Phase, Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};
use life::{Kind, Path, Turn, any_path, any_turn};
use proptest::prelude::*;
use proptest::test_runner::{RngSeed, TestRunner};
use std::cell::Cell;

pub const MSS: u32 = 1000;
/// The window that the host starts from, and that an idle time leaves at the most.
pub const FIRST_PKTS: u32 = 10;

/// A law in real numbers, written from its source. The windows and thresholds in what it is
/// told are 0: it keeps its own. What is in flight at a loss is the window.
pub trait Model {
    fn on_start(&mut self, _now_us: u64) {}
    /// So many eighths of what its path delivers are what a policer drops.
    fn policed_x8(&self) -> u32 {
        0
    }
    fn on_ack(&mut self, ack: &SenderAck);
    fn on_loss(&mut self, event: &SenderEvent);
    fn on_timeout(&mut self, event: &SenderEvent);
    fn on_undo(&mut self, event: &SenderEvent);
    fn on_idle(&mut self, event: &SenderEvent);
    fn cwnd_pkts(&self) -> f64;
    /// How far the law's window may be from it.
    fn tolerance_pkts(&self) -> f64;
    /// The pace, if the law has one, and by which part of it the law's may differ.
    fn pace_bytes_per_s(&self) -> Option<(f64, f64)> {
        None
    }
    /// Two numbers were so close that rounding may order them otherwise: nothing that
    /// follows is compared.
    fn is_doubtful(&self) -> bool {
        false
    }
}

/// What connections meet.
#[derive(Clone, Copy)]
pub struct Habits {
    /// Longest wait in the queue.
    pub queue_us: u32,
    /// RTTs are the least one and a multiple of this.
    pub grain_us: u32,
    /// Greatest window before the path drops something.
    pub most_pkts: u32,
    pub cases: u32,
}

/// Holds a law against its model: over many connections, after each thing that happens.
/// Seeds are fixed; PROPTEST_RNG_SEED and PROPTEST_CASES look further.
pub fn compare<P: std::fmt::Debug, M: Model>(
    habits: &Habits,
    params: impl Strategy<Value = P>,
    make: impl Fn(&P) -> (String, M),
) {
    let given = ProptestConfig::default();
    let mut runner = TestRunner::new(ProptestConfig {
        cases: habits
            .cases
            .max(if given.cases == 256 { 0 } else { given.cases }),
        rng_seed: match given.rng_seed {
            RngSeed::Random => RngSeed::Fixed(1),
            seed => seed,
        },
        failure_persistence: None,
        ..given
    });
    let (compared, all) = (Cell::new(0usize), Cell::new(0usize));
    let turns = proptest::collection::vec(any_turn(), 10..60);
    let outcome = runner.run(
        &(params, any_path(habits), turns),
        |(params, path, turns)| {
            let (policy, model) = make(&params);
            let mut pair = Pair::new(&policy, model, habits, path);
            for turn in &turns {
                all.set(all.get() + 1);
                pair.take(turn)?;
                if pair.model.is_doubtful() {
                    // The rest is not compared, but counts.
                    all.set(all.get() + turns.len());
                    break;
                }
                compared.set(compared.get() + 1);
            }
            Ok(())
        },
    );
    if let Err(error) = outcome {
        panic!("{error}");
    }
    let (compared, all) = (compared.get(), all.get());
    assert!(compared * 2 > all, "{compared} of {all} turns compared");
}

/// The law and its model on one host.
struct Pair<'a, M> {
    law: SenderFlow,
    model: M,
    habits: &'a Habits,
    path: Path,
    now_us: u64,
    delivered_pkts: u64,
    ack_seq: u32,
    cwnd_pkts: u32,
    ssthresh_pkts: u32,
    prior_ssthresh_pkts: Option<u32>,
    srtt_us: u32,
    random: u32,
}

impl<'a, M: Model> Pair<'a, M> {
    fn new(policy: &str, mut model: M, habits: &'a Habits, path: Path) -> Self {
        let start = SenderStart {
            now_us: path.from_us,
            mss_bytes: MSS,
            cwnd_pkts: FIRST_PKTS,
            local_tick_us: 1000,
            has_timestamps: 0,
        };
        let law = SenderFlow::new(Policy::sender(policy).unwrap(), &start);
        model.on_start(start.now_us);
        Self {
            model,
            habits,
            now_us: path.from_us,
            delivered_pkts: 0,
            ack_seq: path.first_seq,
            cwnd_pkts: law.window().cwnd_pkts,
            ssthresh_pkts: law.window().ssthresh_pkts,
            prior_ssthresh_pkts: None,
            srtt_us: path.base_rtt_us,
            random: 1,
            law,
            path,
        }
    }

    fn take(&mut self, turn: &Turn) -> Result<(), TestCaseError> {
        self.random = turn.random;
        let has_dropped = self.cwnd_pkts > self.path.most_pkts && !self.has_full_control();
        let mut phase = Phase::Open;
        match turn.kind {
            _ if has_dropped => phase = self.lose(turn, 0)?,
            Kind::Loss => phase = self.lose(turn, 0)?,
            Kind::Mark => phase = self.lose(turn, 1)?,
            Kind::Timeout => phase = self.time_out()?,
            Kind::Undo => self.undo()?,
            Kind::Idle => self.idle(turn)?,
            Kind::Disorder => phase = Phase::Disorder,
            Kind::Lazy | Kind::Open => {}
        }
        for _ in 0..turn.acks {
            if self.cwnd_pkts > 2 * self.path.most_pkts || self.model.is_doubtful() {
                break;
            }
            self.acknowledge(turn, phase)?;
        }
        Ok(())
    }

    /// A loss or a mark; the host leads the window to the threshold at once.
    fn lose(&mut self, turn: &Turn, is_ecn: u8) -> Result<Phase, TestCaseError> {
        self.prior_ssthresh_pkts = Some(self.ssthresh_pkts);
        let event = SenderEvent {
            is_ecn,
            ..self.event()
        };
        self.law.on_loss(&event);
        self.model.on_loss(&hide_windows(&event));
        self.obey();
        let phase = if is_ecn > 0 {
            Phase::Cwr
        } else {
            Phase::Recovery
        };
        if !self.has_full_control() {
            self.cwnd_pkts = self.ssthresh_pkts;
        }
        for _ in 0..turn.parts {
            self.acknowledge(turn, phase)?;
        }
        Ok(Phase::Open)
    }

    fn time_out(&mut self) -> Result<Phase, TestCaseError> {
        self.prior_ssthresh_pkts = Some(self.ssthresh_pkts);
        let mut event = self.event();
        if self.has_full_control() {
            event.inflight_pkts = self.draw() % 4;
        }
        self.law.on_timeout(&event);
        self.model.on_timeout(&hide_windows(&event));
        self.obey();
        self.check("a time-out")?;
        Ok(Phase::Loss)
    }

    fn undo(&mut self) -> Result<(), TestCaseError> {
        let Some(ssthresh_pkts) = self.prior_ssthresh_pkts.take() else {
            return Ok(());
        };
        let event = SenderEvent {
            ssthresh_pkts,
            ..self.event()
        };
        self.law.on_undo(&event);
        self.model.on_undo(&hide_windows(&event));
        self.obey();
        self.check("an undo")
    }

    /// Longer than any time-out: the host goes on from its first window at the most.
    fn idle(&mut self, turn: &Turn) -> Result<(), TestCaseError> {
        let idle_us = 1_000_000 + turn.random % 100_000_000;
        self.now_us += u64::from(idle_us);
        if !self.has_full_control() {
            self.cwnd_pkts = self.cwnd_pkts.min(FIRST_PKTS);
        }
        let event = SenderEvent {
            idle_us,
            inflight_pkts: 0,
            ..self.event()
        };
        self.law.on_idle(&event);
        self.model.on_idle(&hide_windows(&event));
        self.obey();
        self.check("an idle time")
    }

    fn acknowledge(&mut self, turn: &Turn, phase: Phase) -> Result<(), TestCaseError> {
        let ack = self.next_ack(turn, phase);
        self.law.on_ack(&ack);
        self.model.on_ack(&SenderAck {
            cwnd_pkts: 0,
            ssthresh_pkts: 0,
            ..ack
        });
        self.obey();
        self.check("an acknowledgement")
    }

    /// A part of the window is acknowledged.
    fn next_ack(&mut self, turn: &Turn, phase: Phase) -> SenderAck {
        let acked_pkts = self.cwnd_pkts.div_ceil(turn.parts).max(1);
        let rtt_us = self.draw_rtt_us(turn);
        let snd_nxt = self.ack_seq.wrapping_add(self.cwnd_pkts * MSS);
        self.ack_seq = self.ack_seq.wrapping_add(acked_pkts * MSS);
        let inflight_pkts = self.cwnd_pkts * turn.flight_x256 / 256;
        let is_repairing = matches!(phase, Phase::Cwr | Phase::Recovery);
        let in_order_pkts = if is_repairing { 0 } else { acked_pkts };
        let repaired_pkts = u32::from(phase == Phase::Recovery) * (self.draw() % 8 / 6);
        let policed_pkts = acked_pkts * self.model.policed_x8() / 8;
        SenderAck {
            ack_seq: self.ack_seq,
            snd_nxt,
            acked_pkts: in_order_pkts,
            acked_bytes: in_order_pkts * MSS,
            delivered_now_pkts: acked_pkts,
            lost_now_pkts: repaired_pkts + policed_pkts,
            prior_inflight_pkts: inflight_pkts + acked_pkts,
            inflight_pkts,
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            // Some cannot be timed.
            rtt_us: if self.draw().is_multiple_of(16) {
                0
            } else {
                rtt_us
            },
            srtt_us: self.srtt_us,
            mss_bytes: MSS,
            random: self.draw(),
            phase: phase as u8,
            is_cwnd_limited: u8::from(turn.kind != Kind::Lazy),
            is_app_limited: u8::from(turn.kind == Kind::Lazy),
            ..self.deliver(acked_pkts, rtt_us)
        }
    }

    fn draw_rtt_us(&mut self, turn: &Turn) -> u32 {
        let Habits {
            queue_us, grain_us, ..
        } = *self.habits;
        let wait_us = queue_us * turn.queue_x256 / 256 + self.draw() % 2_000;
        let rtt_us = self.path.base_rtt_us + wait_us / grain_us * grain_us;
        self.srtt_us = (7 * u64::from(self.srtt_us) / 8) as u32 + rtt_us / 8;
        rtt_us
    }

    /// As fast as the window asks for and the bottleneck can; times and the rate sample.
    fn deliver(&mut self, pkts: u32, rtt_us: u32) -> SenderAck {
        let pkts_per_s = u64::from(self.path.pkts_per_s);
        let needed_us = |pkts: u32| (u64::from(pkts) * 1_000_000).div_ceil(pkts_per_s);
        let prior_delivered_pkts = self.delivered_pkts.saturating_sub(self.cwnd_pkts.into());
        self.delivered_pkts += u64::from(pkts);
        let rate_delivered_pkts = (self.delivered_pkts - prior_delivered_pkts) as u32;
        let interval_us = needed_us(rate_delivered_pkts).max(rtt_us.into()) as u32;
        let share_us = u64::from(rtt_us) * u64::from(pkts) / u64::from(self.cwnd_pkts);
        let least_us = share_us.max(needed_us(pkts)).max(1);
        self.now_us += least_us + u64::from(self.draw()) % (least_us / 4 + 1);
        SenderAck {
            now_us: self.now_us,
            delivered_pkts: self.delivered_pkts,
            rate_prior_delivered_pkts: prior_delivered_pkts,
            rate_delivered_pkts,
            rate_interval_us: interval_us + self.draw() % (interval_us / 16 + 1),
            ..SenderAck::default()
        }
    }

    fn event(&mut self) -> SenderEvent {
        SenderEvent {
            now_us: self.now_us,
            ack_seq: self.ack_seq,
            snd_nxt: self.ack_seq.wrapping_add(self.cwnd_pkts * MSS),
            cwnd_pkts: self.cwnd_pkts,
            ssthresh_pkts: self.ssthresh_pkts,
            inflight_pkts: self.cwnd_pkts,
            mss_bytes: MSS,
            srtt_us: self.srtt_us,
            random: self.draw(),
            ..SenderEvent::default()
        }
    }

    fn obey(&mut self) {
        self.cwnd_pkts = self.law.window().cwnd_pkts;
        self.ssthresh_pkts = self.law.window().ssthresh_pkts;
    }

    fn check(&self, after: &str) -> Result<(), TestCaseError> {
        if self.model.is_doubtful() {
            return Ok(());
        }
        let (law, model) = (f64::from(self.cwnd_pkts), self.model.cwnd_pkts());
        let policy = self.law.policy();
        let at_us = self.now_us - self.path.from_us;
        prop_assert!(
            (law - model).abs() <= self.model.tolerance_pkts(),
            "{policy}: {law} segments for {model} after {after} at {at_us} us"
        );
        if let Some((model, part)) = self.model.pace_bytes_per_s() {
            let law = self.law.window().pacing_bytes_per_s as f64;
            prop_assert!(
                (law - model).abs() <= model * part + 2.0,
                "{policy}: {law} B/s for {model} after {after} at {at_us} us"
            );
        }
        Ok(())
    }

    fn has_full_control(&self) -> bool {
        self.law.policy().law().has_full_control()
    }

    /// Numerical Recipes' linear congruential generator, its better half.
    fn draw(&mut self) -> u32 {
        self.random = self
            .random
            .wrapping_mul(1_664_525)
            .wrapping_add(1_013_904_223);
        self.random.rotate_left(16)
    }
}

fn hide_windows(event: &SenderEvent) -> SenderEvent {
    SenderEvent {
        cwnd_pkts: 0,
        ssthresh_pkts: 0,
        ..*event
    }
}
