// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Keeps an eye on the rules, and tells of them: looks now and then, has a ledger, and serves what
//! came of that.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebb_algorithms::Side;
use ebb_host::clock::{thread_processor_time, unix_time};
use ebb_keeper::kernel::rules::Classifier;
use ebb_keeper::{Backend, Direction, FlowView, Held, InForce, KernelHeld, Policies};

use crate::bits::Bits;
use crate::error::{Error, Result};
use crate::event::Event;
use crate::gateways::Gateways;
use crate::history::History;
use crate::ledger::{Counts, Ledger};
use crate::metrics;
use crate::page::{self, Page, Token};
use crate::rule::{Book, Rule};
use crate::settings::Settings;
use crate::snapshot::{Latest, RuleSeen, Snapshot, State, Switched, Switches};
use crate::web::{Place, Server};

/// Connections are looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// A look is not repeated before so many times the processor's time that it took: a hundredth of a
/// processor is for looks.
const LOOK_SHARE: u32 = 100;
/// But never later.
const LOOK_AT_LEAST_EVERY: Duration = Duration::from_secs(30);
/// Where root asks for metrics, among the records.
const SOCKET: &str = "metrics.sock";

/// Watches rules.
#[derive(Debug)]
pub(crate) struct Watching {
    ledger: Ledger,
    /// None: it cannot be written.
    history: Option<History>,
    latest: Latest,
    /// What somebody at the page wants.
    switches: Switches,
    due: Instant,
    records: PathBuf,
    settings: Settings,
    server: Option<Server>,
    began_unix_s: f64,
    /// Rules are in force.
    is_ready: bool,
    mistaken_files: u64,
    reloads: u64,
    refused_reloads: u64,
}

/// What there is to look at.
pub(crate) struct Sight<'a> {
    pub(crate) book: &'a Book,
    /// The rules that are held.
    pub(crate) kept: Vec<(&'a Rule, &'a KernelHeld)>,
    pub(crate) bits: &'a Bits,
    pub(crate) classifier: &'a Classifier,
    pub(crate) by_hand: &'a BTreeMap<&'static str, u64>,
    pub(crate) gateways: &'a mut Gateways,
}

impl Watching {
    /// Nothing is looked at, nor served, before that is asked for.
    pub(crate) fn new(records: &Path) -> Self {
        Self {
            ledger: Ledger::default(),
            history: None,
            latest: Latest::default(),
            switches: Switches::default(),
            due: Instant::now(),
            records: records.to_path_buf(),
            settings: Settings::default(),
            server: None,
            began_unix_s: unix_time().as_secs_f64(),
            is_ready: false,
            mistaken_files: 0,
            reloads: 0,
            refused_reloads: 0,
        }
    }

    /// Writes down what comes of the rules from now on.
    ///
    /// *Errors:* it cannot be written; all else goes on.
    pub(crate) fn begin_history(&mut self) -> Result<()> {
        self.history = Some(History::begin()?);
        Ok(())
    }

    /// What came of the rules until now is the end of it.
    pub(crate) fn end(&mut self, gateways: &Gateways) {
        if let Some(mut history) = self.history.take() {
            history.write([&self.ledger, gateways.ledger()]);
        }
    }

    /// Serves what the settings say, and what root alone can ask for. What is served already, and
    /// stays, is not interrupted.
    ///
    /// *Errors:* a port or the socket cannot be had; the other is served all the same.
    pub(crate) fn serve(&mut self, settings: Settings) -> Result<()> {
        if self.server.is_some() && settings == self.settings {
            return Ok(());
        }
        // The ports are to be had again.
        self.server = None;
        let mut failure = Ok(());
        let mut places = Vec::new();
        let socket = self.records.join(SOCKET);
        match Place::at_path(&socket, metrics::site(self.latest.clone())) {
            Ok(place) => places.push(place),
            Err(source) => failure = Err(Error::file(&socket, source)),
        }
        if let Some(address) = settings.metrics {
            match Place::at_loopback(address, metrics::site(self.latest.clone())) {
                Ok((place, _)) => places.push(place),
                Err(source) => failure = Err(Error::Serve { address, source }),
            }
        }
        if let Some(address) = settings.page {
            match self.page_at(address) {
                Ok(place) => places.push(place),
                Err(error) => failure = Err(error),
            }
        }
        self.server = Some(Server::begin(places).map_err(Error::NoServer)?);
        self.settings = settings;
        failure
    }

    fn page_at(&self, address: SocketAddr) -> Result<Place> {
        let page = Page {
            latest: self.latest.clone(),
            switches: self.switches.clone(),
            token: Token::at(&self.records, address)?,
        };
        let place = Place::at_loopback(address, page::site(page));
        let (place, _) = place.map_err(|source| Error::Serve { address, source })?;
        Ok(place)
    }

    /// When it wants to look.
    pub(crate) fn due(&self) -> Instant {
        self.due
    }

