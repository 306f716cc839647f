// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::preferences::Preferences;
use crate::search::{Search, Stage};
use crate::settings::Settings;
use crate::{SharingError, Target};

/// Nothing receives faster; keeps sums within their type.
const MOST_BITS_PER_S: u64 = 1 << 50;

/// The flows of one receiver that share what it can receive.
#[derive(Clone, Debug)]
pub struct Sharing {
    settings: Settings,
    flows: Vec<Preferences>,
    search: Search,
    /// Control periods since the last change, or those that count.
    periods: u32,
    /// Whether the last change has taken effect.
    is_counting: bool,
    /// What was received in those that count. *Units:* bit/s, summed over periods.
    sums: Vec<u128>,
    /// Of all flows together: the sum of squares. *Units:* bit²/s².
    squares: f64,
}

impl Sharing {
    /// Flows that are free at first, until it is known what they receive together.
    pub fn new(settings: Settings, flows: Vec<Preferences>) -> Self {
        Self {
            search: Search::new(flows.len(), &settings),
            sums: vec![0; flows.len()],
            squares: 0.0,
            periods: 0,
            is_counting: settings.release_periods == 0,
            settings,
            flows,
        }
    }

    /// Other flows, or other preferences: the search starts again, with all flows free. The
    /// same flows with the same preferences change nothing.
    pub fn set_flows(&mut self, flows: Vec<Preferences>) {
        if flows != self.flows {
            *self = Self::new(self.settings, flows);
        }
    }

    /// Takes what each flow received in the control period that ends now, on average.
    ///
    /// *Units:* bit/s of payload. *Shape:* one for each flow, in their order. *Errors:*
    /// [`SharingError::Rates`] if they are more or fewer.
    pub fn on_period(&mut self, received_bits_per_s: &[u64]) -> Result<(), SharingError> {
        if received_bits_per_s.len() != self.flows.len() {
            return Err(SharingError::Rates {
                flows: self.flows.len(),
                given: received_bits_per_s.len(),
            });
        }
        self.periods = self.periods.saturating_add(1);
        if !self.is_counting {
            self.is_counting = self.has_settled(received_bits_per_s);
            self.periods = if self.is_counting { 0 } else { self.periods };
            return Ok(());
        }
        let mut total = 0.0;
        for (sum, rate) in self.sums.iter_mut().zip(received_bits_per_s) {
            let rate = (*rate).min(MOST_BITS_PER_S);
            *sum += u128::from(rate);
            total += rate as f64;
        }
        self.squares += total * total;
        let counted = self.periods;
        let error = self.standard_error(counted);
        let is_near = error * f64::from(self.settings.errors_of_step) <= self.settings.step_share();
        let is_enough = counted >= self.settings.most_periods || is_near;
        if counted >= self.settings.measure_periods.max(1) && is_enough {
            let mean = |sum: &u128| (*sum / u128::from(counted)) as u64;
            let received: Vec<u64> = self.sums.iter().map(mean).collect();
            self.search
                .go_on(&received, error, &self.flows, &self.settings);
            self.sums.fill(0);
            self.squares = 0.0;
            self.periods = 0;
            self.is_counting = false;
        }
        Ok(())
    }

    /// Whether the last change has taken effect, as far as can be waited for.
    fn has_settled(&self, received_bits_per_s: &[u64]) -> bool {
        if self.search.stage == Stage::Releasing {
            return self.periods >= self.settings.release_periods;
        }
        self.periods >= self.settings.settle_periods
            && (self.search.is_obeyed(received_bits_per_s, &self.settings)
                || self.periods >= self.settings.obey_periods)
    }

    /// Of what all flows receive together, as a part of it.
    fn standard_error(&self, counted: u32) -> f64 {
        let (periods, sum) = (f64::from(counted), self.sums.iter().sum::<u128>() as f64);
        if counted < 2 || sum == 0.0 {
            return 0.0;
        }
        let mean = sum / periods;
        let variance = (self.squares / periods - mean * mean).max(0.0);
        (variance / (periods - 1.0)).sqrt() / mean
    }

    /// The flows.
    pub fn flows(&self) -> &[Preferences] {
        &self.flows
    }

    /// What a flow is to be held at from now on; free if there is no such flow.
    pub fn target(&self, flow: usize) -> Target {
        match (self.search.stage, self.search.targets.get(flow)) {
            (Stage::Releasing, _) | (_, None) => Target::Free,
            (_, Some(target)) => Target::At(*target),
        }
    }

    /// What is being done.
    pub fn stage(&self) -> Stage {
        self.search.stage
    }

    /// The sum of all targets, but for one that is being probed; none while flows are free.
    pub fn sigma_bits_per_s(&self) -> Option<u64> {
        (self.search.stage != Stage::Releasing).then_some(self.search.sigma)
    }
}
