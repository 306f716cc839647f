// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CUBIC as RFC 9438 writes it, in real numbers, with the slow start of RFC 9406.

use crate::hystart_model::HyStart;
use crate::sender_oracle::{FIRST_PKTS, Model};
use ebb_algorithms::{SenderAck, SenderEvent};

/// The RFC's constants.
#[derive(Debug, Clone, Copy)]
pub struct Constants {
    pub c: f64,
    pub beta: f64,
    pub has_fast_convergence: bool,
    pub is_reno_friendly: bool,
    pub has_hystart: bool,
}

/// RFC 9438 §4.6, §4.7, §5.1.
pub const RFC: Constants = Constants {
    c: 0.4,
    beta: 0.7,
    has_fast_convergence: true,
    is_reno_friendly: true,
    has_hystart: true,
};

/// The RFC's variables, in segments and seconds.
#[derive(Debug, Clone)]
pub struct Cubic {
    constants: Constants,
    pub cwnd: f64,
    pub ssthresh: f64,
    hystart: Option<HyStart>,
    stage: Stage,
    prior: Option<Prior>,
    heard_s: f64,
    /// What the last acknowledgements added, at the most.
    step: f64,
    is_doubtful: bool,
}

/// What a spurious loss is undone to (§4.9).
#[derive(Debug, Clone)]
struct Prior {
    flight: f64,
    ssthresh: f64,
    stage: Stage,
}

#[derive(Debug, Clone, Default)]
struct Stage {
    w_max: f64,
    /// w_max is what fast convergence made of it, to a segment.
    is_w_max_cut: bool,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

#[derive(Debug, Clone)]
struct Epoch {
    /// Since the stage began, without time that the application wasted (§5.8).
    t: f64,
    plateau: f64,
    k: f64,
    w_est: f64,
}

impl Cubic {
    pub fn new(constants: Constants) -> Self {
        Self {
            constants,
            cwnd: f64::from(FIRST_PKTS),
            ssthresh: f64::INFINITY,
            hystart: constants.has_hystart.then(HyStart::default),
            stage: Stage::default(),
            prior: None,
            heard_s: 0.0,
            step: 0.0,
            is_doubtful: false,
        }
    }

    /// Answers how much of what is acknowledged is left for congestion avoidance.
    fn slow_start(&mut self, ack: &SenderAck) -> f64 {
        let acked = f64::from(ack.acked_pkts);
        let room = self.ssthresh - self.cwnd;
        let Some(hystart) = &mut self.hystart else {
            self.cwnd += acked.min(room);
            return (acked - room).max(0.0);
        };
        self.cwnd += hystart.growth(acked).min(room);
        let is_over = hystart.on_ack(ack);
        self.is_doubtful |= hystart.is_doubtful;
        if is_over {
            self.ssthresh = self.cwnd;
            self.hystart = None;
        }
        0.0
    }

    /// §4.2: the curve from here to the plateau and beyond.
    fn begin_epoch(&self) -> Epoch {
        let plateau = self.stage.w_max.max(self.cwnd);
        Epoch {
            t: 0.0,
            plateau,
            k: ((plateau - self.cwnd) / self.constants.c).cbrt(),
            w_est: self.cwnd,
        }
    }

