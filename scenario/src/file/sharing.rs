// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The [[sharing]] groups: who shares what a host receives, and how.
use std::collections::HashMap;

use ebb_algorithms::Policy;
use ebb_link::{Nanos, Probability, Rate};
use ebb_sharing::{NO_BOUND, Preferences, Settings, Target};
use toml::de::DeValue;

use super::section::{Section, Value, unknown_name, with_article};
use super::value::FromValue;
use super::{NAMES, is_name};
use crate::{Flow, Share, ShareChange, SharingGroup, Traffic};

const DEFAULT_PERIOD: Nanos = Nanos::from_millis(1_000);
/// A window of Linux adjusts to a new target once in several round trips.
const LEAST_PERIOD: Nanos = Nanos::from_millis(10);
/// The law and how near it is to keep to a target: nearer than a step of the search.
const DEFAULT_POLICY: &str = "rate:slack_x1024=51";

/// Reads all groups; their flows get the law that holds them.
pub(super) fn read(
    root: &Section<'_, '_>,
    flows: &mut [Flow],
    duration: Nanos,
) -> Vec<SharingGroup> {
    let mut reader = Reader {
        flows,
        duration,
        group_of: HashMap::new(),
    };
    let mut groups: Vec<SharingGroup> = Vec::new();
    for section in &root.sections("sharing") {
        let group = reader.read_group(section);
        if groups.iter().any(|other| other.name == group.name) {
            section.wrong("name", format!("there are two groups `{}`", group.name));
        }
        groups.push(group);
    }
    groups
}

struct Reader<'f> {
    flows: &'f mut [Flow],
    duration: Nanos,
    /// By place of the flow.
    group_of: HashMap<usize, String>,
}

