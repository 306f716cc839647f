// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a scenario to its outcome.

use std::collections::HashMap;

use ebb_algorithms::{Floor, ReceiverBundle};
use ebb_link::{Hop, Nanos, Packets};
use ebb_scenario::{Flow, LinkId, NodeId, Outcome, Scenario, Seeds};

use crate::application::Application;
use crate::endpoints::{Configs, Endpoints, FlowTcp};
use crate::flows::FlowState;
use crate::meter::Clock;
use crate::network::{ARRIVED, Network, Port};
use crate::observer::Observer;
use crate::outcome::Readings;
use crate::schedule::{Entity, MAX_PLACES, Schedule};
use crate::sharing::Groups;
use crate::simulation::Simulation;
use crate::{Error, applications};

/// How a scenario is run.
#[derive(Default)]
pub struct Options<'a> {
    /// Number of the run, from 0: each has its own seed.
    pub run: u32,
    /// Sees every packet.
    pub observer: Option<&'a mut dyn Observer>,
    /// Is told of the time that was reached, at each reading of the meters.
    pub progress: Option<&'a mut dyn FnMut(Nanos)>,
    /// Whether to give the run up; asked a thousand times in a run.
    pub is_stopped: Option<&'a dyn Fn() -> bool>,
}

/// What a run cost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Events that were handled: packets that reached the end of a link, and timers.
    pub events: u64,
}

/// Runs a scenario once.
///
/// *Errors:* [`Error`] if the scenario contradicts itself, makes no progress or is given up.
pub fn run(scenario: &Scenario, options: Options<'_>) -> Result<Outcome, Error> {
    run_counted(scenario, options).map(|(outcome, _)| outcome)
}

/// Runs a scenario once and tells what it cost.
///
/// *Errors:* as [`run`].
pub fn run_counted(scenario: &Scenario, options: Options<'_>) -> Result<(Outcome, Cost), Error> {
    let mut applications = Vec::with_capacity(scenario.flows.len());
    for flow in &scenario.flows {
        applications.push(applications::application(flow)?);
    }
    run_applications(scenario, applications, options)
}

/// Runs a scenario whose flows are these applications, whatever traffic it names.
///
/// *Shape:* one application for each flow, in their order.
///
/// *Errors:* as [`run`].
pub fn run_applications(
    scenario: &Scenario,
    applications: Vec<Box<dyn Application>>,
    options: Options<'_>,
) -> Result<(Outcome, Cost), Error> {
    let Options {
        run,
        observer,
        mut progress,
        is_stopped,
    } = options;
    check(scenario, applications.len())?;
    let mut network = build(scenario, Seeds::new(scenario.seed_of_run(run)))?;
    network.observed = observer.is_some().then(Vec::new);
    let mut simulation = Simulation {
        network,
        applications,
        observer,
    };
    let mut readings = Readings::new(scenario);
    let mut groups = Groups::new(scenario, &mut simulation.network)?;
    let mut read = |network: &mut Network| {
        readings.read(network);
        if let Some(progress) = &mut progress {
            progress(network.now);
        }
    };
    let mut pass = |it: &mut Simulation<'_>, end| pass(it, end, scenario, &mut read, is_stopped);
    while let Some(at) = groups.next_period(scenario.duration) {
        pass(&mut simulation, at)?;
        groups.control(&mut simulation.network)?;
    }
    pass(&mut simulation, scenario.duration)?;
    simulation.network.count_all_rtts();
    let cost = Cost {
        events: simulation.network.events,
    };
    Ok((readings.outcome(scenario, run, &simulation), cost))
}

/// How often a run asks whether it is to go on.
const STEPS: u64 = 1_000;

/// As [`Simulation::run_until`], which is the same in one piece or in many.
fn pass(
    simulation: &mut Simulation<'_>,
    end: Nanos,
    scenario: &Scenario,
    mut read: impl FnMut(&mut Network),
    is_stopped: Option<&dyn Fn() -> bool>,
) -> Result<(), Error> {
    let Some(is_stopped) = is_stopped else {
        return simulation.run_until(end, read);
    };
    let step = Nanos(scenario.duration.0.div_ceil(STEPS).max(1));
    loop {
        let at = simulation.network.now;
        if is_stopped() {
            return Err(Error::Stopped { at });
        }
        let next = end.min(at + step);
        simulation.run_until(next, &mut read)?;
        if next == end {
            return Ok(());
        }
    }
}

/// So many readings of the meters are more than anybody looks at.
const MAX_BINS: u64 = 10_000_000;

fn check(scenario: &Scenario, applications: usize) -> Result<(), Error> {
    let bins = scenario.duration.0.checked_div(scenario.bin.0);
    if bins.is_none_or(|bins| bins > MAX_BINS) {
        return Err(Error::Bins {
            bin: scenario.bin,
            duration: scenario.duration,
            limit: MAX_BINS,
        });
    }
    let limit = MAX_PLACES as usize;
    for (what, count) in [
        ("links", scenario.links.len()),
        ("flows", scenario.flows.len()),
    ] {
        if count >= limit {
            return Err(Error::TooMany { what, count, limit });
        }
    }
    if applications != scenario.flows.len() {
        return Err(Error::Applications {
            flows: scenario.flows.len(),
            applications,
        });
    }
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.is_by_gateway) {
        return Err(Error::Gateway {
            flow: flow.name.clone(),
        });
    }
    Ok(())
}

