// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Every packet of a run, as a table and as a file.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use ebb_link::Ecn;
use ebb_scenario::Scenario;
use ebb_simulator::capture::{Capture, Place};
use ebb_simulator::{End, Observer, PacketBody, PacketRecord, Point, Segment};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

use crate::table::{Columns, Table};

/// Who wants to see packets.
#[derive(Default)]
pub struct Seen {
    table: Option<Packets>,
    file: Option<(Capture<BufWriter<File>>, PathBuf)>,
}

impl Seen {
    /// For a table, if it is asked for, and for a file, if it has a path: at these hosts.
    pub fn new(
        scenario: &Scenario,
        has_table: bool,
        file: Option<PathBuf>,
        at: &str,
    ) -> PyResult<Self> {
        let place = place(at)?;
        let open = |path: PathBuf| {
            let capture = File::create(&path)
                .and_then(|file| Capture::new(scenario, place, BufWriter::new(file)));
            match capture {
                Ok(capture) => Ok((capture, path)),
                Err(error) => Err(not_written(&path, &error)),
            }
        };
        Ok(Self {
            table: has_table.then(Packets::default),
            file: file.map(open).transpose()?,
        })
    }

    /// Whether there is anybody.
    pub fn observer(&mut self) -> Option<&mut (dyn Observer + Send)> {
        match self.table.is_some() || self.file.is_some() {
            true => Some(self),
            false => None,
        }
    }

    /// Ends the file; answers what is for the table.
    pub fn finish(self) -> PyResult<Option<Packets>> {
        if let Some((capture, path)) = self.file {
            let finished = capture.finish();
            finished.map_err(|error| not_written(&path, &error))?;
        }
        Ok(self.table)
    }
}

impl Observer for Seen {
    fn on_packet(&mut self, record: &PacketRecord) {
        if let Some(table) = &mut self.table {
            table.on_packet(record);
        }
        if let Some((capture, _)) = &mut self.file {
            capture.on_packet(record);
        }
    }
}

fn place(at: &str) -> PyResult<Place> {
    match at {
        "senders" => Ok(Place::Senders),
        "receivers" => Ok(Place::Receivers),
        "both" => Ok(Place::Both),
        other => Err(PyValueError::new_err(format!(
            "pcapng_at: there is no '{other}'; give \"senders\", \"receivers\" or \"both\""
        ))),
    }
}

/// Python makes a FileNotFoundError or the like of it, by its number.
fn not_written(path: &Path, error: &io::Error) -> PyErr {
    let number = error.raw_os_error().unwrap_or(0);
    PyOSError::new_err((number, format!("{}: {error}", path.display())))
}

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