impl Reader<'_> {
    fn read_group(&mut self, section: &Section<'_, '_>) -> SharingGroup {
        let name: String = section.required("name", "\"home\"").unwrap_or_default();
        if !name.is_empty() && !is_name(&name) {
            section.wrong("name", format!("`{name}` is no name; {NAMES}"));
        }
        let (start, stop) = self.read_times(section);
        let period = section.get_or("period", DEFAULT_PERIOD);
        if period < LEAST_PERIOD {
            let message = format!("{period} is too short; it can be {LEAST_PERIOD} or more");
            section.wrong("period", message);
        }
        let policy = read_policy(section);
        let settings = read_settings(section);
        let shares = self.read_shares(section, &name, &policy);
        let changes = self.read_changes(section, &shares);
        section.finish_with(explain);
        self.check_receiver(section, &shares);
        SharingGroup {
            name,
            start,
            stop,
            period,
            settings,
            shares,
            changes,
        }
    }

    fn read_times(&self, section: &Section<'_, '_>) -> (Nanos, Option<Nanos>) {
        let end = self.duration;
        let start = section.get::<Start>("start");
        let start = match start.unwrap_or(Start::At(Nanos::ZERO)) {
            Start::At(time) => time,
            Start::Never => end,
        };
        let stop = section.get::<Nanos>("stop");
        if start > end {
            section.wrong("start", format!("begins at {start}; the run ends at {end}"));
        }
        if stop.is_some_and(|stop| stop <= start) {
            section.wrong("stop", format!("not after the start, {start}"));
        }
        (start, stop)
    }

    fn read_shares(
        &mut self,
        section: &Section<'_, '_>,
        group: &str,
        policy: &Policy,
    ) -> Vec<Share> {
        let mut shares: Vec<Share> = Vec::new();
        let Some(members) = section.section("flows") else {
            if !section.has("flows") {
                let message = "`flows` is missing; write flows.NAME = { weight = 1 } for each";
                section.wrong_here(message);
            }
            return shares;
        };
        for (name, value) in members.entries() {
            let Some(preferences) = read_preferences(section, name, value, None) else {
                continue;
            };
            for place in self.places(section, name, value) {
                if let Err(message) = self.join(place, group, policy) {
                    section.wrong_value(&key_of(name), value, message);
                    break;
                }
                shares.push(Share {
                    flow: place as u32,
                    preferences,
                });
            }
        }
        if members.entries().is_empty() {
            section.wrong("flows", "no flow shares; write flows.NAME = { weight = 1 }");
        }
        shares.sort_by_key(|share| share.flow);
        shares
    }

    /// Flows of this name, or of an entry of this name.
    fn places(&self, section: &Section<'_, '_>, name: &str, value: &Value<'_>) -> Vec<usize> {
        let is_meant = |flow: &Flow| flow.name == name || flow.group == name;
        let flows = self.flows.iter().enumerate();
        let places: Vec<usize> = flows
            .filter(|(_, flow)| is_meant(flow))
            .map(|(place, _)| place)
            .collect();
        if places.is_empty() {
            let mut names: Vec<&str> = self.flows.iter().map(|flow| flow.group.as_str()).collect();
            names.dedup();
            let message = unknown_name(name, names.into_iter());
            section.wrong_value(&key_of(name), value, message);
        }
        places
    }

    /// Puts a flow under the law that holds it. *Errors:* why it cannot share.
    fn join(&mut self, place: usize, group: &str, policy: &Policy) -> Result<(), String> {
        let flow = &mut self.flows[place];
        if !flow.traffic.is_tcp() {
            return Err("a flow without TCP cannot be held; it can be outside the group".into());
        }
        if matches!(flow.traffic, Traffic::Web(_)) {
            return Err("a flow of kind `web` has many connections; only one can be held".into());
        }
        if !flow.during.is_empty() {
            return Err("the group says when it is held; take `during` away".into());
        }
        if let Some(receiver) = &flow.receiver {
            let policy: Policy = receiver.parse().unwrap_or_default();
            if Target::Free.policy(&policy).is_err() {
                return Err(format!(
                    "it has receiver = \"{receiver}\"; flows that share are held by the law `rate`"
                ));
            }
        }
        flow.receiver.get_or_insert_with(|| policy.to_string());
        match self.group_of.insert(place, group.to_owned()) {
            Some(other) if other == group => Err("it is named twice".into()),
            Some(other) => Err(format!("it is in the group `{other}` already")),
            None => Ok(()),
        }
    }

    fn read_changes(&self, section: &Section<'_, '_>, shares: &[Share]) -> Vec<ShareChange> {
        let mut changes = Vec::new();
        let (mut last, mut shares) = (Nanos::ZERO, shares.to_vec());
        for change in section.sections("change") {
            let at = change.required("at", "\"300s\"").unwrap_or(last);
            if at < last || at >= self.duration {
                let end = self.duration;
                let message = format!("must be after what comes before, {last}, and before {end}");
                change.wrong("at", message);
            }
            last = at;
            if let Some(members) = change.section("flows") {
                for (name, value) in members.entries() {
                    self.change(&change, name, value, &mut shares);
                }
            } else if !change.has("flows") {
                change.wrong_here("`flows` is missing; write flows.NAME = { weight = 2 }");
            }
            change.finish();
            changes.push(ShareChange {
                at,
                shares: shares.clone(),
            });
        }
        changes
    }

    fn change(
        &self,
        section: &Section<'_, '_>,
        name: &str,
        value: &Value<'_>,
        shares: &mut [Share],
    ) {
        let places = self.places(section, name, value);
        let is_meant = |share: &&mut Share| places.contains(&(share.flow as usize));
        let mut members = shares.iter_mut().filter(is_meant).peekable();
        if members.peek().is_none() && !places.is_empty() {
            let message = "it is not among the `flows` of the group";
            section.wrong_value(&key_of(name), value, message);
        }
        for share in members {
            let before = Some(share.preferences);
            if let Some(preferences) = read_preferences(section, name, value, before) {
                share.preferences = preferences;
            }
        }
    }

    /// Flows of one host, or of several behind one link, can share; no others.
    fn check_receiver(&self, section: &Section<'_, '_>, shares: &[Share]) {
        let flows: Vec<&Flow> = shares
            .iter()
            .map(|share| &self.flows[share.flow as usize])
            .collect();
        let Some((first, others)) = flows.split_first() else {
            return;
        };
        let is_common = |link| others.iter().all(|other| other.path.contains(link));
        if others.iter().any(|other| other.to != first.to) && !first.path.iter().any(is_common) {
            section.wrong(
                "flows",
                "they have neither a host to go to nor a link in common",
            );
        }
    }
}