    /// Whether it is time to look.
    pub(crate) fn is_due(&self) -> bool {
        Instant::now() >= self.due
    }

    /// Looks at every rule and its connections.
    pub(crate) fn look(&mut self, sight: &mut Sight<'_>) {
        let (now, used) = (Instant::now(), thread_processor_time());
        let mut flows = flows_by_bit(sight.classifier);
        for (rule, held) in &sight.kept {
            self.ledger.count(&rule.name, Counts::of(&held.counted()));
            let its = flows.get(&sight.bits.of(&rule.name));
            self.ledger
                .look(&rule.name, its.map_or(&[][..], Vec::as_slice), now);
        }
        let gateways = sight.gateways.seen(now);
        if let Some(history) = &mut self.history {
            history.note([&self.ledger, sight.gateways.ledger()]);
        }
        let rules = sight.book.rules.iter();
        let rules = rules.map(|rule| {
            let its = flows.remove(&sight.bits.of(&rule.name));
            self.seen(rule, sight, its.unwrap_or_default())
        });
        self.latest.set(Snapshot {
            at_unix_s: unix_time().as_secs_f64(),
            began_unix_s: self.began_unix_s,
            rules: rules.collect(),
            gateways,
            mistaken_files: self.mistaken_files,
            reloads: self.reloads,
            refused_reloads: self.refused_reloads,
            by_hand: sight.by_hand.clone(),
        });
        self.ledger
            .keep(|name| sight.book.rules.iter().any(|rule| rule.name == name));
        let took = thread_processor_time() - used;
        self.due = now + (took * LOOK_SHARE).clamp(LOOK_EVERY, LOOK_AT_LEAST_EVERY);
    }

    /// What is to be switched off, or on; it is to be seen soon.
    pub(crate) fn switches(&mut self) -> BTreeMap<Switched, bool> {
        let wanted = self.switches.take();
        if !wanted.is_empty() {
            self.due = Instant::now();
        }
        wanted
    }

    /// A rule is let go: what its programs counted goes with them.
    pub(crate) fn close(&mut self, rule: &Rule, held: &KernelHeld) {
        self.ledger.close(&rule.name, Counts::of(&held.counted()));
    }

    /// Takes note of what happens to the service. What changes is to be seen soon.
    pub(crate) fn note(&mut self, event: &Event) {
        match event {
            Event::Ready { problems, .. } => {
                let files = problems.iter().map(|problem| &problem.file);
                self.reloads += u64::from(self.is_ready);
                self.is_ready = true;
                self.mistaken_files = files.collect::<BTreeSet<_>>().len() as u64;
            }
            Event::NotReloaded(_) => self.refused_reloads += 1,
            Event::Failed(Error::Rule { name, .. }) => self.ledger.fail(name),
            Event::Failed(_) | Event::Notice(_) | Event::Over => {}
        }
        self.due = Instant::now();
    }

    fn seen(&self, rule: &Rule, sight: &Sight<'_>, flows: Vec<FlowView>) -> RuleSeen {
        let mut kept = sight.kept.iter();
        let held = kept.find(|(kept, _)| kept.name == rule.name);
        let held = held.map(|(_, held)| held).filter(|held| held.is_held());
        let in_force = held.map(|held| held.in_force());
        let state = match &in_force {
            None => State::Failed,
            Some(in_force) if in_force.is_observing => State::Off,
            Some(_) => State::On,
        };
        let in_force = in_force.unwrap_or_else(|| wanted(rule));
        RuleSeen {
            name: rule.name.clone(),
            file: rule.file.clone(),
            state,
            policy: in_force.policy,
            upload_policy: in_force.upload_policy,
            minimum: in_force.minimum,
            weight: rule.weight,
            flows,
            totals: self.ledger.totals(&rule.name),
        }
    }
}

/// What would be in force, were the rule held.
fn wanted(rule: &Rule) -> InForce {
    let policies = Policies::new(&rule.wanted, Backend::Kernel);
    policies.map_or_else(|_| InForce::default(), |policies| InForce::of(&policies))
}

/// Every connection under a rule, by the number that the kernel knows it by.
fn flows_by_bit(classifier: &Classifier) -> BTreeMap<u32, Vec<FlowView>> {
    let glances = classifier.glance().unwrap_or_else(|error| {
        tracing::debug!("connections cannot be looked at: {error}");
        Vec::new()
    });
    let mut by_bit: BTreeMap<u32, Vec<FlowView>> = BTreeMap::new();
    for glance in &glances {
        let direction = match glance.policy.law().side() {
            Side::Receiver => Direction::Down,
            Side::Sender => Direction::Up,
        };
        for (bit, flow) in &glance.flows {
            let view = FlowView::new(flow, &glance.policy, direction);
            by_bit.entry(*bit).or_default().push(view);
        }
    }
    by_bit
}
