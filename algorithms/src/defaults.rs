// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::{Policy, Side, laws};

/// LEDBAT++ with a short queue and rarer looks at the empty path: docs/figures.md, "Uploads".
const SENDER: &str = "ledbat++:target_us=20000,slowdown_interval=60";

impl Policy {
    /// What an end of a connection yields by unless somebody chose otherwise.
    pub fn default_of(side: Side) -> Self {
        match side {
            Side::Receiver => Self::with_defaults(&laws()[0]),
            Side::Sender => SENDER.parse().expect("a policy of ours"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_a_default_of_its_own() {
        for side in [Side::Receiver, Side::Sender] {
            assert_eq!(Policy::default_of(side).law().side(), side);
        }
        assert_eq!(Policy::default_of(Side::Receiver), Policy::default());
    }
}
