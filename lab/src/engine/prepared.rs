// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From a scenario to one emulated path with flows, or a refusal that names what is missing.
use ebb_algorithms::Policy;
use ebb_link::{Capacity, LinkSpec, Nanos, Rate};
use ebb_scenario::{Flow, LinkId, NodeId, Scenario, Seeds, Traffic};

use super::EngineError;
use super::tcp_options::apply_tcp_options;
use crate::emulator::{PathSpec, PortDelay};
use crate::traffic::{Direction, FlowKind, FlowSpec};

/// Flows of a path use ports from here on.
const FIRST_PORT: u16 = 5_201;
/// The sender's state is looked at so often. *Units:* ms.
const SAMPLE_EVERY_MS: u32 = 20;
/// IPv4 and UDP.
const UDP_HEADER_BYTES: u32 = 28;

/// The one path that all flows of a scenario share.
pub(super) struct SharedPath {
    /// From the server to the client: the way of the first flow's data, where no router says more.
    pub forward: LinkSpec,
    /// The other way.
    pub reverse: LinkSpec,
    /// The link of the scenario that limits each of them, if one does.
    pub bottlenecks: [Option<LinkId>; 2],
    /// Where servers are, from which downloads come.
    server: NodeId,
    /// How much further away than the nearest flow each is, forward and reverse. *Shape:* by
    /// flow.
    pub further: Vec<[Nanos; 2]>,
}

/// One run of a scenario.
pub(super) struct PreparedRun {
    /// Links and the kernel's settings.
    pub path: PathSpec,
    /// In the order of the scenario.
    pub flows: Vec<FlowSpec>,
}

/// Says what in a scenario is beyond the lab.
pub(super) struct Refusal<'s>(pub &'s Scenario);

impl Refusal<'_> {
    pub(super) fn because(&self, what: String, instead: &'static str) -> EngineError {
        EngineError::Unsupported {
            scenario: self.0.name.clone(),
            what,
            instead,
        }
    }
}

/// Finds the path that all flows share.
///
/// *Errors:* [`EngineError::Unsupported`] if there is no such path.
pub(super) fn shared_path(scenario: &Scenario) -> Result<SharedPath, EngineError> {
    let refuse = Refusal(scenario);
    let Some(first) = first_to_connect(scenario).or(scenario.flows.first()) else {
        return Err(refuse.because("it has no flow".into(), "write a [[flow]]"));
    };
    let (server, there, here) = match is_from_a_device(scenario, first) {
        true => (first.to, &first.return_path, &first.path),
        false => (first.from, &first.path, &first.return_path),
    };
    let (forward, out) = combine(scenario, first, there)?;
    let (reverse, back) = combine(scenario, first, here)?;
    let mut path = SharedPath {
        forward,
        reverse,
        bottlenecks: [out, back],
        server,
        further: Vec::new(),
    };
    for flow in &scenario.flows {
        let Some(delays) = path.delays_of(scenario, flow)? else {
            let what = format!(
                "flow `{}` takes another way than `{}`",
                flow.name, first.name
            );
            return Err(refuse.because(what, "in the lab all flows share one bottleneck"));
        };
        path.further.push(delays);
    }
    path.begin_at_nearest();
    Ok(path)
}

/// The first flow that says where a router's devices are: only those behind it can connect.
fn first_to_connect(scenario: &Scenario) -> Option<&Flow> {
    let mut flows = scenario.flows.iter();
    has_router(scenario)
        .then(|| flows.find(|flow| flow.traffic.is_tcp()))
        .flatten()
}

/// Whether a device behind a router sends the data.
fn is_from_a_device(scenario: &Scenario, flow: &Flow) -> bool {
    has_router(scenario) && flow.traffic.is_tcp() && !flow.receiver_connects
}

fn has_router(scenario: &Scenario) -> bool {
    scenario.flows.iter().any(|flow| flow.is_by_gateway)
}

/// The same link with another delay.
fn at(link: LinkSpec, delay: Nanos) -> LinkSpec {
    LinkSpec { delay, ..link }
}

