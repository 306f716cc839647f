// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Routers between the flows of a run and their link, with masquerade: a gateway sets the windows of
//! some flows, whose devices have no part in it.
use std::net::Ipv4Addr;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;

use ebb_algorithms::Policy;
use ebb_gateway::{Gateway, Interface, Options, RENEW_EVERY, Rule};
use ebb_link::Nanos;
use ebb_scenario::{Flow, Interval, Scenario};

use super::EngineError;
use super::prepared::{Refusal, SharedPath, direction};
use super::yielding::{is_within, unsupported};
use crate::emulator::{CLIENT_IPV4, Path};
use crate::home::{self, Home, device_ipv4};
use crate::namespace::NamespaceHandle;
use crate::traffic::Direction;

/// What the gateway holds is on the first device.
const HELD: u8 = 0;
/// Connections that it knows at once: there are fewer.
const CONNECTIONS: u32 = 4_096;
/// tcp_rmem of devices: that of Linux since 6.16. A window can say less than a segment.
const RECEIVE_BUFFERS: &str = "4096 131072 33554432";

/// Those of a wave.
#[derive(Default)]
pub(super) struct Homes(Vec<RunHome>);

/// That of a run.
struct RunHome {
    run: usize,
    home: Home,
    /// *Shape:* by flow.
    devices: Vec<u8>,
    during: Vec<Interval>,
    forwarding: Forwarding,
}

impl Homes {
    /// Puts a router into the path of a run, if its scenario asks for one.
    ///
    /// *Errors:* [`EngineError::Unsupported`] for flows that it cannot hold together;
    /// [`EngineError::Gateway`] for what the kernel refuses.
    pub(super) fn add(
        &mut self,
        run: usize,
        path: &Path,
        (scenario, shared): (&Scenario, &SharedPath),
    ) -> Result<(), EngineError> {
        let Some((policy, during)) = held_together(scenario)? else {
            return Ok(());
        };
        check_who_connects(scenario, shared)?;
        let devices = devices(&scenario.flows);
        let count = devices.iter().max().map_or(1, |last| last + 1);
        let home = Home::behind(path, count)?;
        // Masquerade hides those who connect. What the server sends by itself, over UDP, finds them.
        let back = format!("route add {} via {CLIENT_IPV4}\n", home::LAN_IPV4);
        path.server().ip(&back)?;
        for device in home.devices() {
            device.set_sysctls(&[("net.ipv4.tcp_rmem", RECEIVE_BUFFERS)])?;
        }
        let is_observing = !during.is_empty() && !is_within(&during, Nanos::ZERO);
        let forwarding = Forwarding::start(home.router(), &policy, is_observing)?;
        self.0.push(RunHome {
            run,
            home,
            devices,
            during,
            forwarding,
        });
        Ok(())
    }

    /// Where the client's end of a flow is, if it is behind a router.
    pub(super) fn device(&self, run: usize, flow: usize) -> Option<(&NamespaceHandle, Ipv4Addr)> {
        let home = self.0.iter().find(|home| home.run == run)?;
        let number = home.devices[flow];
        Some((
            &home.home.devices()[usize::from(number)],
            device_ipv4(number),
        ))
    }

    /// Switches policies of flows that yield for a part of a run only.
    pub(super) fn switch(&self, time: Nanos) {
        for home in self.0.iter().filter(|home| !home.during.is_empty()) {
            home.forwarding
                .set_observing(!is_within(&home.during, time));
        }
    }
}

