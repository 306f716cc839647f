// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The receiver under a law: what it tells the law, and when it acknowledges.

use super::offload::Aggregate;
use super::path::Path;
use super::{Event, World};
use ebb_algorithms::{Ack, Policy, ReceiverFlow, Segment, Start};
use std::collections::BTreeSet;

/// The host's own window is advertised so long after a law has come.
const STILL_GRANTING_US: u64 = 200_000;

/// The receiver's clock at the start: not zero, as on real hosts.
const CLOCK_US: u64 = 7_777_000;

pub struct Receiver<'a> {
    policy: &'a Policy,
    flow: Option<ReceiverFlow>,
    rcv_nxt: u64,
    edge: u64,
    unacked_segments: u32,
    /// What is to be told with the next segment.
    untold: Option<Aggregate>,
    out_of_order: BTreeSet<u64>,
}

impl<'a> Receiver<'a> {
    /// The host's first window has this edge.
    pub fn new(policy: &'a Policy, edge: u64) -> Self {
        Self {
            policy,
            flow: None,
            rcv_nxt: 0,
            edge,
            unacked_segments: 0,
            untold: None,
            out_of_order: BTreeSet::new(),
        }
    }

    pub fn begin(&mut self, path: &Path, now_us: u64, tsval: u32) {
        let start = Start {
            now_us: CLOCK_US + now_us,
            mss_bytes: path.mss_bytes,
            rcv_nxt: self.rcv_nxt as u32,
            has_timestamps: u32::from(path.tick_us > 0),
            tsval,
        };
        self.flow = Some(ReceiverFlow::new(self.policy.clone(), &start));
    }

    pub fn take(&mut self, world: &mut World, now_us: u64, arrived: Aggregate) {
        let path = world.path;
        let mss = u64::from(path.mss_bytes);
        let local_ts = path.first_local_ts.wrapping_add((now_us / 1000) as u32);
        if self.flow.is_none() && path.taken_over.is_some_and(|it| now_us >= it.at_us) {
            self.begin(path, now_us, arrived.tsval);
        }
        self.tell(path, now_us, local_ts, arrived);
        let each = (0..arrived.segments).map(|it| arrived.byte + u64::from(it) * mss);
        self.out_of_order.extend(each);
        while self.out_of_order.remove(&self.rcv_nxt) {
            self.rcv_nxt += mss;
        }
        self.unacked_segments += arrived.segments;
        let bin = (now_us / 100_000) as usize;
        world.outcome.received_bytes[bin] += u64::from(arrived.segments) * mss;
        world.outcome.window_bytes[bin] = self.flow.as_ref().map_or(0, ReceiverFlow::window_bytes);
        // Two segments, all that the window allows, and holes are acknowledged at once.
        let has_hole = !self.out_of_order.is_empty();
        if self.unacked_segments >= 2 || self.edge - self.rcv_nxt < mss || has_hole {
            self.acknowledge(world, now_us, local_ts);
        }
    }

    /// The law hears of a segment, or of two by their acknowledgement, as [`Self::take`] has it.
    fn tell(&mut self, path: &Path, now_us: u64, local_ts: u32, arrived: Aggregate) {
        let mss = u64::from(path.mss_bytes);
        let untold = self.untold.take();
        let is_last = self.edge < arrived.byte + 2 * mss;
        if path.are_pairs_told && untold.is_none() && !is_last && arrived.byte == self.rcv_nxt {
            self.untold = Some(arrived);
            return;
        }
        let first = untold.unwrap_or(arrived);
        let segments = arrived.segments + untold.map_or(0, |it| it.segments);
        let segment = Segment {
            now_us: CLOCK_US + now_us,
            seq: first.byte as u32,
            payload_bytes: path.mss_bytes * segments,
            segments: arrived.segments,
            tsval: first.tsval,
            tsecr: first.tsecr,
            local_ts,
            local_tick_us: 1000,
            rcv_nxt: self.rcv_nxt as u32,
            right_edge_seq: self.edge as u32,
            mss_bytes: path.mss_bytes,
            has_timestamps: u8::from(path.tick_us > 0),
            ..Segment::default()
        };
        if let Some(flow) = &mut self.flow {
            flow.on_segment(&segment);
        }
    }

    fn acknowledge(&mut self, world: &mut World, now_us: u64, local_ts: u32) {
        self.unacked_segments = 0;
        let ack = Ack {
            now_us: CLOCK_US + now_us,
            ack_seq: self.rcv_nxt as u32,
            local_ts,
            local_tick_us: 1000,
            right_edge_seq: self.edge as u32,
            mss_bytes: world.path.mss_bytes,
            has_timestamps: u8::from(world.path.tick_us > 0),
            ..Ack::default()
        };
        if let Some(flow) = &mut self.flow {
            flow.on_ack(&ack);
        }
        let window = self.window_bytes(world.path, now_us);
        self.edge = self.edge.max(self.rcv_nxt + window);
        let arrival_us = now_us + world.path.rtt_us / 2;
        world.schedule(arrival_us, Event::Ack(self.rcv_nxt, self.edge, local_ts));
    }

    /// What is advertised: the law's window as far as window scaling can say it.
    fn window_bytes(&self, path: &Path, now_us: u64) -> u64 {
        let older = path.taken_over;
        match (older, &self.flow) {
            (Some(older), _) if now_us < older.at_us + STILL_GRANTING_US => older.granted_bytes,
            (_, Some(flow)) => u64::from(flow.window_bytes()).next_multiple_of(1024),
            (_, None) => unreachable!("the law comes with the first segment"),
        }
    }
}
