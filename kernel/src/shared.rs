// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What an attachment and its heartbeat share, and what is done to it under its lock.

use crate::cgroup::Cgroup;
use crate::counters::Counters;
use crate::ending::Ending;
use crate::error::{Error, Result};
use crate::features;
use crate::layout::{Config, Wish};
use crate::lease::Lease;
use crate::namespaces::Namespaces;
use crate::programs::{LoadOptions, Programs, Purpose};
use crate::selection::{RuleSelection, Selection};
use crate::sets::Joining;
use ebb_algorithms::Policy;
use ebb_host::{Family, copies_of_sockets, with_descendants};
use std::fmt;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

/// What the owner and its heartbeat share.
pub(crate) struct Shared {
    pub(crate) cgroup: Cgroup,
    /// What every law's programs have in common.
    pub(crate) config: Config,
    pub(crate) rule: Option<RuleSelection>,
    pub(crate) lease: Lease,
    pub(crate) state: Mutex<State>,
    pub(crate) ended: Condvar,
}

/// What changes while the attachment lives.
pub(crate) struct State {
    pub(crate) programs: Arc<Programs>,
    pub(crate) policy: Policy,
    pub(crate) is_observing: bool,
    /// What its connections have together at the least; 0: nothing.
    pub(crate) floor_bytes_per_s: u64,
    /// And at the most; 0: whatever the law says.
    pub(crate) ceiling_bytes_per_s: u64,
    /// Where connections of ours may be, though no process of ours is there any more.
    pub(crate) namespaces: Namespaces,
    pub(crate) ending: Option<Ending>,
    /// Of programs that acted before, which counted by themselves.
    counted_before: Counters,
    /// Connections that were taken over again, since the policy was changed.
    taken_again: u64,
}

impl State {
    pub(crate) fn new(programs: Arc<Programs>, policy: &Policy, is_observing: bool) -> Self {
        Self {
            programs,
            policy: policy.clone(),
            is_observing,
            floor_bytes_per_s: 0,
            ceiling_bytes_per_s: 0,
            namespaces: Namespaces::default(),
            ending: None,
            counted_before: Counters::default(),
            taken_again: 0,
        }
    }

    /// Floor and ceiling.
    pub(crate) fn bounds(&self) -> [u64; 2] {
        [self.floor_bytes_per_s, self.ceiling_bytes_per_s]
    }
}

impl Shared {
    pub(crate) fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was counted since the attachment was made, whatever programs acted.
    pub(crate) fn counters(&self, state: &State) -> Result<Counters> {
        let mut counters = state.counted_before;
        counters += state.programs.counters(self.rule_number())?;
        counters.adopted_established -= state.taken_again.min(counters.adopted_established);
        Ok(counters)
    }

    /// Takes the connections over that exist in the cgroup.
    pub(crate) fn adopt(&self, state: &mut State) -> Result<()> {
        self.note_namespaces(state);
        state.programs.adopt_existing(&state.namespaces)
    }

    /// Switches connections by themselves; answers how many there are.
    pub(crate) fn switch(&self, state: &mut State, cookies: &[u64], wish: Wish) -> Result<usize> {
        self.note_namespaces(state);
        let rule = self.rule.as_ref().map(|rule| rule.rule);
        state
            .programs
            .switch(cookies, wish, &state.namespaces, rule)
    }

    /// The number of our rule; without rules 0.
    pub(crate) fn rule_number(&self) -> u32 {
        self.rule.as_ref().map_or(0, |rule| rule.rule)
    }

    /// Tells programs what our connections have together at the least, and at the most.
    pub(crate) fn set_bounds(&self, programs: &Programs, [floor, ceiling]: [u64; 2]) {
        let rule = self.rule_number();
        programs.control.set_floor(rule, floor);
        programs.control.set_ceiling(rule, ceiling);
    }

    /// Lets everything go, first by word, then by hand, and takes the programs off. Where not
    /// every connection was reached, the programs stay: they let it go at its next segment, and
    /// the next Ebb on the cgroup takes them off.
    pub(crate) fn end(&self, state: &mut State, ending: Ending) -> Result<()> {
        if self.rule.is_none() {
            state.programs.control.set_released();
        }
        let left = self.let_go(state);
        if let Ok(1..) = left {
            tracing::info!("some connections go at their next segment");
        }
        self.note_end(state, ending);
        left.map(drop)
    }

    /// Nothing is held any more.
    pub(crate) fn note_end(&self, state: &mut State, ending: Ending) {
        state.ending = Some(ending);
        self.lease.end();
        self.ended.notify_all();
    }

    fn let_go(&self, state: &mut State) -> Result<usize> {
        if let Some(rule) = &self.rule {
            return rule.leave(&self.cgroup, &state.programs, &mut state.namespaces);
        }
        state.namespaces.add_all();
        let (programs, namespaces) = (&state.programs, &state.namespaces);
        let left = programs.release_existing(namespaces, None);
        if matches!(left, Ok(0)) {
            programs.detach(self.cgroup.as_fd());
        }
        left
    }

