// SPDX-License-Identifier: Apache-2.0 OR MIT
//! CUBIC's congestion avoidance as RFC 9438 writes it, in real numbers: what the law's
//! integers are held against.

use ebb_algorithms::{Policy, SenderAck, SenderEvent, SenderFlow, SenderStart};
use proptest::prelude::*;

/// The RFC's variables, in segments and seconds.
struct Oracle {
    c: f64,
    beta: f64,
    cwnd: f64,
    w_max: f64,
    cwnd_prior: f64,
    epoch: Option<Epoch>,
}

struct Epoch {
    start_s: f64,
    origin: f64,
    k: f64,
    w_est: f64,
}

impl Oracle {
    fn on_loss(&mut self) {
        self.cwnd_prior = self.cwnd;
        self.w_max = if self.cwnd < self.w_max {
            self.cwnd * (1.0 + self.beta) / 2.0
        } else {
            self.cwnd
        };
        self.cwnd = (self.cwnd * self.beta).max(2.0);
        self.epoch = None;
    }

    fn on_ack(&mut self, now_s: f64, acked: f64, rtt_s: f64) {
        let (cwnd, w_max, c) = (self.cwnd, self.w_max.max(self.cwnd), self.c);
        let epoch = self.epoch.get_or_insert_with(|| Epoch {
            start_s: now_s,
            origin: w_max,
            k: ((w_max - cwnd) / c).cbrt(),
            w_est: cwnd,
        });
        let alpha = if epoch.w_est >= self.cwnd_prior {
            1.0
        } else {
            3.0 * (1.0 - self.beta) / (1.0 + self.beta)
        };
        epoch.w_est += alpha * acked / cwnd;
        let t = now_s - epoch.start_s;
        let curve = |t: f64| c * (t - epoch.k).powi(3) + epoch.origin;
        if curve(t) < epoch.w_est {
            self.cwnd = cwnd.max(epoch.w_est);
            return;
        }
        let target = curve(t + rtt_s).clamp(cwnd, cwnd * 1.5);
        self.cwnd += acked * (target - cwnd) / cwnd;
    }
}

fn start_of(cwnd_pkts: u32) -> SenderStart {
    SenderStart {
        now_us: 99_000_000,
        mss_bytes: 1448,
        cwnd_pkts,
        ..SenderStart::default()
    }
}

fn lose(flow: &mut SenderFlow) {
    let window = flow.window();
    flow.on_loss(&SenderEvent {
        cwnd_pkts: window.cwnd_pkts,
        ssthresh_pkts: window.ssthresh_pkts,
        ..SenderEvent::default()
    });
    let ssthresh_pkts = flow.window().ssthresh_pkts;
    flow.on_ack(&SenderAck {
        cwnd_pkts: ssthresh_pkts,
        ssthresh_pkts,
        ..SenderAck::default()
    });
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 48,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]
    #[test]
    fn the_window_follows_the_curve_of_the_rfc_for_100_s(
        window_pkts in 4u32..5000,
        second_loss in any::<bool>(),
        rtt_us in 10_000u32..400_000,
        c_x1000 in prop_oneof![Just(400u32), 100u32..2000],
        beta_x1024 in prop_oneof![Just(717u32), 512u32..900],
    ) {
        let policy = format!("cubic:c_x1000={c_x1000},beta_x1024={beta_x1024}");
        let mut flow = SenderFlow::new(Policy::sender(&policy).unwrap(), &start_of(window_pkts));
        let mut oracle = Oracle {
            c: f64::from(c_x1000) / 1000.0,
            beta: f64::from(beta_x1024) / 1024.0,
            cwnd: f64::from(window_pkts),
            w_max: 0.0,
            cwnd_prior: 0.0,
            epoch: None,
        };
        for _ in 0..1 + u32::from(second_loss) {
            lose(&mut flow);
            oracle.on_loss();
            // Both go on from whole segments.
            oracle.cwnd = f64::from(flow.window().cwnd_pkts);
            oracle.w_max = oracle.w_max.floor();
        }
        let mut now_us = 99_000_000u64;
        while now_us < 99_000_000 + 100_000_000 {
            for _ in 0..8 {
                let acked_pkts = flow.window().cwnd_pkts.div_ceil(8);
                flow.on_ack(&SenderAck {
                    now_us,
                    acked_pkts,
                    cwnd_pkts: flow.window().cwnd_pkts,
                    ssthresh_pkts: flow.window().ssthresh_pkts,
                    srtt_us: rtt_us,
                    is_cwnd_limited: 1,
                    ..SenderAck::default()
                });
                oracle.on_ack(now_us as f64 / 1e6, acked_pkts.into(), f64::from(rtt_us) / 1e6);
                now_us += u64::from(rtt_us / 8);
            }
            let ours = f64::from(flow.window().cwnd_pkts);
            let off = (ours + 0.5 - oracle.cwnd).abs();
            prop_assert!(
                off <= 1.5f64.max(oracle.cwnd * 0.001),
                "{policy}: {ours} for {} after {} us", oracle.cwnd, now_us - 99_000_000
            );
        }
    }
}
