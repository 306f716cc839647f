// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::{LinkSpec, Nanos};
use serde::{Deserialize, Serialize};

use crate::{Flow, ScenarioError, SharingGroup};

/// A network with flows on it, for a while: what both engines run.
///
/// Everything is spelt out: shorthands, counts, defaults and routes are resolved.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Scenario {
    /// Short name: letters, digits, `-`, `_`, `.`, `/`.
    pub name: String,
    /// One line on what happens in it, or nothing.
    pub title: String,
    /// Length of a run.
    pub duration: Nanos,
    /// Seed of the first run; each further run has the next number.
    pub seed: u64,
    /// How often it is run.
    pub runs: u32,
    /// Length of one bin of the time series; each run has `duration / bin`, rounded up.
    pub bin: Nanos,
    /// Whether the result has time series of each flow, and not of links only.
    pub has_flow_series: bool,
    /// Parts of a run that are reported. There is at least one.
    pub intervals: Vec<Interval>,
    /// Hosts and routers.
    pub nodes: Vec<Node>,
    /// One-way links; a duplex link is two.
    pub links: Vec<Link>,
    /// Flows, each of them one connection or one application.
    pub flows: Vec<Flow>,
    /// Groups of flows that share what a host receives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sharing: Vec<SharingGroup>,
}

impl Scenario {
    /// The seed of a run, counted from 0.
    pub fn seed_of_run(&self, run: u32) -> u64 {
        self.seed.wrapping_add(u64::from(run))
    }

    /// Place of the interval with this name; of the first if none is named.
    ///
    /// *Errors:* [`ScenarioError::NoInterval`].
    pub fn interval_place(&self, name: Option<&str>) -> Result<usize, ScenarioError> {
        let Some(name) = name else {
            return Ok(0);
        };
        let names = || self.intervals.iter().map(|interval| interval.name.as_str());
        let no_interval = || ScenarioError::NoInterval {
            name: name.to_owned(),
            hint: match ebb_algorithms::nearest(name, names()) {
                Some(nearest) => format!("; did you mean `{nearest}`?"),
                None => format!("; there are: {}", names().collect::<Vec<_>>().join(", ")),
            },
        };
        names()
            .position(|known| known == name)
            .ok_or_else(no_interval)
    }

    /// How many bins the time series of a run have.
    pub fn bins(&self) -> usize {
        usize::try_from(self.duration.0.div_ceil(self.bin.0.max(1))).unwrap_or(usize::MAX)
    }
}

/// A part of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Interval {
    /// What it is called in the result.
    pub name: String,
    /// Its first instant.
    pub from: Nanos,
    /// The first instant after it; later than `from`.
    pub to: Nanos,
}

impl Interval {
    /// Its length.
    pub fn length(&self) -> Nanos {
        self.to.since(self.from)
    }

    /// Whether this instant belongs to it.
    pub fn contains(&self, time: Nanos) -> bool {
        self.from <= time && time < self.to
    }
}

/// Place of a node in [`Scenario::nodes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct NodeId(pub u32);

/// Place of a link in [`Scenario::links`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct LinkId(pub u32);

impl NodeId {
    /// Its place as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl LinkId {
    /// Its place as an index.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// What a node does.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Flows may begin and end here.
    Host,
    /// Only passes packets on.
    Router,
}

/// A host or a router.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Its name, its own among the nodes.
    pub name: String,
    /// What it does.
    pub kind: NodeKind,
}

/// A one-way link between two nodes, its queue at the sending end.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// Its name, its own among the links.
    pub name: String,
    /// Where packets enter it.
    pub from: NodeId,
    /// Where they leave it.
    pub to: NodeId,
    /// Rate, delay, queue, loss.
    pub spec: LinkSpec,
    /// Whether the result has figures and time series of it.
    pub is_reported: bool,
}