    fn avoid(&mut self, acked: f64, rtt_s: f64) {
        let Constants { c, beta, .. } = self.constants;
        let cwnd = self.cwnd;
        let begun = self.begin_epoch();
        let epoch = self.stage.epoch.get_or_insert(begun);
        // §4.3: as fast as Reno, with a decrease of 1 - beta; as Reno from cwnd_prior on.
        let alpha = if epoch.w_est >= self.stage.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - beta) / (1.0 + beta)
        };
        epoch.w_est += alpha * acked / cwnd;
        let curve = |t: f64| c * (t - epoch.k).powi(3) + epoch.plateau;
        if self.constants.is_reno_friendly && curve(epoch.t) < epoch.w_est {
            self.cwnd = cwnd.max(epoch.w_est);
            return;
        }
        // §4.4, §4.5
        let target = curve(epoch.t + rtt_s).clamp(cwnd, 1.5 * cwnd);
        self.cwnd += acked * (target - cwnd) / cwnd;
    }

    /// Time goes by; for a stage that may be restored it always does.
    fn pass(&mut self, seconds: f64, wasted_s: f64) {
        if let Some(epoch) = &mut self.stage.epoch {
            epoch.t += seconds - wasted_s;
        }
        let prior = self.prior.as_mut().map(|prior| &mut prior.stage);
        if let Some(epoch) = prior.and_then(|stage| stage.epoch.as_mut()) {
            epoch.t += seconds;
        }
    }

    /// By others. Not the RFC's: Reno's window would have been lowered, too.
    pub fn lower(&mut self, cwnd: f64) {
        self.cwnd = cwnd;
        if let Some(epoch) = &mut self.stage.epoch {
            epoch.w_est = epoch.w_est.min(cwnd);
        }
    }

    /// §4.6, §4.7; windows are whole segments.
    fn reduce(&mut self, flight: f64) {
        let beta = self.constants.beta;
        self.prior = Some(Prior {
            flight,
            ssthresh: self.ssthresh,
            stage: self.stage.clone(),
        });
        let converges = self.constants.has_fast_convergence;
        // 0.85 and 1741 / 2048 give the same whole segments below 400.
        let is_near = flight > 400.0 && (flight - self.stage.w_max).abs() <= 2.0;
        self.is_doubtful |= converges && self.stage.is_w_max_cut && is_near;
        let is_lower = converges && flight < self.stage.w_max;
        self.stage.is_w_max_cut = is_lower;
        self.stage.w_max = if is_lower {
            whole(flight * (1.0 + beta) / 2.0)
        } else {
            flight
        };
        self.stage.cwnd_prior = flight;
        self.stage.epoch = None;
        // RFC 9406 §4.3: for the first slow start only.
        self.hystart = None;
        self.ssthresh = whole(flight * beta).max(2.0);
    }
}

/// Whole segments; 0.7 is a little less than 0.7 here.
fn whole(pkts: f64) -> f64 {
    (pkts + 1e-6).floor()
}

impl Model for Cubic {
    fn on_ack(&mut self, ack: &SenderAck) {
        let now_s = ack.now_us as f64 / 1e6;
        let since_s = now_s - self.heard_s;
        self.heard_s = now_s;
        let is_lazy = ack.acked_pkts > 0 && ack.is_cwnd_limited == 0;
        self.pass(since_s, if is_lazy { since_s } else { 0.0 });
        if ack.acked_pkts == 0 || is_lazy {
            return;
        }
        let before = self.cwnd;
        let mut acked = f64::from(ack.acked_pkts);
        if self.cwnd < self.ssthresh {
            acked = self.slow_start(ack);
        }
        if acked > 0.0 && self.cwnd >= self.ssthresh {
            self.avoid(acked, f64::from(ack.srtt_us) / 1e6);
        }
        self.step = (self.cwnd - before).max(0.75 * self.step);
    }

    fn on_loss(&mut self, event: &SenderEvent) {
        self.reduce(event.inflight_pkts.into());
        self.cwnd = self.ssthresh;
    }

    /// §4.8: the next stage begins at its own plateau.
    fn on_timeout(&mut self, event: &SenderEvent) {
        self.reduce(event.inflight_pkts.into());
        self.stage.w_max = 0.0;
        self.cwnd = 1.0;
    }

    fn on_undo(&mut self, _: &SenderEvent) {
        let prior = self.prior.take().expect("there was a loss");
        self.cwnd = self.cwnd.max(prior.flight);
        self.ssthresh = prior.ssthresh;
        self.stage = prior.stage;
    }

    fn on_idle(&mut self, event: &SenderEvent) {
        let now_s = event.now_us as f64 / 1e6;
        self.pass(now_s - self.heard_s, f64::from(event.idle_us) / 1e6);
        self.heard_s = now_s;
        self.lower(self.cwnd.min(f64::from(FIRST_PKTS)));
    }

    fn cwnd_pkts(&self) -> f64 {
        self.cwnd
    }

    /// Segments that are earned in part, of the window and of Reno's, before an undo and
    /// after it; the thousandth to which times and gains are cut. The law may pass from
    /// Reno's window to the curve an acknowledgement earlier or later.
    fn tolerance_pkts(&self) -> f64 {
        3.0 + self.cwnd * 0.001 + self.step
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful
    }
}
