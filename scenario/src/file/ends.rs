// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From where to where a flow goes, and over which links.
use std::collections::HashMap;

use ebb_link::{LinkSpec, Nanos};

use super::network::{self, Dumbbell, LEFT, Network, RIGHT};
use super::routes::Tree;
use super::section::{Section, unknown_name};
use crate::{LinkId, NodeId, NodeKind};

/// Ways from nodes that were asked for before.
#[derive(Default)]
pub(super) struct Ways(HashMap<NodeId, Tree>);

/// What the flows of an entry have in common about their way.
pub(super) enum Ends {
    /// Over the bottleneck, each with access links of its own unless these do nothing.
    Dumbbell {
        is_reverse: bool,
        access: Box<LinkSpec>,
    },
    /// Over whatever links there are.
    Network(Connection),
}

/// Both ends and the ways between them.
#[derive(Clone)]
pub(super) struct Connection {
    pub from: NodeId,
    pub to: NodeId,
    pub path: Vec<LinkId>,
    pub return_path: Vec<LinkId>,
}

impl Ends {
    /// Reads `from`, `to`, `via`, `access`, `rtt`.
    pub fn read(section: &Section<'_, '_>, network: &Network, ways: &mut Ways) -> Option<Self> {
        match &network.dumbbell {
            Some(dumbbell) => read_dumbbell(section, network, dumbbell),
            None => read_network(section, network, ways).map(Self::Network),
        }
    }

    /// The way of one flow; adds its access links.
    pub fn connect(&self, network: &mut Network, flow: &str) -> Connection {
        match (self, &network.dumbbell) {
            (Self::Network(connection), _) => connection.clone(),
            (Self::Dumbbell { is_reverse, access }, Some(dumbbell)) => {
                let straight = Connection {
                    from: dumbbell.left,
                    to: dumbbell.right,
                    path: vec![dumbbell.forward],
                    return_path: vec![dumbbell.back],
                };
                let connection = match **access == LinkSpec::default() {
                    true => straight,
                    false => with_access(network, flow, access, straight),
                };
                if *is_reverse {
                    connection.turned()
                } else {
                    connection
                }
            }
            (Self::Dumbbell { .. }, None) => unreachable!("read from a network with a dumbbell"),
        }
    }
}

impl Connection {
    fn turned(self) -> Self {
        Self {
            from: self.to,
            to: self.from,
            path: self.return_path,
            return_path: self.path,
        }
    }
}

fn read_is_reverse(section: &Section<'_, '_>) -> bool {
    let side = |key| section.choice(key, &[(LEFT, false), (RIGHT, true)]);
    match (side("from"), side("to")) {
        (Some(from), Some(to)) if from == to => {
            section.wrong("to", "a flow goes from one side to the other");
            false
        }
        (Some(from), _) => from,
        (None, Some(to)) => !to,
        (None, None) => false,
    }
}

fn read_dumbbell(
    section: &Section<'_, '_>,
    network: &Network,
    dumbbell: &Dumbbell,
) -> Option<Ends> {
    let is_reverse = read_is_reverse(section);
    if section.has("via") {
        section.wrong(
            "via",
            "needs [[link]]s; over a [bottleneck] there is one way",
        );
    }
    let mut access = match section.section("access") {
        Some(own) => {
            let access = network::read_access(&own, &dumbbell.access);
            own.finish();
            access
        }
        None => dumbbell.access.clone(),
    };
    if let Some(rtt) = section.get::<Nanos>("rtt") {
        let least = network.delay(&[dumbbell.forward, dumbbell.back]);
        if rtt < least {
            let message = format!("less than the {least} that the bottleneck takes both ways");
            section.wrong("rtt", message);
        }
        // Packets pass four access links on the way there and back.
        access.delay = Nanos(rtt.since(least).0 / 4);
    }
    let access = Box::new(access);
    Some(Ends::Dumbbell { is_reverse, access })
}

