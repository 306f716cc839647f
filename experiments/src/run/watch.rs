// SPDX-License-Identifier: Apache-2.0 OR MIT
use ebb_link::Nanos;
use ebb_scenario::Scenario;

/// Hears how far the runs are, the simulator's from any thread. Whoever does not care is `()`.
pub trait Watch: Sync {
    /// All runs of these are simulated from now on.
    fn begins(&self, _scenarios: &[Scenario]) {}

    /// A run, counted over all scenarios, has reached this time.
    fn reached(&self, _run: usize, _now: Nanos) {}

    /// Whether the simulator's runs are to be given up.
    fn is_stopped(&self) -> bool {
        false
    }

    /// None is simulated any more.
    fn ends(&self) {}

    /// Runs begin in the lab.
    fn wave(&self, _wave: &Wave<'_>) {}
}

impl Watch for () {}

/// Runs in the lab that happen at the same time.
#[derive(Clone, Copy, Debug)]
pub struct Wave<'w> {
    /// Name of the first scenario.
    pub name: &'w str,
    /// How many runs came before.
    pub done: usize,
    /// How many these are.
    pub runs: usize,
    /// How many there are in all.
    pub all: usize,
    /// Length of the longest of these. *Units:* s.
    pub longest_s: f64,
}
