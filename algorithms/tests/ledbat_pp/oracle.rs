// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ledbat++` against its source in real numbers.

use crate::ledbat_pp_model::{Delays, Params, Step, Window, any_params};
use crate::sender_oracle::{FIRST_PKTS, Habits, Model, compare};
use ebb_algorithms::{SenderAck, SenderEvent};
use proptest::prelude::*;

struct LedbatPp {
    delays: Delays,
    window: Window,
    /// Before the last reduction: the window and the threshold, and their errors.
    prior: ((f64, f64), (f64, f64)),
}

impl Model for LedbatPp {
    fn on_ack(&mut self, ack: &SenderAck) {
        if ack.rtt_us > 0 {
            self.delays.take(ack.now_us, ack.rtt_us.into());
        }
        if ack.acked_pkts > 0 {
            self.window.take(&Step {
                now_us: ack.now_us as f64,
                acked: ack.acked_pkts.into(),
                queue_us: self.delays.queue_us(ack.srtt_us.into()),
                base_us: self.delays.base_us(),
                rtt_us: ack.srtt_us.into(),
                may_grow: ack.is_cwnd_limited > 0,
            });
        }
    }

    fn on_loss(&mut self, event: &SenderEvent) {
        self.prior = (self.window.whole(), self.window.threshold());
        self.window.lose(event.now_us as f64, event.srtt_us.into());
        self.window.set_to_threshold();
    }

    fn on_timeout(&mut self, event: &SenderEvent) {
        self.prior = (self.window.whole(), self.window.threshold());
        self.window.lose(event.now_us as f64, event.srtt_us.into());
        self.window.set(1.0, 0.0);
    }

    fn on_undo(&mut self, _: &SenderEvent) {
        let ((cwnd, error), threshold) = self.prior;
        if cwnd > self.window.cwnd.floor() {
            self.window.set(cwnd, error);
        }
        self.window.undo_threshold(threshold);
    }

    fn on_idle(&mut self, _: &SenderEvent) {
        let restart = f64::from(FIRST_PKTS);
        if self.window.cwnd >= restart + 1.0 {
            self.window.set(restart, 0.0);
        }
    }

    fn cwnd_pkts(&self) -> f64 {
        self.window.cwnd
    }

    /// Whole segments, and what rounding has added up to.
    fn tolerance_pkts(&self) -> f64 {
        1.0 + self.window.error
    }

    fn is_doubtful(&self) -> bool {
        self.window.is_doubtful
    }
}

fn model(params: &Params) -> (String, LedbatPp) {
    let model = LedbatPp {
        delays: Delays::default(),
        window: Window::new(params),
        prior: ((0.0, 0.0), (f64::INFINITY, 0.0)),
    };
    (params.policy("ledbat++"), model)
}

#[test]
fn ledbat_pp_steers_as_its_source_has_it() {
    let habits = Habits {
        queue_us: 150_000,
        grain_us: 1,
        most_pkts: 1000,
        cases: 256,
    };
    let params = prop_oneof![
        Just(Params {
            slowdown_interval: 0,
            ..Params::usual()
        }),
        any_params(Just(0))
    ];
    compare(&habits, params, model);
}

#[test]
fn ledbat_pp_slows_down_when_its_source_does() {
    // No queue beyond the target: windows are nearly exact, and so is the time.
    let habits = Habits {
        queue_us: 50_000,
        grain_us: 1,
        most_pkts: 300,
        cases: 256,
    };
    let params = (1u32..30).prop_map(|slowdown_interval| Params {
        slowdown_interval,
        ..Params::usual()
    });
    compare(&habits, params, model);
}
