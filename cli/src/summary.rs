// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one line that `ebb run --summary` prints at the end, the same for both backends.

use std::net::IpAddr;
use std::time::Duration;

use ebb_keeper::{Backend, Datagrams, Summary};

use crate::output::plural;

/// More peers are only counted.
const NAMED_PEERS: usize = 4;

/// The line.
pub fn line(summary: &Summary, elapsed: Duration) -> String {
    let elapsed_s = elapsed.as_secs_f64();
    let bits = summary.received_bytes as f64 * 8.0;
    let mut parts = vec![format!(
        "{} arrived in {elapsed_s:.1} s ({:.2} Mbit/s) over {} connection{}, policy {}",
        megabytes(summary.received_bytes),
        bits / 1e6 / elapsed_s.max(1e-3),
        summary.connections,
        plural(summary.connections),
        summary.policy,
    )];
    parts.push(sent(summary));
    let minimum = summary.minimum.as_ref();
    parts.extend(minimum.map(|minimum| format!("{minimum} at the least each way")));
    parts.extend(summary.deadline.as_ref().map(ToString::to_string));
    let seen = &summary.seen;
    parts.push(format!("held back {:.1} s", seen.held_back_ms as f64 / 1e3));
    if let (Some(mean_us), Some(most_us)) = (seen.queue_mean_us, seen.queue_most_us) {
        parts.push(format!(
            "queueing delay {:.0} ms (at most {:.0} ms)",
            mean_us as f64 / 1e3,
            f64::from(most_us) / 1e3
        ));
    }
    parts.extend(with(&summary.peers));
    parts.extend(not_controlled(summary));
    if summary.processes_left > 0 {
        let count = summary.processes_left;
        parts.push(format!(
            "{count} of its processes live on and keep yielding"
        ));
    }
    if summary.since_restart {
        parts.push("ebbd was started anew, and counted from then on".to_owned());
    }
    parts.push(format!("{} backend", summary.backend));
    parts.join("; ")
}

fn sent(summary: &Summary) -> String {
    let sent = megabytes(summary.sent_bytes);
    match &summary.upload_policy {
        Some(policy) => format!("{sent} sent, policy {policy}"),
        None => format!("{sent} sent, under no policy"),
    }
}

fn with(peers: &[IpAddr]) -> Option<String> {
    let named = peers.iter().take(NAMED_PEERS).map(IpAddr::to_string);
    let mut text = named.collect::<Vec<_>>().join(", ");
    if peers.len() > NAMED_PEERS {
        text += &format!(" and {} more", peers.len() - NAMED_PEERS);
    }
    let ending = plural(peers.len() as u64);
    (!text.is_empty()).then(|| format!("peer{ending} {text}"))
}

/// Says that connections are not governed which should be, if any is.
pub fn ungoverned(count: u64, backend: Backend) -> Option<String> {
    let ending = plural(count);
    let want = match backend {
        Backend::Kernel => "kernel memory",
        Backend::Gateway => "room in the table",
        Backend::User => "descriptors",
    };
    let text = format!("{count} connection{ending} not governed, for want of {want}");
    (count > 0).then_some(text)
}

/// What was left alone, and why.
fn not_controlled(summary: &Summary) -> Vec<String> {
    let mut parts = Vec::new();
    for (count, what) in [
        (summary.loopback_connections, "within this machine"),
        (summary.multipath_connections, "over multipath TCP"),
    ] {
        if count > 0 {
            parts.push(format!("{count} {what} left alone"));
        }
    }
    parts.extend(ungoverned(summary.ungoverned_connections, summary.backend));
    if summary.datagrams.sockets > 0 {
        parts.push(describe(&summary.datagrams));
    }
    if !summary.out_of_reach.is_empty() {
        parts.push(format!("out of reach: {}", summary.out_of_reach.join(", ")));
    }
    parts
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

/// In megabytes, with the unit.
pub fn megabytes(bytes: u64) -> String {
    format!("{:.1} MB", bytes as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ebb_keeper::Seen;

    #[test]
    fn the_line_has_everything_and_names_what_is_not_controlled() {
        let mut summary = Summary {
            policy: "ebb".into(),
            upload_policy: Some("ledbat++".into()),
            received_bytes: 12_500_000,
            sent_bytes: 400_000,
            connections: 2,
            peers: (1..=6).map(|last| IpAddr::from([10, 0, 0, last])).collect(),
            seen: Seen {
                held_back_ms: 3_210,
                queue_mean_us: Some(4_400),
                queue_most_us: Some(12_600),
            },
            loopback_connections: 1,
            multipath_connections: 1,
            ungoverned_connections: 1,
            datagrams: Datagrams {
                sockets: 3,
                quic: 1,
                utp: 1,
                bytes: Some((2_000_000, 100_000)),
            },
            out_of_reach: vec!["su".to_owned()],
            ..Summary::default()
        };
        assert_eq!(
            line(&summary, Duration::from_secs(10)),
            "12.5 MB arrived in 10.0 s (10.00 Mbit/s) over 2 connections, policy ebb; 0.4 MB sent, \
             policy ledbat++; held back 3.2 s; queueing delay 4 ms (at most 13 ms); peers 10.0.0.1, \
             10.0.0.2, 10.0.0.3, 10.0.0.4 and 2 more; 1 within this machine left alone; 1 over \
             multipath TCP left alone; 1 connection not governed, for want of kernel memory; 3 UDP \
             sockets not controlled (1 QUIC, 1 uTP, 2.0 MB arrived, 0.1 MB sent); out of reach: su; \
             kernel backend"
        );
        summary.datagrams = Datagrams {
            sockets: 1,
            ..Datagrams::default()
        };
        summary.upload_policy = None;
        summary.backend = Backend::User;
        let line = line(&summary, Duration::from_secs(10));
        assert!(line.contains("0.4 MB sent, under no policy;"), "{line}");
        assert!(line.contains("; 1 connection not governed, for want of descriptors;"));
        assert!(line.contains("; 1 UDP socket not controlled;"), "{line}");
        assert!(!line.contains("ebbd"), "{line}");
        summary.since_restart = true;
        let line = super::line(&summary, Duration::from_secs(10));
        assert!(
            line.contains("; ebbd was started anew, and counted from then on; user"),
            "{line}"
        );
    }
}