/// A host on each side, with a link to the bottleneck and one back.
fn with_access(
    network: &mut Network,
    flow: &str,
    access: &LinkSpec,
    straight: Connection,
) -> Connection {
    let Connection {
        from,
        to,
        mut path,
        mut return_path,
    } = straight;
    let mut add_host = |side: &str, node: NodeId| {
        let name = format!("{flow}.{side}");
        let host = network.add_node(name.clone(), NodeKind::Host);
        let mut add = |name: String, ends| {
            let link = network.add_link(name, ends, access.clone());
            network.links[link.index()].is_reported = false;
            link
        };
        let out = add(format!("{name}.out"), (host, node));
        let back = add(format!("{name}.in"), (node, host));
        (host, out, back)
    };
    let (left, left_out, left_in) = add_host(LEFT, from);
    let (right, right_out, right_in) = add_host(RIGHT, to);
    path.insert(0, left_out);
    path.push(right_in);
    return_path.insert(0, right_out);
    return_path.push(left_in);
    Connection {
        from: left,
        to: right,
        path,
        return_path,
    }
}

fn read_network(
    section: &Section<'_, '_>,
    network: &Network,
    ways: &mut Ways,
) -> Option<Connection> {
    for key in ["access", "rtt"] {
        if section.has(key) {
            section.wrong(key, "needs a [bottleneck]; here write another [[link]]");
        }
    }
    let from = read_host(section, network, "from");
    let to = read_host(section, network, "to");
    let via = read_via(section, network)?;
    let (from, to) = (from?, to?);
    if from == to {
        section.wrong("to", "a flow goes from one host to another");
        return None;
    }
    let stops: Vec<NodeId> = [from].into_iter().chain(via).chain([to]).collect();
    let path = way_by(network, ways, &stops);
    let back: Vec<NodeId> = stops.iter().rev().copied().collect();
    let return_path = way_by(network, ways, &back);
    match (path, return_path) {
        (Ok(path), Ok(return_path)) => Some(Connection {
            from,
            to,
            path,
            return_path,
        }),
        (Err((a, b)), _) | (_, Err((a, b))) => {
            let name = |node: NodeId| &network.nodes[node.index()].name;
            let message = format!("there is no way from `{}` to `{}`", name(a), name(b));
            section.wrong_here(message);
            None
        }
    }
}

/// The way through all stops, or the two between which there is none.
fn way_by(
    network: &Network,
    ways: &mut Ways,
    stops: &[NodeId],
) -> Result<Vec<LinkId>, (NodeId, NodeId)> {
    let mut whole = Vec::new();
    for pair in stops.windows(2) {
        let (from, to) = (pair[0], pair[1]);
        let tree = ways
            .0
            .entry(from)
            .or_insert_with(|| Tree::new(network, from));
        whole.extend(tree.way(network, to).ok_or((from, to))?);
    }
    Ok(whole)
}

fn read_host(section: &Section<'_, '_>, network: &Network, key: &'static str) -> Option<NodeId> {
    let name: String = section.required(key, "\"HOST\"")?;
    match network.node(&name) {
        Some(node) if network.nodes[node.index()].kind == NodeKind::Host => Some(node),
        Some(_) => {
            section.wrong(
                key,
                format!("`{name}` is a router; flows begin and end at hosts"),
            );
            None
        }
        None => {
            section.wrong(key, unknown_name(&name, network.host_names()));
            None
        }
    }
}

fn read_via(section: &Section<'_, '_>, network: &Network) -> Option<Vec<NodeId>> {
    let names = section.get_or("via", Vec::<String>::new());
    let mut stops = Vec::new();
    for name in names {
        match network.node(&name) {
            Some(node) if network.nodes[node.index()].kind == NodeKind::Router => stops.push(node),
            Some(_) => {
                section.wrong(
                    "via",
                    format!("`{name}` is a host; ways lead through routers"),
                );
                return None;
            }
            None => {
                let routers = network
                    .nodes
                    .iter()
                    .filter(|node| node.kind == NodeKind::Router);
                let names = routers.map(|node| node.name.as_str());
                section.wrong("via", unknown_name(&name, names));
                return None;
            }
        }
    }
    Some(stops)
}