impl SharedPath {
    /// How far away this flow is, forward and reverse; none if it takes another way.
    fn delays_of(
        &self,
        scenario: &Scenario,
        flow: &Flow,
    ) -> Result<Option<[Nanos; 2]>, EngineError> {
        let (there, here) = match direction(self, flow) {
            Direction::Download => (&flow.path, &flow.return_path),
            Direction::Upload => (&flow.return_path, &flow.path),
        };
        let ways = [(there, &self.forward), (here, &self.reverse)];
        let mut delays = [Nanos::ZERO; 2];
        for (place, (way, of)) in ways.into_iter().enumerate() {
            let (link, id) = combine(scenario, flow, way)?;
            delays[place] = link.delay;
            let (link, of) = (at(link, Nanos::ZERO), at(of.clone(), Nanos::ZERO));
            if (link, id) != (of, self.bottlenecks[place]) {
                return Ok(None);
            }
        }
        Ok(Some(delays))
    }

    /// Leaves the least delay of all flows to the links, and to each flow what it has beyond.
    fn begin_at_nearest(&mut self) {
        for (place, link) in [&mut self.forward, &mut self.reverse]
            .into_iter()
            .enumerate()
        {
            let delays = self.further.iter().map(|further| further[place]);
            link.delay = delays.min().unwrap_or(link.delay);
            for further in &mut self.further {
                further[place] = further[place].since(link.delay);
            }
        }
    }
}

/// Which way the data of a flow goes.
pub(super) fn direction(path: &SharedPath, flow: &Flow) -> Direction {
    // Hosts may differ where flows have access links of their own; the bottleneck does not.
    let [out, back] = path.bottlenecks;
    let is_download = match (out, back) {
        (Some(out), _) => flow.path.contains(&out),
        (None, Some(back)) => flow.return_path.contains(&back),
        (None, None) => flow.from == path.server,
    };
    if is_download {
        Direction::Download
    } else {
        Direction::Upload
    }
}

/// One link in place of several, of which only one may do more than delay.
fn combine(
    scenario: &Scenario,
    flow: &Flow,
    links: &[LinkId],
) -> Result<(LinkSpec, Option<LinkId>), EngineError> {
    let mut combined = LinkSpec::default();
    let mut bottleneck = None;
    let mut delay = Nanos::ZERO;
    for id in links {
        let link = &scenario.links[id.index()];
        delay += link.spec.delay;
        if link.spec == LinkSpec::delay_only(link.spec.delay) {
            continue;
        }
        if bottleneck.replace(*id).is_some() {
            let what = format!(
                "flow `{}` passes two links that do more than delay, the second is `{}`",
                flow.name, link.name
            );
            let instead = "the lab emulates one each way: give the others a delay only";
            return Err(Refusal(scenario).because(what, instead));
        }
        combined = link.spec.clone();
    }
    combined.delay = delay;
    let is_limited = combined.capacity != Capacity::Unlimited;
    Ok((combined, bottleneck.filter(|_| is_limited)))
}

impl PreparedRun {
    /// The run of this number.
    ///
    /// *Errors:* [`EngineError::Unsupported`].
    pub(super) fn new(
        scenario: &Scenario,
        shared: &SharedPath,
        run: u32,
    ) -> Result<Self, EngineError> {
        let mut path = PathSpec::new(shared.forward.clone(), shared.reverse.clone());
        path.seed = scenario.seed_of_run(run);
        path.keeps_waits = true;
        path.port_delays = port_delays(shared);
        apply_tcp_options(scenario, &mut path)?;
        apply_programs(scenario, shared, &mut path)?;
        // The simulator's flows start at the same times in the run of this number.
        let seeds = Seeds::new(scenario.seed_of_run(run));
        let flows = scenario.flows.iter().map(|flow| {
            let delay = seeds.stream("start", &flow.name).up_to(flow.start_spread.0);
            let start = flow.start + Nanos(delay);
            flow_spec(scenario, shared, flow, start)
        });
        Ok(Self {
            path,
            flows: flows.collect::<Result<_, _>>()?,
        })
    }
}

/// The port of a flow, by its place.
pub(super) fn port_of(place: usize) -> u16 {
    FIRST_PORT + place as u16
}

fn port_delays(shared: &SharedPath) -> Vec<PortDelay> {
    let delays = shared.further.iter().enumerate();
    let further = delays.filter(|(_, further)| **further != [Nanos::ZERO; 2]);
    further
        .map(|(place, [forward, reverse])| PortDelay {
            port: port_of(place),
            forward: *forward,
            reverse: *reverse,
        })
        .collect()
}

