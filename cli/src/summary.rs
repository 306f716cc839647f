// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one line that `ebb run --summary` prints at the end, the same for both backends.

use std::net::IpAddr;
use std::time::Duration;

use ebb_keeper::summary::{Datagrams, Seen};

use crate::output::plural;

/// More peers are only counted.
const NAMED_PEERS: usize = 4;

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
            parts.push(describe(&self.datagrams));
        }
        if !self.out_of_reach.is_empty() {
            parts.push(format!("out of reach: {}", self.out_of_reach.join(", ")));
        }
        parts
    }
}

fn describe(datagrams: &Datagrams) -> String {
    let named = [(datagrams.quic, "QUIC"), (datagrams.utp, "uTP")];
    let named = named.iter().filter(|(count, _)| *count > 0);
    let mut details: Vec<String> = named
        .map(|(count, name)| format!("{count} {name}"))
        .collect();
    if let Some((received, sent)) = datagrams.bytes {
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
    let ending = plural(datagrams.sockets);
    format!(
        "{} UDP socket{ending} not controlled{details}",
        datagrams.sockets
    )
}

fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

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
