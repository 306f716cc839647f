// SPDX-License-Identifier: Apache-2.0 OR MIT
//! rLEDBAT as its implementations have it (SOURCES.md, RLEDBAT): LEDBAT++'s window at the
//! receiving end, in real numbers.

use crate::ledbat_pp_model::{Delays, Params, Step, Window, any_params};
use crate::receiver_oracle::{Habits, MSS, Model, compare, is_after};
use ebb_algorithms::{Ack, Segment, Start};
use proptest::prelude::*;

/// Times that are closer than this to being equal may fall either way: the law smooths in
/// whole microseconds.
const DOUBT_US: f64 = 10.0;

struct Rledbat {
    delays: Delays,
    window: Window,
    srtt_us: f64,
    last_echo: Option<u32>,
    halved_at_us: Option<f64>,
    /// Behind the last byte, and the timestamp of the segment that brought it.
    highest: (u32, u32),
    /// Of the round trip under way: its start on our timestamp clock, and bytes; bytes of
    /// the last.
    round: Option<(u32, f64)>,
    round_since_us: f64,
    last_round_bytes: f64,
    is_doubtful: bool,
}

impl Rledbat {
    fn new(params: &Params, start: &Start) -> Self {
        Self {
            delays: Delays::default(),
            window: Window::new(params),
            srtt_us: 0.0,
            last_echo: None,
            halved_at_us: None,
            highest: (start.rcv_nxt, start.tsval),
            round: None,
            round_since_us: 0.0,
            last_round_bytes: 0.0,
            is_doubtful: false,
        }
    }

    /// Arrival less sending of the acknowledgement whose TSval is echoed, once per echo.
    /// Difference 2: it was sent at the beginning of its tick.
    fn take_rtt(&mut self, segment: &Segment) {
        if self.last_echo.replace(segment.tsecr) == Some(segment.tsecr) {
            return;
        }
        let ticks = segment.local_ts.wrapping_sub(segment.tsecr);
        let rtt_us = f64::from(ticks) * 1000.0 + (segment.now_us % 1000) as f64;
        self.delays.take(segment.now_us, rtt_us);
        self.srtt_us = if self.srtt_us == 0.0 {
            rtt_us
        } else {
            self.srtt_us * 7.0 / 8.0 + rtt_us / 8.0
        };
    }

    /// Difference 4: what arrives in each round trip, by echoes.
    fn take_round(&mut self, segment: &Segment) {
        let now_us = segment.now_us as f64;
        let is_over = |since: u32| is_after(segment.tsecr, since);
        match &mut self.round {
            Some((since, bytes)) if !is_over(*since) && now_us - self.round_since_us <= 1e7 => {
                *bytes += f64::from(segment.payload_bytes);
            }
            round => {
                let bytes = round.map_or(0.0, |(_, bytes)| bytes);
                self.last_round_bytes = bytes + f64::from(segment.payload_bytes);
                *round = Some((segment.local_ts, 0.0));
                self.round_since_us = now_us;
            }
        }
    }

    /// Is the window that was advertised below twice of that, and four segments?
    fn may_grow(&mut self, advertised_bytes: f64) -> bool {
        let round_bytes = self.round.map_or(0.0, |(_, bytes)| bytes);
        let used_bytes = round_bytes.max(self.last_round_bytes) * 2.0 + 4.0 * f64::from(MSS);
        let spare_bytes = used_bytes - advertised_bytes;
        self.is_doubtful |= spare_bytes.abs() <= self.tolerance_bytes() && spare_bytes != 0.0;
        spare_bytes >= 0.0
    }

    /// A sequence number below the highest seen, with a newer timestamp.
    fn is_retransmission(&mut self, segment: &Segment) -> bool {
        let end_seq = segment.seq.wrapping_add(segment.payload_bytes);
        if is_after(end_seq, self.highest.0) {
            let window_bytes = segment.right_edge_seq.wrapping_sub(segment.rcv_nxt);
            let furthest_seq = segment
                .rcv_nxt
                .wrapping_add(window_bytes.saturating_mul(8).min(1 << 30));
            if !is_after(end_seq, furthest_seq) {
                self.highest = (end_seq, segment.tsval);
            }
            return false;
        }
        is_after(segment.tsval, self.highest.1)
    }

    /// Halves, at most once per round trip.
    fn lose(&mut self, now_us: f64) {
        if let Some(at_us) = self.halved_at_us {
            let left_us = self.srtt_us - (now_us - at_us);
            self.is_doubtful |= left_us.abs() < DOUBT_US;
            if left_us > 0.0 {
                return;
            }
        }
        self.halved_at_us = Some(now_us);
        self.window.lose(now_us, self.srtt_us);
        if !self.window.is_in_slowdown() {
            let (cwnd, error) = self.window.threshold();
            self.window.set(cwnd, error);
        }
    }
}

impl Model for Rledbat {
    fn on_segment(&mut self, segment: &Segment) {
        let (now_us, advertised_bytes) = (segment.now_us as f64, self.window_bytes());
        self.take_rtt(segment);
        self.take_round(segment);
        let is_retransmission = self.is_retransmission(segment);
        if is_retransmission || segment.is_ce > 0 {
            self.lose(now_us);
        }
        if is_retransmission {
            return;
        }
        let may_grow = self.may_grow(advertised_bytes);
        let queue_us = |srtt_us| self.delays.queue_us(srtt_us);
        self.is_doubtful |= queue_us(self.srtt_us - DOUBT_US) != queue_us(self.srtt_us + DOUBT_US);
        self.is_doubtful |= self.window.is_about_to_turn(now_us, 2.0 * DOUBT_US);
        self.window.take(&Step {
            now_us,
            acked: f64::from(segment.payload_bytes) / f64::from(MSS),
            queue_us: self.delays.queue_us(self.srtt_us),
            base_us: self.delays.base_us(),
            rtt_us: self.srtt_us,
            may_grow,
        });
    }

    fn on_ack(&mut self, _: &Ack) {}

    fn window_bytes(&self) -> f64 {
        self.window.cwnd.max(1.0) * f64::from(MSS)
    }

    /// The window is told in 1/256 of a segment.
    fn tolerance_bytes(&self) -> f64 {
        (self.window.error + 1.0 / 256.0 + 1.0 / 1024.0) * f64::from(MSS)
    }

    fn is_doubtful(&self) -> bool {
        self.is_doubtful || self.window.is_doubtful
    }
}

#[test]
fn rledbat_steers_as_its_source_has_it() {
    let habits = Habits {
        queue_us: 150_000,
        use_x256: 256,
        observed: 0,
        cases: 256,
    };
    let params = prop_oneof![
        Just(Params {
            slowdown_interval: 0,
            ..Params::usual()
        }),
        any_params(Just(0))
    ];
    compare(&habits, params, |params, start| {
        (params.policy("rledbat"), Rledbat::new(params, start))
    });
}

#[test]
fn rledbat_slows_down_when_its_source_does() {
    let habits = Habits {
        queue_us: 50_000,
        use_x256: 256,
        observed: 0,
        cases: 256,
    };
    let params = (1u32..30).prop_map(|slowdown_interval| Params {
        slowdown_interval,
        ..Params::usual()
    });
    compare(&habits, params, |params, start| {
        (params.policy("rledbat"), Rledbat::new(params, start))
    });
}
