// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A TCP sender: CUBIC, selective acknowledgements, the receiver's window.

use crate::network::{MILLISECOND_NS, MSS_BYTES, Packet, SECOND_NS};
use std::collections::VecDeque;

const FIRST_WINDOW_PKTS: f64 = 10.0;
const LEAST_TIMEOUT_NS: u64 = 200 * MILLISECOND_NS;
const CUBIC_C: f64 = 0.4;
const CUBIC_BETA: f64 = 0.7;

/// When the application has data to send.
#[derive(Debug, Clone, Copy)]
pub enum Application {
    Greedy,
    /// A constant rate, written in pieces.
    Constant {
        bits_per_s: u64,
        every_ns: u64,
    },
    /// Greedy for a period, silent for the next.
    OnOff {
        period_ns: u64,
    },
}

struct InFlight {
    seq: u64,
    sent_at_ns: u64,
    is_sacked: bool,
    is_lost: bool,
    is_repeated: bool,
}

pub struct Sender {
    pub application: Application,
    pub timer_at_ns: Option<u64>,
    /// Bytes that the application has written; `u64::MAX` while greedy.
    written_bytes: u64,
    next_seq: u64,
    right_edge_seq: u64,
    ts_recent: u32,
    in_flight: VecDeque<InFlight>,
    pipe_pkts: usize,
    lost_pkts: usize,
    highest_sacked_seq: u64,
    recovery_end_seq: Option<u64>,
    cwnd_pkts: f64,
    ssthresh_pkts: f64,
    cubic_max_pkts: f64,
    cubic_epoch_ns: Option<u64>,
    reno_pkts: f64,
    round_end_seq: u64,
    round_samples: u32,
    round_rtt_ns: u64,
    least_rtt_ns: u64,
    smoothed_rtt_ns: u64,
    rtt_deviation_ns: u64,
    backoff: u32,
    last_sent_ns: u64,
}

impl Sender {
    pub fn new(application: Application) -> Self {
        let is_greedy = matches!(application, Application::Greedy);
        Self {
            application,
            timer_at_ns: None,
            written_bytes: if is_greedy { u64::MAX } else { 0 },
            next_seq: 0,
            right_edge_seq: 64 * 1024,
            ts_recent: 0,
            in_flight: VecDeque::new(),
            pipe_pkts: 0,
            lost_pkts: 0,
            highest_sacked_seq: 0,
            recovery_end_seq: None,
            cwnd_pkts: FIRST_WINDOW_PKTS,
            ssthresh_pkts: f64::MAX,
            cubic_max_pkts: 0.0,
            cubic_epoch_ns: None,
            reno_pkts: 0.0,
            round_end_seq: 0,
            round_samples: 0,
            round_rtt_ns: u64::MAX,
            least_rtt_ns: u64::MAX,
            smoothed_rtt_ns: 0,
            rtt_deviation_ns: 0,
            backoff: 0,
            last_sent_ns: 0,
        }
    }

    /// The application's clock: writes, starts or stops; returns when to call again.
    pub fn on_application(&mut self, now_ns: u64, start_ns: u64) -> Option<u64> {
        match self.application {
            Application::Greedy => None,
            Application::Constant {
                bits_per_s,
                every_ns,
            } => {
                let so_far_ns = now_ns - start_ns + every_ns;
                self.written_bytes =
                    (u128::from(so_far_ns) * u128::from(bits_per_s) / 8 / 1_000_000_000) as u64;
                Some(now_ns + every_ns)
            }
            Application::OnOff { period_ns } => {
                let is_on = ((now_ns - start_ns) / period_ns).is_multiple_of(2);
                self.written_bytes = if is_on { u64::MAX } else { self.next_seq };
                Some(now_ns + period_ns)
            }
        }
    }

    pub fn on_ack(&mut self, now_ns: u64, ack: &Packet) {
        self.right_edge_seq = self.right_edge_seq.max(ack.right_edge_seq);
        self.ts_recent = ack.tsval;
        let was_limited = self.pipe_pkts as f64 + 1.0 >= self.cwnd_pkts
            || (self.cwnd_pkts < self.ssthresh_pkts
                && self.cwnd_pkts < 2.0 * self.pipe_pkts as f64);
        let mut acked_pkts = 0;
        while let Some(first) = self.in_flight.front() {
            if first.seq + MSS_BYTES > ack.ack_seq {
                break;
            }
            let first = self.in_flight.pop_front().expect("looked at");
            if first.is_lost {
                self.lost_pkts -= 1;
            } else if !first.is_sacked {
                self.pipe_pkts -= 1;
            }
            if !first.is_repeated && !first.is_sacked {
                self.take_rtt(now_ns - first.sent_at_ns);
            }
            acked_pkts += 1;
        }
        if ack.sacked_seq >= ack.ack_seq {
            self.mark_sacked(ack.sacked_seq);
        }
        self.detect_losses();
        self.control(now_ns, ack.ack_seq, acked_pkts, was_limited);
        if acked_pkts > 0 {
            self.backoff = 0;
            self.arm_timer(now_ns);
        }
    }

