// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What came of the rules in the last 24 hours, minute by minute, on disk: kept by the service, and
//! read by whoever may read its files.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ebb_host::clock::unix_time;
use ebb_host::{Interfaces, LocalTime};
use serde::{Deserialize, Serialize};

use crate::error::Result;
use crate::ledger::{Ledger, Totals};

mod files;

use files::Keeper;
pub use files::read_history;

/// So much is written at once.
const MINUTE: Duration = Duration::from_secs(60);
/// Where the service keeps what outlives it, if this does not name another folder.
const VARIABLE: &str = "EBB_STATE_DIR";
const STATE: &str = "/var/lib/ebb";

/// What came of the rules in a minute.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Minute {
    /// Its end. *Units:* seconds since 1970.
    pub at_unix_s: u64,
    /// How long it was: less where the service ended, more where it was stopped.
    pub seconds: f64,
    /// What the interfaces of this machine received, and sent, under rules or not, with headers;
    /// none if that is not known. *Units:* bytes.
    pub carried_bytes: Option<[u64; 2]>,
    /// The rules under which there was something, by their names.
    pub rules: BTreeMap<String, Past>,
    /// The same of the gateways' rules, each by the name of its gateway and its own: what passes
    /// arrives on one interface and is sent on another.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gateway_rules: BTreeMap<String, Past>,
}

/// What came of a rule in some time.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Payload that arrived.
    pub received_bytes: u64,
    /// Payload that was sent and acknowledged.
    pub sent_bytes: u64,
    /// How long something that arrived was held back, and something that was sent.
    pub held_back_ms: [u64; 2],
    /// Queueing delays that the laws saw, both ways together, and how many of them.
    pub queue_sum_us: u64,
    /// See there.
    pub queue_looks: u64,
    /// Connections that came under it.
    pub connections: u64,
    /// Connections that were set free since the service did not renew its lease in time.
    pub failures_open: u64,
}

/// Keeps what came of the rules.
#[derive(Debug)]
pub(crate) struct History {
    keeper: Keeper,
    interfaces: Interfaces,
    /// What had come of the rules, and of the gateways', when this was written last.
    before: [BTreeMap<String, Totals>; 2],
    since: Instant,
}

impl Minute {
    /// The hour that it was in, as clocks show it here.
    pub fn hour(&self) -> LocalTime {
        LocalTime {
            minute: 0,
            ..LocalTime::at(self.at_unix_s)
        }
    }

    /// What interfaces carried of all rules together, each way.
    fn carried_of_rules(&self) -> [u64; 2] {
        let sum = |rules: &BTreeMap<String, Past>| {
            let mut all = Past::default();
            rules.values().for_each(|past| all.add(past));
            [all.received_bytes, all.sent_bytes]
        };
        let passed: u64 = sum(&self.gateway_rules).iter().sum();
        sum(&self.rules).map(|own| own + passed)
    }

    /// What interfaces carried beside the payload of rules: the headers of that as well; none if
    /// that is not known.
    pub fn of_others(&self) -> Option<Past> {
        let [received, sent] = self.carried_bytes?;
        let [of_rules_received, of_rules_sent] = self.carried_of_rules();
        Some(Past {
            received_bytes: received.saturating_sub(of_rules_received),
            sent_bytes: sent.saturating_sub(of_rules_sent),
            ..Past::default()
        })
    }
}

impl Past {
    /// And this.
    pub fn add(&mut self, other: &Self) {
        self.received_bytes += other.received_bytes;
        self.sent_bytes += other.sent_bytes;
        for (sum, more) in self.held_back_ms.iter_mut().zip(other.held_back_ms) {
            *sum += more;
        }
        self.queue_sum_us += other.queue_sum_us;
        self.queue_looks += other.queue_looks;
        self.connections += other.connections;
        self.failures_open += other.failures_open;
    }

    /// The mean queueing delay that the laws saw, if they saw any.
    pub fn queue_mean_us(&self) -> Option<u64> {
        self.queue_sum_us.checked_div(self.queue_looks)
    }

    fn between(before: &Totals, now: &Totals) -> Self {
        let held_back_ms = [0, 1].map(|way: usize| {
            let [before, now] = [before, now].map(|totals| totals.looks[way].held_back);
            u64::try_from(now.saturating_sub(before).as_millis()).unwrap_or(u64::MAX)
        });
        let sum = |totals: &Totals| totals.looks.iter().map(|it| it.queue.sum_us).sum::<u64>();
        let looks = |totals: &Totals| totals.looks.iter().map(|it| it.queue.count()).sum::<u64>();
        // One that was forgotten and is back begins again.
        let more = |count: fn(&Totals) -> u64| count(now).saturating_sub(count(before));
        Self {
            received_bytes: more(|it| it.counts.received_bytes),
            sent_bytes: more(|it| it.counts.sent_bytes),
            held_back_ms,
            queue_sum_us: sum(now).saturating_sub(sum(before)),
            queue_looks: looks(now).saturating_sub(looks(before)),
            connections: more(|it| it.counts.connections),
            failures_open: more(|it| it.counts.lapsed),
        }
    }
}

