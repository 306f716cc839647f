// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Traces: every input of a law and its answers, as the kernel saw them.
//!
//! A file is little-endian throughout: a header of [`HEADER_BYTES`] — `EBBTRACE`, the
//! format's version (u32: 1 for a receiver law, 2 for a sender law), the law's number (u32),
//! the number of parameters (u32), zero (u32), 48 parameters (u32 each, those at the start of
//! the recording) — and records of [`record_bytes`]: the socket's cookie (u64), the kind (u32:
//! 1 start, 2 segment, 3 ack; of a sender law 11 start, 12 ack, 13 loss, 14 time-out, 15 undo,
//! 16 idle), the order of the call on that socket (u32, from 0), the law's answer (u32: the
//! window in bytes, of a sender law in segments), zero (u32; of a sender law the threshold),
//! and 56 bytes of input (112 of a sender law), which are the struct of `receiver_contract.h`
//! or `sender_contract.h` of that kind followed by zeros.

use crate::error::{Error, Result};
use crate::layout::{SenderTraceRecord, TraceKind, TraceRecord};
use ebb_algorithms::{
    Ack, LawInfo, MAX_PARAMS, Policy, Segment, SenderAck, SenderEvent, SenderStart, Side, Start,
    law_of_number,
};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::mem::offset_of;
use std::path::{Path, PathBuf};

/// Size of a file's header.
pub const HEADER_BYTES: usize = 24 + 4 * MAX_PARAMS;
/// Size of each record of a law of this end.
pub const fn record_bytes(side: Side) -> usize {
    match side {
        Side::Receiver => size_of::<TraceRecord>(),
        Side::Sender => size_of::<SenderTraceRecord>(),
    }
}

/// Where a record's input begins.
const INPUT_AT: usize = offset_of!(TraceRecord, input);
const MAGIC: &[u8; 8] = b"EBBTRACE";

// Files are what the programs report: both ends' records as they are read and written below.
const _: () = {
    assert!(INPUT_AT == 24 && INPUT_AT == offset_of!(SenderTraceRecord, input));
    assert!(offset_of!(TraceRecord, kind) == 8 && offset_of!(SenderTraceRecord, kind) == 8);
    assert!(offset_of!(TraceRecord, order) == 12 && offset_of!(SenderTraceRecord, order) == 12);
    assert!(offset_of!(TraceRecord, rwnd_bytes) == 16);
    assert!(offset_of!(SenderTraceRecord, cwnd_pkts) == 16);
    assert!(record_bytes(Side::Receiver) == INPUT_AT + size_of::<Segment>());
    assert!(record_bytes(Side::Sender) == INPUT_AT + size_of::<SenderAck>());
};

const fn version(side: Side) -> u32 {
    match side {
        Side::Receiver => 1,
        Side::Sender => 2,
    }
}

/// What a law was told.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Input {
    /// It takes over a connection.
    Start(Start),
    /// A data segment arrived.
    Segment(Segment),
    /// A segment is about to be sent.
    Ack(Ack),
    /// A sender law takes over a connection.
    SenderStart(SenderStart),
    /// Something was acknowledged.
    SenderAck(SenderAck),
    /// The host begins to repair a loss or to answer a mark.
    Loss(SenderEvent),
    /// The retransmission timer expired.
    Timeout(SenderEvent),
    /// The last loss or time-out was spurious.
    Undo(SenderEvent),
    /// The host sends after an idle time.
    Idle(SenderEvent),
}

/// One call of a law.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The socket, by a number that is never used twice.
    pub cookie: u64,
    /// The order of the calls on this socket, from 0.
    pub order: u32,
    /// The law's answer after the call: the window in bytes, of a sender law in segments.
    pub answer: u32,
    /// What the law was told.
    pub input: Input,
}

/// A whole trace.
#[derive(Debug, Clone)]
pub struct Trace {
    /// The law.
    pub law: &'static LawInfo,
    /// Its parameters when the recording began, in the law's order.
    pub params: Vec<u32>,
    /// The calls, in the order in which they were reported.
    pub records: Vec<Record>,
}

