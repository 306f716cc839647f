// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The [[flow]]s: who sends what to whom, when, and under which laws.
use std::collections::HashSet;

use ebb_algorithms::Policy;
use ebb_link::{Class, Nanos};

use super::ends::{Connection, Ends, Ways};
use super::network::Network;
use super::section::Section;
use super::{NAMES, is_name, read_interval, tcp, traffic};
use crate::{Flow, Interval, NodeId, TcpOptions, Traffic};

const MAX_FLOWS: usize = 100_000;
/// What sends unless the file says otherwise, as most of the Internet does.
const DEFAULT_SENDER: &str = "cubic";

/// Reads all flows; those of a dumbbell may add access links of their own.
pub(super) fn read(root: &Section<'_, '_>, network: &mut Network, duration: Nanos) -> Vec<Flow> {
    let defaults = Defaults {
        duration,
        sender: read_policy(root, "sender", Policy::sender).unwrap_or(DEFAULT_SENDER.into()),
        tcp: tcp::read(root, TcpOptions::LINUX),
    };
    let sections = root.sections("flow");
    if !root.has("flow") {
        let message = "there is no flow; write [[flow]] with at least a name";
        root.source.problem(0..0, message);
    }
    let mut reader = Reader {
        defaults,
        ways: Ways::default(),
        groups: HashSet::new(),
        names: HashSet::new(),
        flows: Vec::new(),
        left_out: 0,
    };
    for section in &sections {
        reader.read_entry(section, network);
    }
    if let (Some(first), true) = (sections.first(), reader.left_out == sections.len()) {
        first.wrong("count", "no flow is left; at least one has to be there");
    }
    reader.flows
}

/// What was read so far.
struct Reader {
    defaults: Defaults,
    ways: Ways,
    groups: HashSet<String>,
    names: HashSet<String>,
    flows: Vec<Flow>,
    /// Entries with a count of zero.
    left_out: usize,
}

impl Reader {
    /// Reads one [[flow]], which may be several.
    fn read_entry(&mut self, section: &Section<'_, '_>, network: &mut Network) {
        let group = read_name(section, &mut self.groups);
        let (flow, kind) = read_flow(section, &self.defaults, group.as_deref().unwrap_or(""));
        let ends = Ends::read(section, network, &mut self.ways);
        let count = section.number_or("count", (0, MAX_FLOWS as u32), 1);
        let stagger = section.get_or("stagger", Nanos::ZERO);
        section.finish_with(|key| traffic::explain_key(key, kind));
        if self.flows.len() + count as usize > MAX_FLOWS {
            section.wrong_here(format!("more than {MAX_FLOWS} flows"));
            return;
        }
        let (Some(group), Some(ends)) = (group, ends) else {
            return;
        };
        if count == 0 {
            self.left_out += 1;
            return;
        }
        for number in 0..count {
            let (name, key) = match count {
                1 => (group.clone(), "name"),
                _ => (format!("{group}-{}", number + 1), "count"),
            };
            if !self.names.insert(name.clone()) {
                section.wrong(key, format!("there are two flows `{name}` then"));
                return;
            }
            let start = flow.start + Nanos(stagger.0.saturating_mul(number.into()));
            let connection = ends.connect(network, &name);
            self.flows.push(placed(&flow, name, start, connection));
        }
        if let Some(last) = self.flows.last() {
            check_times(section, last, self.defaults.duration);
        }
    }
}

/// One flow of an entry.
fn placed(flow: &Flow, name: String, start: Nanos, connection: Connection) -> Flow {
    let Connection {
        from,
        to,
        path,
        return_path,
    } = connection;
    Flow {
        name,
        start,
        from,
        to,
        path,
        return_path,
        ..flow.clone()
    }
}

struct Defaults {
    duration: Nanos,
    sender: String,
    tcp: TcpOptions,
}

/// The name of an entry, if it is there and right.
fn read_name(section: &Section<'_, '_>, groups: &mut HashSet<String>) -> Option<String> {
    let name: String = section.required("name", "\"lbe\"")?;
    if !is_name(&name) {
        section.wrong("name", format!("`{name}` is no name; {NAMES}"));
        return None;
    }
    if !groups.insert(name.clone()) {
        let message = format!("there are two flows `{name}`; `count` makes several of a kind");
        section.wrong("name", message);
        return None;
    }
    Some(name)
}

