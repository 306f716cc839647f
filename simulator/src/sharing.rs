// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of flows that share what a host receives: the run stops at each of their control
//! periods, and goes on with other targets.

use ebb_algorithms::Policy;
use ebb_link::Nanos;
use ebb_scenario::{Scenario, Share, SharingGroup};
use ebb_sharing::{Controller, Preferences, Target};

use crate::Error;
use crate::network::Network;

/// All groups of a run.
pub(crate) struct Groups(Vec<Group>);

/// A group while it runs.
struct Group {
    spec: SharingGroup,
    /// When it is looked after next; none: not any more.
    next: Option<Nanos>,
    next_change: usize,
    /// Parameters of the law that holds each flow, but for the target. *Shape:* by share.
    bases: Vec<Policy>,
    controller: Controller,
}

impl Groups {
    /// The groups of a scenario; their flows are free until they begin.
    ///
    /// *Errors:* [`Error::Sharing`] for a flow that is under another law than `rate`.
    pub(crate) fn new(scenario: &Scenario, network: &mut Network) -> Result<Self, Error> {
        let mut groups = Vec::with_capacity(scenario.sharing.len());
        for spec in &scenario.sharing {
            groups.push(Group::new(spec, network)?);
        }
        Ok(Self(groups))
    }

    /// When a group is to be looked after, if before the end.
    pub(crate) fn next_period(&self, end: Nanos) -> Option<Nanos> {
        let next = self.0.iter().filter_map(|group| group.next).min();
        next.filter(|next| *next < end)
    }

    /// Measures what flows received, and sets targets.
    ///
    /// *Errors:* [`Error::Sharing`].
    pub(crate) fn control(&mut self, network: &mut Network) -> Result<(), Error> {
        for group in &mut self.0 {
            if group.next.is_some_and(|next| next <= network.now) {
                group.control(network)?;
            }
        }
        Ok(())
    }
}

impl Group {
    fn new(spec: &SharingGroup, network: &mut Network) -> Result<Self, Error> {
        let mut bases = Vec::with_capacity(spec.shares.len());
        for share in &spec.shares {
            let flow = network.flows.get(share.flow as usize);
            let flow = flow.ok_or_else(|| Error::Sharing {
                group: spec.name.clone(),
                problem: format!("there is no flow {}", share.flow),
            })?;
            let policy = flow.spec.receiver.as_deref().unwrap_or("rate");
            let policy = policy.parse::<Policy>();
            let policy = policy.map_err(|error| sharing_error(spec, &error))?;
            Target::Free
                .policy(&policy)
                .map_err(|error| sharing_error(spec, &error))?;
            network.hold(share.flow, None);
            bases.push(policy);
        }
        Ok(Self {
            next: Some(spec.start),
            next_change: 0,
            bases,
            controller: Controller::new(spec.settings, preferences(&spec.shares)),
            spec: spec.clone(),
        })
    }

    fn control(&mut self, network: &mut Network) -> Result<(), Error> {
        let now = network.now;
        if self.spec.stop.is_some_and(|stop| stop <= now) {
            self.next = None;
            let shares = self.spec.shares.iter();
            shares.for_each(|share| network.hold(share.flow, None));
            return Ok(());
        }
        self.follow_changes(now)?;
        let arrived: Vec<Option<u64>> = (self.spec.shares.iter())
            .map(|share| arrived_bytes(network, share))
            .collect();
        self.controller
            .control(now.0, &arrived)
            .map_err(|error| sharing_error(&self.spec, &error))?;
        self.set_targets(network)?;
        self.next = Some(self.next_after(now));
        Ok(())
    }

    fn next_after(&self, now: Nanos) -> Nanos {
        let change = self.spec.changes.get(self.next_change);
        let next = now + self.spec.period.max(Nanos(1));
        let next = change.map_or(next, |change| next.min(change.at));
        self.spec.stop.map_or(next, |stop| next.min(stop))
    }

    /// Takes what is wanted from now on.
    fn follow_changes(&mut self, now: Nanos) -> Result<(), Error> {
        while let Some(change) = self.spec.changes.get(self.next_change)
            && change.at <= now
        {
            self.controller
                .set_wanted(preferences(&change.shares))
                .map_err(|error| sharing_error(&self.spec, &error))?;
            self.next_change += 1;
        }
        Ok(())
    }

    fn set_targets(&self, network: &mut Network) -> Result<(), Error> {
        for (place, share) in self.spec.shares.iter().enumerate() {
            let target = self.controller.target(place);
            let policy = target
                .policy(&self.bases[place])
                .map_err(|error| sharing_error(&self.spec, &error))?;
            network.hold(share.flow, policy.as_ref());
        }
        Ok(())
    }
}

fn preferences(shares: &[Share]) -> Vec<Preferences> {
    shares.iter().map(|share| share.preferences).collect()
}

/// What has arrived of a flow, in order or not: what its law goes by, too. None while it has no
/// connection.
fn arrived_bytes(network: &Network, share: &Share) -> Option<u64> {
    let flow = network.flows.get(share.flow as usize)?;
    let has_connection = !flow.connections.is_empty();
    has_connection.then(|| network.arrived_bytes(share.flow))
}

fn sharing_error(group: &SharingGroup, source: &dyn std::error::Error) -> Error {
    Error::Sharing {
        group: group.name.clone(),
        problem: source.to_string(),
    }
}