impl Trace {
    /// Reads a trace file.
    ///
    /// *Errors*: [`Error::Trace`] if it cannot be read or is none.
    pub fn read(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        std::fs::read(path)
            .and_then(|bytes| Self::parse(&bytes))
            .map_err(|source| Error::Trace {
                path: path.to_path_buf(),
                source,
            })
    }

    /// Reads a trace from a file's bytes.
    pub fn parse(bytes: &[u8]) -> io::Result<Self> {
        let header = bytes
            .get(..HEADER_BYTES)
            .filter(|header| &header[..8] == MAGIC)
            .ok_or_else(|| invalid("not a trace (it would begin with EBBTRACE)"))?;
        let number = u32_at(header, 12);
        let law = law_of_number(number)
            .ok_or_else(|| invalid("a trace of a law that this Ebb does not have"))?;
        let side = law.side();
        if u32_at(header, 8) != version(side) {
            return Err(invalid(
                "a trace of another version of Ebb; this one reads version 1 of receiver laws \
                 and version 2 of sender laws",
            ));
        }
        let count = (u32_at(header, 16) as usize).min(MAX_PARAMS);
        let params = (0..count)
            .map(|place| u32_at(header, 24 + 4 * place))
            .collect();
        let body = &bytes[HEADER_BYTES..];
        if !body.len().is_multiple_of(record_bytes(side)) {
            return Err(invalid("the last record is cut off"));
        }
        let records = body.chunks_exact(record_bytes(side)).map(Record::parse);
        Ok(Self {
            law,
            params,
            records: records.collect::<io::Result<_>>()?,
        })
    }

    /// The calls of each connection, in the law's order; connections in the order of
    /// their first record.
    pub fn by_connection(&self) -> Vec<(u64, Vec<Record>)> {
        let mut connections: Vec<(u64, Vec<Record>)> = Vec::new();
        for record in &self.records {
            match connections
                .iter_mut()
                .find(|(cookie, _)| *cookie == record.cookie)
            {
                Some((_, records)) => records.push(*record),
                None => connections.push((record.cookie, vec![*record])),
            }
        }
        for (_, records) in &mut connections {
            records.sort_by_key(|record| record.order);
        }
        connections
    }
}

impl Record {
    /// The record as it stands in a file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![0; record_bytes(self.input.side())];
        bytes[..8].copy_from_slice(&self.cookie.to_le_bytes());
        bytes[8..12].copy_from_slice(&self.input.kind().to_le_bytes());
        bytes[12..16].copy_from_slice(&self.order.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.answer.to_le_bytes());
        let input = self.input.as_bytes();
        bytes[INPUT_AT..INPUT_AT + input.len()].copy_from_slice(input);
        bytes
    }

    fn parse(bytes: &[u8]) -> io::Result<Self> {
        let input = Input::parse(u32_at(bytes, 8), &bytes[INPUT_AT..])
            .ok_or_else(|| invalid("a record is of no known kind"))?;
        Ok(Self {
            cookie: u64::from(u32_at(bytes, 0)) | u64::from(u32_at(bytes, 4)) << 32,
            order: u32_at(bytes, 12),
            answer: u32_at(bytes, 16),
            input,
        })
    }
}

impl Input {
    fn parse(kind: u32, bytes: &[u8]) -> Option<Self> {
        let sender = bytes.len() >= size_of::<SenderAck>();
        let event = || SenderEvent::from_bytes(&bytes[..size_of::<SenderEvent>()]);
        Some(match TraceKind(kind) {
            TraceKind::EBB_TRACE_START => {
                Self::Start(Start::from_bytes(&bytes[..size_of::<Start>()]))
            }
            TraceKind::EBB_TRACE_SEGMENT => {
                Self::Segment(Segment::from_bytes(&bytes[..size_of::<Segment>()]))
            }
            TraceKind::EBB_TRACE_ACK => Self::Ack(Ack::from_bytes(&bytes[..size_of::<Ack>()])),
            _ if !sender => return None,
            TraceKind::EBB_TRACE_SENDER_START => {
                Self::SenderStart(SenderStart::from_bytes(&bytes[..size_of::<SenderStart>()]))
            }
            TraceKind::EBB_TRACE_SENDER_ACK => {
                Self::SenderAck(SenderAck::from_bytes(&bytes[..size_of::<SenderAck>()]))
            }
            TraceKind::EBB_TRACE_LOSS => Self::Loss(event()),
            TraceKind::EBB_TRACE_TIMEOUT => Self::Timeout(event()),
            TraceKind::EBB_TRACE_UNDO => Self::Undo(event()),
            TraceKind::EBB_TRACE_IDLE => Self::Idle(event()),
            _ => return None,
        })
    }

