// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How the rules stand at a moment, for those who are told of it.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ebb_keeper::FlowView;
use ebb_keeper::gateway::Counters as GatewayCounters;

use crate::ledger::Totals;

/// How the rules stand.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct Snapshot {
    /// When it was made. *Units:* seconds since 1970.
    pub(crate) at_unix_s: f64,
    /// Seconds since 1970 at which the service began.
    pub(crate) began_unix_s: f64,
    /// In their order.
    pub(crate) rules: Vec<RuleSeen>,
    /// The gateways, in the order of their files.
    pub(crate) gateways: Vec<GatewaySeen>,
    /// Files that were left out, for mistakes in them.
    pub(crate) mistaken_files: u64,
    /// Times that rules were read again, and that this was refused.
    pub(crate) reloads: u64,
    pub(crate) refused_reloads: u64,
    /// What is held by hand, by the kind of it.
    pub(crate) by_hand: BTreeMap<&'static str, u64>,
}

/// How a rule stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct RuleSeen {
    pub(crate) name: String,
    /// The file that has it, and where.
    pub(crate) file: PathBuf,
    pub(crate) state: State,
    /// What it yields by.
    pub(crate) policy: String,
    /// The same for what is sent.
    pub(crate) upload_policy: Option<String>,
    /// What its connections have together at the least.
    pub(crate) minimum: Option<String>,
    /// What it has beside other rules, if that is said.
    pub(crate) weight: Option<u32>,
    /// Its connections.
    pub(crate) flows: Vec<FlowView>,
    pub(crate) totals: Totals,
}

/// How a gateway stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GatewaySeen {
    /// Its file's, without the suffix.
    pub(crate) name: String,
    pub(crate) file: PathBuf,
    /// What it yields by.
    pub(crate) policy: String,
    pub(crate) is_off: bool,
    /// Its interfaces, and whether it is on them.
    pub(crate) interfaces: Vec<(String, bool)>,
    pub(crate) counters: GatewayCounters,
    /// Those by which something yields, in their order.
    pub(crate) rules: Vec<GatewayRuleSeen>,
}

impl GatewaySeen {
    /// Whether it is in force on an interface at least.
    pub(crate) fn state(&self) -> State {
        match self.interfaces.iter().any(|(_, is_held)| *is_held) {
            true if self.is_off => State::Off,
            true => State::On,
            false => State::Failed,
        }
    }
}

/// How a rule of a gateway stands.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct GatewayRuleSeen {
    pub(crate) gateway: String,
    pub(crate) name: String,
    /// Its connections.
    pub(crate) flows: Vec<FlowView>,
    pub(crate) totals: Totals,
}

/// Whether a rule is in force.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// It is.
    On,
    /// It is switched off: everything under it is free.
    Off,
    /// It could not be held.
    Failed,
}

/// The latest snapshot, for other threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Latest(Arc<Mutex<Arc<Snapshot>>>);

impl Latest {
    pub(crate) fn set(&self, snapshot: Snapshot) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Arc::new(snapshot);
    }

    pub(crate) fn snapshot(&self) -> Arc<Snapshot> {
        Arc::clone(&self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

/// What can be switched, by its name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Switched {
    Rule(String),
    /// A gateway as a whole.
    Gateway(String),
}

/// What is to be switched off, or on. The service does it in its own time: nobody who asks waits
/// for it, nor it for them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Switches(Arc<Mutex<BTreeMap<Switched, bool>>>);

impl Switches {
    /// Has it switched off, or on; what was wanted of it before is not wanted any more.
    pub(crate) fn want(&self, switched: Switched, is_off: bool) {
        let mut wanted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        wanted.insert(switched, is_off);
    }

    /// What is wanted, once.
    pub(crate) fn take(&self) -> BTreeMap<Switched, bool> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}
