// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The gateway backend: a policy on connections that this machine forwards, by rules of a file.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ebb_gateway::{Gateway, RENEW_EVERY, Way};

use crate::backend::Backend;
use crate::describe::describe;
use crate::error::{Error, Result};
use crate::flow::{Direction, FlowView};
use crate::held::{Change, Held, InForce};
use crate::post::Post;
use crate::registry::Attached;
use crate::signals::{Signals, ToServer};
use crate::summary::{Datagrams, Summary};
use crate::wait::Wait;

pub mod file;
pub mod wanted;

pub use ebb_gateway::{
    CodePoint, Counters, Error as GatewayError, Hook, Interface, MAX_RULES, Mac, Mark, Options,
    Ports, Prefix, Rule, RuleCounters, Subject, Verdict, judge,
};

/// What has ended is forgotten so often.
const FORGET_EVERY: Duration = Duration::from_secs(5);
/// Namespaces that rules name are looked at so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// A policy on what passes some interfaces.
#[derive(Debug)]
pub struct GatewayHeld {
    gateway: Gateway,
    is_patient: bool,
    is_observing: bool,
    is_held: bool,
    renewed: Instant,
    forgot: Instant,
    looked: Instant,
    notices: Vec<String>,
}

impl GatewayHeld {
    /// Begins.
    ///
    /// *Errors:* those of [`Gateway::start`].
    pub fn hold(options: &Options, rules: &[Rule]) -> Result<Self> {
        Ok(Self {
            gateway: Gateway::start(options, rules)?,
            is_patient: options.is_patient,
            is_observing: options.is_observing,
            is_held: true,
            renewed: Instant::now(),
            forgot: Instant::now(),
            looked: Instant::now(),
            notices: Vec::new(),
        })
    }

    /// Other rules, for all connections from now on.
    ///
    /// *Errors:* those of [`Gateway::set_rules`].
    pub fn set_rules(&mut self, rules: &[Rule]) -> Result<()> {
        Ok(self.gateway.set_rules(rules)?)
    }

    /// Stands on this interface, too.
    ///
    /// *Errors:* those of [`Gateway::take`]; it has been released.
    pub fn take(&mut self, interface: &Interface) -> Result<()> {
        match self.is_held {
            true => Ok(self.gateway.take(interface)?),
            false => Err(Error::Released),
        }
    }

    /// Stands on this interface no more.
    ///
    /// *Errors:* those of [`Gateway::leave`].
    pub fn leave(&mut self, interface: &str) -> Result<()> {
        Ok(self.gateway.leave(interface)?)
    }

    /// The names of the interfaces that it stands on.
    pub fn interfaces(&self) -> Vec<String> {
        self.gateway
            .interfaces()
            .map(Interface::to_string)
            .collect()
    }

    /// What its programs have counted.
    pub fn counters(&self) -> Counters {
        self.gateway.counters()
    }

    /// What its programs have counted of the rule at this place.
    pub fn rule_counters(&self, place: usize) -> RuleCounters {
        self.gateway.rule_counters(place)
    }

    /// Its connections, by the places of their rules: as many as there are places.
    pub fn flows_of_rules(&self, places: usize) -> Vec<Vec<FlowView>> {
        let mut of_rules = vec![Vec::new(); places];
        for flow in self.gateway.flows() {
            if let Some(its) = of_rules.get_mut(flow.rule) {
                its.push(self.view(&flow));
            }
        }
        of_rules
    }

    /// How its programs stand on the interfaces.
    pub fn hook(&self) -> Option<Hook> {
        self.gateway.hook()
    }

    fn view(&self, flow: &ebb_gateway::Flow) -> FlowView {
        let policy = self.gateway.policy();
        let direction = match flow.way {
            Way::Download => Direction::Down,
            Way::Upload => Direction::Up,
        };
        FlowView::of_gateway(flow, policy, direction, self.is_observing)
    }
}

impl Held for GatewayHeld {
    fn backend(&self) -> Backend {
        Backend::Gateway
    }

    fn in_force(&self) -> InForce {
        let counters = self.gateway.counters();
        InForce {
            policy: self.gateway.policy().to_string(),
            is_observing: self.is_observing,
            ungoverned_connections: counters.without_room,
            ..InForce::default()
        }
    }

    fn is_held(&self) -> bool {
        self.is_held
    }

    fn is_needed(&mut self) -> bool {
        true
    }