/// Everything but the way; also the kind of its traffic as the file calls it.
fn read_flow(
    section: &Section<'_, '_>,
    defaults: &Defaults,
    group: &str,
) -> (Flow, Option<&'static str>) {
    let (traffic, kind) = traffic::read(section);
    let is_tcp = traffic.as_ref().is_none_or(Traffic::is_tcp);
    let mut flow = Flow {
        name: group.to_owned(),
        group: group.to_owned(),
        from: NodeId(0),
        to: NodeId(0),
        path: Vec::new(),
        return_path: Vec::new(),
        start: section.get_or("start", Nanos::ZERO),
        start_spread: section.get_or("start_spread", Nanos::ZERO),
        stop: section.get("stop"),
        traffic: traffic.unwrap_or(Traffic::Greedy),
        class: read_class(section),
        during: read_during(section, defaults.duration),
        sender: String::new(),
        receiver: None,
        minimum: None,
        tcp: defaults.tcp,
        receiver_connects: false,
        is_by_programs: section.get_or("programs", false),
        is_by_gateway: section.get_or("gateway", false),
    };
    if is_tcp {
        let sender = read_policy(section, "sender", Policy::sender);
        flow.sender = sender.unwrap_or_else(|| defaults.sender.clone());
        flow.receiver = read_policy(section, "receiver", Policy::receiver);
        flow.minimum = section.get("minimum");
        flow.tcp = tcp::read(section, defaults.tcp);
        flow.receiver_connects = read_connects(section, &flow);
    }
    check_flow(section, &flow);
    (flow, kind)
}

fn check_flow(section: &Section<'_, '_>, flow: &Flow) {
    if flow.is_by_programs && flow.traffic != Traffic::Greedy {
        section.wrong("programs", "real programs fetch only: for kind `greedy`");
    }
    if flow.is_by_gateway {
        check_gateway(section, flow);
    }
    if !flow.during.is_empty() && flow.receiver.is_none() && flow.class == Class::BestEffort {
        section.wrong(
            "during",
            "says when `class` or `receiver` hold, and neither is given",
        );
    }
}

fn check_gateway(section: &Section<'_, '_>, flow: &Flow) {
    if flow.receiver.is_none() {
        section.wrong(
            "gateway",
            "has the windows by `receiver`, and none is given",
        );
    } else if flow.minimum.is_some() {
        section.wrong("minimum", "a gateway has no floor; take one of both away");
    }
}

fn read_connects(section: &Section<'_, '_>, flow: &Flow) -> bool {
    let chosen = section.choice("connects", &[("sender", false), ("receiver", true)]);
    if chosen.is_some() && (flow.is_by_programs || matches!(flow.traffic, Traffic::Web { .. })) {
        section.wrong(
            "connects",
            "pages and real programs are always fetched: by the receiver",
        );
    }
    chosen.unwrap_or(false)
}

fn read_class(section: &Section<'_, '_>) -> Class {
    let choices = [
        ("be", Class::BestEffort),
        ("lbe", Class::LessThanBestEffort),
    ];
    section.choice("class", &choices).unwrap_or_default()
}

/// Reads one interval or several.
fn read_during(section: &Section<'_, '_>, duration: Nanos) -> Vec<Interval> {
    let Some(value) = section.value("during") else {
        return Vec::new();
    };
    let items = value.get_ref().as_array();
    let several = items.filter(|items| items.iter().all(|item| item.get_ref().is_array()));
    let read = match several {
        Some(items) => items
            .iter()
            .map(|item| read_interval(item.get_ref(), duration))
            .collect(),
        None => read_interval(value.get_ref(), duration).map(|interval| vec![interval]),
    };
    let during = match read {
        Ok(during) => during,
        Err(message) => {
            section.wrong("during", message);
            return Vec::new();
        }
    };
    if during.windows(2).any(|pair| pair[0].1 > pair[1].0) {
        section.wrong(
            "during",
            "the intervals must follow each other without overlap",
        );
    }
    let interval = |(from, to)| Interval {
        name: "during".into(),
        from,
        to,
    };
    during.into_iter().map(interval).collect()
}

/// Reads a policy and answers it as it is written shortest.
fn read_policy(
    section: &Section<'_, '_>,
    key: &'static str,
    read: impl Fn(&str) -> Result<Policy, ebb_algorithms::PolicyError>,
) -> Option<String> {
    let text: String = section.get(key)?;
    match read(&text) {
        Ok(policy) => Some(policy.to_string()),
        Err(error) => {
            section.wrong(key, error.to_string());
            None
        }
    }
}

fn check_times(section: &Section<'_, '_>, last: &Flow, duration: Nanos) {
    if last.start >= duration {
        let message = format!("starts at {}; the run ends at {duration}", last.start);
        section.wrong(
            if section.has("start") {
                "start"
            } else {
                "stagger"
            },
            message,
        );
    }
    if last.stop.is_some_and(|stop| stop <= last.start) {
        section.wrong("stop", format!("not after the start, {}", last.start));
    }
}
