// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of each rule since the service began: it only grows, whatever happens to the rule.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use ebb_keeper::gateway::RuleCounters;
use ebb_keeper::kernel::Counters;
use ebb_keeper::{Counted, Direction, FlowView, QueueSeen, Watch};

/// Of so many rules that are gone it is known what came of them, should they come back.
const MOST_GONE: usize = 256;

/// What came of rules, by their names.
#[derive(Debug, Default)]
pub(crate) struct Ledger {
    accounts: BTreeMap<String, Account>,
}

/// What came of a rule.
#[derive(Debug, Default)]
pub(crate) struct Account {
    /// While it was held before.
    before: Counts,
    /// Since it is held.
    now: Counts,
    down: Watch,
    up: Watch,
    errors: u64,
}

/// What came of a rule, all of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Totals {
    pub(crate) counts: Counts,
    /// What arrives, and what is sent.
    pub(crate) looks: [Looks; 2],
    /// Times that it could not be held, or not as it says.
    pub(crate) errors: u64,
}

/// What was seen by looking now and then.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(crate) struct Looks {
    pub(crate) held_back: Duration,
    pub(crate) queue: QueueSeen,
}

/// [`Counts`], all of whose fields only grow.
macro_rules! counts {
    ($($(#[$meaning:meta])* $count:ident,)*) => {
        /// What the kernel's programs counted for a rule.
        #[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
        pub(crate) struct Counts {
            $($(#[$meaning])* pub(crate) $count: u64,)*
        }

        impl Counts {
            fn plus(self, other: Self) -> Self {
                Self { $($count: self.$count + other.$count,)* }
            }

            /// What is counted twice, by the programs of either way, may lag behind on one of them.
            fn or_more(self, other: Self) -> Self {
                Self { $($count: self.$count.max(other.$count),)* }
            }
        }
    };
}

counts! {
    /// Payload that arrived.
    received_bytes,
    /// Wire segments that brought it.
    received_segments,
    /// Payload that the peers have acknowledged.
    sent_bytes,
    /// Connections that came under it.
    connections,
    /// Connections that were set free because the service did not renew its lease in time.
    lapsed,
    /// Times that a connection was left alone: there was no memory for its state,
    without_memory,
    /// it is part of a multipath one,
    multipath,
    /// both its ends are on this machine,
    local,
    /// it existed before, and the kernel does not let it be taken over.
    running,
}

impl Counts {
    /// The programs of either law see every connection: where both count, one may lag behind.
    pub(crate) fn of(counted: &Counted) -> Self {
        let Counted { down, up } = counted;
        let taken = |it: &Counters| it.adopted_new + it.adopted_established;
        Self {
            received_bytes: down.payload_bytes,
            received_segments: down.segments,
            sent_bytes: up.payload_bytes.max(down.sent_bytes),
            connections: taken(down).max(taken(up)),
            lapsed: down.lapsed.max(up.lapsed),
            without_memory: down.skipped_no_memory.max(up.skipped_no_memory),
            multipath: down.skipped_mptcp.max(up.skipped_mptcp),
            local: down.skipped_loopback.max(up.skipped_loopback),
            running: down.skipped_established,
        }
    }
}

impl From<RuleCounters> for Counts {
    fn from(counted: RuleCounters) -> Self {
        Self {
            received_bytes: counted.received_bytes,
            sent_bytes: counted.sent_bytes,
            connections: counted.connections,
            lapsed: counted.lapsed,
            ..Self::default()
        }
    }
}

impl Ledger {
    /// What its programs have counted since a rule is held.
    pub(crate) fn count(&mut self, rule: &str, counts: Counts) {
        let account = self.account(rule);
        account.now = account.now.or_more(counts);
    }

    /// A rule is held no more, after its programs have counted this.
    pub(crate) fn close(&mut self, rule: &str, counts: Counts) {
        let account = self.account(rule);
        account.before = account.before.plus(account.now.or_more(counts));
        account.now = Counts::default();
        account.down.pause();
        account.up.pause();
    }

    /// The connections of a rule, as they were seen now.
    pub(crate) fn look(&mut self, rule: &str, flows: &[FlowView], now: Instant) {
        let account = self.account(rule);
        for (watch, direction) in [
            (&mut account.down, Direction::Down),
            (&mut account.up, Direction::Up),
        ] {
            let its = flows.iter().filter(|flow| flow.direction == direction);
            watch.note(&its.cloned().collect::<Vec<_>>(), now);
        }
    }

    /// A rule is not held, or not as it says.
    pub(crate) fn fail(&mut self, rule: &str) {
        self.account(rule).errors += 1;
    }

    /// What came of a rule.
    pub(crate) fn totals(&self, rule: &str) -> Totals {
        let account = self.accounts.get(rule);
        account.map(Account::totals).unwrap_or_default()
    }

    /// What came of every rule that is known.
    pub(crate) fn all(&self) -> impl Iterator<Item = (String, Totals)> {
        let accounts = self.accounts.iter();
        accounts.map(|(name, account)| (name.clone(), account.totals()))
    }

    /// Forgets what came of rules that are gone, if those are too many: names are the
    /// administrator's, and may be others each time.
    pub(crate) fn keep(&mut self, is_there: impl Fn(&str) -> bool) {
        let gone = self.accounts.keys().filter(|name| !is_there(name));
        if gone.count() > MOST_GONE {
            self.accounts.retain(|name, _| is_there(name));
        }
    }

    fn account(&mut self, rule: &str) -> &mut Account {
        self.accounts.entry(rule.to_owned()).or_default()
    }
}

impl Account {
    fn totals(&self) -> Totals {
        let looks = |watch: &Watch| Looks {
            held_back: watch.held_back(),
            queue: watch.queue(),
        };
        Totals {
            counts: self.before.plus(self.now),
            looks: [looks(&self.down), looks(&self.up)],
            errors: self.errors,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts(received_bytes: u64, connections: u64) -> Counts {
        Counts {
            received_bytes,
            connections,
            ..Counts::default()
        }
    }

    #[test]
    fn what_came_of_a_rule_only_grows() {
        let mut ledger = Ledger::default();
        let total = |ledger: &Ledger| ledger.totals("a").counts;
        ledger.count("a", counts(100, 1));
        // The programs of one way are behind those of the other, which are gone.
        ledger.count("a", counts(90, 1));
        assert_eq!(total(&ledger), counts(100, 1));
        // It goes, with what was counted since the last look, and comes back.
        ledger.close("a", counts(120, 2));
        assert_eq!(total(&ledger), counts(120, 2));
        ledger.count("a", counts(5, 1));
        assert_eq!(total(&ledger), counts(125, 3));
        assert_eq!(ledger.totals("b"), Totals::default());
    }

    #[test]
    fn rules_that_are_gone_are_remembered_up_to_a_number() {
        let mut ledger = Ledger::default();
        for number in 0..=MOST_GONE {
            ledger.close(&number.to_string(), counts(1, 1));
            ledger.keep(|name| name == "0");
        }
        assert_eq!(ledger.totals("1").counts, counts(1, 1));
        ledger.close("one more", counts(1, 1));
        ledger.keep(|name| name == "0");
        assert_eq!(ledger.totals("1").counts, Counts::default());
        assert_eq!(ledger.totals("0").counts, counts(1, 1));
    }
}