    fn work(&mut self) -> Result<Instant> {
        if !self.is_held {
            return Ok(Instant::now() + RENEW_EVERY);
        }
        while let Some(lost) = self.gateway.lost() {
            let lost = lost.to_string();
            if !self.is_patient {
                return Err(Error::GatewayLost { interface: lost });
            }
            self.gateway.leave(&lost)?;
        }
        // By what they knew before they would take back what was granted meanwhile.
        if self.gateway.has_lapsed() {
            self.gateway.lapse();
            let pause = self.renewed.elapsed().as_secs_f64();
            self.notices.push(format!(
                "nothing yielded for a while: this process was stopped for {pause:.1} s"
            ));
        }
        self.gateway.renew();
        self.renewed = Instant::now();
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            self.gateway.look_at_namespaces();
        }
        if self.forgot.elapsed() >= FORGET_EVERY {
            self.forgot = Instant::now();
            self.gateway.forget_silent();
        }
        Ok(Instant::now() + RENEW_EVERY)
    }

    fn change(&mut self, change: &Change) -> Result<()> {
        match change {
            _ if !self.is_held => return Err(Error::Released),
            Change::Download(policy) => self.gateway.set_policy(policy)?,
            Change::Observing(is_observing) => {
                self.is_observing = *is_observing;
                self.gateway.set_observing(*is_observing);
            }
            _ => return Err(Error::NotByGateway),
        }
        Ok(())
    }

    fn flows(&mut self) -> Result<Vec<FlowView>> {
        if !self.is_held {
            return Err(Error::Released);
        }
        let flows = self.gateway.flows();
        Ok(flows.iter().map(|flow| self.view(flow)).collect())
    }

    fn summary(&mut self) -> Summary {
        let counters = self.gateway.counters();
        Summary {
            backend: Backend::Gateway,
            policy: self.gateway.policy().to_string(),
            received_bytes: counters.received_bytes,
            sent_bytes: counters.sent_bytes,
            connections: counters.governed,
            ungoverned_connections: counters.without_room,
            datagrams: Datagrams::default(),
            ..Summary::default()
        }
    }

    fn release(&mut self) -> Result<()> {
        self.is_held = false;
        self.gateway.release();
        Ok(())
    }

    fn take_notices(&mut self) -> Vec<String> {
        let mut notices = std::mem::take(&mut self.notices);
        notices.extend(self.gateway.take_notices());
        notices
    }
}

/// A gateway that works in this process until somebody ends it.
pub struct Session {
    post: Post<GatewayHeld>,
    signals: Signals,
    /// What is still to be told.
    notices: VecDeque<String>,
}

/// What happens to a gateway.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// People should know.
    Notice(String),
    /// The rules are to be read again (the signal HUP).
    ReadAgain,
    /// It was let go: by a signal, with the exit status that says so, or by `ebb detach` (0).
    Over {
        /// The exit status.
        status: u8,
    },
}

impl Session {
    /// Begins; `ebb status` and `ebb top` find it from then on.
    ///
    /// *Errors:* those of [`Gateway::start`]; it cannot be noted.
    pub fn begin(file: PathBuf, options: &Options, rules: &[Rule]) -> Result<Self> {
        let signals = Signals::receive()?;
        let held = GatewayHeld::hold(options, rules)?;
        let interfaces: Vec<_> = options
            .interfaces
            .iter()
            .map(Interface::to_string)
            .collect();
        let id = format!("gateway-{}", std::process::id());
        let mut post = Post::new(Box::new(held));
        post.register(Attached::Gateway { file, interfaces }, id)?;
        Ok(Self {
            post,
            signals,
            notices: VecDeque::new(),
        })
    }

    /// What works.
    pub fn held(&mut self) -> &mut GatewayHeld {
        self.post.held()
    }

    /// Works until something happens. Nothing happens after [`Event::Over`].
    ///
    /// *Errors:* the interface has gone, or others have taken the programs off.
    pub fn next_event(&mut self) -> Result<Event> {
        loop {
            self.notices.extend(self.post.held().take_notices());
            if let Some(notice) = self.notices.pop_front() {
                return Ok(Event::Notice(notice));
            }
            if !self.post.held().is_held() {
                return Ok(Event::Over { status: 0 });
            }
            let mut wait = Wait::new();
            wait.readable(&self.signals);
            self.post.work(wait)?;
            if let Some(arrived) = self.signals.next()? {
                match arrived.tells_server() {
                    ToServer::ReadAgain => return Ok(Event::ReadAgain),
                    ToServer::End { status } => {
                        self.release();
                        return Ok(Event::Over { status });
                    }
                    ToServer::Nothing => {}
                }
            }
        }
    }

    fn release(&mut self) {
        if let Err(error) = self.post.release() {
            tracing::warn!("{}", describe(&error));
        }
    }
}
