// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The way of a flow: fewest links first, then least delay, then the order of the file.
use std::cmp::Reverse;
use std::collections::BinaryHeap;

use ebb_link::Nanos;

use super::network::Network;
use crate::{LinkId, NodeId, NodeKind};

/// Ways from one node to all others.
pub(super) struct Tree {
    from: NodeId,
    /// The last link of the way to each node.
    last: Vec<Option<LinkId>>,
}

impl Tree {
    /// Hosts end ways and do not pass packets on.
    pub fn new(network: &Network, from: NodeId) -> Self {
        let count = network.nodes.len();
        let mut leaving: Vec<Vec<LinkId>> = vec![Vec::new(); count];
        for (place, link) in network.links.iter().enumerate() {
            leaving[link.from.index()].push(LinkId(place as u32));
        }
        let mut best: Vec<Option<(u32, Nanos)>> = vec![None; count];
        let mut last = vec![None; count];
        let mut heap = BinaryHeap::from([Reverse(((0, Nanos::ZERO), from))]);
        best[from.index()] = Some((0, Nanos::ZERO));
        while let Some(Reverse((cost, node))) = heap.pop() {
            let passes = node == from || network.nodes[node.index()].kind == NodeKind::Router;
            if best[node.index()] != Some(cost) || !passes {
                continue;
            }
            for &link in &leaving[node.index()] {
                let to = network.links[link.index()].to;
                let delay = network.links[link.index()].spec.delay;
                let cost = (cost.0 + 1, cost.1 + delay);
                if best[to.index()].is_none_or(|best| cost < best) {
                    best[to.index()] = Some(cost);
                    last[to.index()] = Some(link);
                    heap.push(Reverse((cost, to)));
                }
            }
        }
        Self { from, last }
    }

    /// The links to a node; none if there is no way, or none is needed.
    pub fn way(&self, network: &Network, to: NodeId) -> Option<Vec<LinkId>> {
        let mut way = Vec::new();
        let mut node = to;
        while node != self.from {
            let link = self.last[node.index()]?;
            way.push(link);
            node = network.links[link.index()].from;
        }
        way.reverse();
        (!way.is_empty()).then_some(way)
    }
}
