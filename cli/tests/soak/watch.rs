// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Watches a program's connections before and after a kill: until when each was limited.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use crate::clamp::{Connections, Look, Way};
use crate::point::Backend;

/// What is promised: so long, and with the kernel backend one segment more.
pub const WITHIN: Duration = Duration::from_secs(2);
/// Every connection sends a segment in so long, also one that repairs losses.
const SEGMENT_WITHIN: Duration = Duration::from_secs(10);
/// Who has had nothing out of order for so long reports no hole.
const IN_ORDER_FOR: Duration = Duration::from_millis(300);
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// One way of one connection.
#[derive(Debug, Default)]
struct Track {
    was_limited_at_kill: bool,
    last_limited: Option<Instant>,
    first_free: Option<Instant>,
    /// Segments sent, at the first look past the time that is promised.
    base: Option<u32>,
    out_of_order_pkts: u32,
    in_order_from: Option<Instant>,
    is_settled: bool,
    late: Option<String>,
}

/// What became of one way of one connection.
#[derive(Clone, Debug)]
pub struct Freed {
    pub way: Way,
    /// At the last look before the kill.
    pub was_limited: bool,
    /// From the kill to the first look at which it was free, if it was limited after the kill.
    pub after: Option<Duration>,
}

/// The watch over one program.
pub struct Watch {
    backend: Backend,
    may_lose_pace: bool,
    connections: Option<Connections>,
    tracks: BTreeMap<(u64, Way), Track>,
    pub problems: Vec<String>,
}

impl Watch {
    pub fn new(backend: Backend, may_lose_pace: bool) -> Self {
        Self {
            backend,
            may_lose_pace,
            connections: None,
            tracks: BTreeMap::new(),
            problems: Vec::new(),
        }
    }

    /// Looks at all connections once; `killed` once it is so.
    pub fn look(&mut self, pid: u32, killed: Option<Instant>) {
        let connections = self
            .connections
            .get_or_insert_with(|| Connections::of(pid, self.may_lose_pace));
        connections.search();
        for (cookie, watched) in &connections.all {
            let now = Instant::now();
            let look = watched.look();
            if !look.is_established && self.problems.is_empty() {
                let port = watched.peer_port;
                self.problems.push(format!("a connection to {port} ended"));
            }
            for way in [Way::Down, Way::Up] {
                let track = self.tracks.entry((*cookie, way)).or_default();
                let limit = look
                    .limit(way)
                    .map(|it| format!("{}: {it}", watched.peer_port));
                match killed {
                    None => track.was_limited_at_kill = limit.is_some(),
                    Some(killed) => {
                        let past = now.saturating_duration_since(killed);
                        track.hear(self.backend, now, past, &look, limit);
                    }
                }
            }
        }
    }

    /// Looks until all is settled, or too late.
    pub fn look_until_settled(&mut self, pid: u32, killed: Instant) {
        let deadline = killed + WITHIN + SEGMENT_WITHIN;
        while self.problems.is_empty() && Instant::now() < deadline {
            self.look(pid, Some(killed));
            if killed.elapsed() > WITHIN && self.tracks.values().all(|it| it.is_settled) {
                return;
            }
            std::thread::sleep(LOOK_EVERY);
        }
    }

    pub fn connections(&self) -> usize {
        self.connections.as_ref().map_or(0, |it| it.all.len())
    }

    /// The same, also of what has just been opened.
    pub fn first_limit_of_all(&mut self) -> Option<String> {
        self.connections.as_mut().map(Connections::search_now);
        self.is_anything_limited()
    }

    /// Whether anything is limited at this moment.
    pub fn is_anything_limited(&self) -> Option<String> {
        let all = self.connections.iter().flat_map(|it| it.all.values());
        let mut limits = all.flat_map(|it| it.look().limits.into_iter().flatten());
        limits.next()
    }

    /// What became of each, and what was too late.
    pub fn end(mut self, killed: Instant) -> (Vec<Freed>, Vec<String>) {
        let mut freed = Vec::new();
        for ((_, way), track) in &self.tracks {
            match &track.late {
                Some(late) => self.problems.push(format!("{way:?} still limited, {late}")),
                None if !track.is_settled => {
                    let within = WITHIN + SEGMENT_WITHIN;
                    self.problems
                        .push(format!("{way:?}: no verdict within {within:?}"));
                }
                None => {}
            }
            let first_free = track.last_limited.and(track.first_free);
            freed.push(Freed {
                way: *way,
                was_limited: track.was_limited_at_kill,
                after: first_free.map(|at| at - killed),
            });
        }
        (freed, self.problems)
    }
}

impl Track {
    fn hear(
        &mut self,
        backend: Backend,
        now: Instant,
        past: Duration,
        look: &Look,
        limit: Option<String>,
    ) {
        let is_limited = limit.is_some();
        if is_limited {
            (self.last_limited, self.first_free) = (Some(now), None);
        } else {
            self.first_free.get_or_insert(now);
        }
        self.note_order(now, look.out_of_order_pkts);
        if past <= WITHIN {
            return;
        }
        let is_due = match backend {
            Backend::User => true,
            Backend::Kernel => self.has_sent(now, look),
        };
        if is_due && let Some(limit) = limit {
            self.late
                .get_or_insert(format!("{past:?} after the kill: {limit}"));
        }
        self.is_settled |= !is_limited;
    }

    /// Whether a segment was sent after an earlier look past the time. One that reports holes does
    /// not count: with three blocks of SACK it has no room for an option, and the kernel does not
    /// ask the programs.
    fn has_sent(&mut self, now: Instant, look: &Look) -> bool {
        if self.in_order_from.is_some_and(|from| now < from) {
            self.base = None;
            return false;
        }
        *self.base.get_or_insert(look.segments_sent) != look.segments_sent
    }

    fn note_order(&mut self, now: Instant, out_of_order_pkts: u32) {
        if self.out_of_order_pkts != out_of_order_pkts {
            self.out_of_order_pkts = out_of_order_pkts;
            self.in_order_from = Some(now + IN_ORDER_FOR);
        }
    }
}