fn flow_spec(
    scenario: &Scenario,
    shared: &SharedPath,
    flow: &Flow,
    start: Nanos,
) -> Result<FlowSpec, EngineError> {
    let mut spec = FlowSpec::new(&flow.name, kind(scenario, flow)?);
    spec.direction = direction(shared, flow);
    spec.start_s = start.as_secs_f64();
    spec.stop_s = flow.stop.map(Nanos::as_secs_f64);
    if flow.traffic.is_tcp() {
        spec.congestion_control = congestion_control(scenario, flow)?;
        spec.sample_every_ms = Some(SAMPLE_EVERY_MS);
    }
    Ok(spec)
}

fn kind(scenario: &Scenario, flow: &Flow) -> Result<FlowKind, EngineError> {
    Ok(match &flow.traffic {
        Traffic::Greedy => FlowKind::Greedy,
        Traffic::Fixed { bytes } => FlowKind::Fixed { bytes: *bytes },
        Traffic::Constant {
            rate,
            write_bytes,
            backlog_bytes,
        } => FlowKind::ConstantRate {
            rate_bit_per_s: rate.bits_per_s(),
            piece_bytes: *write_bytes,
            backlog_bytes: *backlog_bytes,
        },
        Traffic::OnOff { on, off, reconnect } if on == off && !reconnect => FlowKind::OnOff {
            period_s: on.as_secs_f64(),
        },
        Traffic::Udp { rate, packet_bytes } if *packet_bytes >= UDP_HEADER_BYTES + 16 => {
            FlowKind::Udp {
                rate_pkts_per_s: pkts_per_s(*rate, *packet_bytes),
                payload_bytes: packet_bytes - UDP_HEADER_BYTES,
            }
        }
        Traffic::UdpSquareWave {
            rate,
            low_rate: None,
            period,
            packet_bytes,
        } if *packet_bytes >= UDP_HEADER_BYTES + 16 => FlowKind::UdpSquareWave {
            rate_pkts_per_s: pkts_per_s(*rate, *packet_bytes),
            payload_bytes: packet_bytes - UDP_HEADER_BYTES,
            period_s: period.as_secs_f64(),
        },
        _ => {
            let what = format!("flow `{}` sends what the lab's endpoints do not", flow.name);
            let instead = "kinds: greedy, fixed, constant, on-off (on = off, one connection), udp \
                 and udp-square-wave without low_rate (packets of 44 bytes and more)";
            return Err(Refusal(scenario).because(what, instead));
        }
    })
}

fn pkts_per_s(rate: Rate, packet_bytes: u32) -> u32 {
    let rate = rate.bits_per_s() / (8 * u64::from(packet_bytes)).max(1);
    u32::try_from(rate).unwrap_or(u32::MAX)
}

/// Laws that the kernel has itself, with its own values.
const BUILT_IN: [&str; 3] = ["reno", "cubic", "bbr"];

/// Whether the kernel's own law stands for this one.
pub(super) fn is_built_in(policy: &Policy) -> bool {
    let law = policy.law();
    BUILT_IN.contains(&law.name) && *policy == Policy::with_defaults(law)
}

/// What the sender's socket begins with; Ebb's laws are selected for it by its cgroup.
fn congestion_control(scenario: &Scenario, flow: &Flow) -> Result<String, EngineError> {
    let policy = Policy::sender(&flow.sender).map_err(|error| {
        let what = format!("flow `{}`: {error}", flow.name);
        Refusal(scenario).because(what, "see 'ebb policies'")
    })?;
    let name = match policy.law() {
        law if is_built_in(&policy) => law.name,
        // It only holds back what the socket has anyway.
        law if law.is_for_counters() => "cubic",
        _ => "reno",
    };
    Ok(name.to_owned())
}

/// A real server does not choose its congestion control: its side has that of the first.
fn apply_programs(
    scenario: &Scenario,
    shared: &SharedPath,
    path: &mut PathSpec,
) -> Result<(), EngineError> {
    for flow in scenario.flows.iter().filter(|flow| flow.is_by_programs) {
        let name = congestion_control(scenario, flow)?;
        let problem = if direction(shared, flow) == Direction::Upload {
            "sends the other way than the first; real programs only fetch"
        } else if path.congestion_control.get_or_insert(name.clone()) != &name {
            "has another sender than the first by programs; all have the same"
        } else {
            continue;
        };
        let what = format!("flow `{}` {problem}", flow.name);
        return Err(Refusal(scenario).because(what, "take `programs` away"));
    }
    Ok(())
}
