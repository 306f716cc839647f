// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Ceilings by which members that yield to everybody else share by weight what these leave.
//!
//! What there is to share changes all the time, so no sum is searched for: it is what the members
//! receive together. Who has more than its part gets a ceiling. Who has the least for its weight
//! has room above it, and more so the more there is to take. `docs/weights.md` has the rest.

use crate::partition::desired_partition;
use crate::preferences::Preferences;
use crate::rates::part;
use crate::{SharingError, Target};

/// The ceiling of who has the least for its weight is so much of its part at the least; twice as
/// much each period in which ceilings are all that holds them: all receive so much of theirs.
/// *Units:* 1/1 000 000.
const LEADS_PPM: u32 = 1_250_000;
const HELD_PPM: u32 = 950_000;
const LEADS_MOST_PPM: u32 = 16 * LEADS_PPM;
/// Who has less of its part than this lacks something. *Units:* 1/1 000 000.
const LACKS_PPM: u32 = 930_000;
/// As long as it is not known that members share a link, a step takes no more of what one has.
/// *Units:* 1/1 000 000.
const STEP_PPM: u32 = 750_000;
/// Of what some gave up others have to take so much, or it was in vain. *Units:* 1/1 000 000.
const WORTH_PPM: u32 = 500_000;
/// Periods that a step has to show that.
const STEP_LEAST: u32 = 2;
const STEP_MOST: u32 = 5;
/// Periods for which one is left out that takes nothing of what it is offered: at first, and after
/// twice as many each time, at the most.
const OUT_FIRST: u32 = 10;
const OUT_MOST: u32 = 320;
/// It takes part again as soon as it takes so much more by itself. *Units:* 1/1 000 000.
const WAKES_PPM: u32 = 1_250_000;
/// A ceiling binds who receives so much of it. As long as any does, so much of the sum is kept from
/// one period to the next. *Units:* 1/1 000 000.
const BINDS_PPM: u32 = 850_000;
const KEPT_PPM: u32 = 985_000;
/// Who receives less of the sum than this has nothing to share. *Units:* 1/1 000 000.
const IDLE_PPM: u32 = 20_000;
/// Of what all have, some have to give up so much, or it says nothing that others take more.
/// *Units:* 1/1 000 000.
const SHOWS_PPM: u32 = 30_000;
/// Periods for which those that come are left to find what there is.
const SETTLES: u32 = 3;
/// How far what is told may be from what is meant. *Units:* 1/1 000 000.
const CORRECTION_PPM: [u32; 2] = [250_000, 1_500_000];
/// What is received above the ceiling, and below it, and what the correction becomes each period.
/// *Units:* 1/1 000 000.
const OVER_PPM: u32 = 1_030_000;
const DOWN_PPM: u32 = 950_000;
const UNDER_PPM: u32 = 990_000;
const UP_PPM: u32 = 1_050_000;

/// Members that share what is left over.
#[derive(Clone, Debug, Default)]
pub struct Weighing {
    members: Vec<Member>,
    /// Places of those that share now.
    contenders: Vec<usize>,
    /// They have been seen to take what others gave up: they share a link.
    is_shared: bool,
    /// Periods since they are these.
    settled: u32,
    /// The ceiling of the one that leads, of its part. *Units:* 1/1 000 000.
    leads_ppm: u32,
    /// What there is to share: what all of them receive, or did a while ago. *Units:* bit/s.
    sum: u64,
    step: Option<Step>,
}

#[derive(Clone, Debug)]
struct Member {
    /// What it receives, of the last two periods. *Units:* bit/s.
    rate: u64,
    /// In the last one.
    last: u64,
    /// *Units:* bit/s.
    ceiling: Option<u64>,
    /// The ceiling is meant to hold it.
    is_held: bool,
    /// By what the ceiling is multiplied for those who hold it: windows are a rough measure.
    correction_ppm: u32,
    /// It takes no more than this, and is left out for so many periods.
    sated: Option<(u64, u32)>,
    out: u32,
}

/// Ceilings that are given time to show whether anybody takes what they leave.
#[derive(Clone, Debug)]
struct Step {
    age: u32,
    /// What members received before. *Shape:* by place.
    before: Vec<u64>,
    /// Places of those that lacked something.
    lacking: Vec<usize>,
}

