// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Nodes and links: a dumbbell by [bottleneck] and [access], or any network by [[link]].
use std::collections::HashMap;

use ebb_link::{Capacity, LinkSpec, Nanos, QueueLimit, QueueSpec};

use super::links::{self, Base};
use super::section::{Section, unknown_name};
use super::{NAMES, is_name};
use crate::{Link, LinkId, Node, NodeId, NodeKind};

/// Nodes and links so far; flows of a dumbbell add links of their own.
#[derive(Default)]
pub(super) struct Network {
    pub nodes: Vec<Node>,
    pub links: Vec<Link>,
    places: HashMap<String, NodeId>,
    pub dumbbell: Option<Dumbbell>,
}

/// Two nodes with the bottleneck between them.
pub(super) struct Dumbbell {
    /// Where data comes from unless a flow says otherwise.
    pub left: NodeId,
    /// Where it goes to.
    pub right: NodeId,
    /// From left to right.
    pub forward: LinkId,
    /// From right to left.
    pub back: LinkId,
    /// What flows have at both ends unless they say otherwise.
    pub access: LinkSpec,
}

pub(super) const LEFT: &str = "left";
pub(super) const RIGHT: &str = "right";

pub(super) fn read(root: &Section<'_, '_>) -> Network {
    let bottleneck = root.section("bottleneck");
    let links = root.sections("link");
    let mut network = Network::default();
    if !root.has("bottleneck") {
        read_links(&mut network, root, links);
        return network;
    }
    if let Some(link) = links.first() {
        link.wrong_here("a scenario has a [bottleneck] or [[link]]s, not both");
    }
    for key in ["hosts", "routers"] {
        if root.has(key) {
            let message = "belongs to [[link]]s; a [bottleneck] has `left` and `right`";
            root.wrong(key, message);
        }
    }
    read_dumbbell(&mut network, root, bottleneck);
    network
}

impl Network {
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.places.get(name).copied()
    }

    pub fn host_names(&self) -> impl Iterator<Item = &str> {
        let hosts = self.nodes.iter().filter(|node| node.kind == NodeKind::Host);
        hosts.map(|node| node.name.as_str())
    }

    /// Adds a node; the caller has made sure that its name is new.
    pub fn add_node(&mut self, name: String, kind: NodeKind) -> NodeId {
        let id = NodeId(self.nodes.len() as u32);
        self.places.insert(name.clone(), id);
        self.nodes.push(Node { name, kind });
        id
    }

    pub fn add_link(&mut self, name: String, ends: (NodeId, NodeId), spec: LinkSpec) -> LinkId {
        let id = LinkId(self.links.len() as u32);
        self.links.push(Link {
            name,
            from: ends.0,
            to: ends.1,
            is_reported: spec.capacity != Capacity::Unlimited,
            spec,
        });
        id
    }

    /// The time that a packet spends on these links at the least, queues and sending
    /// left out.
    pub fn delay(&self, links: &[LinkId]) -> Nanos {
        let delays = links.iter().map(|link| self.links[link.index()].spec.delay);
        delays.fold(Nanos::ZERO, |sum, delay| sum + delay)
    }
}

/// Reads [access] and [bottleneck]; none: what is wrong with it has been said.
fn read_dumbbell(
    network: &mut Network,
    root: &Section<'_, '_>,
    bottleneck: Option<Section<'_, '_>>,
) {
    let mut access = LinkSpec::default();
    if let Some(section) = root.section("access") {
        access = read_access(&section, &access);
        section.finish();
    }
    let (forward, back) = match bottleneck {
        Some(section) => read_bottleneck(&section, &access),
        None => Default::default(),
    };
    let left = network.add_node(LEFT.into(), NodeKind::Host);
    let right = network.add_node(RIGHT.into(), NodeKind::Host);
    let forward = network.add_link("bottleneck".into(), (left, right), forward);
    let back = network.add_link("bottleneck.back".into(), (right, left), back);
    network.dumbbell = Some(Dumbbell {
        left,
        right,
        forward,
        back,
        access,
    });
}

fn read_bottleneck(bottleneck: &Section<'_, '_>, access: &LinkSpec) -> (LinkSpec, LinkSpec) {
    let access_delays = Nanos(access.delay.0.saturating_mul(4));
    let delay = read_delay(bottleneck, access_delays);
    let round_trip = Nanos(delay.0.saturating_mul(2)) + access_delays;
    let base = LinkSpec {
        delay,
        ..LinkSpec::default()
    };
    let base = Base {
        spec: &base,
        needs_queue: true,
        round_trip: Some(round_trip),
    };
    let forward = links::read(bottleneck, &base);
    if forward.capacity == Capacity::Unlimited
        && !bottleneck.has("rate")
        && !bottleneck.has("trace")
        && !bottleneck.has("rates")
    {
        bottleneck.wrong_here("`rate` is missing; write rate = \"10mbit\", or trace = \"FILE\"");
    }
    let back = match bottleneck.section("back") {
        Some(section) => read_back(section, &forward, Some(round_trip)),
        None => forward.clone(),
    };
    bottleneck.finish();
    (forward, back)
}

