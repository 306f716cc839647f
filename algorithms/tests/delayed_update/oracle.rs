// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The delayed window update as Wang and Yuan (2016) write it, in real numbers, around the
//! models of Reno and of CUBIC. Where the law differs from the paper or the paper leaves
//! things open, the number of the difference in delayed_update.h stands beside.

use crate::cubic_model::{Cubic, RFC};
use crate::reno_model::Reno;
use crate::sender_oracle::{Habits, MSS, Model, compare};
use ebb_algorithms::{Phase, SenderAck, SenderEvent};
use proptest::prelude::*;

/// The paper's table 1, scenario I.
#[derive(Debug, Clone, Copy)]
struct Constants {
    period_us: f64,
    threshold_us: f64,
    theta: f64,
    /// Difference 3: serious congestion is U = 1, as equation (3) has it, not U = 1 and a
    /// rising RTT.
    is_serious_by_equation_3: bool,
    /// Difference 4: the timer starts in serious congestion only.
    is_timer_for_serious: bool,
    /// Difference 7: the flag is of the connection's extremes.
    is_flag_of_connection: bool,
    /// Difference 6: the law inside is told of a decrease.
    restarts_law: bool,
}

const PAPER: Constants = Constants {
    period_us: 100_000.0,
    threshold_us: 30_000.0,
    theta: 0.9,
    is_serious_by_equation_3: false,
    is_timer_for_serious: false,
    is_flag_of_connection: false,
    restarts_law: true,
};

/// Times in microseconds.
struct DelayedUpdate<M> {
    constants: Constants,
    law: M,
    /// The connection's least and greatest RTT.
    extremes: Option<(f64, f64)>,
    period: Option<Period>,
    last_ave_rtt: f64,
    suspend_flag: bool,
    flag: bool,
    timer: Option<f64>,
    /// The threshold before the last loss.
    prior_threshold: f64,
    /// The last thing that lowered the window was a decrease.
    is_decreased: bool,
    is_doubtful: bool,
}

#[derive(Default)]
struct Period {
    from_us: u64,
    rtts: Vec<f64>,
    noncongested: usize,
}

/// What congestion is worth (equation (3) and §3.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Congestion {
    None,
    Mild,
    Serious,
}

/// A law inside, whose window others lower.
trait Inner: Model {
    fn lower(&mut self, cwnd: f64);
    fn threshold(&mut self) -> &mut f64;
}

impl Inner for Reno {
    fn lower(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
    }

    fn threshold(&mut self) -> &mut f64 {
        &mut self.ssthresh
    }
}

impl Inner for Cubic {
    fn lower(&mut self, cwnd: f64) {
        Cubic::lower(self, cwnd);
    }

    fn threshold(&mut self) -> &mut f64 {
        &mut self.ssthresh
    }
}

impl<M: Inner> DelayedUpdate<M> {
    fn new(constants: Constants, law: M) -> Self {
        Self {
            constants,
            law,
            extremes: None,
            period: None,
            last_ave_rtt: 0.0,
            suspend_flag: false,
            flag: false,
            timer: None,
            prior_threshold: f64::INFINITY,
            is_decreased: false,
            is_doubtful: false,
        }
    }

    /// After packets are lost, and (difference 12) after an idle time or an undo.
    fn reset(&mut self) {
        self.period = None;
        self.last_ave_rtt = 0.0;
        self.suspend_flag = false;
        self.flag = false;
        self.timer = None;
        self.is_decreased = false;
    }

