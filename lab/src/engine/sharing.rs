// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Groups of flows that share what a host receives, on real sockets: each flow is in a cgroup
//! of its own under the law `rate`, the same controller as in the simulator sets the targets.

use std::path::PathBuf;

use ebb_algorithms::Policy;
use ebb_kernel::AttachOptions;
use ebb_link::Nanos;
use ebb_scenario::{Flow, Scenario, Share, SharingGroup};
use ebb_sharing::{Controller, Preferences, Target};

use super::{EngineError, Group};

/// All groups of all runs of a wave.
#[derive(Default)]
pub(super) struct SharedGroups(Vec<SharedGroup>);

/// A group while it runs.
struct SharedGroup {
    run: usize,
    spec: SharingGroup,
    /// When it is looked after next, from the start of the run; none: not any more.
    next: Option<Nanos>,
    next_change: usize,
    members: Vec<Member>,
    controller: Controller,
}

/// A flow that shares.
struct Member {
    /// Place of the flow in the scenario.
    flow: usize,
    stop: Option<Nanos>,
    /// Parameters of the law that holds it, but for the target.
    base: Policy,
    group: Group,
    target: Target,
}

impl SharedGroups {
    /// Makes the cgroups of a run's groups; their flows are free until they begin.
    ///
    /// *Errors:* [`EngineError::Unsupported`] for a flow under another law than `rate`;
    /// [`EngineError::Policy`] for what the kernel refuses.
    pub(super) fn add(&mut self, run: usize, scenario: &Scenario) -> Result<(), EngineError> {
        for spec in &scenario.sharing {
            let members = spec
                .shares
                .iter()
                .map(|share| Member::new(scenario, spec, share));
            self.0.push(SharedGroup {
                run,
                next: Some(spec.start).filter(|start| *start < scenario.duration),
                next_change: 0,
                members: members.collect::<Result<_, _>>()?,
                controller: Controller::new(spec.settings, preferences(&spec.shares)),
                spec: spec.clone(),
            });
        }
        Ok(())
    }

    /// Where the receiving socket of a flow belongs, if the flow shares.
    pub(super) fn directory(&self, run: usize, flow: usize) -> Option<PathBuf> {
        let groups = self.0.iter().filter(|group| group.run == run);
        let mut members = groups.flat_map(|group| &group.members);
        let member = members.find(|member| member.flow == flow)?;
        Some(member.group.directory())
    }

    /// When a group is to be looked after, if before the end of its run.
    pub(super) fn next_period(&self) -> Option<Nanos> {
        self.0.iter().filter_map(|group| group.next).min()
    }

    /// Measures what the flows of groups that are due received, and sets targets. Times are
    /// from the start of the runs, whose ends are in `ends`.
    ///
    /// *Errors:* [`EngineError::Policy`].
    pub(super) fn control(&mut self, now: Nanos, ends: &[Nanos]) -> Result<(), EngineError> {
        for group in &mut self.0 {
            let Some(due) = group.next.filter(|next| *next <= now) else {
                continue;
            };
            group.control(due, now)?;
            let end = ends[group.run];
            group.next = group.next.filter(|next| *next < end);
        }
        Ok(())
    }

    /// Lets all flows go and takes the programs off.
    ///
    /// *Errors:* [`EngineError::Policy`].
    pub(super) fn finish(self) -> Result<(), EngineError> {
        let members = self.0.into_iter().flat_map(|group| group.members);
        for member in members {
            member.group.finish()?;
        }
        Ok(())
    }
}

impl Member {
    fn new(scenario: &Scenario, spec: &SharingGroup, share: &Share) -> Result<Self, EngineError> {
        let refuse = |what: String| EngineError::Unsupported {
            scenario: scenario.name.clone(),
            what: format!("group `{}`: {what}", spec.name),
            instead: "flows that share are under the law `rate`",
        };
        let place = share.flow as usize;
        let no_flow = || refuse(format!("there is no flow {place}"));
        let flow: &Flow = scenario.flows.get(place).ok_or_else(no_flow)?;
        let base: Policy = flow
            .receiver
            .as_deref()
            .unwrap_or("rate")
            .parse()
            .map_err(|error| refuse(format!("flow `{}`: {error}", flow.name)))?;
        Target::Free
            .policy(&base)
            .map_err(|error| refuse(format!("flow `{}`: {error}", flow.name)))?;
        let options = AttachOptions {
            observing: true,
            ..AttachOptions::default()
        };
        Ok(Self {
            flow: place,
            stop: flow.stop,
            group: Group::attach(&base, options)?,
            base,
            target: Target::Free,
        })
    }

    /// What arrived so far; none while there is nothing to share with. A flow that is done
    /// before its stop is one that takes nothing.
    fn arrived_bytes(&self, now: Nanos) -> Result<Option<u64>, EngineError> {
        if self.stop.is_some_and(|stop| stop <= now) {
            return Ok(None);
        }
        self.group.arrived_bytes()
    }

    fn hold(&mut self, target: Target) -> Result<(), EngineError> {
        if target == self.target {
            return Ok(());
        }
        // The base was tried when the member was made: it is of the law `rate`.
        if let Ok(Some(policy)) = target.policy(&self.base) {
            self.group.set_policy(&policy)?;
        }
        if (target == Target::Free) != (self.target == Target::Free) {
            self.group.set_observing(target == Target::Free)?;
        }
        self.target = target;
        Ok(())
    }
}

impl SharedGroup {
    fn control(&mut self, due: Nanos, now: Nanos) -> Result<(), EngineError> {
        if self.spec.stop.is_some_and(|stop| stop <= due) {
            self.next = None;
            let mut members = self.members.iter_mut();
            return members.try_for_each(|member| member.hold(Target::Free));
        }
        while let Some(change) = self.spec.changes.get(self.next_change)
            && change.at <= due
        {
            self.controller
                .set_wanted(preferences(&change.shares))
                .expect("a change has all shares of its group");
            self.next_change += 1;
        }
        let arrived = self.members.iter().map(|member| member.arrived_bytes(now));
        let arrived = arrived.collect::<Result<Vec<_>, _>>()?;
        self.controller
            .control(now.0, &arrived)
            .expect("a count for each member");
        for (place, member) in self.members.iter_mut().enumerate() {
            member.hold(self.controller.target(place))?;
        }
        let (stage, sum) = self.controller.stage();
        tracing::debug!(group = self.spec.name, ?stage, sum, "sharing");
        self.next = Some(self.next_after(due));
        Ok(())
    }

    fn next_after(&self, due: Nanos) -> Nanos {
        let change = self.spec.changes.get(self.next_change);
        let next = due + self.spec.period.max(Nanos(1));
        let next = change.map_or(next, |change| next.min(change.at));
        self.spec.stop.map_or(next, |stop| next.min(stop))
    }
}

fn preferences(shares: &[Share]) -> Vec<Preferences> {
    shares.iter().map(|share| share.preferences).collect()
}
