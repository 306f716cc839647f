// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The service: holds every rule, and goes on until it is told to end.

use std::collections::VecDeque;
use std::fs::File;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use ebb_keeper::gateway::wanted::Wanted;
use ebb_keeper::kernel::KernelError;
use ebb_keeper::kernel::rules::Classifier;
use ebb_keeper::registry::Registry;
use ebb_keeper::{Backend, Cgroup, Change, Held, KernelHeld, Policies, Post, Signals, Wait};
use nix::fcntl::Flock;
use nix::sys::signal::Signal;
use sd_notify::NotifyState;

use crate::bits::{Bits, ruling};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::gateways::Gateways;
use crate::groups::{Changed, Groups};
use crate::lock::lock;
use crate::notify::Notifier;
use crate::read::read;
use crate::rule::{Book, Rule};
use crate::users::Users;
use crate::watching::Watching;

use weighed::Weighed;

mod beside;
mod watched;
mod weighed;

/// Whether anything has to be looked at is asked so often.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Keeps what rules say.
#[derive(Debug)]
pub struct Service {
    folders: Vec<PathBuf>,
    /// It acts on what is in this cgroup, or in one below it.
    below: Cgroup,
    signals: Signals,
    notifier: Notifier,
    /// Before what it judges for.
    kept: Vec<Kept>,
    gateways: Gateways,
    classifier: Classifier,
    groups: Groups,
    bits: Bits,
    /// Where records are of what is held by hand.
    records: PathBuf,
    /// New cgroups that were not told of, when that was looked at last.
    untold: u64,
    looked: Instant,
    /// When containers are to be looked at again.
    undecided: Option<Instant>,
    events: VecDeque<Event>,
    watching: Watching,
    users: Option<Users>,
    /// None: no rule has a weight.
    weighed: Option<Weighed>,
    _lock: Flock<File>,
}

/// A rule that is held.
struct Kept {
    rule: Rule,
    post: Post<KernelHeld>,
}

impl Service {
    /// Reads the rules in these folders and holds them for what is below a cgroup: what exists as
    /// well as what comes. Call it while there is a single thread.
    ///
    /// *Errors:* [`Error::RunsAlready`]; the kernel cannot do it; a folder cannot be read.
    pub fn begin(folders: &[PathBuf], below: &Cgroup) -> Result<Self> {
        // Before anything starts a thread, so that it inherits the mask.
        let signals = Signals::receive()?;
        let registry = Registry::open()?;
        let records = registry.directory().to_path_buf();
        let lock = lock(&records)?;
        let found = read(folders)?;
        let classifier = Classifier::load(below)?;
        let bits = Bits::default();
        let none = Book::default();
        let groups = Groups::new(below, ruling(&none, &bits)?, none, bits.clone());
        let mut service = Self {
            folders: folders.to_vec(),
            below: below.clone(),
            signals,
            notifier: Notifier::of_environment(),
            kept: Vec::new(),
            gateways: Gateways::default(),
            classifier,
            groups,
            bits,
            watching: Watching::new(&records),
            records,
            untold: 0,
            looked: Instant::now(),
            undecided: None,
            events: VecDeque::new(),
            users: None,
            weighed: None,
            _lock: lock,
        };
        service.apply(found.book, found.gateways)?;
        // Whoever asks at once is told of every rule.
        service.watch();
        service.serve_users(&found.settings);
        service.serve(found.settings);
        service.write_history();
        service.say_ready(found.problems);
        Ok(service)
    }

    /// Works until something happens. Nothing happens after [`Event::Over`].
    ///
    /// *Errors:* a system call that always works did not.
    pub fn next_event(&mut self) -> Result<Event> {
        loop {
            if let Some(event) = self.events.pop_front() {
                self.watching.note(&event);
                return Ok(event);
            }
            self.work()?;
        }
    }

