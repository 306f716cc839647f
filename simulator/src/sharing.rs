// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of flows that share what a host receives: the run stops at each of their control
//! periods, and goes on with other targets.

use ebb_algorithms::Policy;
use ebb_link::Nanos;
use ebb_scenario::{Scenario, Share, SharingGroup};
use ebb_sharing::{Preferences, Sharing, Target};

use crate::Error;
use crate::network::Network;

/// All groups of a run.
pub(crate) struct Groups(Vec<Group>);

/// A group while it runs.
struct Group {
    spec: SharingGroup,
    /// When it is looked after next; none: not any more.
    next: Option<Nanos>,
    last: Nanos,
    next_change: usize,
    /// What is wanted now.
    shares: Vec<Share>,
    /// Parameters of the law that holds each flow, but for the target. *Shape:* by share.
    bases: Vec<Policy>,
    /// Places of the shares whose flows have a connection.
    active: Vec<usize>,
    sharing: Sharing,
    /// What had arrived of each flow when it was looked at last, in order or not: what its
    /// law goes by, too. *Shape:* by share.
    arrived_bytes: Vec<u64>,
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
            last: spec.start,
            next_change: 0,
            shares: spec.shares.clone(),
            bases,
            active: Vec::new(),
            sharing: Sharing::new(spec.settings, Vec::new()),
            arrived_bytes: vec![0; spec.shares.len()],
            spec: spec.clone(),
        })
    }

    fn control(&mut self, network: &mut Network) -> Result<(), Error> {
        let now = network.now;
        if self.spec.stop.is_some_and(|stop| stop <= now) {
            self.next = None;
            self.shares
                .iter()
                .for_each(|share| network.hold(share.flow, None));
            return Ok(());
        }
        let received = self.measure(network);
        if !self.follow_changes(network) {
            self.sharing
                .on_period(&received)
                .map_err(|error| sharing_error(&self.spec, &error))?;
        }
        self.set_targets(network)?;
        self.last = now;
        self.next = Some(self.next_after(now));
        Ok(())
    }

    fn next_after(&self, now: Nanos) -> Nanos {
        let change = self.spec.changes.get(self.next_change);
        let next = now + self.spec.period.max(Nanos(1));
        let next = change.map_or(next, |change| next.min(change.at));
        self.spec.stop.map_or(next, |stop| next.min(stop))
    }

    /// What the active flows received since they were looked at last. *Units:* bit/s.
    fn measure(&mut self, network: &Network) -> Vec<u64> {
        let length_ns = network.now.since(self.last).0.max(1);
        let mut rates = vec![0; self.shares.len()];
        for (place, share) in self.shares.iter().enumerate() {
            let now_bytes = network.arrived_bytes(share.flow);
            let before_bytes = std::mem::replace(&mut self.arrived_bytes[place], now_bytes);
            // Less than before: another connection.
            let bits = u128::from(now_bytes.saturating_sub(before_bytes)) * 8;
            rates[place] = (bits * 1_000_000_000 / u128::from(length_ns)) as u64;
        }
        self.active.iter().map(|place| rates[*place]).collect()
    }

    /// Takes what is wanted from now on, and who came and went. *Returns:* whether anything
    /// is other than before.
    fn follow_changes(&mut self, network: &Network) -> bool {
        while let Some(change) = self.spec.changes.get(self.next_change)
            && change.at <= network.now
        {
            self.shares.clone_from(&change.shares);
            self.next_change += 1;
        }
        let is_active = |place: &usize| {
            let flow = &network.flows[self.shares[*place].flow as usize];
            !flow.connections.is_empty()
        };
        let active: Vec<usize> = (0..self.shares.len()).filter(is_active).collect();
        let preferences = |place: &usize| self.shares[*place].preferences;
        let wanted: Vec<Preferences> = active.iter().map(preferences).collect();
        if active == self.active && wanted == self.sharing.flows() {
            return false;
        }
        self.active = active;
        self.sharing = Sharing::new(self.spec.settings, wanted);
        true
    }

    fn set_targets(&self, network: &mut Network) -> Result<(), Error> {
        for (place, share) in self.shares.iter().enumerate() {
            let number = self.active.iter().position(|active| *active == place);
            let target = number.map_or(Target::Free, |number| self.sharing.target(number));
            let policy = target
                .policy(&self.bases[place])
                .map_err(|error| sharing_error(&self.spec, &error))?;
            network.hold(share.flow, policy.as_ref());
        }
        Ok(())
    }
}

fn sharing_error(group: &SharingGroup, source: &dyn std::error::Error) -> Error {
    Error::Sharing {
        group: group.name.clone(),
        problem: source.to_string(),
    }
}