    /// Puts the programs on the cgroup, and its connections under them; those of a rule are there.
    pub(crate) fn begin(&self, state: &mut State, selection: &Selection) -> Result<()> {
        let begun = self.try_to_begin(state, selection);
        if begun.is_err() {
            let _ = self.end(state, Ending::Detached);
        }
        begun
    }

    fn try_to_begin(&self, state: &mut State, selection: &Selection) -> Result<()> {
        if self.rule.is_some() {
            // What exists is taken over for all rules at once.
            return Ok(());
        }
        self.attach(state, selection)?;
        self.adopt(state)?;
        refuse_what_is_left(state)
    }

    fn attach(&self, state: &mut State, selection: &Selection) -> Result<()> {
        let control = &state.programs.control;
        control.initialise(&state.policy, state.is_observing, &self.config);
        self.lease.begin(control);
        if let Selection::Processes(pids) = selection {
            state.programs.mark_processes(&started(pids)?)?;
        }
        state.programs.try_storage()?;
        state.programs.attach(self.cgroup.as_fd(), None)?;
        mark_sockets(state, selection)
    }

    /// Goes over from the programs of one policy to those of another, which other rules may have.
    pub(crate) fn change_programs(&self, state: &mut State, policy: &Policy) -> Result<()> {
        let Some(rule) = &self.rule else {
            return self.change_law(state, policy);
        };
        features::require(policy.law())?;
        let joining = Joining {
            cgroup: &self.cgroup,
            config: self.config,
            lease: &self.lease,
        };
        // What comes from now on is under the new ones, what exists follows.
        let successor = rule.join(&joining, policy, state.is_observing)?;
        self.lease.keep_only(&successor.control);
        self.set_bounds(&successor, state.bounds());
        let before = state.programs.counters(rule.rule)?;
        let left = rule.leave(&self.cgroup, &state.programs, &mut state.namespaces);
        state.counted_before += Counters {
            // Those that are let go here are taken over again.
            released: before.released,
            ..state.programs.counters(rule.rule).unwrap_or(before)
        };
        state.programs = successor;
        state.policy = policy.clone();
        self.take_again(state, 0)?;
        left.map(drop)
    }

    /// Takes over what was under the policy before: that is not counted again.
    fn take_again(&self, state: &mut State, counted_established: u64) -> Result<()> {
        let adopted = self.adopt(state);
        let counters = state.programs.counters(self.rule_number())?;
        state.taken_again += counters.adopted_established - counted_established;
        adopted
    }

    fn change_law(&self, state: &mut State, policy: &Policy) -> Result<()> {
        features::require(policy.law())?;
        let successor = Programs::load(&LoadOptions {
            config: self.config,
            purpose: Purpose::Law(policy.law()),
            predecessor: Some(&state.programs),
            rules: None,
        })?;
        let control = &successor.control;
        control.initialise(policy, state.is_observing, &self.config);
        self.set_bounds(&successor, state.bounds());
        self.lease.begin(control);
        let before = state.programs.counters(0)?.adopted_established;
        // A failure half-way leaves both acting: end, rather than that.
        if let Err(error) = successor.attach(self.cgroup.as_fd(), Some(&state.programs)) {
            successor.detach(self.cgroup.as_fd());
            let _ = self.end(state, Ending::Unloaded);
            return Err(error);
        }
        self.lease.keep_only(control);
        state.programs = Arc::new(successor);
        state.policy = policy.clone();
        self.take_again(state, before)
    }

    pub(crate) fn note_namespaces(&self, state: &mut State) {
        let State {
            namespaces,
            programs,
            ..
        } = state;
        if let Ok(pids) = self.cgroup.processes() {
            namespaces.update(pids, |namespace| programs.has_any_in(namespace));
        }
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Shared")
            .field("cgroup", &self.cgroup.path())
            .finish_non_exhaustive()
    }
}

/// What runs already is to be governed, all of it, or somebody is to hear that it is not.
fn refuse_what_is_left(state: &State) -> Result<()> {
    let counters = state.programs.counters(0)?;
    match (counters.skipped_established, counters.skipped_no_memory) {
        (0, 0) => Ok(()),
        (0, count) => Err(Error::NoMemory { count }),
        (count, _) => Err(Error::LeavesRunning { count }),
    }
}

/// The processes, each with the moment at which it started.
fn started(pids: &[u32]) -> Result<Vec<(u32, u64)>> {
    let mut members = Vec::new();
    for pid in pids {
        members.extend(Family::of(*pid)?.members());
    }
    Ok(members)
}

/// Marks the sockets that the chosen processes have; new ones are marked as they come.
fn mark_sockets(state: &mut State, selection: &Selection) -> Result<()> {
    let Selection::Processes(pids) = selection else {
        return Ok(());
    };
    let pids = with_descendants(pids)?;
    for pid in &pids {
        // One that ended meanwhile has no sockets.
        for socket in copies_of_sockets(*pid).into_iter().flatten() {
            state.programs.mark_socket(socket.as_fd());
        }
    }
    state.namespaces.add_processes(pids);
    Ok(())
}
