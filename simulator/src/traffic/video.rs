// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_scenario::{ApplicationMeasure, Interval, LateShare};

use crate::applications::time_of;
use crate::{Application, ConnectOptions, ConnectionEvent, ConnectionId, End, Host};

/// A video over one TCP connection, written at its own rate as a live source does, and a
/// client that counts what comes after its turn.
///
/// A client with a pre-buffering time begins to play that long after the first packet
/// was written; it never pauses, and has room for all that comes early.
pub struct Video {
    spec: ebb_scenario::Video,
    connection: Option<ConnectionId>,
    started_at: Nanos,
    written_pkts: u64,
    arrived_bytes: u64,
    arrived_pkts: u64,
    intervals: Vec<Interval>,
    /// Packets that came in time for their turn in an interval. *Shape:* by interval,
    /// then by pre-buffering time.
    in_time_pkts: Vec<Vec<u64>>,
}

impl Video {
    /// A video of this kind.
    pub fn new(spec: ebb_scenario::Video) -> Self {
        Self {
            spec,
            connection: None,
            started_at: Nanos::ZERO,
            written_pkts: 0,
            arrived_bytes: 0,
            arrived_pkts: 0,
            intervals: Vec::new(),
            in_time_pkts: Vec::new(),
        }
    }

    /// When a packet is written.
    fn time(&self, number: u64) -> Nanos {
        self.started_at + time_of(number, self.spec.packet_bytes, self.spec.rate)
    }

    /// How many packets are written before this time, if none stops it.
    fn pkts_before(&self, time: Nanos) -> u64 {
        let length_ns = u128::from(time.since(self.started_at).0);
        let pkt_bit_ns = u128::from(self.spec.packet_bytes.max(1)) * 8 * 1_000_000_000;
        let pkts = (length_ns * u128::from(self.spec.rate.bits_per_s())).div_ceil(pkt_bit_ns);
        u64::try_from(pkts).unwrap_or(u64::MAX)
    }

    /// How many packets had their turn in an interval with this pre-buffering time.
    fn due_pkts(&self, interval: &Interval, pre_buffer: Nanos) -> u64 {
        let turns_before = |time: Nanos| {
            self.pkts_before(time.since(pre_buffer))
                .min(self.written_pkts)
        };
        turns_before(interval.to) - turns_before(interval.from)
    }

    /// The next packet is there as a whole.
    fn arrive(&mut self, now: Nanos) {
        let written_at = self.time(self.arrived_pkts);
        self.arrived_pkts += 1;
        for (interval, in_time) in self.intervals.iter().zip(&mut self.in_time_pkts) {
            for (pre_buffer, in_time_pkts) in self.spec.pre_buffer.iter().zip(in_time) {
                let turn = written_at + *pre_buffer;
                let is_in_time = now <= turn && interval.contains(turn);
                *in_time_pkts += u64::from(is_in_time);
            }
        }
    }
}

impl Application for Video {
    fn on_start(&mut self, host: &mut Host<'_>) {
        self.intervals = host.intervals().to_vec();
        self.in_time_pkts = vec![vec![0; self.spec.pre_buffer.len()]; self.intervals.len()];
        self.started_at = host.now();
        let options = ConnectOptions {
            tells_received: [false, true],
            ..ConnectOptions::default()
        };
        self.connection = Some(host.connect_as_said(options));
        self.on_timer(host);
    }

    fn on_stop(&mut self, host: &mut Host<'_>) {
        host.clear_timer();
        if let Some(connection) = self.connection.take() {
            host.close(connection, End::Source);
        }
    }

    fn on_timer(&mut self, host: &mut Host<'_>) {
        let Some(connection) = self.connection else {
            return;
        };
        host.write(connection, End::Source, u64::from(self.spec.packet_bytes));
        self.written_pkts += 1;
        host.set_timer(self.time(self.written_pkts));
    }

    fn on_connection(
        &mut self,
        connection: ConnectionId,
        end: End,
        event: ConnectionEvent,
        host: &mut Host<'_>,
    ) {
        match event {
            ConnectionEvent::Received(bytes) => {
                self.arrived_bytes += bytes;
                let whole_pkts = self.arrived_bytes / u64::from(self.spec.packet_bytes.max(1));
                while self.arrived_pkts < whole_pkts {
                    self.arrive(host.now());
                }
            }
            ConnectionEvent::PeerClosed => host.close(connection, end),
            // If it broke, the film goes on for nobody: all that follows is late.
            ConnectionEvent::Connected | ConnectionEvent::Writable | ConnectionEvent::Closed => {}
        }
    }

    fn measure(&self, interval: usize) -> Option<ApplicationMeasure> {
        let bounds = self.intervals.get(interval)?;
        let in_time = self
            .spec
            .pre_buffer
            .iter()
            .zip(&self.in_time_pkts[interval]);
        let late = in_time.map(|(pre_buffer, in_time_pkts)| {
            let due_pkts = self.due_pkts(bounds, *pre_buffer);
            LateShare {
                pre_buffer_s: pre_buffer.as_secs_f64(),
                due_pkts,
                late_pkts: due_pkts.saturating_sub(*in_time_pkts),
            }
        });
        Some(ApplicationMeasure::Video {
            late: late.collect(),
        })
    }
}