/// The delay of one direction, from `delay` or from the `rtt` of the whole path.
fn read_delay(bottleneck: &Section<'_, '_>, access_delays: Nanos) -> Nanos {
    let delay = bottleneck.get::<Nanos>("delay");
    let rtt = bottleneck.get::<Nanos>("rtt");
    match (delay, rtt) {
        (Some(_), Some(_)) => {
            bottleneck.wrong("rtt", "follows from the delay; give one of the two");
            Nanos::ZERO
        }
        (Some(delay), None) => delay,
        (None, Some(rtt)) if rtt < access_delays => {
            let message = format!("less than the {access_delays} that [access] takes both ways");
            bottleneck.wrong("rtt", message);
            Nanos::ZERO
        }
        (None, Some(rtt)) => Nanos(rtt.since(access_delays).0 / 2),
        (None, None) => Nanos::ZERO,
    }
}

/// The way back is as the way forth where the section does not say otherwise.
fn read_back(section: Section<'_, '_>, forward: &LinkSpec, round_trip: Option<Nanos>) -> LinkSpec {
    let mut spec = forward.clone();
    spec.delay = section.get_or("delay", spec.delay);
    let base = Base {
        spec: &spec,
        needs_queue: false,
        round_trip,
    };
    let spec = links::read(&section, &base);
    section.finish();
    spec
}

/// The keys of [access] and of a flow's `access`.
pub(super) fn read_access(section: &Section<'_, '_>, base: &LinkSpec) -> LinkSpec {
    let spec = LinkSpec {
        delay: section.get_or("delay", base.delay),
        queue: QueueSpec::DropTail(QueueLimit::Packets(1_000)),
        ..base.clone()
    };
    let base = Base {
        spec: &spec,
        needs_queue: false,
        round_trip: None,
    };
    links::read(section, &base)
}

fn read_links(network: &mut Network, root: &Section<'_, '_>, links: Vec<Section<'_, '_>>) {
    if let Some(section) = root.section("access") {
        section.wrong_here("belongs to a [bottleneck]; here access links are [[link]]s");
    }
    for (key, kind) in [("hosts", NodeKind::Host), ("routers", NodeKind::Router)] {
        for name in root.get_or(key, Vec::<String>::new()) {
            if !is_name(&name) {
                root.wrong(key, format!("`{name}` is no name; {NAMES}"));
            } else if network.node(&name).is_some() {
                root.wrong(key, format!("there are two nodes `{name}`"));
            } else {
                network.add_node(name, kind);
            }
        }
    }
    if links.is_empty() {
        root.source.problem(
            0..0,
            "there is no link; write a [bottleneck] with rate, delay and queue, or [[link]]s",
        );
    }
    for link in links {
        read_link(network, link);
    }
}

fn read_link(network: &mut Network, section: Section<'_, '_>) {
    let ends = (
        read_end(network, &section, "from"),
        read_end(network, &section, "to"),
    );
    let base = LinkSpec {
        delay: section.get_or("delay", Nanos::ZERO),
        ..LinkSpec::default()
    };
    let base = Base {
        spec: &base,
        needs_queue: true,
        round_trip: None,
    };
    let forward = links::read(&section, &base);
    let back = read_way_back(&section, &forward);
    let is_reported = section.get::<bool>("report");
    let name = section.get::<String>("name");
    if let (Some(from), Some(to)) = ends {
        let names = link_names(network, name, from, to);
        if network.links.iter().any(|link| link.name == names.0) {
            let message = format!("there are two links `{}`; give one a name", names.0);
            section.wrong_here(message);
        }
        let there = network.add_link(names.0, (from, to), forward);
        let back = back.map(|back| network.add_link(names.1, (to, from), back));
        for link in [Some(there), back].into_iter().flatten() {
            let link = &mut network.links[link.index()];
            link.is_reported = is_reported.unwrap_or(link.is_reported);
        }
    }
    section.finish();
}

/// None if there is none.
fn read_way_back(section: &Section<'_, '_>, forward: &LinkSpec) -> Option<LinkSpec> {
    let is_duplex = section.get_or("duplex", true);
    match section.section("back") {
        Some(back) if is_duplex => Some(read_back(back, forward, None)),
        Some(back) => {
            back.wrong_here("a link with duplex = false has no way back");
            None
        }
        None => is_duplex.then(|| forward.clone()),
    }
}

fn link_names(
    network: &Network,
    name: Option<String>,
    from: NodeId,
    to: NodeId,
) -> (String, String) {
    let name_of = |node: NodeId| &network.nodes[node.index()].name;
    match name {
        Some(name) => (name.clone(), format!("{name}.back")),
        None => (
            format!("{}-{}", name_of(from), name_of(to)),
            format!("{}-{}", name_of(to), name_of(from)),
        ),
    }
}

fn read_end(network: &Network, section: &Section<'_, '_>, key: &'static str) -> Option<NodeId> {
    let name: String = section.required(key, "\"NODE\"")?;
    let node = network.node(&name);
    if node.is_none() {
        let names = network.nodes.iter().map(|node| node.name.as_str());
        let mut message = unknown_name(&name, names);
        if network.nodes.is_empty() {
            message += "; name all nodes at the top: hosts = [\"a\", …], routers = [\"r\", …]";
        }
        section.wrong(key, message);
    }
    node
}