    fn work(&mut self) -> Result<()> {
        let mut until = Instant::now() + LOOK_EVERY;
        for kept in &mut self.kept {
            match kept.post.do_due() {
                Ok(due) => until = until.min(due),
                Err(source) => self.events.push_back(Event::Failed(kept.failed(source))),
            }
        }
        let moments = [
            self.gateways.do_due(),
            self.notifier.beat(),
            self.undecided,
            self.weigh(),
            Some(self.watching.due()),
        ];
        let until = moments.into_iter().flatten().fold(until, Instant::min);
        let until = until.min(self.attend_users(Users::do_due).unwrap_or(until));
        let mut wait = Wait::new();
        wait.readable(&self.signals);
        wait.readable(&self.classifier);
        self.users.iter().for_each(|users| users.add_to(&mut wait));
        for kept in &self.kept {
            kept.post.add_to(&mut wait);
        }
        self.gateways.add_to(&mut wait);
        wait.until(until).wait()?;
        for kept in &mut self.kept {
            kept.post.attend();
        }
        self.gateways.attend();
        self.events.extend(self.gateways.take_events());
        self.look_at_groups();
        self.attend_users(Users::attend);
        self.watch();
        self.obey_signals()
    }

    /// Cgroups that were made, containers that are known by now, what is held by hand.
    fn look_at_groups(&mut self) {
        let new = self.classifier.new_groups();
        let mut changed = self.groups.judge_new(&self.classifier, &new);
        let (decided, again) = self.groups.judge_undecided(&self.classifier);
        changed.add(decided);
        self.undecided = again;
        if self.looked.elapsed() >= LOOK_EVERY {
            self.looked = Instant::now();
            let by_hand = (self.groups).note_what_is_held_by_hand(&self.classifier, &self.records);
            changed.add(by_hand);
            let untold = self.classifier.untold_groups();
            if untold != self.untold {
                self.untold = untold;
                tracing::warn!("more cgroups were made at once than could be told of");
                changed.add(self.groups.judge_all(&self.classifier));
            }
        }
        if changed != Changed::default() {
            self.judge_connections(changed);
        }
    }