impl History {
    /// Goes on with what is there.
    ///
    /// *Errors:* there is no folder for it, or no thread.
    pub(crate) fn begin() -> Result<Self> {
        let mut interfaces = Interfaces::default();
        let _ = interfaces.carried();
        Ok(Self {
            keeper: Keeper::begin(history_folder())?,
            interfaces,
            before: Default::default(),
            since: Instant::now(),
        })
    }

    /// Writes down what came of the rules, if a minute is over.
    pub(crate) fn note(&mut self, ledgers: [&Ledger; 2]) {
        if self.since.elapsed() >= MINUTE {
            self.write(ledgers);
        }
    }

    /// Writes down what came of the rules, and of the gateways', since that was done last. Nobody
    /// waits for a disk.
    pub(crate) fn write(&mut self, ledgers: [&Ledger; 2]) {
        let now = ledgers.map(|ledger| ledger.all().collect());
        let [rules, gateway_rules] = [0, 1].map(|of| since(&self.before[of], &now[of]));
        let minute = Minute {
            at_unix_s: unix_time().as_secs(),
            seconds: self.since.elapsed().as_secs_f64(),
            carried_bytes: self.interfaces.carried(),
            rules,
            gateway_rules,
        };
        self.keeper.keep(&minute);
        self.before = now;
        self.since = Instant::now();
    }
}

/// What came of each rule meanwhile, if anything did.
fn since(
    before: &BTreeMap<String, Totals>,
    now: &BTreeMap<String, Totals>,
) -> BTreeMap<String, Past> {
    let none = Totals::default();
    let past_of = |(name, totals): (&String, &Totals)| {
        let past = Past::between(before.get(name).unwrap_or(&none), totals);
        (past != Past::default()).then(|| (name.clone(), past))
    };
    now.iter().filter_map(past_of).collect()
}

/// Where the history is.
pub fn history_folder() -> PathBuf {
    let state = std::env::var_os(VARIABLE).map_or_else(|| PathBuf::from(STATE), PathBuf::from);
    state.join("history")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Counts, Looks};

    fn totals(received_bytes: u64, held_back_ms: u64) -> Totals {
        let mut looks = [Looks::default(); 2];
        looks[0].held_back = Duration::from_millis(held_back_ms);
        looks[1].queue.counts[3] = received_bytes / 100;
        looks[1].queue.sum_us = received_bytes * 10;
        Totals {
            counts: Counts {
                received_bytes,
                ..Counts::default()
            },
            looks,
            errors: 0,
        }
    }

    #[test]
    fn what_is_written_is_what_came_of_a_rule_in_between() {
        let past = Past::between(&totals(1_000, 400), &totals(3_000, 900));
        assert_eq!(past.received_bytes, 2_000);
        assert_eq!(past.held_back_ms, [500, 0]);
        // 20 looks of 20 ms together.
        assert_eq!(past.queue_mean_us(), Some(1_000));
        assert_eq!(Past::default().queue_mean_us(), None);
        // Forgotten, it begins at nothing; it never comes to less than that.
        let again = Past::between(&totals(3_000, 900), &totals(100, 10));
        assert_eq!(again, Past::default());
    }

    #[test]
    fn others_have_what_is_of_no_rule_and_what_passes_goes_over_two_interfaces() {
        let past = Past::between(&Totals::default(), &totals(1_000, 400));
        let minute = Minute {
            at_unix_s: 1_795_600_000,
            seconds: 60.0,
            carried_bytes: Some([10_000, 5_000]),
            rules: [("a".to_owned(), past), ("b".to_owned(), past)].into(),
            gateway_rules: BTreeMap::new(),
        };
        let others = minute.of_others().unwrap();
        assert_eq!((others.received_bytes, others.sent_bytes), (8_000, 5_000));
        assert_eq!(minute.hour().minute, 0);
        let minute = Minute {
            gateway_rules: [("home/tv".to_owned(), past)].into(),
            ..minute
        };
        let others = minute.of_others().unwrap();
        assert_eq!((others.received_bytes, others.sent_bytes), (7_000, 4_000));
        let unknown = Minute {
            carried_bytes: None,
            ..minute
        };
        assert_eq!(unknown.of_others(), None);
    }

    #[test]
    fn minutes_of_before_there_were_gateways_are_read() {
        let text = r#"{"at_unix_s":7,"seconds":60.0,"carried_bytes":null,"rules":{}}"#;
        let minute: Minute = serde_json::from_str(text).unwrap();
        assert!(minute.gateway_rules.is_empty());
        assert_eq!(serde_json::to_string(&minute).unwrap(), text);
    }
}