    /// Answers how congested the network is, at the end of a period.
    fn sample(&mut self, ack: &SenderAck) -> Option<Congestion> {
        let period = self.period.get_or_insert_with(|| Period {
            from_us: ack.now_us,
            ..Period::default()
        });
        if ack.rtt_us > 0 {
            let rtt = f64::from(ack.rtt_us);
            let (least, greatest) = self.extremes.unwrap_or((rtt, rtt));
            if rtt < least {
                // What was the least RTT is not any more.
                period.noncongested = 0;
            }
            period.noncongested += usize::from(rtt <= least);
            period.rtts.push(rtt);
            self.extremes = Some((least.min(rtt), greatest.max(rtt)));
        }
        let age_us = (ack.now_us - period.from_us) as f64;
        if age_us < self.constants.period_us || period.rtts.is_empty() {
            return None;
        }
        let next = Period {
            from_us: ack.now_us,
            ..Period::default()
        };
        let over = self.period.replace(next).expect("it is over");
        Some(self.judge(&over, ack))
    }

    /// Equations (1) to (3), and the flags of §3.4.
    fn judge(&mut self, period: &Period, ack: &SenderAck) -> Congestion {
        let total = period.rtts.len() as f64;
        let u = 1.0 - period.noncongested as f64 / total;
        let ave_rtt = period.rtts.iter().sum::<f64>() / total;
        let jitter = ave_rtt - self.last_ave_rtt;
        let threshold_us = self.constants.threshold_us;
        self.is_doubtful |= is_close(ave_rtt, self.last_ave_rtt)
            || is_close(jitter.abs(), threshold_us)
            || (u - 0.99).abs() < 1e-9;
        let congestion = if u == 1.0 && (jitter > 0.0 || self.constants.is_serious_by_equation_3) {
            Congestion::Serious
        } else if u > 0.99 && jitter > 0.0 {
            Congestion::Mild
        } else {
            Congestion::None
        };
        if congestion != Congestion::None {
            self.suspend(congestion == Congestion::Serious, ack);
        } else if u <= 0.99 && jitter.abs() < threshold_us {
            self.suspend_flag = false;
        }
        self.last_ave_rtt = ave_rtt;
        self.raise_flag(period, ave_rtt);
        congestion
    }

    /// Equation (4), with rand in (0, 1], in whole microseconds.
    fn suspend(&mut self, is_serious: bool, ack: &SenderAck) {
        self.suspend_flag = true;
        if is_serious || !self.constants.is_timer_for_serious {
            let least_rtt = self.extremes.expect("there were samples").0;
            let rand = (f64::from(ack.random) + 1.0) / 4_294_967_296.0;
            self.timer = Some(ack.now_us as f64 + (least_rtt * rand).floor().max(1.0));
        }
    }

    fn raise_flag(&mut self, period: &Period, ave_rtt: f64) {
        let rtts = || period.rtts.iter().copied();
        let (least, greatest) = if self.constants.is_flag_of_connection {
            self.extremes.expect("there were samples")
        } else {
            (
                rtts().fold(f64::INFINITY, f64::min),
                rtts().fold(0.0, f64::max),
            )
        };
        let middle = f64::midpoint(least, greatest);
        self.is_doubtful |= is_close(ave_rtt, middle);
        self.flag = ave_rtt > middle;
    }

    /// The window is decreased by 1 - theta, from what is in flight.
    fn decrease(&mut self, ack: &SenderAck) {
        let unacked_pkts = ack.snd_nxt.wrapping_sub(ack.ack_seq) / MSS;
        let flight_pkts = unacked_pkts + ack.delivered_now_pkts;
        let window = f64::from(flight_pkts);
        let left = (window * self.constants.theta).floor().max(2.0).min(window);
        let threshold = *self.law.threshold();
        // Difference 6.
        if self.constants.restarts_law {
            self.law.on_loss(&SenderEvent {
                now_us: ack.now_us,
                inflight_pkts: flight_pkts,
                ..SenderEvent::default()
            });
        }
        self.law.lower(left);
        // Difference 5.
        *self.law.threshold() = threshold.min(left);
        self.is_decreased = true;
    }
}

