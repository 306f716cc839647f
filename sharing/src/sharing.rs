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
    /// Control periods since the last change.
    periods: u32,
    /// What was received in those that count. *Units:* bit/s, summed over periods.
    sums: Vec<u128>,
}

impl Sharing {
    /// Flows that are free at first, until it is known what they receive together.
    pub fn new(settings: Settings, flows: Vec<Preferences>) -> Self {
        Self {
            search: Search::new(flows.len(), &settings),
            sums: vec![0; flows.len()],
            periods: 0,
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
        let settle_periods = match self.search.stage {
            Stage::Releasing => self.settings.release_periods,
            _ => self.settings.settle_periods,
        };
        if self.periods <= settle_periods {
            return Ok(());
        }
        for (sum, rate) in self.sums.iter_mut().zip(received_bits_per_s) {
            *sum += u128::from((*rate).min(MOST_BITS_PER_S));
        }
        let counted = self.periods - settle_periods;
        if counted >= self.settings.measure_periods {
            let mean = |sum: &u128| (*sum / u128::from(counted)) as u64;
            let received: Vec<u64> = self.sums.iter().map(mean).collect();
            self.search.go_on(&received, &self.flows, &self.settings);
            self.sums.fill(0);
            self.periods = 0;
        }
        Ok(())
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
