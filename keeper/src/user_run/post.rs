// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a governor's process does whatever it was started for: it looks after connections,
//! lets its guardian hear of it, answers requests.

use std::time::{Duration, Instant};

use crate::backend::Backend;
use crate::flow_view::{Direction, FlowView};
use crate::policies::{Policies, UploadPolicy, check_for_user_backend};
use crate::protocol::{Part, Reply, Request, Switch};
use crate::registry::{Record, Registration, Registry, Target};
use crate::summary::{Datagrams, Summary};
use crate::wait::Wait;
use anyhow::{Result, bail};
use ebb_algorithms::{Policy, Side};
use ebb_sockets::{Change, Governor, Options, Root, Whose};
use nix::unistd::Pid;

use super::journal::{BEAT_EVERY, GovernorEnd};

/// A governor at work.
pub struct Post {
    engine: Governor,
    guardian: GovernorEnd,
    registration: Option<Registration>,
    policies: Policies,
    command: Option<Pid>,
    is_detached: bool,
    beat_due: Instant,
}

impl Post {
    /// Errors: what is to be governed is not there.
    pub fn new(root: Root, policies: &Policies, guardian: GovernorEnd) -> Result<Self> {
        let options = Options {
            download: Some(policies.download.clone()),
            upload: policies.upload.clone(),
            keeps_code_point: policies.keeps_code_point,
            journal: Some(guardian.journal()),
            ..Options::default()
        };
        Ok(Self {
            engine: Governor::new(root, options)?,
            guardian,
            registration: None,
            policies: policies.clone(),
            command: None,
            is_detached: false,
            beat_due: Instant::now(),
        })
    }

    /// Can be found and asked from now on.
    ///
    /// Errors: the runtime directory is not to be had.
    pub fn register(&mut self, target: Target, id: String) -> Result<()> {
        let upload = self.policies.upload.as_ref().map(Policy::to_string);
        let mut record = Record::new(target, id, &self.policies.download.to_string(), upload);
        record.backend = Backend::User;
        record.keeps_code_point = self.policies.keeps_code_point;
        self.registration = Some(Registry::open()?.register(record)?);
        Ok(())
    }

    /// Says whose governor it is.
    pub fn set_command(&mut self, command: Pid) {
        self.command = Some(command);
    }

    /// What it governs by.
    pub fn engine(&mut self) -> &mut Governor {
        &mut self.engine
    }

    /// What came of it.
    pub fn summary(&self) -> Summary {
        let counters = self.engine.counters();
        Summary {
            backend: Backend::User,
            policy: self.policies.download.to_string(),
            upload_policy: self.policies.upload.as_ref().map(Policy::to_string),
            received_bytes: counters.received_bytes,
            sent_bytes: counters.sent_bytes,
            connections: counters.connections,
            loopback_connections: counters.loopback,
            multipath_connections: counters.multipath,
            datagrams: Datagrams {
                sockets: counters.udp,
                quic: counters.quic,
                ..Datagrams::default()
            },
            peers: counters.peers.iter().copied().collect(),
            out_of_reach: counters.out_of_reach.clone(),
            ..Summary::default()
        }
    }

    /// Whether it was asked to govern nothing any more.
    pub fn is_detached(&self) -> bool {
        self.is_detached
    }

    /// Does what is due, then waits for that to be due again, for a request, or for what
    /// else is waited for.
    pub fn work(&mut self, wait: Wait<'_>) -> Result<()> {
        let mut wait = wait;
        let next = match self.is_detached {
            true => Instant::now() + BEAT_EVERY,
            false => self.engine.tick(),
        };
        if Instant::now() >= self.beat_due {
            self.guardian.beat(self.command);
            self.beat_due = Instant::now() + BEAT_EVERY;
        }
        // Rounded up to a millisecond by poll: never a busy loop.
        let soon = Instant::now() + Duration::from_millis(1);
        wait.until(next.min(self.beat_due).max(soon));
        if let Some(registration) = &self.registration {
            registration.add_to(&mut wait);
        }
        wait.wait()?;
        self.answer();
        Ok(())
    }

    fn answer(&mut self) {
        let Some(mut registration) = self.registration.take() else {
            return;
        };
        registration.answer_all(|registration, request| {
            let reply = self.obey(registration, request)?;
            let upload = self.policies.upload.as_ref().map(Policy::to_string);
            registration.set_policies(&self.policies.download.to_string(), upload)?;
            Ok(reply)
        });
        // Nobody is to find what is not attached any more.
        if !self.is_detached {
            self.registration = Some(registration);
        }
    }

    fn obey(&mut self, registration: &mut Registration, request: Request) -> Result<Reply> {
        match request {
            Request::Detach => {
                self.engine.release();
                self.is_detached = true;
                registration.withdraw();
            }
            Request::SetPolicy(text) => {
                let policy = Policy::receiver(&text)?;
                self.switch(Whose::All, &policy)?;
                self.policies.download = policy;
            }
            Request::SetUploadPolicy(text) => match text.parse()? {
                UploadPolicy::Untouched => {
                    self.engine.switch(Whose::All, &Change::NoUploadLaw);
                    self.policies.upload = None;
                }
                UploadPolicy::Law(policy) => {
                    self.switch(Whose::All, &policy)?;
                    self.policies.upload = Some(policy);
                }
            },
            Request::SetObserving(is_observing) => {
                self.engine.switch(Whose::All, &Change::Free(is_observing));
                registration.set_observing(is_observing)?;
            }
            Request::Switch { whose, to } => self.switch_part(whose, &to)?,
            Request::Flows => {
                let flows = self.engine.flows();
                let views = flows.iter().map(FlowView::of_user_backend).collect();
                return Ok(Reply::Flows(views));
            }
        }
        Ok(Reply::Done)
    }

    fn switch(&mut self, whose: Whose, policy: &Policy) -> Result<usize> {
        check_for_user_backend(policy)?;
        Ok(self.engine.switch(whose, &Change::Law(policy.clone())))
    }

    fn switch_part(&mut self, part: Part, to: &Switch) -> Result<()> {
        let whose = match part {
            Part::Connection { cookie, direction } => Whose::Connection(cookie, way(direction)),
            Part::Process { pid } => Whose::Process(pid),
        };
        if let (Part::Connection { direction, .. }, Switch::Policy(text)) = (part, to) {
            let side = text.parse::<Policy>()?.law().side();
            if (side == Side::Receiver) != (direction == Direction::Down) {
                bail!("'{text}' is not for this direction");
            }
        }
        let switched = match to {
            Switch::Free => self.engine.switch(whose, &Change::Free(true)),
            Switch::Held => self.engine.switch(whose, &Change::Free(false)),
            Switch::Policy(text) => self.switch(whose, &text.parse()?)?,
        };
        if switched == 0 && matches!(part, Part::Connection { .. }) {
            bail!("the connection has ended");
        }
        Ok(())
    }
}

fn way(direction: Direction) -> ebb_sockets::Direction {
    match direction {
        Direction::Down => ebb_sockets::Direction::Down,
        Direction::Up => ebb_sockets::Direction::Up,
    }
}

impl std::fmt::Debug for Post {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { policies, .. } = self;
        write!(formatter, "Post({policies:?})")
    }
}
