// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Policies whose programs are loaded for users: each is held once by the service itself, on
//! nothing, so that whoever comes with it finds everything there, and one lease is renewed for all.

use std::time::Instant;

use ebb_keeper::kernel::claims::{Claim, Claims};
use ebb_keeper::{Backend, Cgroup, Held, KernelHeld, Policies, Wanted};

use super::requests::is_same;
use crate::error::{Error, Result};

/// Beside that of the service; the kernel has room for 64 on a cgroup, those of rules among them.
const MOST: usize = 16;
/// No user has this number.
const NOBODY: u32 = u32::MAX;

/// The policies.
#[derive(Debug)]
pub(crate) struct Anchors {
    below: Cgroup,
    all: Vec<Anchor>,
}

/// One of them.
#[derive(Debug)]
pub(crate) struct Anchor {
    wanted: Policies,
    /// As far as the kernel can.
    pub(crate) policies: Policies,
    /// What people should know of it.
    notices: Vec<String>,
    held: KernelHeld,
    claim: Option<Claim>,
    used: Instant,
    /// It is the one that the service has by itself, which stays.
    is_own: bool,
}

impl Anchors {
    /// Loads the policies that the service has by itself.
    ///
    /// *Errors:* the kernel refuses them.
    pub(crate) fn new(below: &Cgroup, claims: &mut Claims) -> Result<Self> {
        let mut anchors = Self {
            below: below.clone(),
            all: Vec::new(),
        };
        let own = Policies::new(&Wanted::default(), Backend::Kernel)?;
        anchors.load(&own, claims)?;
        anchors.all[0].is_own = true;
        Ok(anchors)
    }

    /// Loads policies unless they are there; `is_used` says of those that are whether anybody has
    /// them.
    ///
    /// *Errors:* there are too many; the kernel refuses them.
    pub(crate) fn find(
        &mut self,
        wanted: &Policies,
        claims: &mut Claims,
        is_used: impl Fn(&Policies) -> bool,
    ) -> Result<&Anchor> {
        let place = match self.all.iter().position(|anchor| anchor.wanted == *wanted) {
            Some(place) => place,
            None => {
                self.make_room(claims, is_used)?;
                self.load(wanted, claims)?
            }
        };
        let anchor = &mut self.all[place];
        anchor.used = Instant::now();
        Ok(anchor)
    }

    /// Whether these are the policies that the service has by itself.
    pub(crate) fn is_own(&self, policies: &Policies) -> bool {
        let mut own = self.all.iter().filter(|anchor| anchor.is_own);
        own.any(|anchor| is_same(&anchor.policies, policies) || is_same(&anchor.wanted, policies))
    }

    /// What people should know of these.
    pub(crate) fn notices(&self, wanted: &Policies) -> Vec<String> {
        let mut all = self.all.iter();
        let anchor = all.find(|anchor| is_same(&anchor.wanted, wanted));
        anchor.map_or_else(Vec::new, |anchor| anchor.notices.clone())
    }

    /// Policies that act no more, since somebody took their programs off.
    pub(crate) fn take_lost(&mut self, claims: &mut Claims) -> Vec<Policies> {
        let is_lost = |anchor: &mut Anchor| !anchor.held.is_held();
        let lost: Vec<Anchor> = self.all.extract_if(.., is_lost).collect();
        let lost = lost.into_iter().map(|mut anchor| {
            anchor.end(claims);
            anchor.policies.clone()
        });
        lost.collect()
    }

    /// Lets go what nobody has had for the longest time.
    fn make_room(
        &mut self,
        claims: &mut Claims,
        is_used: impl Fn(&Policies) -> bool,
    ) -> Result<()> {
        if self.all.iter().filter(|anchor| !anchor.is_own).count() < MOST {
            return Ok(());
        }
        let all = self.all.iter().enumerate();
        let unused = all.filter(|(_, anchor)| !anchor.is_own && !is_used(&anchor.policies));
        let oldest = unused.min_by_key(|(_, anchor)| anchor.used);
        let place = oldest.map(|(place, _)| place);
        let place = place.ok_or(Error::TooManyPolicies { most: MOST })?;
        self.all.remove(place).end(claims);
        Ok(())
    }

    fn load(&mut self, wanted: &Policies, claims: &mut Claims) -> Result<usize> {
        let claim = claims.begin(NOBODY)?;
        let selection = claims.selection(&claim);
        let held = KernelHeld::hold_claim(&self.below, selection, wanted, false);
        let mut held = match held {
            Ok(held) => held,
            Err(error) => {
                claims.end(claim);
                return Err(error.into());
            }
        };
        self.all.push(Anchor {
            wanted: wanted.clone(),
            policies: held.policies().clone(),
            notices: held.take_notices(),
            held,
            claim: Some(claim),
            used: Instant::now(),
            is_own: false,
        });
        Ok(self.all.len() - 1)
    }
}

impl Anchor {
    fn end(&mut self, claims: &mut Claims) {
        if let Err(error) = self.held.release() {
            tracing::warn!(
                "while letting a policy go: {}",
                ebb_keeper::describe(&error)
            );
        }
        if let Some(claim) = self.claim.take() {
            claims.end(claim);
        }
    }
}
