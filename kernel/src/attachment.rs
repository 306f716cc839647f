// SPDX-License-Identifier: Apache-2.0 OR MIT
//! A policy on the connections of a cgroup, for as long as this process renews it.

use crate::cgroup::Cgroup;
use crate::conflict;
use crate::counters::Counters;
use crate::ending::Ending;
use crate::error::{Error, Result};
use crate::flows::{Flow, ip_address, parse_flows};
use crate::layout::{Config, Wish};
use crate::lease::{self, Lease};
use crate::programs::{EVERY_COOKIE, LoadOptions, Programs, Purpose};
use crate::recorder::Recorder;
use crate::run_times::RunTime;
use crate::selection::Selection;
use crate::sets::Joining;
use crate::shared::{Shared, State};
use crate::sweep;
use ebb_algorithms::Policy;
use ebb_host::{Family, is_first_pid_namespace};
use std::collections::BTreeSet;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

/// How to attach.
#[derive(Debug, Clone, Default)]
pub struct AttachOptions {
    /// Whose connections to act on.
    pub selection: Selection,
    /// Let the law watch without setting any window.
    pub observing: bool,
    /// Do not mark what is sent under a sender law as Lower Effort (RFC 8622).
    pub keeps_code_point: bool,
    /// What its connections have together at the least ([`Attachment::set_floor`]); 0: nothing.
    /// *Units:* bytes per second.
    pub floor_bytes_per_s: u64,
    /// Another attachment of the same policy is for a rule or claim of the same tables, and lives
    /// for at least as long: it renews the lease and looks after the programs, for this one too.
    pub is_second: bool,
    /// Record what the law is told and answers into this file (see [`crate::trace`]).
    pub trace: Option<PathBuf>,
}

/// A policy on the connections of a cgroup.
///
/// A thread renews a lease of two seconds. If this process dies or is stopped, the
/// programs in the kernel let every connection go when the lease is over. Dropping it
/// detaches.
#[derive(Debug)]
pub struct Attachment {
    shared: Arc<Shared>,
    heartbeat: Option<JoinHandle<()>>,
    recorder: Option<Recorder>,
}

impl Attachment {
    /// Puts the connections of a cgroup, those that exist and those to come, under a
    /// policy: what they receive if the law is one of the receiving end, what they send
    /// otherwise. One attachment of each kind can act on a cgroup, but for those of rules:
    /// what exists comes under these with [`crate::rules::Classifier::take_over`], for all rules
    /// at once.
    ///
    /// *Errors*: [`Error::AlreadyAttached`] if a living Ebb acts on them already;
    /// [`Error::NoProcess`]; [`Error::InnerPidNamespace`]; [`Error::NotPermitted`];
    /// [`Error::MissingFeature`] and [`Error::Load`] if the kernel cannot do it.
    pub fn attach(cgroup: &Cgroup, policy: &Policy, options: AttachOptions) -> Result<Self> {
        if !options.is_second {
            make_way(cgroup, policy, &options.selection)?;
        }
        let config = config_of(cgroup, &options);
        let lease = Lease::new();
        let programs = programs_for(cgroup, policy, &options, config, &lease)?;
        let recorder = options
            .trace
            .map(|path| Recorder::start(path, policy, programs.trace_map()))
            .transpose()?;
        let shared = Arc::new(Shared {
            cgroup: cgroup.clone(),
            config,
            rule: options.selection.rule(),
            lease,
            state: Mutex::new(State::new(programs, policy, options.observing)),
            ended: Condvar::new(),
        });
        let mut state = shared.lock();
        // Of a rule of this number before nothing is left.
        state.floor_bytes_per_s = options.floor_bytes_per_s;
        shared.set_bounds(&state.programs, state.bounds());
        // First, since to take many connections over may take longer than a lease.
        let start = || lease::start(Arc::clone(&shared));
        let heartbeat = (!options.is_second).then(start).transpose();
        let begun = match &heartbeat {
            Ok(_) => shared.begin(&mut state, &options.selection),
            // Programs of rules act already.
            Err(_) => shared.end(&mut state, Ending::Detached),
        };
        drop(state);
        let attachment = Self {
            shared,
            heartbeat: heartbeat?,
            recorder,
        };
        begun.map(|()| attachment)
    }

    /// Changes the policy. With the same law it is live for every connection at once;
    /// another law starts afresh on each, and none is unlimited in between.
    ///
    /// *Errors*: [`Error::Ended`]; [`Error::TraceHoldsOneLaw`]; [`Error::OtherEnd`].
    pub fn set_policy(&mut self, policy: &Policy) -> Result<()> {
        let mut state = self.living()?;
        let side = state.policy.law().side();
        if policy.law().side() != side {
            return Err(Error::OtherEnd {
                law: policy.law().name,
                side,
            });
        }
        if *policy == state.policy {
            return Ok(());
        }
        // The parameters of rules are those of all that have the policy.
        if policy.law().number == state.policy.law().number && self.shared.rule.is_none() {
            state.programs.control.set_params(policy.values());
            state.policy = policy.clone();
            return Ok(());
        }
        if self.recorder.is_some() {
            return Err(Error::TraceHoldsOneLaw);
        }
        self.shared.change_programs(&mut state, policy)
    }

