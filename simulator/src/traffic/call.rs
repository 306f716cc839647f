// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_scenario::{ApplicationMeasure, Interval};

use crate::{Application, Datagram, End, Histogram, Host};

/// A call: small UDP packets at equal distances, both ways or one way.
pub struct Call {
    spec: ebb_scenario::Call,
    started_at: Nanos,
    /// Packets that each side has sent.
    sent_pkts: u64,
    is_over: bool,
    intervals: Vec<Interval>,
    /// What became of packets that were sent in each interval.
    heard: Vec<Heard>,
}

#[derive(Clone, Default)]
struct Heard {
    sent_pkts: u64,
    lost_pkts: u64,
    late_pkts: u64,
    delays: Histogram,
}

impl Call {
    /// A call of this kind.
    pub fn new(spec: ebb_scenario::Call) -> Self {
        Self {
            spec,
            started_at: Nanos::ZERO,
            sent_pkts: 0,
            is_over: false,
            intervals: Vec::new(),
            heard: Vec::new(),
        }
    }

    fn speakers(&self) -> &'static [End] {
        match self.spec.is_two_way {
            true => &[End::Source, End::Sink],
            false => &[End::Source],
        }
    }

    /// Counts for each interval in which a packet was sent.
    fn count(&mut self, sent_at: Nanos, mut add: impl FnMut(&mut Heard)) {
        for (interval, heard) in self.intervals.iter().zip(&mut self.heard) {
            if interval.contains(sent_at) {
                add(heard);
            }
        }
    }
}

impl Application for Call {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.intervals = host.intervals().to_vec();
        self.heard = vec![Heard::default(); self.intervals.len()];
        self.started_at = host.now();
        self.on_timer(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        self.is_over = true;
        host.clear_timer();
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        if self.is_over {
            return;
        }
        for from in self.speakers() {
            host.send_datagram(*from, self.sent_pkts, self.spec.packet_bytes);
            self.count(host.now(), |heard| heard.sent_pkts += 1);
        }
        self.sent_pkts += 1;
        // From the start, so that nothing adds up; a scenario has an interval above zero.
        let offset = self.spec.interval.0.max(1).saturating_mul(self.sent_pkts);
        host.set_timer(self.started_at + Nanos(offset));
    }

    fn on_datagram(&mut self, datagram: &Datagram, host: &mut Host<'_>) {
        let delay = host.now().since(datagram.sent_at);
        let is_late = delay > self.spec.late_after;
        self.count(datagram.sent_at, |heard| {
            heard.delays.add(delay);
            heard.late_pkts += u64::from(is_late);
        });
    }

    fn on_datagram_lost(&mut self, datagram: &Datagram, _host: &mut Host<'_>) {
        self.count(datagram.sent_at, |heard| heard.lost_pkts += 1);
    }

    fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        let heard = self.heard.get(interval)?;
        Some(ApplicationMeasure::Call {
            delay_ms: heard.delays.in_millis(),
            sent_pkts: heard.sent_pkts,
            lost_pkts: heard.lost_pkts,
            late_pkts: heard.late_pkts,
        })
    }
}
