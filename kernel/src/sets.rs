// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Programs that rules share: those of one policy are loaded once, and attached once, however many
//! rules have it. A cgroup has room for 64 programs of a kind, and each would be called for every
//! segment.

use crate::cgroup::Cgroup;
use crate::error::Result;
use crate::layout::Config;
use crate::lease::Lease;
use crate::namespaces::{Namespaces, Networks};
use crate::programs::{LoadOptions, Programs, Purpose};
use crate::selection::RuleSelection;
use ebb_algorithms::Policy;
use std::os::fd::AsFd;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The programs that act for rules. Its lock is held while one is loaded, joined or left.
#[derive(Default)]
pub(crate) struct Sets(Mutex<Vec<Set>>);

struct Set {
    policy: Policy,
    config: Config,
    cgroup: Cgroup,
    programs: Weak<Programs>,
}

/// Who joins: what all rules of a set have in common, and whose lease it is.
pub(crate) struct Joining<'a> {
    pub(crate) cgroup: &'a Cgroup,
    pub(crate) config: Config,
    pub(crate) lease: &'a Lease,
}

impl RuleSelection {
    /// The programs of a policy, which act for the rule from now on on what comes.
    ///
    /// *Errors*: as [`Programs::load`]; they cannot be attached.
    pub(crate) fn join(
        &self,
        joining: &Joining<'_>,
        policy: &Policy,
        is_observing: bool,
    ) -> Result<Arc<Programs>> {
        let mut sets = self.maps.sets.lock();
        sets.retain(|set| set.programs.strong_count() != 0);
        let mut found = sets.iter().filter(|set| set.serves(joining, policy));
        let programs = match found.find_map(Set::acting) {
            Some(programs) => {
                programs.forget_counts(self.rule)?;
                joining.lease.begin(&programs.control);
                programs
            }
            None => {
                let programs = Arc::new(self.load(joining, policy)?);
                sets.push(Set {
                    policy: policy.clone(),
                    config: joining.config,
                    cgroup: joining.cgroup.clone(),
                    programs: Arc::downgrade(&programs),
                });
                programs
            }
        };
        programs.control.hold_rule(self.rule, is_observing);
        Ok(programs)
    }

    /// Lets the rule's connections go; the programs end with their last rule. Answers how many
    /// connections go at their next segment only.
    ///
    /// *Errors*: the walk over the connections failed.
    pub(crate) fn leave(
        &self,
        cgroup: &Cgroup,
        programs: &Programs,
        namespaces: &mut Namespaces,
    ) -> Result<usize> {
        let _alone = self.maps.sets.lock();
        if has_ended(programs) {
            return Ok(0);
        }
        programs.control.drop_rule(self.rule);
        namespaces.add_all();
        if programs.control.holds_any_rule() {
            return programs.release_existing(namespaces, Some(self.rule));
        }
        end(cgroup, programs, namespaces)
    }

    /// Has programs that act for others act for the rule no more; answers whether they do.
    pub(crate) fn drop_from(&self, programs: &Programs) -> bool {
        let _alone = self.maps.sets.lock();
        if has_ended(programs) {
            return true;
        }
        programs.control.drop_rule(self.rule);
        let acts_for_others = programs.control.holds_any_rule();
        if !acts_for_others {
            programs.control.hold_rule(self.rule, false);
        }
        acts_for_others
    }

    fn load(&self, joining: &Joining<'_>, policy: &Policy) -> Result<Programs> {
        let programs = Programs::load(&LoadOptions {
            config: joining.config,
            purpose: Purpose::Law(policy.law()),
            predecessor: None,
            rules: Some(&self.maps),
        })?;
        let control = &programs.control;
        control.initialise(policy, false, &joining.config);
        joining.lease.begin(control);
        let attached = programs.try_storage();
        let attached = attached.and_then(|()| programs.attach(joining.cgroup.as_fd(), None));
        attached.inspect_err(|_| joining.lease.withdraw(control))?;
        Ok(programs)
    }
}

/// Lets the connections of all rules go, and takes the programs off unless some were not reached.
fn end(cgroup: &Cgroup, programs: &Programs, namespaces: &Namespaces) -> Result<usize> {
    programs.control.drop_all_rules();
    programs.control.set_released();
    let left = programs.release_existing(namespaces, None);
    if matches!(left, Ok(0)) {
        programs.detach(cgroup.as_fd());
    }
    left
}

/// Whether all connections were let go, of whatever rule.
fn has_ended(programs: &Programs) -> bool {
    programs.control.is_released() && !programs.control.holds_any_rule()
}

/// The sets that act, with their programs, and where their connections may be.
fn acting(sets: &[Set]) -> (Vec<(&Set, Arc<Programs>)>, Namespaces) {
    let acting = sets.iter();
    let acting = acting.filter_map(|set| Some((set, set.acting()?)));
    let acting: Vec<_> = acting.collect();
    let mut namespaces = Namespaces::default();
    if !acting.is_empty() {
        namespaces.add_all();
    }
    (acting, namespaces)
}

impl Sets {
    /// Has the programs of each policy walk over all connections.
    ///
    /// *Errors*: a walk failed; the others were made all the same.
    pub(crate) fn each(&self, walk: fn(&Programs, &Namespaces) -> Result<()>) -> Result<()> {
        let sets = self.lock();
        let (acting, namespaces) = acting(&sets);
        let walked = acting
            .iter()
            .map(|(_, programs)| walk(programs, &namespaces));
        walked.fold(Ok(()), Result::and)
    }

    /// The same over those in some networks.
    ///
    /// *Errors*: as [`Self::each`].
    pub(crate) fn each_in(
        &self,
        networks: &Networks,
        walk: fn(&Programs, &Namespaces) -> Result<()>,
    ) -> Result<()> {
        if networks.is_any {
            return self.each(walk);
        }
        let sets = self.lock();
        let acting = sets.iter().filter_map(Set::acting);
        let walked = acting.map(|programs| walk(&programs, &networks.found));
        walked.fold(Ok(()), Result::and)
    }

    /// Lets everything go that is under a rule.
    ///
    /// *Errors*: as [`Self::each`].
    pub(crate) fn end_all(&self) -> Result<()> {
        let sets = self.lock();
        let (acting, namespaces) = acting(&sets);
        // First by word.
        for (_, programs) in &acting {
            programs.control.drop_all_rules();
        }
        let ended = acting.iter();
        let ended = ended.map(|(set, programs)| end(&set.cgroup, programs, &namespaces).map(drop));
        ended.fold(Ok(()), Result::and)
    }

    /// What the programs of each policy tell of their connections.
    ///
    /// *Errors*: a walk failed.
    pub(crate) fn show(&self) -> Result<Vec<(Policy, Vec<u8>)>> {
        let sets = self.lock();
        let (acting, namespaces) = acting(&sets);
        let shown = acting
            .iter()
            .map(|(set, programs)| Ok((set.policy.clone(), programs.show(&namespaces)?)));
        shown.collect()
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Set>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Sets {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Sets").finish_non_exhaustive()
    }
}

impl Set {
    fn serves(&self, joining: &Joining<'_>, policy: &Policy) -> bool {
        let (ours, theirs) = (&self.config, &joining.config);
        self.policy == *policy
            && ours.cgroup_id == theirs.cgroup_id
            && ours.keeps_code_point == theirs.keeps_code_point
    }

    /// Unless it has ended with its last rule, or somebody ended it.
    fn acting(&self) -> Option<Arc<Programs>> {
        let programs = self.programs.upgrade()?;
        let acts = programs.control.holds_any_rule() && !programs.control.is_released();
        acts.then_some(programs)
    }
}