    fn mark_sacked(&mut self, seq: u64) {
        if let Ok(index) = self.in_flight.binary_search_by_key(&seq, |sent| sent.seq) {
            let sent = &mut self.in_flight[index];
            if !sent.is_sacked {
                if sent.is_lost {
                    sent.is_lost = false;
                    self.lost_pkts -= 1;
                } else {
                    self.pipe_pkts -= 1;
                }
                sent.is_sacked = true;
                self.highest_sacked_seq = self.highest_sacked_seq.max(seq);
            }
        }
    }

    fn detect_losses(&mut self) {
        for sent in &mut self.in_flight {
            if sent.seq + 3 * MSS_BYTES > self.highest_sacked_seq {
                break;
            }
            if !sent.is_sacked && !sent.is_lost && !sent.is_repeated {
                sent.is_lost = true;
                self.lost_pkts += 1;
                self.pipe_pkts -= 1;
            }
        }
    }

    fn control(&mut self, now_ns: u64, ack_seq: u64, acked_pkts: usize, was_limited: bool) {
        if self
            .recovery_end_seq
            .is_some_and(|end_seq| ack_seq >= end_seq)
        {
            self.recovery_end_seq = None;
        }
        if self.recovery_end_seq.is_none() && self.lost_pkts > 0 {
            self.recovery_end_seq = Some(self.next_seq);
            let last_max = self.cubic_max_pkts;
            self.cubic_max_pkts = if self.cwnd_pkts < last_max {
                self.cwnd_pkts * (1.0 + CUBIC_BETA) / 2.0
            } else {
                self.cwnd_pkts
            };
            self.ssthresh_pkts = (self.cwnd_pkts * CUBIC_BETA).max(2.0);
            self.cwnd_pkts = self.ssthresh_pkts;
            self.cubic_epoch_ns = None;
        } else if self.recovery_end_seq.is_none() && was_limited {
            self.grow(now_ns, acked_pkts as f64);
        }
    }

    fn grow(&mut self, now_ns: u64, acked_pkts: f64) {
        if self.cwnd_pkts < self.ssthresh_pkts {
            self.cwnd_pkts += acked_pkts;
            self.look_for_delay();
            return;
        }
        let epoch_ns = *self.cubic_epoch_ns.get_or_insert(now_ns);
        if epoch_ns == now_ns {
            self.reno_pkts = self.cwnd_pkts;
            self.cubic_max_pkts = self.cubic_max_pkts.max(self.cwnd_pkts);
        }
        let k_s = (self.cubic_max_pkts * (1.0 - CUBIC_BETA) / CUBIC_C).cbrt();
        let t_s = (now_ns - epoch_ns + self.least_rtt_ns.min(SECOND_NS)) as f64 / 1e9;
        let target_pkts = self.cubic_max_pkts + CUBIC_C * (t_s - k_s).powi(3);
        self.reno_pkts += 0.53 * acked_pkts / self.cwnd_pkts;
        let target_pkts = target_pkts.max(self.reno_pkts).min(self.cwnd_pkts * 1.5);
        let step_pkts =
            ((target_pkts - self.cwnd_pkts) / self.cwnd_pkts).max(0.01 / self.cwnd_pkts);
        self.cwnd_pkts += step_pkts * acked_pkts;
    }

    /// HyStart: slow start ends when a round trip's first samples show a queue.
    fn look_for_delay(&mut self) {
        if self.cwnd_pkts < 16.0 || self.round_samples < 8 {
            return;
        }
        let excess_ns = (self.least_rtt_ns / 8).clamp(4 * MILLISECOND_NS, 16 * MILLISECOND_NS);
        if self.round_rtt_ns > self.least_rtt_ns + excess_ns {
            self.ssthresh_pkts = self.cwnd_pkts;
        }
    }

