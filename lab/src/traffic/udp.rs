// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::sys::socket::SockType;

use super::socket::{self, SocketMaker};
use super::{Direction, FlowKind, FlowResult, PlacedFlow, TrafficError, UdpResult};
use crate::clock::{after, monotonic_ns, seconds_since};

/// A packet begins with its number and the time when it was sent, 8 bytes each.
const HEADER_BYTES: usize = 16;

/// What has been looked at is not looked at again before this.
const LEAST_WAIT_S: f64 = 0.000_1;

/// Both ends of one stream of datagrams.
pub(super) struct UdpFlow {
    placed: PlacedFlow,
    source: OwnedFd,
    sink: OwnedFd,
    payload: Vec<u8>,
    timetable: Timetable,
    sent_pkts: u64,
    delays_us: Vec<u32>,
    pub(super) result: FlowResult,
}

impl UdpFlow {
    pub(super) fn prepare(
        placed: &PlacedFlow,
        bin_us: u64,
        maker: &SocketMaker,
    ) -> Result<Self, TrafficError> {
        let name = &placed.spec.name;
        let (timetable, payload_bytes) = checked(placed)?;
        let (client, server) = (&placed.client_namespace, &placed.server_namespace);
        let (from, to, address) = match placed.spec.direction {
            Direction::Download => (server, client, placed.client_address),
            Direction::Upload => (client, server, placed.server_address),
        };
        let make = |namespace: &Path, cgroup| {
            maker.make_in(namespace, cgroup, || {
                socket::open(address, SockType::Datagram)
            })
        };
        let sink = make(to, placed.receiver_cgroup.as_deref())
            .and_then(|fd| socket::bind(fd.as_fd(), address, placed.port).map(|()| fd))
            .map_err(TrafficError::flow(name, "making the receiver's socket"))?;
        let source = make(from, None)
            .and_then(|fd| socket::connect(fd.as_fd(), address, placed.port).map(|()| fd))
            .map_err(TrafficError::flow(name, "making the sender's socket"))?;
        Ok(Self {
            source,
            sink,
            payload: vec![0; payload_bytes],
            timetable,
            sent_pkts: 0,
            delays_us: Vec::new(),
            result: FlowResult::new(placed.spec.clone(), bin_us),
            placed: placed.clone(),
        })
    }

    pub(super) fn sink(&self) -> BorrowedFd<'_> {
        self.sink.as_fd()
    }

    /// Sends what is due; answers when to be called again.
    pub(super) fn pump(&mut self, epoch_ns: u64, now_ns: u64) -> Option<u64> {
        let now_s = seconds_since(epoch_ns, now_ns);
        let stop_s = self.placed.spec.stop_s.unwrap_or(self.placed.end_s);
        if now_s >= stop_s {
            return None;
        }
        let elapsed_s = (now_s - self.placed.spec.start_s).max(0.0);
        let due_pkts = self.timetable.due_pkts(elapsed_s);
        while self.sent_pkts < due_pkts {
            self.payload[..8].copy_from_slice(&self.sent_pkts.to_le_bytes());
            self.payload[8..HEADER_BYTES].copy_from_slice(&monotonic_ns().to_le_bytes());
            if let Err(error) = socket::send(self.source.as_raw_fd(), &self.payload) {
                self.result.failure = Some(format!("sending: {error}"));
                return None;
            }
            self.sent_pkts += 1;
        }
        // Rounding must not make it due in the past: nothing else would be done until then.
        let next_s = self.timetable.at_s(self.sent_pkts);
        let next_s = next_s.max(elapsed_s + LEAST_WAIT_S);
        Some(after(epoch_ns, self.placed.spec.start_s + next_s))
    }

    pub(super) fn read(&mut self, epoch_ns: u64) {
        let mut buffer = [0; 2048];
        while let Ok(Some(count)) = socket::receive(self.sink.as_raw_fd(), &mut buffer) {
            let now_ns = monotonic_ns();
            let mut sent = [0; 8];
            sent.copy_from_slice(&buffer[8..HEADER_BYTES]);
            let delay_us = now_ns.saturating_sub(u64::from_le_bytes(sent)) / 1_000;
            self.delays_us
                .push(u32::try_from(delay_us).unwrap_or(u32::MAX));
            let now_s = seconds_since(epoch_ns, now_ns);
            self.result.note_arrival(now_s, count);
        }
    }

    pub(super) fn finish(mut self) -> FlowResult {
        self.result.udp = Some(UdpResult {
            sent_pkts: self.sent_pkts,
            delays_us: self.delays_us,
        });
        self.result
    }
}

