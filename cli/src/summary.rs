// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one line that `ebb run --summary` prints at the end, the same for both backends.

use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::flow_view::{Direction, FlowView};
use crate::output::plural;

/// Connections are looked at so often.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// A look that took long is not repeated before so many times that long.
const LOOK_SHARE: u32 = 100;
/// A busy machine takes long for everything.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(1);
/// More peers are only counted.
const NAMED_PEERS: usize = 4;

/// What was seen of the connections of a command, by looking at them now and then.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Seen {
    /// How long anything that moved was held back, for any reason that `ebb top` gives.
    pub held_back_ms: u64,
    /// Mean queueing delay of what moved, if a law saw it.
    pub queue_mean_us: Option<u64>,
    /// The longest.
    pub queue_most_us: Option<u32>,
}

/// Looks at the connections of a command.
#[derive(Debug)]
pub struct Watch {
    due: Instant,
    looked: Option<Instant>,
    payload_bytes: HashMap<(u64, Direction), u64>,
    held_back: Duration,
    queue_sum_us: u64,
    queue_looks: u64,
    queue_most_us: u32,
}

impl Watch {
    /// Nothing seen yet.
    pub fn new() -> Self {
        Self {
            due: Instant::now(),
            looked: None,
            payload_bytes: HashMap::new(),
            held_back: Duration::ZERO,
            queue_sum_us: 0,
            queue_looks: 0,
            queue_most_us: 0,
        }
    }

    /// How long until it wants to look again.
    pub fn patience(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Looks if it is time to.
    pub fn look(&mut self, flows: impl FnOnce() -> Vec<FlowView>) {
        let now = Instant::now();
        if now < self.due {
            return;
        }
        let flows = flows();
        self.note(&flows, now);
        let took = now.elapsed();
        self.due = now + (took * LOOK_SHARE).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY);
    }

    fn note(&mut self, flows: &[FlowView], now: Instant) {
        let since = self.looked.map_or(Duration::ZERO, |last| now - last);
        self.looked = Some(now);
        let mut is_held_back = false;
        let before = std::mem::take(&mut self.payload_bytes);
        for flow in flows {
            let key = (flow.cookie, flow.direction);
            self.payload_bytes.insert(key, flow.payload_bytes);
            if flow.payload_bytes <= before.get(&key).copied().unwrap_or(0) {
                continue;
            }
            is_held_back |= !flow.reason.is_empty();
            if let Some(queue_us) = flow.queue_us {
                self.queue_sum_us += u64::from(queue_us);
                self.queue_looks += 1;
                self.queue_most_us = self.queue_most_us.max(queue_us);
            }
        }
        if is_held_back {
            self.held_back += since;
        }
    }

    /// What it has seen.
    pub fn seen(&self) -> Seen {
        let has_queue = self.queue_looks > 0;
        Seen {
            held_back_ms: u64::try_from(self.held_back.as_millis()).unwrap_or(u64::MAX),
            queue_mean_us: self.queue_sum_us.checked_div(self.queue_looks),
            queue_most_us: has_queue.then_some(self.queue_most_us),
        }
    }
}

/// UDP, which no law controls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Datagrams {
    /// Sockets, those of QUIC and uTP among them.
    pub sockets: u64,
    /// Those of QUIC, by port 443.
    pub quic: u64,
    /// Those of uTP, by the first packet of a connection.
    pub utp: u64,
    /// Payload that arrived and that was sent, if the backend sees it.
    pub bytes: Option<(u64, u64)>,
}

/// All that the line says.
#[derive(Debug)]
pub struct Account<'a> {
    /// The policy for what arrived.
    pub policy: &'a str,
    /// The policy for what was sent.
    pub upload_policy: Option<&'a str>,
    /// Payload that arrived.
    pub received_bytes: u64,
    /// Payload that was sent, if the backend knows.
    pub sent_bytes: Option<u64>,
    /// Connections under a policy.
    pub connections: u64,
    /// Whom they were with.
    pub peers: &'a [IpAddr],
    /// What was seen of them.
    pub seen: &'a Seen,
    /// Connections within this machine.
    pub loopback: u64,
    /// Connections over multipath TCP.
    pub multipath: u64,
    /// UDP.
    pub datagrams: Datagrams,
    /// Programs out of reach.
    pub out_of_reach: &'a [String],
    /// Processes that live on.
    pub processes_left: usize,
    /// `kernel` or `user`.
    pub backend: &'static str,
}

