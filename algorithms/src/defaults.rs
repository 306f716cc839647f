// SPDX-License-Identifier: Apache-2.0 OR MIT
use crate::{Policy, Side, counter_laws, laws};

/// Ebb's own at the sender: docs/figures.md, "Uploads".
const SENDER: &str = "ebb-sender";

impl Policy {
    /// What an end of a connection yields by unless somebody chose otherwise.
    pub fn default_of(side: Side) -> Self {
        match side {
            Side::Receiver => Self::with_defaults(&laws()[0]),
            Side::Sender => SENDER.parse().expect("a policy of ours"),
        }
    }

    /// The same where no packets are seen, only counters.
    pub fn default_by_counters(side: Side) -> Self {
        let law = counter_laws().iter().find(|law| law.side() == side);
        Self::with_defaults(law.expect("there is one for each end"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_end_has_a_default_of_its_own() {
        for side in [Side::Receiver, Side::Sender] {
            assert_eq!(Policy::default_of(side).law().side(), side);
            let by_counters = Policy::default_by_counters(side);
            assert_eq!(by_counters.law().side(), side);
            assert!(by_counters.law().is_for_counters());
        }
        assert_eq!(Policy::default_of(Side::Receiver), Policy::default());
    }
}
