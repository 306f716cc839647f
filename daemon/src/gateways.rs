// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The gateways that the service keeps, on interfaces which may come and go.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ebb_keeper::gateway::wanted::Wanted;
use ebb_keeper::gateway::{Counters, GatewayError, Interface};
use ebb_keeper::registry::Attached;
use ebb_keeper::{Change, GatewayHeld, Held, Post, Wait, describe};

use crate::error::Error;
use crate::event::Event;
use crate::ledger::Ledger;

mod told;

/// Whether an interface has come is asked so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);
/// What failed is tried again after so long.
const RETRY_EVERY: Duration = Duration::from_secs(10);

/// The gateways of all files.
#[derive(Debug, Default)]
pub(crate) struct Gateways {
    kept: Vec<Kept>,
    /// How many there were: each has a name of its own among the records.
    begun: u32,
    events: Vec<Event>,
    /// What came of their rules, by the names of both.
    ledger: Ledger,
    /// What was counted by those that are no more, by their files.
    before: BTreeMap<PathBuf, Counters>,
}

/// A gateway that is wanted.
struct Kept {
    wanted: Wanted,
    /// The name of its record.
    id: String,
    /// None: it has had no interface yet.
    post: Option<Post<GatewayHeld>>,
    /// The interfaces that it is not on.
    missing: Vec<Missing>,
}

/// An interface that a gateway is not on.
struct Missing {
    name: String,
    /// What was told of it.
    told: String,
    /// When it is tried again.
    due: Instant,
}

impl Missing {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            told: String::new(),
            due: Instant::now(),
        }
    }
}

impl Gateways {
    /// Goes over to these: what passes under a rule that stays as it is stays under its law.
    pub(crate) fn apply(&mut self, wanted: Vec<Wanted>) {
        let events = &mut self.events;
        self.kept.retain_mut(|kept| {
            let mut new = wanted.iter();
            let stays = new.any(|it| it.can_follow(&kept.wanted)) && kept.was_not_let_go();
            if !stays {
                kept.close(&mut self.ledger, &mut self.before);
                kept.release(events);
            }
            stays
        });
        self.before
            .retain(|file, _| wanted.iter().any(|it| it.file == *file));
        for wanted in wanted {
            let mut kept = self.kept.iter_mut();
            match kept.find(|kept| kept.wanted.file == wanted.file) {
                Some(kept) => {
                    // Those of a rule that changes begin anew.
                    let rules = &wanted.rules.rules;
                    kept.close_rules(&mut self.ledger, |rule| rules.contains(rule));
                    let file = wanted.file.clone();
                    if let Err(source) = kept.change(wanted) {
                        self.events.push(failed(&file, source));
                    }
                }
                None => {
                    self.begun += 1;
                    let id = format!("gateway-{}-{}", std::process::id(), self.begun);
                    self.kept.push(Kept::new(wanted, id));
                }
            }
        }
        // What is there is held at once, as rules are.
        self.look();
    }

    /// Does what is due; answers when something is due again, if anything is wanted.
    pub(crate) fn do_due(&mut self) -> Option<Instant> {
        self.look();
        let mut until = None;
        for kept in &mut self.kept {
            let due = kept.do_due(&mut self.events);
            until = until.into_iter().chain(due).min();
        }
        until
    }

    fn look(&mut self) {
        for kept in &mut self.kept {
            kept.look(&mut self.events);
        }
    }

    pub(crate) fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        for post in self.posts() {
            post.add_to(wait);
        }
    }

    /// Answers requests.
    pub(crate) fn attend(&mut self) {
        for kept in &mut self.kept {
            kept.post.iter_mut().for_each(Post::attend);
        }
    }

    /// What people should know, once.
    pub(crate) fn take_events(&mut self) -> Vec<Event> {
        std::mem::take(&mut self.events)
    }

    /// Switches a gateway off, or on; one that has gone meanwhile needs no switch.
    pub(crate) fn switch(&mut self, name: &str, is_off: bool) {
        let mut kept = self.kept.iter_mut();
        let Some(kept) = kept.find(|kept| kept.name() == name) else {
            return;
        };
        let Some(post) = &mut kept.post else {
            return;
        };
        if let Err(source) = post.held().change(&Change::Observing(is_off)) {
            self.events.push(failed(&kept.wanted.file, source));
        }
    }

    /// What came of their rules.
    pub(crate) fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// How many rules are in force.
    pub(crate) fn rule_count(&self) -> usize {
        let kept = self.kept.iter().filter(|kept| kept.is_held());
        kept.map(|kept| kept.wanted.rules.rules.len()).sum()
    }

    /// Lets everything go.
    pub(crate) fn end(&mut self) {
        for kept in &mut self.kept {
            kept.release(&mut self.events);
        }
        self.kept.clear();
    }

    fn posts(&self) -> impl Iterator<Item = &Post<GatewayHeld>> {
        self.kept.iter().filter_map(|kept| kept.post.as_ref())
    }
}

impl Kept {
    fn new(wanted: Wanted, id: String) -> Self {
        Self {
            missing: wanted
                .interfaces
                .iter()
                .map(|it| Missing::new(it))
                .collect(),
            wanted,
            id,
            post: None,
        }
    }

    fn is_held(&self) -> bool {
        let post = self.post.as_ref();
        post.is_some_and(|post| post.as_held().is_held())
    }

