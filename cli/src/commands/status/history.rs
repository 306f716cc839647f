// SPDX-License-Identifier: Apache-2.0 OR MIT
//! `ebb status --history`: what came of the service's rules in the last 24 hours.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anyhow::{Context, Result};
use ebb_daemon::{Minute, Past, history_folder, read_history};
use ebb_keeper::unix_time;

use crate::output;
use crate::summary::megabytes;

/// What came of something, hour by hour.
type Hours = BTreeMap<String, Past>;

/// Prints it.
pub fn print(is_json: bool) -> Result<()> {
    let minutes = read_history(&history_folder(), unix_time().as_secs())
        .context("what came of the rules is root's to read")?;
    if is_json {
        return output::print_json(&minutes);
    }
    output::print(&text(&minutes))
}

fn text(minutes: &[Minute]) -> String {
    if minutes.is_empty() {
        return "nothing is known of the last 24 hours: ebbd writes it down each minute while it \
                runs (systemctl enable --now ebbd)\n"
            .to_owned();
    }
    let rules = sections("rule", minutes, |minute| &minute.rules);
    let passed = sections("gateway", minutes, |minute| &minute.gateway_rules);
    rules + &passed + &section("everything else", &by_hour(minutes, Minute::of_others))
}

/// Of each rule that is named in a minute at least.
fn sections(
    kind: &str,
    minutes: &[Minute],
    rules: impl Fn(&Minute) -> &BTreeMap<String, Past>,
) -> String {
    let names: BTreeSet<&String> = minutes.iter().flat_map(|it| rules(it).keys()).collect();
    let sections = names.into_iter().map(|name| {
        let its = |minute: &Minute| rules(minute).get(name).copied();
        section(&format!("{kind} {name}"), &by_hour(minutes, its))
    });
    sections.collect()
}

fn by_hour(minutes: &[Minute], its: impl Fn(&Minute) -> Option<Past>) -> Hours {
    let mut hours = Hours::new();
    for minute in minutes {
        if let Some(past) = its(minute) {
            hours
                .entry(minute.hour().to_string())
                .or_default()
                .add(&past);
        }
    }
    hours
}

fn section(title: &str, hours: &Hours) -> String {
    let mut all = Past::default();
    hours.values().for_each(|past| all.add(past));
    let mut text = format!("{title}: {}\n", words(&all));
    for (hour, past) in hours {
        text += &format!("  {hour}  {}\n", words(past));
    }
    text
}

fn words(past: &Past) -> String {
    let mut parts = vec![format!(
        "{} arrived, {} sent",
        megabytes(past.received_bytes),
        megabytes(past.sent_bytes)
    )];
    let held_back = Duration::from_millis(past.held_back_ms.iter().sum());
    if !held_back.is_zero() {
        parts.push(format!("held back {:.1} s", held_back.as_secs_f64()));
    }
    if let Some(queue_us) = past.queue_mean_us() {
        parts.push(format!("queueing delay {:.1} ms", queue_us as f64 / 1e3));
    }
    if past.failures_open > 0 {
        let connections = output::plural(past.failures_open);
        parts.push(format!(
            "{} connection{connections} set free",
            past.failures_open
        ));
    }
    parts.join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn minute(at_unix_s: u64, received_bytes: u64) -> Minute {
        let past = Past {
            received_bytes,
            held_back_ms: [1_000, 500],
            queue_sum_us: 9_000,
            queue_looks: 2,
            failures_open: 1,
            ..Past::default()
        };
        Minute {
            at_unix_s,
            seconds: 60.0,
            // What passed arrived once and was sent once.
            carried_bytes: Some([2 * received_bytes + 2_000_000, received_bytes + 500_000]),
            rules: [("backup".to_owned(), past)].into(),
            gateway_rules: [("home/tv".to_owned(), past)].into(),
        }
    }

    #[test]
    fn hours_and_their_sum_are_told_for_each_rule_and_for_all_else() {
        let minutes = [
            minute(1_795_600_000, 1_000_000),
            minute(1_795_600_060, 3_000_000),
            minute(1_795_690_000, 5_000_000),
        ];
        let said = text(&minutes);
        let lines: Vec<&str> = said.lines().collect();
        assert_eq!(
            lines[0],
            "rule backup: 9.0 MB arrived, 0.0 MB sent; held back 4.5 s; queueing delay 4.5 ms; \
             3 connections set free"
        );
        let hour = minutes[0].hour();
        assert!(
            lines[1].starts_with(&format!("  {hour}  4.0 MB arrived")),
            "{said}"
        );
        assert!(lines[2].contains("5.0 MB arrived"), "{said}");
        assert_eq!(lines[3], lines[0].replace("rule backup", "gateway home/tv"));
        assert_eq!(lines[6], "everything else: 6.0 MB arrived, 1.5 MB sent");
        assert_eq!(lines.len(), 9, "{said}");
        assert!(text(&[]).starts_with("nothing is known"));
    }
}