impl Account<'_> {
    /// The line.
    pub fn line(&self, elapsed: Duration) -> String {
        let elapsed_s = elapsed.as_secs_f64();
        let bits = self.received_bytes as f64 * 8.0;
        let mut parts = vec![format!(
            "{} arrived in {elapsed_s:.1} s ({:.2} Mbit/s) over {} connection{}, policy {}",
            megabytes(self.received_bytes),
            bits / 1e6 / elapsed_s.max(1e-3),
            self.connections,
            plural(self.connections),
            self.policy,
        )];
        parts.extend(self.sent());
        parts.push(format!(
            "held back {:.1} s",
            self.seen.held_back_ms as f64 / 1e3
        ));
        if let (Some(mean_us), Some(most_us)) = (self.seen.queue_mean_us, self.seen.queue_most_us) {
            parts.push(format!(
                "queueing delay {:.0} ms (at most {:.0} ms)",
                mean_us as f64 / 1e3,
                f64::from(most_us) / 1e3
            ));
        }
        parts.extend(self.with());
        parts.extend(self.not_controlled());
        if self.processes_left > 0 {
            let count = self.processes_left;
            parts.push(format!(
                "{count} of its processes live on and keep yielding"
            ));
        }
        parts.push(format!("{} backend", self.backend));
        parts.join("; ")
    }

    fn sent(&self) -> Option<String> {
        let sent = megabytes(self.sent_bytes?);
        Some(match self.upload_policy {
            Some(policy) => format!("{sent} sent, policy {policy}"),
            None => format!("{sent} sent, under no policy"),
        })
    }

    fn with(&self) -> Option<String> {
        let named = self.peers.iter().take(NAMED_PEERS).map(IpAddr::to_string);
        let mut text = named.collect::<Vec<_>>().join(", ");
        if self.peers.len() > NAMED_PEERS {
            text += &format!(" and {} more", self.peers.len() - NAMED_PEERS);
        }
        let ending = plural(self.peers.len() as u64);
        (!text.is_empty()).then(|| format!("peer{ending} {text}"))
    }

    /// What was left alone, and why.
    fn not_controlled(&self) -> Vec<String> {
        let mut parts = Vec::new();
        if self.loopback > 0 {
            parts.push(format!("{} within this machine left alone", self.loopback));
        }
        if self.multipath > 0 {
            parts.push(format!("{} over multipath TCP left alone", self.multipath));
        }
        if self.datagrams.sockets > 0 {
            parts.push(self.datagrams.describe());
        }
        if !self.out_of_reach.is_empty() {
            parts.push(format!("out of reach: {}", self.out_of_reach.join(", ")));
        }
        parts
    }
}

impl Datagrams {
    fn describe(&self) -> String {
        let named = [(self.quic, "QUIC"), (self.utp, "uTP")];
        let named = named.iter().filter(|(count, _)| *count > 0);
        let mut details: Vec<String> = named
            .map(|(count, name)| format!("{count} {name}"))
            .collect();
        if let Some((received, sent)) = self.bytes {
            details.push(format!(
                "{} arrived, {} sent",
                megabytes(received),
                megabytes(sent)
            ));
        }
        let details = match details.is_empty() {
            true => String::new(),
            false => format!(" ({})", details.join(", ")),
        };
        let ending = plural(self.sockets);
        format!(
            "{} UDP socket{ending} not controlled{details}",
            self.sockets
        )
    }
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flow(payload_bytes: u64, reason: &str, queue_us: u32) -> FlowView {
        FlowView {
            cookie: 1,
            direction: Direction::Down,
            local: ([10, 0, 0, 1], 1).into(),
            peer: ([10, 0, 0, 2], 2).into(),
            law: "ebb".into(),
            payload_bytes,
            window_bytes: 0,
            pace_bytes_per_s: None,
            rtt_us: None,
            queue_us: Some(queue_us),
            mode: "-".into(),
            reason: reason.into(),
            is_acting: true,
            process: None,
        }
    }

    #[test]
    fn time_is_held_back_while_something_moves_and_there_is_a_reason() {
        let mut watch = Watch::new();
        let start = Instant::now();
        let at = |second| start + Duration::from_secs(second);
        watch.note(&[flow(10, "", 1_000)], at(0));
        watch.note(&[flow(20, "others want it", 9_000)], at(1));
        watch.note(&[flow(30, "queue at target", 5_000)], at(3));
        // It has nothing to carry any more: nobody holds that back.
        watch.note(&[flow(30, "others want it", 70_000)], at(9));
        let seen = watch.seen();
        assert_eq!(seen.held_back_ms, 3_000);
        assert_eq!(seen.queue_mean_us, Some(5_000));
        assert_eq!(seen.queue_most_us, Some(9_000));
    }

    #[test]
    fn the_line_has_everything_and_names_what_is_not_controlled() {
        let seen = Seen {
            held_back_ms: 3_210,
            queue_mean_us: Some(4_400),
            queue_most_us: Some(12_600),
        };
        let peers: Vec<IpAddr> = (1..=6).map(|last| IpAddr::from([10, 0, 0, last])).collect();
        let mut account = Account {
            policy: "ebb",
            upload_policy: Some("ledbat++"),
            received_bytes: 12_500_000,
            sent_bytes: Some(400_000),
            connections: 2,
            peers: &peers,
            seen: &seen,
            loopback: 1,
            multipath: 1,
            datagrams: Datagrams {
                sockets: 3,
                quic: 1,
                utp: 1,
                bytes: Some((2_000_000, 100_000)),
            },
            out_of_reach: &["su".to_owned()],
            processes_left: 0,
            backend: "kernel",
        };
        assert_eq!(
            account.line(Duration::from_secs(10)),
            "12.5 MB arrived in 10.0 s (10.00 Mbit/s) over 2 connections, policy ebb; 0.4 MB sent, \
             policy ledbat++; held back 3.2 s; queueing delay 4 ms (at most 13 ms); peers 10.0.0.1, \
             10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more; 1 within this machine left alone; 1 over \
             multipath TCP left alone; 3 UDP sockets not controlled (1 QUIC, 1 uTP, 2.0 MB arrived, \
             0.1 MB sent); out of reach: su; kernel backend"
        );
        account.datagrams = Datagrams {
            sockets: 1,
            ..Datagrams::default()
        };
        account.upload_policy = None;
        let line = account.line(Duration::from_secs(10));
        assert!(line.contains("0.4 MB sent, under no policy;"), "{line}");
        assert!(line.contains("; 1 UDP socket not controlled;"), "{line}");
    }
}
