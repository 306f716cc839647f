// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Scenarios for tests and benchmarks, built in code.
#![allow(dead_code)]

use ebb_link::{Class, LinkSpec, Nanos, QueueLimit, Rate};
use ebb_scenario::{
    Buffer, Flow, Interval, Link, LinkId, Node, NodeId, NodeKind, Scenario, TcpOptions, Traffic,
};

/// A scenario that is still being built: nodes and links are added as flows need them.
pub struct Builder {
    pub scenario: Scenario,
}

impl Builder {
    pub fn new(duration: Nanos) -> Self {
        Self {
            scenario: Scenario {
                name: "test".to_owned(),
                title: String::new(),
                duration,
                seed: 1,
                runs: 1,
                bin: duration,
                has_flow_series: true,
                intervals: vec![Interval {
                    name: "all".to_owned(),
                    from: Nanos::ZERO,
                    to: duration,
                }],
                nodes: Vec::new(),
                links: Vec::new(),
                flows: Vec::new(),
                sharing: Vec::new(),
            },
        }
    }

    pub fn node(&mut self, kind: NodeKind) -> NodeId {
        let nodes = &mut self.scenario.nodes;
        nodes.push(Node {
            name: format!("node-{}", nodes.len()),
            kind,
        });
        NodeId(nodes.len() as u32 - 1)
    }

    pub fn link(&mut self, from: NodeId, to: NodeId, spec: LinkSpec) -> LinkId {
        let links = &mut self.scenario.links;
        links.push(Link {
            name: format!("link-{}", links.len()),
            from,
            to,
            spec,
            is_reported: false,
        });
        LinkId(links.len() as u32 - 1)
    }

    pub fn report(&mut self, link: LinkId) {
        self.scenario.links[link.index()].is_reported = true;
    }

    /// A flow over these links and back over those.
    pub fn flow(&mut self, traffic: Traffic, path: &[LinkId], back: &[LinkId]) -> &mut Flow {
        let links = &self.scenario.links;
        let name = format!("flow-{}", self.scenario.flows.len());
        let flow = Flow {
            name: name.clone(),
            group: name,
            from: links[path[0].index()].from,
            to: links[path[path.len() - 1].index()].to,
            path: path.to_vec(),
            return_path: back.to_vec(),
            start: Nanos::ZERO,
            start_spread: Nanos::ZERO,
            stop: None,
            traffic,
            class: Class::BestEffort,
            during: Vec::new(),
            sender: "reno".to_owned(),
            receiver: None,
            tcp: TcpOptions::LINUX,
            minimum: None,
            receiver_connects: false,
            is_by_programs: false,
            is_by_gateway: false,
        };
        self.scenario.flows.push(flow);
        self.scenario.flows.last_mut().expect("one was pushed")
    }
}

/// Hosts in pairs on both sides of two routers with one bottleneck between them.
pub struct Dumbbell {
    pub rate: Rate,
    /// Round-trip time without waiting and without transmission.
    pub rtt: Nanos,
    pub queue: QueueLimit,
    pub access: Rate,
    /// One way, of each access link.
    pub access_delay: Nanos,
    pub duration: Nanos,
    pub flows: Vec<DumbbellFlow>,
    /// Both buffers of each connection.
    pub buffer_bytes: u64,
}

/// One of its flows, with hosts of its own.
#[derive(Clone)]
pub struct DumbbellFlow {
    pub sender: String,
    pub start: Nanos,
    pub stop: Option<Nanos>,
    pub traffic: Traffic,
}

impl DumbbellFlow {
    pub fn greedy(sender: &str) -> Self {
        Self {
            sender: sender.to_owned(),
            start: Nanos::ZERO,
            stop: None,
            traffic: Traffic::Greedy,
        }
    }
}

impl Dumbbell {
    /// Link 0 is the bottleneck, link 1 its way back.
    pub fn scenario(&self) -> Scenario {
        let mut builder = Builder::new(self.duration);
        let left = builder.node(NodeKind::Router);
        let right = builder.node(NodeKind::Router);
        let core_delay = Nanos(self.rtt.0 / 2 - 2 * self.access_delay.0);
        let core = LinkSpec::drop_tail(self.rate, core_delay, self.queue);
        let there = builder.link(left, right, core.clone());
        let back = builder.link(right, left, core);
        builder.report(there);
        let plenty = QueueLimit::Packets(1_000_000);
        let access = LinkSpec::drop_tail(self.access, self.access_delay, plenty);
        for spec in &self.flows {
            let from = builder.node(NodeKind::Host);
            let to = builder.node(NodeKind::Host);
            let up = builder.link(from, left, access.clone());
            let down = builder.link(right, to, access.clone());
            let up_back = builder.link(to, right, access.clone());
            let down_back = builder.link(left, from, access.clone());
            let path = [up, there, down];
            let flow = builder.flow(spec.traffic.clone(), &path, &[up_back, back, down_back]);
            flow.sender = spec.sender.clone();
            flow.start = spec.start;
            flow.stop = spec.stop;
            flow.tcp.receive_buffer = Buffer::Fixed(self.buffer_bytes);
            flow.tcp.send_buffer = Buffer::Fixed(self.buffer_bytes);
        }
        builder.scenario
    }
}