/// When packets are due, counted from the flow's start.
#[derive(Clone, Copy, Debug)]
struct Timetable {
    rate_pkts_per_s: f64,
    /// Of a square wave, which begins with packets.
    period_s: Option<f64>,
}

impl Timetable {
    fn due_pkts(self, elapsed_s: f64) -> u64 {
        let sending_s = self.period_s.map_or(elapsed_s, |period_s| {
            let half_s = period_s / 2.0;
            let periods = (elapsed_s / period_s).floor();
            periods * half_s + (elapsed_s - periods * period_s).min(half_s)
        });
        let due = sending_s * self.rate_pkts_per_s;
        let is_silent = self
            .period_s
            .is_some_and(|period_s| elapsed_s % period_s >= period_s / 2.0);
        // In silence all that began before it is due; what comes next, when the wave begins
        // again.
        match is_silent {
            true => due.ceil() as u64,
            false => due as u64 + 1,
        }
    }

    /// When the packet of this number is due, counted from 0.
    fn at_s(self, number: u64) -> f64 {
        let sending_s = number as f64 / self.rate_pkts_per_s;
        self.period_s.map_or(sending_s, |period_s| {
            let half_s = period_s / 2.0;
            let halves = (sending_s / half_s).floor();
            halves * period_s + (sending_s - halves * half_s)
        })
    }
}

fn checked(placed: &PlacedFlow) -> Result<(Timetable, usize), TrafficError> {
    let problem = |problem: &str| TrafficError::Impossible {
        flow: placed.spec.name.clone(),
        problem: problem.into(),
    };
    let (rate_pkts_per_s, payload_bytes, period_s) = match placed.spec.kind {
        FlowKind::Udp {
            rate_pkts_per_s,
            payload_bytes,
        } => (rate_pkts_per_s, payload_bytes, None),
        FlowKind::UdpSquareWave {
            rate_pkts_per_s,
            payload_bytes,
            period_s,
        } => (rate_pkts_per_s, payload_bytes, Some(period_s)),
        _ => return Err(problem("is not UDP")),
    };
    if rate_pkts_per_s == 0 {
        return Err(problem("rate_pkts_per_s is 0; at least 1 is needed"));
    }
    if !(HEADER_BYTES as u32..=1472).contains(&payload_bytes) {
        return Err(problem("payload_bytes must be from 16 to 1472"));
    }
    if period_s.is_some_and(|period_s| !(0.001..=86_400.0).contains(&period_s)) {
        return Err(problem("period_s must be from 0.001 to 86400"));
    }
    let timetable = Timetable {
        rate_pkts_per_s: f64::from(rate_pkts_per_s),
        period_s,
    };
    Ok((timetable, payload_bytes as usize))
}

#[cfg(test)]
mod tests {
    use super::Timetable;

    #[test]
    fn packets_of_a_constant_rate_are_due_one_after_another() {
        let timetable = Timetable {
            rate_pkts_per_s: 100.0,
            period_s: None,
        };
        assert_eq!(timetable.due_pkts(0.0), 1);
        assert_eq!(timetable.due_pkts(1.005), 101);
        assert!((timetable.at_s(101) - 1.01).abs() < 1e-9);
    }

    #[test]
    fn a_square_wave_is_silent_in_the_second_half_of_its_period() {
        let wave = Timetable {
            rate_pkts_per_s: 100.0,
            period_s: Some(2.0),
        };
        assert_eq!(wave.due_pkts(0.505), 51);
        // 100 packets in the first second, none in the next, the 101st at 2 s.
        assert_eq!(wave.due_pkts(1.005), 100);
        assert_eq!(wave.due_pkts(1.995), 100);
        assert_eq!(wave.due_pkts(2.001), 101);
        assert!((wave.at_s(99) - 0.99).abs() < 1e-9);
        assert!((wave.at_s(100) - 2.0).abs() < 1e-9);
        assert!((wave.at_s(250) - 4.5).abs() < 1e-9);
    }

    #[test]
    fn what_a_wave_of_no_whole_number_of_packets_began_is_due_before_its_silence_is_over() {
        // 555.55 packets in each 100 ms, the last at 99.9 ms.
        let wave = Timetable {
            rate_pkts_per_s: 5_555.5,
            period_s: Some(0.2),
        };
        for period in 0..20 {
            let begun_s = f64::from(period) * 0.2;
            for silent_s in [0.1001, 0.15, 0.1999] {
                let due = wave.due_pkts(begun_s + silent_s);
                assert!(wave.at_s(due) > begun_s + 0.1999, "{period} {silent_s}");
            }
        }
    }
}