    /// The kind's number in files and in the programs.
    pub fn kind(&self) -> u32 {
        let kind = match self {
            Self::Start(_) => TraceKind::EBB_TRACE_START,
            Self::Segment(_) => TraceKind::EBB_TRACE_SEGMENT,
            Self::Ack(_) => TraceKind::EBB_TRACE_ACK,
            Self::SenderStart(_) => TraceKind::EBB_TRACE_SENDER_START,
            Self::SenderAck(_) => TraceKind::EBB_TRACE_SENDER_ACK,
            Self::Loss(_) => TraceKind::EBB_TRACE_LOSS,
            Self::Timeout(_) => TraceKind::EBB_TRACE_TIMEOUT,
            Self::Undo(_) => TraceKind::EBB_TRACE_UNDO,
            Self::Idle(_) => TraceKind::EBB_TRACE_IDLE,
        };
        kind.0
    }

    /// The end whose laws are told this.
    pub fn side(&self) -> Side {
        match self {
            Self::Start(_) | Self::Segment(_) | Self::Ack(_) => Side::Receiver,
            _ => Side::Sender,
        }
    }

    /// The struct of `receiver_contract.h` or `sender_contract.h`, byte by byte.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Self::Start(start) => start.as_bytes(),
            Self::Segment(segment) => segment.as_bytes(),
            Self::Ack(ack) => ack.as_bytes(),
            Self::SenderStart(start) => start.as_bytes(),
            Self::SenderAck(ack) => ack.as_bytes(),
            Self::Loss(event) | Self::Timeout(event) | Self::Undo(event) | Self::Idle(event) => {
                event.as_bytes()
            }
        }
    }

    /// The host's clock at the call.
    pub fn now_us(&self) -> u64 {
        match self {
            Self::Start(start) => start.now_us,
            Self::Segment(segment) => segment.now_us,
            Self::Ack(ack) => ack.now_us,
            Self::SenderStart(start) => start.now_us,
            Self::SenderAck(ack) => ack.now_us,
            Self::Loss(event) | Self::Timeout(event) | Self::Undo(event) | Self::Idle(event) => {
                event.now_us
            }
        }
    }
}

/// Writes a trace file.
#[derive(Debug)]
pub struct TraceWriter {
    path: PathBuf,
    file: BufWriter<File>,
}

impl TraceWriter {
    /// Begins a file with the policy's law and parameters.
    pub fn create(path: impl AsRef<Path>, policy: &Policy) -> Result<Self> {
        let path = path.as_ref().to_path_buf();
        let created = File::create(&path)
            .map(BufWriter::new)
            .and_then(|mut file| {
                file.write_all(&header(policy))?;
                Ok(file)
            });
        match created {
            Ok(file) => Ok(Self { path, file }),
            Err(source) => Err(Error::Trace { path, source }),
        }
    }

    /// Adds a record.
    pub fn write(&mut self, record: &Record) -> Result<()> {
        self.write_raw(&record.to_bytes())
            .map_err(|source| Error::Trace {
                path: self.path.clone(),
                source,
            })
    }

    pub(crate) fn write_raw(&mut self, record: &[u8]) -> io::Result<()> {
        self.file.write_all(record)
    }

    /// Writes out what is buffered.
    pub fn finish(mut self) -> io::Result<()> {
        self.file.flush()
    }
}

fn header(policy: &Policy) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(MAGIC);
    let values = policy.values();
    let words = [
        version(policy.law().side()),
        policy.law().number,
        values.len() as u32,
        0,
    ];
    for (place, word) in words.iter().chain(values).enumerate() {
        header[8 + 4 * place..12 + 4 * place].copy_from_slice(&word.to_le_bytes());
    }
    header
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn invalid(what: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

#[cfg(test)]
mod tests;