fn build(scenario: &Scenario, seeds: Seeds) -> Result<Network, Error> {
    let mut schedule = Schedule::default();
    let clock = Clock::new(scenario);
    if let Some(at) = clock.next_reading() {
        schedule.set(at, Entity::Sampler);
    }
    let mut routes = Routes::default();
    let mut configs = Configs::default();
    let mut shared = Shared::default();
    let mut flows = Vec::with_capacity(scenario.flows.len());
    for (place, flow) in scenario.flows.iter().enumerate() {
        let there = routes.add(scenario, &flow.name, &flow.path, flow.from, flow.to)?;
        let back = routes.add(scenario, &flow.name, &flow.return_path, flow.to, flow.from)?;
        let intervals = scenario.intervals.len();
        let tcp = tcp_of(flow, seeds, &mut configs, &mut shared)?;
        let start = start_of(flow, seeds);
        let mut state = FlowState::new(flow.clone(), [there, back], start, tcp, intervals);
        state.arm(place as u32, &mut schedule);
        flows.push(state);
    }
    Ok(Network {
        now: Nanos::ZERO,
        schedule,
        ports: ports(scenario, seeds)?,
        hops: routes.hops,
        flows,
        endpoints: Endpoints::default(),
        packets: Packets::default(),
        lost: Vec::new(),
        clock,
        seeds,
        observed: None,
        events: 0,
        failure: None,
    })
}

fn tcp_of(
    flow: &Flow,
    seeds: Seeds,
    configs: &mut Configs,
    shared: &mut Shared,
) -> Result<Option<FlowTcp>, Error> {
    if !flow.traffic.is_tcp() {
        return Ok(None);
    }
    let mut tcp = FlowTcp::new(flow, seeds.stream("tcp", &flow.name), configs)?;
    shared.put_in(&mut tcp, flow);
    Ok(Some(tcp))
}

fn start_of(flow: &Flow, seeds: Seeds) -> Nanos {
    let delay = seeds.stream("start", &flow.name).up_to(flow.start_spread.0);
    flow.start + Nanos(delay)
}

fn ports(scenario: &Scenario, seeds: Seeds) -> Result<Vec<Port>, Error> {
    let mut ports = Vec::with_capacity(scenario.links.len());
    for link in &scenario.links {
        let seed = seeds.number("link", &link.name);
        let made = Hop::new(&link.spec, seed).map_err(|source| Error::Link {
            link: link.name.clone(),
            source,
        })?;
        let intervals = link.is_reported.then_some(scenario.intervals.len());
        ports.push(Port::new(made, &link.spec.queue, intervals));
    }
    Ok(ports)
}

/// What connections of a run have in common beside their configuration.
#[derive(Default)]
struct Shared {
    /// Connections of one policy at one host are one command's.
    bundles: HashMap<(NodeId, String), Option<ReceiverBundle>>,
    /// Those of one entry have a floor together.
    floors: HashMap<String, Floor>,
}

impl Shared {
    fn put_in(&mut self, tcp: &mut FlowTcp, flow: &Flow) {
        if let Some(policy) = tcp.receiver_policy().cloned() {
            let bundle = self.bundles.entry((flow.to, policy.to_string()));
            let bundle = bundle.or_insert_with(|| ReceiverBundle::new(&policy));
            tcp.set_bundle(bundle.clone());
        }
        if let Some(minimum) = flow.minimum {
            let floor = self.floors.entry(flow.group.clone());
            let floor = floor.or_insert_with(|| Floor::new(minimum.bits_per_s() / 8));
            tcp.set_floor(floor.clone());
        }
    }
}

/// All routes in one list; flows on the same way share one.
#[derive(Default)]
struct Routes<'a> {
    hops: Vec<u32>,
    known: HashMap<&'a [LinkId], u32>,
}

impl<'a> Routes<'a> {
    fn add(
        &mut self,
        scenario: &Scenario,
        flow: &str,
        path: &'a [LinkId],
        from: NodeId,
        to: NodeId,
    ) -> Result<u32, Error> {
        let mut at = from;
        for id in path {
            let link = scenario.links.get(id.index());
            match link.filter(|link| link.from == at) {
                Some(link) => at = link.to,
                None => return Err(Error::path(flow, "has a gap: links must follow each other")),
            }
        }
        if path.is_empty() || at != to {
            return Err(Error::path(
                flow,
                "does not lead from the one host to the other",
            ));
        }
        if let Some(start) = self.known.get(path) {
            return Ok(*start);
        }
        let start = self.hops.len() as u32;
        self.hops.extend(path.iter().map(|id| id.0));
        self.hops.push(ARRIVED);
        self.known.insert(path, start);
        Ok(start)
    }
}