/// The policy of all flows that are held by a gateway, and when.
fn held_together(scenario: &Scenario) -> Result<Option<(Policy, Vec<Interval>)>, EngineError> {
    let mut flows = scenario.flows.iter().filter(|flow| flow.is_by_gateway);
    let Some(first) = flows.next() else {
        return Ok(None);
    };
    let refuse = |flow: &Flow, what: &str, instead| {
        Err(Refusal(scenario).because(format!("flow `{}` {what}", flow.name), instead))
    };
    let is_other =
        |flow: &&Flow| (&flow.receiver, &flow.during) != (&first.receiver, &first.during);
    if let Some(other) = flows.find(is_other) {
        let what = format!("is not held as `{}` by the same gateway", first.name);
        return refuse(other, &what, "all have one policy, at the same times");
    }
    if let Some(flow) = scenario.flows.iter().find(|flow| flow.is_by_programs) {
        let instead = "take `programs` away, or `gateway`";
        return refuse(flow, "is by programs, beside a gateway", instead);
    }
    let text = first.receiver.as_deref().unwrap_or_default();
    let policy = Policy::receiver(text).map_err(|error| unsupported(first, &error))?;
    Ok(Some((policy, first.during.clone())))
}

/// Who is behind the router has to connect.
fn check_who_connects(scenario: &Scenario, shared: &SharedPath) -> Result<(), EngineError> {
    let is_hidden = |flow: &&Flow| {
        let is_fetched = direction(shared, flow) == Direction::Download;
        flow.traffic.is_tcp() && flow.receiver_connects != is_fetched
    };
    let Some(flow) = scenario.flows.iter().find(is_hidden) else {
        return Ok(());
    };
    let what = format!("flow `{}` is connected to from outside", flow.name);
    let instead = "a router hides those behind it: see the key `connects`";
    Err(Refusal(scenario).because(what, instead))
}

/// One for all that is held, and one for each other entry.
fn devices(flows: &[Flow]) -> Vec<u8> {
    let mut groups: Vec<&str> = Vec::new();
    let numbers = flows.iter().map(|flow| {
        if flow.is_by_gateway {
            return HELD;
        }
        let known = groups.iter().position(|group| *group == flow.group);
        let place = known.unwrap_or_else(|| {
            groups.push(&flow.group);
            groups.len() - 1
        });
        // More entries than there are numbers for share devices.
        HELD + 1 + (place % 128) as u8
    });
    numbers.collect()
}

/// A gateway, in a thread that keeps it; it lets everything go and ends when dropped.
struct Forwarding {
    /// Tells whether it only learns; the gateway ends when this is gone.
    switch: Option<Sender<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl Forwarding {
    /// Holds what is for the first device.
    fn start(
        router: &NamespaceHandle,
        policy: &Policy,
        is_observing: bool,
    ) -> Result<Self, EngineError> {
        let failed = |source| EngineError::Gateway {
            policy: policy.to_string(),
            source,
        };
        // What it is on is of the namespace of the thread that asks.
        let started = router.run_in(|| {
            let options = Options {
                interfaces: vec![Interface::of(home::LAN)?],
                policy: policy.clone(),
                is_observing,
                hook: None,
                connections: CONNECTIONS,
                is_patient: false,
            };
            Gateway::start(&options, &[held_device()])
        });
        let gateway = started?.map_err(failed)?;
        let (switch, switched) = mpsc::channel();
        let thread = std::thread::spawn(move || keep(gateway, &switched));
        Ok(Self {
            switch: Some(switch),
            thread: Some(thread),
        })
    }

    fn set_observing(&self, is_observing: bool) {
        // A thread that has panicked has told of it.
        let _ = self.switch.as_ref().map(|it| it.send(is_observing));
    }
}

fn held_device() -> Rule {
    Rule {
        name: "held".into(),
        client: device_ipv4(HELD).to_string().parse().ok(),
        is_background: true,
        ..Rule::default()
    }
}

fn keep(mut gateway: Gateway, switched: &mpsc::Receiver<bool>) {
    loop {
        gateway.renew();
        match switched.recv_timeout(RENEW_EVERY) {
            Ok(is_observing) => gateway.set_observing(is_observing),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Drop for Forwarding {
    fn drop(&mut self) {
        self.switch = None;
        if let Some(thread) = self.thread.take() {
            // A panic of its own has been reported by the thread.
            let _ = thread.join();
        }
    }
}