    /// The policy in force.
    pub fn policy(&self) -> Policy {
        self.shared.lock().policy.clone()
    }

    /// Changes what its connections have together at the least, live; 0: whatever the law says.
    /// *Units:* bytes per second; from [`ebb_algorithms::FLOOR_UNBOUND_BYTES_PER_S`] on no limit
    /// is left.
    ///
    /// *Errors*: [`Error::Ended`].
    pub fn set_floor(&mut self, bytes_per_s: u64) -> Result<()> {
        let mut state = self.living()?;
        state.floor_bytes_per_s = bytes_per_s;
        self.shared.set_bounds(&state.programs, state.bounds());
        Ok(())
    }

    /// The same for what they have at the most, which a floor goes before; 0: whatever the law says.
    pub fn set_ceiling(&mut self, bytes_per_s: u64) -> Result<()> {
        let mut state = self.living()?;
        state.ceiling_bytes_per_s = bytes_per_s;
        self.shared.set_bounds(&state.programs, state.bounds());
        Ok(())
    }

    /// Lets the law watch without setting windows, or act again; connections that were
    /// switched by themselves follow. A sender law cannot watch: meanwhile connections have
    /// their own congestion control.
    ///
    /// *Errors*: [`Error::Ended`]; [`Error::Program`] if the connections could not be walked
    /// over (they follow at their next segments all the same, but for those that were switched
    /// by themselves).
    pub fn set_observing(&mut self, is_observing: bool) -> Result<()> {
        let mut state = self.living()?;
        state.is_observing = is_observing;
        let control = &state.programs.control;
        match &self.shared.rule {
            Some(rule) => control.set_rule_observing(rule.rule, is_observing),
            None => control.set_observing(is_observing),
        }
        self.shared
            .switch(&mut state, &[EVERY_COOKIE], Wish::EBB_AS_ALL)
            .map(drop)
    }

    /// Sets some connections free, or holds them back, whatever the others are: by the numbers
    /// of their sockets ([`Flow::cookie`]), those that nobody knows being passed over. Answers
    /// how many there are. They stay so until [`Self::set_observing`] is called.
    ///
    /// *Errors*: [`Error::Ended`]; [`Error::Program`] if the connections could not be walked
    /// over.
    pub fn set_free(&mut self, cookies: &[u64], is_free: bool) -> Result<usize> {
        let mut state = self.living()?;
        let wish = if is_free {
            Wish::EBB_FREE
        } else {
            Wish::EBB_HELD
        };
        self.shared.switch(&mut state, cookies, wish)
    }

    /// Acts on the new connections of these processes from now on, where processes were chosen, and
    /// on their descendants': of members whose parents have ended the kernel does not know that they
    /// are.
    ///
    /// *Errors*: [`Error::Ended`]; [`Error::Program`].
    pub fn follow(&mut self, family: &Family) -> Result<()> {
        let members: Vec<(u32, u64)> = family.members().collect();
        self.living()?.programs.mark_processes(&members)
    }

    /// What the programs counted since the attachment was made. A connection that stays through a
    /// change of the policy counts once.
    ///
    /// *Errors*: [`Error::Program`].
    pub fn counters(&self) -> Result<Counters> {
        self.shared.counters(&self.shared.lock())
    }