    fn take_rtt(&mut self, rtt_ns: u64) {
        self.least_rtt_ns = self.least_rtt_ns.min(rtt_ns);
        if self
            .in_flight
            .front()
            .is_none_or(|first| first.seq >= self.round_end_seq)
        {
            self.round_end_seq = self.next_seq;
            self.round_samples = 0;
            self.round_rtt_ns = u64::MAX;
        }
        self.round_samples += 1;
        if self.round_samples <= 8 {
            self.round_rtt_ns = self.round_rtt_ns.min(rtt_ns);
        }
        if self.smoothed_rtt_ns == 0 {
            self.smoothed_rtt_ns = rtt_ns;
            self.rtt_deviation_ns = rtt_ns / 2;
            return;
        }
        let error_ns = self.smoothed_rtt_ns.abs_diff(rtt_ns);
        self.rtt_deviation_ns = (3 * self.rtt_deviation_ns + error_ns) / 4;
        self.smoothed_rtt_ns = (7 * self.smoothed_rtt_ns + rtt_ns) / 8;
    }

    fn timeout_ns(&self) -> u64 {
        let plain_ns = if self.smoothed_rtt_ns == 0 {
            SECOND_NS
        } else {
            self.smoothed_rtt_ns + (4 * self.rtt_deviation_ns).max(LEAST_TIMEOUT_NS)
        };
        plain_ns << self.backoff.min(6)
    }

    fn arm_timer(&mut self, now_ns: u64) {
        let has_work = !self.in_flight.is_empty();
        self.timer_at_ns = has_work.then(|| now_ns + self.timeout_ns());
    }

    pub fn on_timer(&mut self, now_ns: u64) {
        if self.timer_at_ns.is_none_or(|at_ns| now_ns < at_ns) {
            return;
        }
        for sent in &mut self.in_flight {
            if !sent.is_sacked && !sent.is_lost {
                sent.is_lost = true;
                self.lost_pkts += 1;
                self.pipe_pkts -= 1;
            }
        }
        self.ssthresh_pkts = (self.cwnd_pkts * CUBIC_BETA).max(2.0);
        self.cwnd_pkts = 1.0;
        self.cubic_epoch_ns = None;
        self.recovery_end_seq = Some(self.next_seq);
        self.backoff += 1;
        self.arm_timer(now_ns);
    }

    /// The next segment that the windows allow, if any: repeats first.
    pub fn next_packet(&mut self, now_ns: u64, flow: usize, tsval: u32) -> Option<Packet> {
        if self.pipe_pkts as f64 + 1.0 > self.cwnd_pkts.max(1.0) {
            return None;
        }
        let seq = if self.lost_pkts > 0 {
            self.next_lost(now_ns)?
        } else {
            self.next_new(now_ns)?
        };
        self.pipe_pkts += 1;
        self.last_sent_ns = now_ns;
        if self.timer_at_ns.is_none() {
            self.arm_timer(now_ns);
        }
        Some(Packet {
            flow,
            is_data: true,
            seq,
            payload_bytes: MSS_BYTES,
            tsval,
            tsecr: self.ts_recent,
            ack_seq: 0,
            right_edge_seq: 0,
            sacked_seq: 0,
            queued_at_ns: 0,
        })
    }

    fn next_lost(&mut self, now_ns: u64) -> Option<u64> {
        let sent = self.in_flight.iter_mut().find(|sent| sent.is_lost)?;
        sent.is_lost = false;
        sent.is_repeated = true;
        sent.sent_at_ns = now_ns;
        self.lost_pkts -= 1;
        Some(sent.seq)
    }

    fn next_new(&mut self, now_ns: u64) -> Option<u64> {
        let end_seq = self.next_seq + MSS_BYTES;
        if end_seq > self.right_edge_seq || end_seq > self.written_bytes {
            return None;
        }
        let is_idle = self.in_flight.is_empty() && self.next_seq > 0;
        if is_idle && now_ns - self.last_sent_ns > self.timeout_ns() {
            self.ssthresh_pkts = self.ssthresh_pkts.max(self.cwnd_pkts * 0.75);
            self.cwnd_pkts = self.cwnd_pkts.min(FIRST_WINDOW_PKTS);
            self.cubic_epoch_ns = None;
        }
        let seq = self.next_seq;
        self.next_seq = end_seq;
        self.in_flight.push_back(InFlight {
            seq,
            sent_at_ns: now_ns,
            is_sacked: false,
            is_lost: false,
            is_repeated: false,
        });
        Some(seq)
    }
}
