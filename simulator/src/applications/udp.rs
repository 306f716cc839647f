// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{Nanos, Rate};
use ebb_scenario::{ApplicationMeasure, Interval, Stream};

use super::time_of;
use crate::{Application, Datagram, End, Histogram, Host, UDP_HEADER_BYTES};

/// UDP packets at equal distances, at one rate or at two in turn.
pub struct Udp {
    rate: Rate,
    low_rate: Option<Rate>,
    /// Length of a period; none: always the same rate.
    period: Option<Nanos>,
    packet_bytes: u32,
    started_at: Nanos,
    /// The half period that packets are counted in, and how many it had.
    half: u64,
    sent_in_half: u64,
    next_number: u64,
    is_stopped: bool,
    seen: Seen,
}

impl Udp {
    /// One rate, IP headers counted; a packet is at least as large as its headers.
    pub fn constant(rate: Rate, packet_bytes: u32) -> Self {
        Self {
            rate,
            low_rate: None,
            period: None,
            packet_bytes: packet_bytes.max(UDP_HEADER_BYTES),
            started_at: Nanos::ZERO,
            half: 0,
            sent_in_half: 0,
            next_number: 0,
            is_stopped: false,
            seen: Seen::default(),
        }
    }

    /// One rate in the first half of each period, another or none in the second. Without
    /// a period the first rate stays.
    pub fn square_wave(rate: Rate, low_rate: Option<Rate>, period: Nanos, bytes: u32) -> Self {
        Self {
            low_rate,
            // A half period must be some time.
            period: (period.0 >= 2).then_some(period),
            ..Self::constant(rate, bytes)
        }
    }

    /// When a half period starts; they are counted from 0.
    fn start_of(&self, half: u64) -> Nanos {
        let period = u128::from(self.period.map_or(0, |period| period.0));
        let offset = u64::try_from(period * u128::from(half) / 2).unwrap_or(u64::MAX);
        self.started_at + Nanos(offset)
    }

    fn rate_of(&self, half: u64) -> Option<Rate> {
        if half.is_multiple_of(2) {
            Some(self.rate)
        } else {
            self.low_rate
        }
    }

    /// When the next packet is sent; moves on to the half period that it falls into.
    fn next_sending(&mut self) -> Nanos {
        loop {
            let at = self.rate_of(self.half).map(|rate| {
                let offset = time_of(self.sent_in_half, self.packet_bytes, rate);
                self.start_of(self.half) + offset
            });
            if self.period.is_none() {
                return at.unwrap_or(Nanos(u64::MAX));
            }
            let end = self.start_of(self.half + 1);
            match at {
                Some(at) if at < end => return at,
                _ if end == Nanos(u64::MAX) => return end,
                _ => (self.half, self.sent_in_half) = (self.half + 1, 0),
            }
        }
    }
}

impl Application for Udp {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.seen = Seen::new(host.intervals());
        self.started_at = host.now();
        self.on_timer(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        self.is_stopped = true;
        host.clear_timer();
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        if self.is_stopped {
            return;
        }
        while self.next_sending() <= host.now() {
            host.send_datagram(End::Source, self.next_number, self.packet_bytes);
            self.next_number += 1;
            self.sent_in_half += 1;
        }
        host.set_timer(self.next_sending());
    }

    fn on_datagram(&mut self, datagram: &Datagram, host: &mut Host<'_>) {
        self.seen.arrived(datagram, host.now());
    }

    fn on_datagram_lost(&mut self, datagram: &Datagram, _host: &mut Host<'_>) {
        self.seen.lost(datagram);
    }

    fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        self.seen.measure(interval)
    }
}

/// UDP packets at random: a Poisson process of this mean rate, IP headers counted.
pub struct Poisson {
    rate: Rate,
    packet_bytes: u32,
    gaps: Option<Stream>,
    next_number: u64,
    seen: Seen,
}

impl Poisson {
    /// A source of this mean rate; a packet is at least as large as its headers.
    pub fn new(rate: Rate, packet_bytes: u32) -> Self {
        Self {
            rate,
            packet_bytes: packet_bytes.max(UDP_HEADER_BYTES),
            gaps: None,
            next_number: 0,
            seen: Seen::default(),
        }
    }

    fn wait(&mut self, host: &mut Host<'_>) {
        let mean = time_of(1, self.packet_bytes, self.rate);
        if let Some(gaps) = &mut self.gaps {
            let gap = Nanos(gaps.exponential(mean.0));
            host.set_timer(host.now() + gap);
        }
    }
}

impl Application for Poisson {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.seen = Seen::new(host.intervals());
        self.gaps = Some(host.stream("gaps"));
        self.wait(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        self.gaps = None;
        host.clear_timer();
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        host.send_datagram(End::Source, self.next_number, self.packet_bytes);
        self.next_number += 1;
        self.wait(host);
    }

    fn on_datagram(&mut self, datagram: &Datagram, host: &mut Host<'_>) {
        self.seen.arrived(datagram, host.now());
    }

    fn on_datagram_lost(&mut self, datagram: &Datagram, _host: &mut Host<'_>) {
        self.seen.lost(datagram);
    }

    fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        self.seen.measure(interval)
    }
}

/// What became of packets, by the interval in which they were sent.
#[derive(Default)]
struct Seen {
    intervals: Vec<Interval>,
    delays: Vec<Histogram>,
    lost_pkts: Vec<u64>,
}

impl Seen {
    fn new(intervals: &[Interval]) -> Self {
        Self {
            intervals: intervals.to_vec(),
            delays: vec![Histogram::default(); intervals.len()],
            lost_pkts: vec![0; intervals.len()],
        }
    }

    fn arrived(&mut self, datagram: &Datagram, now: Nanos) {
        for (interval, delays) in self.intervals.iter().zip(&mut self.delays) {
            if interval.contains(datagram.sent_at) {
                delays.add(now.since(datagram.sent_at));
            }
        }
    }

    fn lost(&mut self, datagram: &Datagram) {
        for (interval, lost_pkts) in self.intervals.iter().zip(&mut self.lost_pkts) {
            *lost_pkts += u64::from(interval.contains(datagram.sent_at));
        }
    }

    fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        Some(ApplicationMeasure::Udp {
            delay_ms: self.delays.get(interval)?.in_millis(),
            lost_pkts: *self.lost_pkts.get(interval)?,
        })
    }
}