/// Reads `{ weight = 2, minimum = "600kbit", priority = 1 }`; what is missing is as before.
fn read_preferences(
    section: &Section<'_, '_>,
    name: &str,
    value: &Value<'_>,
    before: Option<Preferences>,
) -> Option<Preferences> {
    let before = before.unwrap_or_default();
    let DeValue::Table(table) = value.get_ref() else {
        let kind = with_article(value.get_ref().type_str());
        let message =
            format!("a table is needed, like {{ weight = 2, minimum = \"600kbit\" }}, not {kind}");
        section.wrong_value(&key_of(name), value, message);
        return None;
    };
    let title = format!("[[sharing]] flows.{name}");
    let own = Section::new(section.source, table, value.span(), title);
    let preferences = preferences(&own, before);
    own.finish();
    Some(preferences)
}

/// Reads `weight`, `minimum` and `priority` of a table that may have other keys; what is missing
/// is as before.
pub fn preferences(section: &Section<'_, '_>, before: Preferences) -> Preferences {
    let minimum = section.get::<Minimum>("minimum");
    Preferences {
        weight: section.number_or("weight", (0, 1_000_000), before.weight),
        minimum_bits_per_s: minimum.map_or(before.minimum_bits_per_s, |minimum| minimum.0),
        priority: section.number_or("priority", (0, 1_000_000), before.priority),
    }
}

/// When a group begins.
enum Start {
    At(Nanos),
    Never,
}

impl FromValue for Start {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        if value.as_str() == Some("never") {
            return Ok(Self::Never);
        }
        let time = Nanos::from_value(value).map(Self::At);
        time.map_err(|message| message + ", or \"never\"")
    }
}

/// A rate, none, or all there is.
struct Minimum(u64);

impl FromValue for Minimum {
    fn from_value(value: &DeValue<'_>) -> Result<Self, String> {
        if value.as_str() == Some("all") {
            return Ok(Self(NO_BOUND));
        }
        if matches!(value, DeValue::Integer(number) if number.as_str() == "0") {
            return Ok(Self(0));
        }
        let rate = Rate::from_value(value);
        let rate = rate.map_err(|message| message + ", \"all\" (as much as there is), or 0")?;
        Ok(Self(rate.bits_per_s()))
    }
}

fn read_policy(section: &Section<'_, '_>) -> Policy {
    let default = || DEFAULT_POLICY.parse::<Policy>().unwrap_or_default();
    let Some(text) = section.get::<String>("policy") else {
        return default();
    };
    let policy = Policy::receiver(&text).map_err(|error| error.to_string());
    let policy = policy.and_then(|policy| match Target::Free.policy(&policy) {
        Ok(_) => Ok(policy),
        Err(error) => Err(error.to_string()),
    });
    policy.unwrap_or_else(|message| {
        section.wrong("policy", message);
        default()
    })
}

fn read_settings(section: &Section<'_, '_>) -> Settings {
    let default = Settings::default();
    let periods = |key, least, default| section.number_or(key, (least, 10_000), default);
    let step = section.get::<Probability>("step");
    let step_ppm = step.map_or(default.step_ppm, |step| {
        (step.as_f64() * 1e6).round() as u32
    });
    if !(1_000..=500_000).contains(&step_ppm) {
        section.wrong("step", "it can be 0.1% to 50%");
    }
    Settings {
        release_periods: periods("release", 0, default.release_periods),
        settle_periods: periods("settle", 0, default.settle_periods),
        measure_periods: periods("measure", 1, default.measure_periods),
        step_ppm,
        longest_step_ppm: default.longest_step_ppm.max(step_ppm),
        ..default
    }
}

fn explain(key: &str) -> Option<String> {
    match key {
        "weight" | "minimum" | "priority" => Some(format!(
            "belongs to a flow; write flows.NAME = {{ {key} = … }}"
        )),
        "changes" => Some("unknown key; write [[sharing.change]]".into()),
        "flow" | "share" | "shares" => {
            Some("unknown key; write flows.NAME = { weight = 1 }".into())
        }
        _ => None,
    }
}

fn key_of(name: &str) -> String {
    format!("flows.{name}")
}
