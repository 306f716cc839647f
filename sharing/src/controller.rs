// SPDX-License-Identifier: Apache-2.0 OR MIT
//! From what had arrived of each member so far to what each is held at, members coming and
//! going meanwhile.

use crate::{Preferences, Settings, Sharing, SharingError, Stage, Target};

const SECOND_NS: u128 = 1_000_000_000;

/// Members that share what one host receives, each with a count of what has arrived for it. A
/// member is a flow, or whatever has one target: all connections of a program.
#[derive(Clone, Debug)]
pub struct Controller {
    settings: Settings,
    /// What is wanted for each.
    wanted: Vec<Preferences>,
    /// Places of those that take part now.
    active: Vec<usize>,
    sharing: Sharing,
    /// When it was called last. *Units:* ns.
    last_ns: u64,
    /// What had arrived then. *Shape:* by place.
    arrived_bytes: Vec<u64>,
    /// What each received in the last control period. *Units:* bit/s. *Shape:* by place.
    received_bits_per_s: Vec<u64>,
}

impl Controller {
    /// Nobody takes part until [`Controller::control`] says who does.
    pub fn new(settings: Settings, wanted: Vec<Preferences>) -> Self {
        let members = wanted.len();
        Self {
            settings,
            wanted,
            active: Vec::new(),
            sharing: Sharing::new(settings, Vec::new()),
            last_ns: 0,
            arrived_bytes: vec![0; members],
            received_bits_per_s: vec![0; members],
        }
    }

    /// Wants other things from the next call of [`Controller::control`] on.
    ///
    /// *Errors:* [`SharingError::Members`] if they are more or fewer.
    pub fn set_wanted(&mut self, wanted: Vec<Preferences>) -> Result<(), SharingError> {
        self.check(wanted.len())?;
        self.wanted = wanted;
        Ok(())
    }

    /// Takes the count of each member at the end of a control period, from any beginning on and
    /// of all that arrives, in order or not; none for those that do not take part.
    ///
    /// Afterwards [`Controller::target`] has what members are to be held at.
    ///
    /// *Units:* `now_ns` on a clock that never goes back. *Shape:* one for each, in their
    /// order. *Errors:* [`SharingError::Members`] if they are more or fewer.
    pub fn control(
        &mut self,
        now_ns: u64,
        arrived_bytes: &[Option<u64>],
    ) -> Result<(), SharingError> {
        self.check(arrived_bytes.len())?;
        self.measure(now_ns, arrived_bytes);
        let is_active = |place: &usize| arrived_bytes[*place].is_some();
        let active: Vec<usize> = (0..self.wanted.len()).filter(is_active).collect();
        let wanted: Vec<Preferences> = active.iter().map(|place| self.wanted[*place]).collect();
        if active == self.active && wanted == self.sharing.flows() {
            let rates = active.iter().map(|place| self.received_bits_per_s[*place]);
            return self.sharing.on_period(&rates.collect::<Vec<_>>());
        }
        // Who has come or gone leaves what the others may have open: all are free at first.
        self.active = active;
        self.sharing = Sharing::new(self.settings, wanted);
        Ok(())
    }

    /// What a member is to be held at from now on; free if it does not take part.
    pub fn target(&self, place: usize) -> Target {
        let number = self.active.iter().position(|active| *active == place);
        number.map_or(Target::Free, |number| self.sharing.target(number))
    }

    /// What a member received in the last control period, on average; 0 if there is no such
    /// member. *Units:* bit/s.
    pub fn received_bits_per_s(&self, place: usize) -> u64 {
        self.received_bits_per_s.get(place).copied().unwrap_or(0)
    }

    /// What is being done, and the sum of all targets, where there is one: as
    /// [`Sharing::stage`] and [`Sharing::sigma_bits_per_s`], a probed flow by its place among
    /// the members.
    pub fn stage(&self) -> (Stage, Option<u64>) {
        let stage = match self.sharing.stage() {
            Stage::Probing(number) => {
                Stage::Probing(self.active.get(number).copied().unwrap_or(number))
            }
            stage => stage,
        };
        (stage, self.sharing.sigma_bits_per_s())
    }

    fn measure(&mut self, now_ns: u64, arrived_bytes: &[Option<u64>]) {
        let length_ns = u128::from(now_ns.saturating_sub(self.last_ns).max(1));
        self.last_ns = now_ns;
        for (place, now_bytes) in arrived_bytes.iter().enumerate() {
            let now_bytes = now_bytes.unwrap_or(0);
            let before_bytes = std::mem::replace(&mut self.arrived_bytes[place], now_bytes);
            // Less than before: another connection.
            let bits = u128::from(now_bytes.saturating_sub(before_bytes)) * 8;
            let rate = u64::try_from(bits * SECOND_NS / length_ns);
            self.received_bits_per_s[place] = rate.unwrap_or(u64::MAX);
        }
    }

    fn check(&self, given: usize) -> Result<(), SharingError> {
        match self.wanted.len() {
            members if members == given => Ok(()),
            members => Err(SharingError::Members { members, given }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    fn wanted(weights: &[u32]) -> Vec<Preferences> {
        let weight = |weight: &u32| Preferences {
            weight: *weight,
            ..Preferences::default()
        };
        weights.iter().map(weight).collect()
    }

    /// Members that receive 500 kbit/s each, whatever their targets, for so many seconds.
    fn run(controller: &mut Controller, seconds: std::ops::Range<u64>, members: usize) {
        for second in seconds {
            let arrived = vec![Some(second * 62_500); members];
            controller.control(second * SECOND, &arrived).unwrap();
        }
    }

    #[test]
    fn measures_rates_and_holds_members_by_weight_once_the_sum_is_known() {
        let mut controller = Controller::new(Settings::default(), wanted(&[1, 3]));
        run(&mut controller, 0..2, 2);
        assert_eq!(controller.received_bits_per_s(1), 500_000);
        assert_eq!(controller.target(0), Target::Free);
        run(&mut controller, 2..15, 2);
        // 1 Mbit/s in all, by 1:3.
        assert_eq!(controller.target(0), Target::At(250_000));
        assert_eq!(controller.target(1), Target::At(750_000));
    }

    #[test]
    fn sets_all_free_when_a_member_goes_and_counts_the_rest_alone() {
        let mut controller = Controller::new(Settings::default(), wanted(&[1, 3]));
        run(&mut controller, 0..15, 2);
        for second in 15..30 {
            let arrived = [None, Some(second * 62_500)];
            controller.control(second * SECOND, &arrived).unwrap();
            if second == 15 {
                assert_eq!(controller.stage(), (Stage::Releasing, None));
            }
        }
        assert_eq!(controller.target(0), Target::Free);
        assert_eq!(controller.target(1), Target::At(500_000));
    }

    #[test]
    fn begins_anew_when_something_else_is_wanted() {
        let mut controller = Controller::new(Settings::default(), wanted(&[1, 3]));
        run(&mut controller, 0..15, 2);
        controller.set_wanted(wanted(&[1, 1])).unwrap();
        run(&mut controller, 15..16, 2);
        assert_eq!(controller.target(1), Target::Free);
        run(&mut controller, 16..30, 2);
        assert_eq!(controller.target(1), Target::At(500_000));
    }

    #[test]
    fn refuses_counts_of_more_members_than_it_has() {
        let mut controller = Controller::new(Settings::default(), wanted(&[1]));
        let error = controller.control(0, &[None, None]).unwrap_err();
        assert_eq!(
            error.to_string(),
            "2 given for 1 members: give one for each, in their order"
        );
    }
}