impl Default for Member {
    fn default() -> Self {
        Self {
            rate: 0,
            last: 0,
            ceiling: None,
            is_held: false,
            correction_ppm: 1_000_000,
            sated: None,
            out: OUT_FIRST,
        }
    }
}

impl Weighing {
    /// So many members, of which nothing is known.
    pub fn new(members: usize) -> Self {
        Self {
            members: vec![Member::default(); members],
            ..Self::default()
        }
    }

    /// Takes what each received in the period that ends now, about a second, and what is wanted for
    /// it; none for those that do not take part.
    ///
    /// *Units:* bit/s. *Shape:* one for each member, in their order. *Errors:*
    /// [`SharingError::Rates`] if they are more or fewer.
    pub fn on_period(
        &mut self,
        wanted: &[Option<Preferences>],
        received: &[u64],
    ) -> Result<(), SharingError> {
        let members = self.members.len();
        if let Some(given) = [wanted.len(), received.len()]
            .into_iter()
            .find(|it| *it != members)
        {
            return Err(SharingError::Rates {
                flows: members,
                given,
            });
        }
        for (member, rate) in self.members.iter_mut().zip(received) {
            member.note(*rate);
        }
        let contenders = self.who_contends(wanted);
        if contenders != self.contenders {
            self.step = None;
            self.is_shared &= contenders.iter().all(|it| self.contenders.contains(it));
            self.contenders = contenders;
            self.settled = 0;
        }
        self.settled += 1;
        if self.contenders.len() < 2 {
            self.free();
            return Ok(());
        }
        self.look_for_more();
        self.look_what_there_is();
        let parts = self.parts(wanted);
        let is_settled = self.is_shared || self.settled > SETTLES;
        if is_settled && self.is_step_over(&parts) {
            self.limit(&parts);
        }
        Ok(())
    }

    /// What a member is to receive at the most from now on.
    pub fn ceiling(&self, place: usize) -> Target {
        let member = self.members.get(place);
        let ceiling = member.and_then(|it| Some(part(it.ceiling?, it.correction_ppm)));
        ceiling.map_or(Target::Free, Target::At)
    }

    /// Those that have something, and may take more.
    fn who_contends(&mut self, wanted: &[Option<Preferences>]) -> Vec<usize> {
        let places = || (0..wanted.len()).filter(|place| wanted[*place].is_some());
        let sum = places().map(|place| self.members[place].rate).sum();
        let least = part(sum, IDLE_PPM).max(1);
        places()
            .filter(|place| self.members[*place].contends(least))
            .collect()
    }

    /// What the link has left for them may have become more.
    fn look_for_more(&mut self) {
        let mut members = self.contenders.iter().map(|place| &self.members[*place]);
        let is_held = |it: &Member| {
            it.ceiling
                .is_some_and(|most| it.last >= part(most, HELD_PPM))
        };
        self.leads_ppm = match members.all(is_held) {
            true => (self.leads_ppm * 2).clamp(LEADS_PPM, LEADS_MOST_PPM),
            false => LEADS_PPM,
        };
    }

    /// A sum that becomes less by itself is forgotten slowly: it may be the ceilings that made it
    /// less. If these hold nobody it was others.
    fn look_what_there_is(&mut self) {
        let members = || self.contenders.iter().map(|place| &self.members[*place]);
        let has_ceiling = |it: &&Member| it.is_held && it.ceiling.is_some();
        let is_held = |it: &Member| {
            it.ceiling
                .is_some_and(|most| it.last >= part(most, BINDS_PPM))
        };
        let kept_ppm = match members().filter(has_ceiling).any(is_held) {
            true => KEPT_PPM,
            false => 0,
        };
        let now = members().map(|member| member.rate).sum();
        self.sum = part(self.sum, kept_ppm).max(now);
    }

    /// What each contender would have by its weight. *Shape:* by place; 0 for the others.
    fn parts(&self, wanted: &[Option<Preferences>]) -> Vec<u64> {
        let flows = self.contenders.iter().filter_map(|place| wanted[*place]);
        let shares = desired_partition(self.sum, &flows.collect::<Vec<_>>());
        let mut parts = vec![0; self.members.len()];
        for (place, share) in self.contenders.iter().zip(shares) {
            parts[*place] = share;
        }
        parts
    }