    /// Somebody may have let it go by hand: so it stays, until the rules are read again.
    fn was_not_let_go(&self) -> bool {
        self.post.is_none() || self.is_held()
    }

    /// Becomes what is wanted now.
    fn change(&mut self, wanted: Wanted) -> ebb_keeper::Result<()> {
        let before = std::mem::replace(&mut self.wanted, wanted);
        let wanted = &self.wanted;
        self.missing
            .retain(|missing| wanted.interfaces.contains(&missing.name));
        let new = wanted.interfaces.iter();
        let new = new.filter(|name| !before.interfaces.contains(name));
        self.missing.extend(new.map(|name| Missing::new(name)));
        // Somebody may have mended what was in the way.
        for missing in &mut self.missing {
            missing.due = Instant::now();
        }
        let Some(post) = &mut self.post else {
            return Ok(());
        };
        let held = post.held();
        for name in &before.interfaces {
            if !wanted.interfaces.contains(name) {
                held.leave(name)?;
            }
        }
        if wanted.policy != before.policy {
            held.change(&Change::Download(wanted.policy.clone()))?;
        }
        if wanted.rules.rules != before.rules.rules {
            held.set_rules(&wanted.rules.rules)?;
        }
        self.note_interfaces()
    }

    fn do_due(&mut self, events: &mut Vec<Event>) -> Option<Instant> {
        let mut until = self.missing.iter().map(|missing| missing.due).min();
        let Some(post) = self.post.as_mut().filter(|post| post.as_held().is_held()) else {
            return until;
        };
        let before = post.as_held().interfaces();
        let done = post.do_due();
        let lost: Vec<_> = {
            let now = post.as_held().interfaces();
            before.into_iter().filter(|it| !now.contains(it)).collect()
        };
        for text in post.held().take_notices() {
            events.push(Event::Notice(format!(
                "{}: {text}",
                self.wanted.file.display()
            )));
        }
        match done {
            Ok(due) => until = until.into_iter().chain([due]).min(),
            // It goes on acting for as long as its lease lasts.
            Err(source) => events.push(failed(&self.wanted.file, source)),
        }
        if !lost.is_empty() {
            self.missing
                .extend(lost.iter().map(|name| Missing::new(name)));
            if let Err(source) = self.note_interfaces() {
                events.push(failed(&self.wanted.file, source));
            }
        }
        until
    }

    /// Takes the interfaces that have come.
    fn look(&mut self, events: &mut Vec<Event>) {
        if !self.was_not_let_go() {
            return;
        }
        let now = Instant::now();
        for mut missing in std::mem::take(&mut self.missing) {
            if now < missing.due {
                self.missing.push(missing);
                continue;
            }
            match self.take(&missing.name) {
                Ok(()) if missing.told.is_empty() => {}
                Ok(()) => events.push(Event::Notice(format!(
                    "{} yields from now on as {} says",
                    missing.name,
                    self.wanted.file.display()
                ))),
                Err(error) => {
                    missing.tell(error, &self.wanted.file, events);
                    self.missing.push(missing);
                }
            }
        }
    }

    fn take(&mut self, name: &str) -> ebb_keeper::Result<()> {
        let interface = Interface::of(name)?;
        if let Some(post) = &mut self.post {
            post.held().take(&interface)?;
            return self.note_interfaces();
        }
        let options = self.wanted.options(vec![interface]);
        let held = GatewayHeld::hold(&options, &self.wanted.rules.rules)?;
        let mut post = Post::new(Box::new(held));
        post.register(self.attached(vec![name.to_owned()]), self.id.clone())?;
        self.post = Some(post);
        Ok(())
    }

    fn note_interfaces(&mut self) -> ebb_keeper::Result<()> {
        let Some(post) = &self.post else {
            return Ok(());
        };
        let attached = self.attached(post.as_held().interfaces());
        let post = self.post.as_mut();
        post.map_or(Ok(()), |post| post.set_attached(attached))
    }

    fn attached(&self, interfaces: Vec<String>) -> Attached {
        Attached::Gateway {
            file: self.wanted.file.clone(),
            interfaces,
        }
    }

    fn release(&mut self, events: &mut Vec<Event>) {
        if let Some(mut post) = self.post.take()
            && let Err(source) = post.release()
        {
            events.push(failed(&self.wanted.file, source));
        }
    }
}

impl Missing {
    /// Says once why it is not taken, and when it is tried again.
    fn tell(&mut self, error: ebb_keeper::Error, file: &Path, events: &mut Vec<Event>) {
        let is_absent = matches!(
            error,
            ebb_keeper::Error::Gateway(GatewayError::NoInterface { .. })
        );
        self.due = Instant::now() + if is_absent { LOOK_EVERY } else { RETRY_EVERY };
        let text = describe(&error);
        if text == self.told {
            return;
        }
        self.told = text;
        events.push(match is_absent {
            true => Event::Notice(format!(
                "{}: there is no interface {} yet; it is taken when it comes",
                file.display(),
                self.name
            )),
            false => failed(file, error),
        });
    }
}

fn failed(file: &Path, source: ebb_keeper::Error) -> Event {
    Event::Failed(Error::Gateway {
        file: file.to_path_buf(),
        source,
    })
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.wanted.fmt(formatter)
    }
}