impl<M: Inner> Model for DelayedUpdate<M> {
    fn on_ack(&mut self, ack: &SenderAck) {
        let congestion = self.sample(ack);
        if self
            .timer
            .is_some_and(|until_us| ack.now_us as f64 >= until_us)
        {
            self.timer = None;
            self.suspend_flag = false;
        }
        // Difference 11.
        let is_repairing = ack.phase >= Phase::Cwr as u8;
        if congestion == Some(Congestion::Serious) && !is_repairing {
            self.decrease(ack);
        } else if !self.suspend_flag && !self.flag {
            self.law.on_ack(ack);
        }
    }

    fn on_loss(&mut self, event: &SenderEvent) {
        self.prior_threshold = *self.law.threshold();
        self.law.on_loss(event);
        self.reset();
    }

    fn on_timeout(&mut self, event: &SenderEvent) {
        self.prior_threshold = *self.law.threshold();
        self.law.on_timeout(event);
        self.reset();
    }

    fn on_undo(&mut self, event: &SenderEvent) {
        self.law.on_undo(event);
        *self.law.threshold() = self.prior_threshold;
        self.reset();
    }

    fn on_idle(&mut self, event: &SenderEvent) {
        self.law.on_idle(event);
        self.reset();
    }

    fn cwnd_pkts(&self) -> f64 {
        self.law.cwnd_pkts()
    }

    /// A decrease leaves a part of a segment more or less, and theta is a 1024th of a number.
    fn tolerance_pkts(&self) -> f64 {
        let decreased = 2.0 + self.cwnd_pkts() / 2048.0;
        self.law.tolerance_pkts() + if self.is_decreased { decreased } else { 0.0 }
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful || self.law.is_doubtful()
    }
}

/// Averages are cut to whole microseconds.
fn is_close(a: f64, b: f64) -> bool {
    a != b && (a - b).abs() <= 1.1
}

/// Period, threshold, and what the paper leaves open; or the paper's constants.
type Given = Option<(u32, u32, [bool; 4])>;

fn any_constants() -> impl Strategy<Value = Given> {
    let any = (20_000u32..500_000, 0u32..50_000, any::<[bool; 4]>());
    prop_oneof![Just(None), any.prop_map(Some)]
}

/// The parameters of a policy, and the same as constants.
fn constants_of(given: &Given) -> (String, Constants) {
    let Some((period_us, threshold_us, [by_equation_3, for_serious, of_connection, restarts])) =
        *given
    else {
        return (String::new(), PAPER);
    };
    let params = format!(
        ":period_us={period_us},threshold_us={threshold_us},theta_x1024=768,serious_rule={},\
         timer_rule={},flag_rule={},restarts_law={}",
        u8::from(by_equation_3),
        u8::from(for_serious),
        u8::from(!of_connection),
        u8::from(restarts),
    );
    let constants = Constants {
        period_us: period_us.into(),
        threshold_us: threshold_us.into(),
        theta: 0.75,
        is_serious_by_equation_3: by_equation_3,
        is_timer_for_serious: for_serious,
        is_flag_of_connection: of_connection,
        restarts_law: restarts,
    };
    (params, constants)
}

/// Queues that come and go, on a clock of whole milliseconds.
const HABITS: Habits = Habits {
    queue_us: 60_000,
    grain_us: 1000,
    most_pkts: 2000,
    cases: 128,
};

#[test]
fn reno_plus_is_reno_s_model_under_the_paper_s_mechanism() {
    compare(&HABITS, any_constants(), |given| {
        let (params, constants) = constants_of(given);
        let model = DelayedUpdate::new(constants, Reno::new());
        (format!("reno+{params}"), model)
    });
}

#[test]
fn cubic_plus_is_cubic_s_model_under_the_paper_s_mechanism() {
    compare(&HABITS, any_constants(), |given| {
        let (params, constants) = constants_of(given);
        let model = DelayedUpdate::new(constants, Cubic::new(RFC));
        (format!("cubic+{params}"), model)
    });
}