    fn obey_signals(&mut self) -> Result<()> {
        while let Some(arrived) = self.signals.next()? {
            match arrived.signal {
                Signal::SIGHUP => self.reload(),
                Signal::SIGINT | Signal::SIGTERM => {
                    self.end();
                    return Ok(());
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Reads the rules again. If anything is wrong in them, all stays as it is.
    fn reload(&mut self) {
        match self.read_again() {
            Ok(()) => self.say_ready(Vec::new()),
            Err(error) => {
                let status = "The rules were not read again: there are mistakes in them";
                self.notifier.say(&[NotifyState::Status(status)]);
                self.events.push_back(Event::NotReloaded(error));
            }
        }
    }

    /// Goes over to these rules: no connection is touched whose rule stays as it is.
    fn apply(&mut self, book: Book, gateways: Vec<Wanted>) -> Result<()> {
        let mut bits = self.bits.clone();
        bits.assign(&book);
        // Before anything changes: they may be too many for the kernel.
        let ruling = ruling(&book, &bits)?;
        self.gateways.apply(gateways);
        self.drop_all_but(&book);
        self.classifier.set_ruling(&ruling)?;
        self.bits = bits.clone();
        self.groups = Groups::new(&self.below, ruling, book.clone(), bits);
        self.groups
            .note_what_is_held_by_hand(&self.classifier, &self.records);
        self.groups.judge_all(&self.classifier);
        self.judge_connections(Changed {
            has_lost: true,
            has_gained: true,
        });
        let has_new = self.keep_all(&book);
        self.judge_connections(Changed {
            has_lost: false,
            has_gained: has_new,
        });
        Ok(())
    }

    /// Holds every rule as it is now; answers whether any is new.
    fn keep_all(&mut self, book: &Book) -> bool {
        let mut has_new = false;
        for rule in &book.rules {
            match self
                .kept
                .iter_mut()
                .find(|kept| kept.rule.name == rule.name)
            {
                Some(kept) => {
                    if let Err(error) = kept.change(rule) {
                        self.events.push_back(Event::Failed(error));
                    }
                }
                None => {
                    self.keep(rule);
                    has_new = true;
                }
            }
        }
        has_new
    }

    /// Lets go what no rule is for any more, and what cannot be changed while it is held.
    fn drop_all_but(&mut self, book: &Book) {
        let (events, watching) = (&mut self.events, &mut self.watching);
        self.kept.retain_mut(|kept| {
            let rule = book.rules.iter().find(|rule| rule.name == kept.rule.name);
            let stays = rule.is_some_and(|rule| {
                rule.wanted.keeps_code_point == kept.rule.wanted.keeps_code_point
                    && kept.post.as_held().is_held()
            });
            if !stays {
                if let Err(source) = kept.post.release() {
                    events.push_back(Event::Failed(kept.failed(source)));
                }
                watching.close(&kept.rule, kept.post.as_held());
            }
            stays
        });
    }

    fn keep(&mut self, rule: &Rule) {
        let selection = self.classifier.selection(self.bits.of(&rule.name));
        let kept = Policies::new(&rule.wanted, Backend::Kernel)
            .and_then(|policies| KernelHeld::hold_rule(&self.below, selection, &policies))
            .and_then(|mut held| {
                for notice in held.take_notices() {
                    tracing::warn!("rule {}: {notice}", rule.name);
                }
                let mut post = Post::new(Box::new(held));
                post.register(rule.attached(), rule.id())?;
                Ok(post)
            });
        match kept {
            Ok(post) => self.kept.push(Kept {
                rule: rule.clone(),
                post,
            }),
            Err(source) => self.events.push_back(Event::Failed(Error::Rule {
                name: rule.name.clone(),
                source,
            })),
        }
    }

    /// First everybody lets go, then everybody takes over: nobody takes what somebody has.
    fn judge_connections(&mut self, changed: Changed) {
        let mut note = |done: Result<(), KernelError>| {
            if let Err(error) = done {
                self.events.push_back(Event::Failed(error.into()));
            }
        };
        if changed.has_lost {
            note(self.classifier.leave_others());
        }
        if changed.has_gained || changed.has_lost {
            note(self.classifier.take_over());
        }
    }

    fn end(&mut self) {
        self.notifier.say(&[NotifyState::Stopping]);
        self.users.iter_mut().for_each(Users::save);
        // All at once: nobody is to be free for as long as the others are let go.
        if let Err(error) = self.classifier.release_all() {
            self.events.push_back(Event::Failed(error.into()));
        }
        for kept in &mut self.kept {
            if let Err(source) = kept.post.release() {
                self.events.push_back(Event::Failed(kept.failed(source)));
            }
            self.watching.close(&kept.rule, kept.post.as_held());
        }
        self.watching.end(&self.gateways);
        self.gateways.end();
        self.events.extend(self.gateways.take_events());
        self.kept.clear();
        self.users = None;
        self.events.push_back(Event::Over);
    }
}

impl Kept {
    /// Goes over to the rule as it is now; whom it is for the kernel knows already.
    fn change(&mut self, rule: &Rule) -> Result<()> {
        let changed = self.try_to_change(rule);
        changed.map_err(|source| self.failed(source))
    }

    fn try_to_change(&mut self, rule: &Rule) -> ebb_keeper::Result<()> {
        if rule.wanted != self.rule.wanted {
            let policies = Policies::new(&rule.wanted, Backend::Kernel)?;
            let held = self.post.held();
            let now = held.in_force();
            if policies.download.to_string() != now.policy {
                held.change(&Change::Download(policies.download))?;
            }
            if policies.minimum.as_ref().map(ToString::to_string) != now.minimum {
                held.change(&Change::Minimum(policies.minimum))?;
            }
            if policies.deadline != self.rule.wanted.deadline {
                held.change(&Change::Deadline(policies.deadline))?;
            }
            if policies.upload.as_ref().map(ToString::to_string) != now.upload_policy {
                held.change(&Change::Upload(policies.upload))?;
            }
        }
        self.post.set_attached(rule.attached())?;
        self.rule = rule.clone();
        Ok(())
    }

    fn failed(&self, source: ebb_keeper::Error) -> Error {
        Error::Rule {
            name: self.rule.name.clone(),
            source,
        }
    }
}

impl std::fmt::Debug for Kept {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.rule.fmt(formatter)
    }
}