    /// Whom the governed connections were with, sorted; at most 1,024, with rules of all of them
    /// together. Only at the receiving end: a policy for what is sent tells nobody.
    pub fn peers(&self) -> Vec<IpAddr> {
        let rule = self.shared.rule_number();
        let peers = self.shared.lock().programs.peers();
        let peers = peers
            .iter()
            .filter(|peer| peer.rule == rule)
            .map(|peer| ip_address(peer.family, &peer.address));
        peers.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// The connections that are governed now.
    pub fn flows(&self) -> Result<Vec<Flow>> {
        let mut state = self.shared.lock();
        self.shared.note_namespaces(&mut state);
        let bytes = state.programs.show(&state.namespaces)?;
        let rule = self.shared.rule_number();
        let flows = parse_flows(&bytes, &state.policy).into_iter();
        let own = flows.filter(|(of_rule, _)| *of_rule == rule);
        Ok(own.map(|(_, flow)| flow).collect())
    }

    /// The time that each program takes, counted while somebody has the kernel keep run
    /// statistics ([`crate::RunStatistics`]).
    pub fn run_times(&self) -> Result<Vec<RunTime>> {
        let state = self.shared.lock();
        state.programs.run_times()
    }

    /// Why the attachment has ended, or none while it lives.
    pub fn ending(&self) -> Option<Ending> {
        self.shared.lock().ending
    }

    /// Waits until the attachment ends by itself, at the most so long.
    pub fn wait_ended(&self, timeout: Duration) -> Option<Ending> {
        let state = self.shared.lock();
        let waited = self
            .shared
            .ended
            .wait_timeout_while(state, timeout, |state| state.ending.is_none());
        waited.unwrap_or_else(PoisonError::into_inner).0.ending
    }

    /// Lets every connection go and takes the programs off. Also done on drop.
    ///
    /// *Errors*: [`Error::Trace`] if the trace could not be written; [`Error::Program`] if
    /// the walk over the connections failed (they go at their next segment all the same).
    pub fn detach(mut self) -> Result<()> {
        self.finish()
    }

    /// As [`Self::detach`], where no process is left that could have a connection: what is being
    /// closed still goes at its next segment, and is not walked to.
    ///
    /// *Errors*: as [`Self::detach`].
    pub fn leave(mut self) -> Result<()> {
        let mut state = self.shared.lock();
        let rule = self.shared.rule.as_ref();
        if state.ending.is_none() && rule.is_some_and(|rule| rule.drop_from(&state.programs)) {
            self.shared.note_end(&mut state, Ending::Detached);
        }
        drop(state);
        self.finish()
    }

    fn finish(&mut self) -> Result<()> {
        let released = {
            let mut state = self.shared.lock();
            match state.ending {
                Some(_) => Ok(()),
                None => self.shared.end(&mut state, Ending::Detached),
            }
        };
        if let Some(heartbeat) = self.heartbeat.take() {
            let _ = heartbeat.join();
        }
        let recorded = self.recorder.take().map_or(Ok(()), Recorder::finish);
        released.and(recorded)
    }

    fn living(&self) -> Result<MutexGuard<'_, State>> {
        let state = self.shared.lock();
        match state.ending {
            None => Ok(state),
            Some(reason) => Err(Error::Ended {
                cgroup: self.shared.cgroup.path().to_path_buf(),
                reason,
            }),
        }
    }
}

/// Programs of its own, or for a rule those of its policy.
fn programs_for(
    cgroup: &Cgroup,
    policy: &Policy,
    options: &AttachOptions,
    config: Config,
    lease: &Lease,
) -> Result<Arc<Programs>> {
    if let Selection::Rule(rule) = &options.selection {
        let joining = Joining {
            cgroup,
            config,
            lease,
        };
        return rule.join(&joining, policy, options.observing);
    }
    let programs = Programs::load(&LoadOptions {
        config: Config {
            is_tracing: options.trace.is_some().into(),
            ..config
        },
        purpose: Purpose::Law(policy.law()),
        predecessor: None,
        rules: None,
    })?;
    Ok(Arc::new(programs))
}

/// What every law's programs have in common.
fn config_of(cgroup: &Cgroup, options: &AttachOptions) -> Config {
    Config {
        cgroup_id: cgroup.id(),
        is_marked_only: matches!(options.selection, Selection::Processes(_)).into(),
        keeps_code_point: options.keeps_code_point.into(),
        is_ruled: options.selection.rule().is_some().into(),
        ..Config::default()
    }
}

/// Makes sure that nothing is in the way: neither what cannot be, nor what others left or have.
fn make_way(cgroup: &Cgroup, policy: &Policy, selection: &Selection) -> Result<()> {
    refuse_impossible(policy, selection)?;
    sweep::sweep(cgroup)?;
    conflict::refuse(cgroup, policy.law().side(), selection)
}

/// Refuses what no cgroup of this machine can be attached with.
fn refuse_impossible(policy: &Policy, selection: &Selection) -> Result<()> {
    if policy.law().is_for_counters() {
        let law = policy.law().name;
        return Err(Error::NotForKernel { law });
    }
    crate::features::require(policy.law())?;
    if matches!(selection, Selection::Processes(_)) && !is_first_pid_namespace() {
        return Err(Error::InnerPidNamespace);
    }
    Ok(())
}

impl Drop for Attachment {
    fn drop(&mut self) {
        if let Err(error) = self.finish() {
            tracing::warn!("while detaching: {error}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As while the verifier runs, or a walk over very many connections, on a slow machine.
    #[test]
    fn the_lease_is_renewed_while_somebody_works_on_the_attachment() {
        if !crate::requires_root("the_lease_is_renewed_while_somebody_works_on_the_attachment") {
            return;
        }
        let name = format!("ebbk-lease-{}", std::process::id());
        let cgroup = Cgroup::root().unwrap().create_child(&name).unwrap();
        let policy = Policy::default();
        let attachment = Attachment::attach(&cgroup, &policy, AttachOptions::default()).unwrap();
        let state = attachment.shared.lock();
        for _ in 0..40 {
            std::thread::sleep(Duration::from_millis(100));
            assert!(state.programs.control.is_lease_valid());
        }
        drop(state);
        attachment.detach().unwrap();
        cgroup.remove().unwrap();
    }
}
