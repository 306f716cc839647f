// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::io;
use std::os::fd::RawFd;

use super::socket::{send, unsent_bytes};
use super::{FlowKind, FlowSpec};
use crate::clock::after;

/// What one call of write is given at most.
static PATTERN: [u8; 1 << 16] = [0x5a; 1 << 16];

/// Decides how much a flow may have written by now, and writes it.
pub(super) struct Sender {
    kind: FlowKind,
    stop_s: f64,
    /// When it began: with the call to connect, or, where the peer connects, once it is there.
    begun_s: f64,
    written_bytes: u64,
    /// What a constant-rate flow gave up, because TCP had no room for too long.
    forgone_bytes: u64,
    is_in_burst: bool,
}

impl Sender {
    pub(super) fn new(spec: &FlowSpec, end_s: f64) -> Self {
        Self {
            kind: spec.kind,
            stop_s: spec.stop_s.unwrap_or(end_s),
            begun_s: 0.0,
            written_bytes: 0,
            forgone_bytes: 0,
            is_in_burst: false,
        }
    }

    /// How much unsent data the kernel may hold for this flow.
    pub(super) fn unsent_limit_bytes(spec: &FlowSpec) -> u32 {
        // Little, so that "off" is off, and the stop is the end.
        match (spec.kind, spec.stop_s) {
            (FlowKind::OnOff { .. }, _) | (FlowKind::Greedy, Some(_)) => 16 << 10,
            _ => 256 << 10,
        }
    }

    /// Time counts from here on.
    pub(super) fn begin(&mut self, now_s: f64) {
        self.begun_s = now_s;
    }

    /// Whether everything that a flow of fixed size has to send is written.
    pub(super) fn is_complete(&self) -> bool {
        matches!(self.kind, FlowKind::Fixed { bytes } if self.written_bytes >= bytes)
    }

    /// Writes what is due and fits.
    pub(super) fn pump(&mut self, fd: RawFd, now_s: f64) -> io::Result<()> {
        self.mark_burst(now_s);
        let mut allowed_bytes = self.allowed_bytes(now_s);
        if let FlowKind::ConstantRate {
            backlog_bytes: Some(most_bytes),
            ..
        } = self.kind
            && allowed_bytes > 0
            && unsent_bytes(fd)? > most_bytes
        {
            self.forgone_bytes += allowed_bytes;
            return Ok(());
        }
        while allowed_bytes > 0 {
            let length = allowed_bytes.min(PATTERN.len() as u64);
            let Some(count) = send(fd, &PATTERN[..length as usize])? else {
                break;
            };
            self.written_bytes += count;
            allowed_bytes -= count;
        }
        Ok(())
    }

    /// When to pump again although the socket says nothing, as a time on the clock.
    pub(super) fn next_pump_ns(&self, epoch_ns: u64, now_s: f64) -> Option<u64> {
        if now_s >= self.stop_s {
            return None;
        }
        let next_s = match self.kind {
            FlowKind::ConstantRate {
                rate_bit_per_s,
                piece_bytes,
                ..
            } => {
                let due = self.written_bytes + self.forgone_bytes + u64::from(piece_bytes);
                let due_s = self.begun_s + due as f64 * 8.0 / rate_bit_per_s as f64;
                due_s.max(now_s + 0.001)
            }
            FlowKind::OnOff { period_s } => {
                let half = ((now_s - self.begun_s) / period_s).floor() + 1.0;
                self.begun_s + half * period_s
            }
            _ => return None,
        };
        Some(after(epoch_ns, next_s.min(self.stop_s)))
    }

    fn allowed_bytes(&mut self, now_s: f64) -> u64 {
        if now_s >= self.stop_s {
            return 0;
        }
        match self.kind {
            FlowKind::Greedy => u64::MAX,
            FlowKind::Fixed { bytes } => bytes - self.written_bytes,
            FlowKind::OnOff { .. } if self.is_in_burst => u64::MAX,
            FlowKind::OnOff { .. } | FlowKind::Udp { .. } | FlowKind::UdpSquareWave { .. } => 0,
            FlowKind::ConstantRate {
                rate_bit_per_s,
                piece_bytes,
                ..
            } => self.due_bytes(rate_bit_per_s, piece_bytes, now_s),
        }
    }

    fn due_bytes(&mut self, rate_bit_per_s: u64, piece_bytes: u32, now_s: f64) -> u64 {
        let elapsed_s = (now_s - self.begun_s).max(0.0);
        let produced = (elapsed_s * rate_bit_per_s as f64 / 8.0) as u64;
        let mut due = produced.saturating_sub(self.written_bytes + self.forgone_bytes);
        let second = rate_bit_per_s / 8;
        if due > second {
            self.forgone_bytes += due - second;
            due = second;
        }
        due - due % u64::from(piece_bytes.max(1))
    }

    fn mark_burst(&mut self, now_s: f64) {
        let FlowKind::OnOff { period_s } = self.kind else {
            return;
        };
        let period = ((now_s - self.begun_s) / period_s).floor() as i64;
        self.is_in_burst = now_s < self.stop_s && period % 2 == 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sender(kind: FlowKind) -> Sender {
        Sender::new(&FlowSpec::new("f", kind), 100.0)
    }

    fn constant_rate(rate_bit_per_s: u64) -> FlowKind {
        FlowKind::ConstantRate {
            rate_bit_per_s,
            piece_bytes: 2 * 1_448,
            backlog_bytes: None,
        }
    }

    #[test]
    fn constant_rate_is_due_in_pieces_of_two_segments() {
        let mut sender = sender(constant_rate(6_000_000));
        // 6 Mbit/s = 750 bytes/ms: 10 ms give 7500 bytes, two pieces of 2896.
        assert_eq!(sender.allowed_bytes(0.010), 5_792);
        sender.written_bytes = 5_792;
        // The third piece is due at 8688 / 750 = 11.584 ms.
        let next = sender.next_pump_ns(0, 0.010).unwrap();
        assert_eq!(next, 11_584_000);
    }

    #[test]
    fn constant_rate_gives_up_what_was_stuck_longer_than_a_second() {
        let mut sender = sender(constant_rate(8_000_000));
        let allowed = sender.allowed_bytes(3.0);
        assert_eq!(allowed, 1_000_000 - 1_000_000 % 2_896);
        assert_eq!(sender.forgone_bytes, 2_000_000);
    }

    #[test]
    fn on_off_alternates_from_its_beginning() {
        let mut sender = sender(FlowKind::OnOff { period_s: 3.0 });
        sender.begin(1.0);
        sender.mark_burst(1.0);
        assert_eq!(sender.allowed_bytes(1.0), u64::MAX);
        assert_eq!(sender.next_pump_ns(0, 1.0), Some(4_000_000_000));
        sender.mark_burst(4.0);
        assert_eq!(sender.allowed_bytes(4.0), 0);
        assert_eq!(sender.next_pump_ns(0, 4.0), Some(7_000_000_000));
        sender.mark_burst(7.0);
        assert_eq!(sender.allowed_bytes(7.0), u64::MAX);
    }

    #[test]
    fn nothing_is_due_after_the_stop() {
        let mut sender = sender(FlowKind::Greedy);
        assert_eq!(sender.allowed_bytes(99.9), u64::MAX);
        assert_eq!(sender.allowed_bytes(100.0), 0);
    }
}
