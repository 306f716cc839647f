// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every packet of a run, as a table.

use ebb_link::Ecn;
use ebb_simulator::{End, Observer, PacketBody, PacketRecord, Point, Segment};
use pyo3::prelude::*;

use crate::table::{Columns, Table};

/// What was seen so far.
#[derive(Default)]
pub struct Packets(Vec<PacketRecord>);

impl Observer for Packets {
    fn on_packet(&mut self, record: &PacketRecord) {
        self.0.push(*record);
    }
}

impl Packets {
    /// A row for each point of each packet's way, in order of time.
    pub fn table(&self, flows: &[String]) -> PyResult<Table> {
        Columns::of(&self.0)
            .number("time_s", |it| it.at.as_secs_f64())?
            .text("point", |it| point(it.point))?
            .text("flow", |it| &flows[it.flow])?
            .text("from", |it| end(it.from))?
            .count("size_bytes", |it| it.size_bytes.into())?
            .text("ecn", |it| ecn(it.ecn))?
            .maybe_count("connection", |it| match it.body {
                PacketBody::Tcp { connection, .. } => Some(connection),
                PacketBody::Udp(_) => None,
            })?
            .maybe_count("seq", |it| of_segment(it, |segment| segment.seq))?
            .maybe_count("ack", |it| of_segment(it, |segment| segment.ack))?
            .maybe_count("payload_bytes", |it| {
                of_segment(it, |segment| segment.payload_bytes)
            })?
            .maybe_count("flags", |it| {
                of_segment(it, |segment| segment.flags.bits().into())
            })?
            .finish()
    }
}

fn of_segment(record: &PacketRecord, take: impl Fn(&Segment) -> u32) -> Option<u64> {
    match &record.body {
        PacketBody::Tcp { segment, .. } => Some(take(segment).into()),
        PacketBody::Udp(_) => None,
    }
}

fn point(point: Point) -> &'static str {
    match point {
        Point::Sent => "sent",
        Point::Arrived => "arrived",
        Point::Lost => "lost",
    }
}

fn end(end: End) -> &'static str {
    match end {
        End::Source => "source",
        End::Sink => "sink",
    }
}

fn ecn(ecn: Ecn) -> &'static str {
    match ecn {
        Ecn::NotCapable => "not-ect",
        Ecn::Capable => "ect(0)",
        Ecn::L4s => "ect(1)",
        Ecn::Congested => "ce",
    }
}