    /// Whether it is time for other ceilings. If nobody took what was left, all are free.
    fn is_step_over(&mut self, parts: &[u64]) -> bool {
        let Some(step) = &mut self.step else {
            return true;
        };
        step.age += 1;
        if step.age < STEP_LEAST {
            return false;
        }
        let (members, before) = (&self.members, &step.before);
        let gain = |place: &usize| members[*place].rate.saturating_sub(before[*place]);
        let took: u64 = step.lacking.iter().map(gain).sum();
        let loss = |place: &usize| before[*place].saturating_sub(members[*place].rate);
        let gave: u64 = self.contenders.iter().map(loss).sum();
        let lacks = |place: &&usize| members[**place].rate < part(parts[**place], LACKS_PPM);
        let still: Vec<usize> = step.lacking.iter().filter(lacks).copied().collect();
        if still.is_empty() || took > 0 && took >= part(gave, WORTH_PPM) {
            // Without that they may have found more by themselves.
            self.is_shared |= gave >= part(before.iter().sum(), SHOWS_PPM);
            for place in &step.lacking {
                self.members[*place].out = OUT_FIRST;
            }
            return true;
        }
        if step.age >= STEP_MOST {
            self.leave_out(&still);
        }
        false
    }

    fn leave_out(&mut self, places: &[usize]) {
        for place in places {
            let member = &mut self.members[*place];
            member.sated = Some((member.rate, member.out));
            member.out = (member.out * 2).min(OUT_MOST);
        }
        self.is_shared = false;
        self.free();
    }

    fn limit(&mut self, parts: &[u64]) {
        let has_less = |one: &usize, other: &usize| {
            let [first, second] = [*one, *other].map(|place| u128::from(self.members[place].rate));
            (first * u128::from(parts[*other])).cmp(&(second * u128::from(parts[*one])))
        };
        let poorest = self
            .contenders
            .iter()
            .copied()
            .min_by(|one, other| has_less(one, other));
        let lacks = |place: &usize| self.members[*place].rate < part(parts[*place], LACKS_PPM);
        let lacking: Vec<usize> = self.contenders.iter().copied().filter(lacks).collect();
        for place in self.contenders.clone() {
            let is_poorest = Some(place) == poorest;
            let ceiling = match is_poorest {
                true => self.is_shared.then(|| part(parts[place], self.leads_ppm)),
                false => self.ceiling_of(place, parts[place], !lacking.is_empty()),
            };
            let member = &mut self.members[place];
            member.ceiling = ceiling;
            member.is_held = !is_poorest;
        }
        self.step = (!lacking.is_empty()).then(|| Step {
            age: 0,
            before: self.members.iter().map(|member| member.rate).collect(),
            lacking,
        });
    }

    fn ceiling_of(&self, place: usize, share: u64, is_step: bool) -> Option<u64> {
        let member = &self.members[place];
        let own = share.max(part(member.rate, IDLE_PPM));
        if self.is_shared {
            return Some(own);
        }
        (is_step && member.rate > own).then(|| own.max(part(member.rate, STEP_PPM)))
    }

    fn free(&mut self) {
        self.step = None;
        for member in &mut self.members {
            member.ceiling = None;
            member.correction_ppm = 1_000_000;
        }
    }
}

impl Member {
    fn note(&mut self, received: u64) {
        self.rate = (self.last / 2).saturating_add(received / 2);
        self.last = received;
        let Some(ceiling) = self.ceiling.filter(|_| self.is_held) else {
            return;
        };
        let [least, most] = CORRECTION_PPM;
        let by_ppm = match received {
            above if above > part(ceiling, OVER_PPM) => DOWN_PPM,
            below if below < part(ceiling, UNDER_PPM) => UP_PPM,
            _ => return,
        };
        let correction_ppm = part(self.correction_ppm.into(), by_ppm);
        self.correction_ppm = (correction_ppm as u32).clamp(least, most);
    }

    /// Whether it takes part in the sharing, having received this at the least.
    fn contends(&mut self, least: u64) -> bool {
        if let Some((most, left)) = self.sated {
            let is_awake = left == 0 || self.rate > part(most, WAKES_PPM);
            self.sated = (!is_awake).then(|| (most, left - 1));
        }
        self.sated.is_none() && self.rate >= least
    }
}
