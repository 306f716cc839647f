// SPDX-License-Identifier: Apache-2.0 OR MIT
use serde::{Deserialize, Serialize};

/// How the sum of the targets is searched for. The paper gives no values; `docs/sharing.md`
/// says what each is good for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Settings {
    /// Control periods that flows have to fill the link when they are let free.
    pub release_periods: u32,
    /// Control periods that pass after a change, at least, until it counts what flows
    /// receive.
    pub settle_periods: u32,
    /// Control periods over which is averaged then, at least; one or more.
    pub measure_periods: u32,
    /// As many are averaged as are needed for a step to be so many standard errors of the
    /// mean; a step is so many if that cannot be had.
    pub errors_of_step: u32,
    /// Control periods that are averaged over at the most.
    pub most_periods: u32,
    /// Control periods that are waited at the most until flows obey a smaller target.
    pub obey_periods: u32,
    /// A step of the sum, as a part of what all flows receive. *Units:* 1/1 000 000.
    pub step_ppm: u32,
    /// Steps double with each success, up to this.
    pub longest_step_ppm: u32,
    /// Part of a step that must show in what all flows receive. *Units:* 1/1 000 000.
    pub worth_ppm: u32,
    /// Changes of what all flows receive that are noise. *Units:* 1/1 000 000.
    pub noise_ppm: u32,
    /// A flow is held by its target, so that a larger one promises more, while it receives
    /// such a part of it. *Units:* 1/1 000 000.
    pub held_ppm: u32,
    /// A flow that receives less of its target than this could do with what others have.
    /// *Units:* 1/1 000 000.
    pub enough_ppm: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            release_periods: 10,
            settle_periods: 3,
            measure_periods: 3,
            errors_of_step: 5,
            most_periods: 12,
            obey_periods: 30,
            step_ppm: 50_000,
            longest_step_ppm: 200_000,
            worth_ppm: 500_000,
            noise_ppm: 20_000,
            held_ppm: 900_000,
            enough_ppm: 970_000,
        }
    }
}

impl Settings {
    /// The least step, as a part of what all flows receive.
    pub(crate) fn step_share(&self) -> f64 {
        f64::from(self.step_ppm) / 1e6
    }
}
