// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What keeps something held: does what is due, answers requests, listens to whatever else there
//! is. The one loop of all keepers.

use std::time::{Duration, Instant};

use crate::describe::describe;
use crate::error::Result;
use crate::held::{Held, obey};
use crate::protocol::{Asked, Reply};
use crate::registry::{Attached, Record, Registration, Registry};
use crate::signals::Signals;
use crate::summary::Summary;
use crate::wait::Wait;
use crate::watch::Watch;

/// How often it is looked whether anybody still needs it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Something held, and where it is asked.
pub struct Post<H: Held + ?Sized> {
    /// Gone when nothing is held any more.
    registration: Option<Registration>,
    /// What is seen of its connections, if that is wanted.
    watch: Option<Watch>,
    held: Box<H>,
}

impl<H: Held + ?Sized> Post<H> {
    /// Nobody finds it yet.
    pub fn new(held: Box<H>) -> Self {
        Self {
            registration: None,
            watch: None,
            held,
        }
    }

    /// Can be found and asked from now on.
    ///
    /// *Errors:* it cannot be noted where what is attached is noted.
    pub fn register(&mut self, attached: Attached, id: String) -> Result<()> {
        let record = Record::new(attached, id, self.held.backend(), self.held.in_force());
        self.registration = Some(Registry::open()?.register(record)?);
        Ok(())
    }

    /// Looks at its connections now and then from now on, for [`Self::summary`].
    pub fn watch(&mut self) {
        self.watch = Some(Watch::default());
    }

    /// What is held.
    pub fn held(&mut self) -> &mut H {
        &mut self.held
    }

    /// What is held, to look at.
    pub fn as_held(&self) -> &H {
        &self.held
    }

    /// Says from now on what it is attached to.
    ///
    /// *Errors:* the record cannot be written.
    pub fn set_attached(&mut self, attached: Attached) -> Result<()> {
        let registration = self.registration.as_mut();
        registration.map_or(Ok(()), |it| it.set_attached(attached))
    }

    /// Does what is due, then waits for that to be due again, for a request, or for what else is
    /// waited for; answers requests.
    ///
    /// *Errors:* what is held cannot go on.
    pub fn work(&mut self, wait: Wait<'_>) -> Result<()> {
        let due = self.do_due()?;
        let mut wait = wait;
        wait.until(due);
        self.add_to(&mut wait);
        wait.wait()?;
        self.attend();
        Ok(())
    }

    /// Does what is due, and answers when something is due again. Who keeps one post calls
    /// [`Self::work`]; who keeps several calls this for each, waits for all ([`Self::add_to`]), and
    /// then attends to each ([`Self::attend`]).
    ///
    /// *Errors:* as [`Self::work`].
    pub fn do_due(&mut self) -> Result<Instant> {
        let due = self.held.work()?;
        // Now, and not after the wait: what is told would be as old as that.
        self.note_in_force();
        Ok(due)
    }

    /// Waits for whatever is to be done here.
    pub fn add_to<'a>(&'a self, wait: &mut Wait<'a>) {
        for descriptor in self.held.descriptors() {
            wait.descriptor(descriptor);
        }
        if let Some(watch) = &self.watch {
            wait.until(watch.due());
        }
        if let Some(registration) = &self.registration {
            registration.add_to(wait);
        }
    }

    /// Looks at its connections, if that is wanted and due; answers requests.
    pub fn attend(&mut self) {
        if let Some(watch) = &mut self.watch {
            // Without it the account at the end says less.
            watch.look(|| self.held.flows().unwrap_or_default());
        }
        self.answer();
    }

    /// Works until it is released, or nobody needs it any more, or a signal says so.
    ///
    /// *Errors:* as [`Self::work`].
    pub fn work_to_the_end(&mut self, signals: &Signals) -> Result<()> {
        let mut looked = Instant::now();
        while self.held.is_held() && !signals.say_that_it_is_over()? {
            let mut wait = Wait::new();
            wait.readable(signals);
            self.work(wait)?;
            for text in self.held.take_notices() {
                tracing::info!("{text}");
            }
            if looked.elapsed() >= LOOK_EVERY {
                looked = Instant::now();
                if !self.held.is_needed() {
                    break;
                }
            }
        }
        self.release()
    }

    /// What came of it so far.
    pub fn summary(&mut self) -> Summary {
        let mut summary = self.held.summary();
        summary.seen = self.watch.as_ref().map(Watch::seen).unwrap_or_default();
        summary
    }

    /// Lets everything go; nobody finds it from now on.
    ///
    /// *Errors:* as [`Held::release`].
    pub fn release(&mut self) -> Result<()> {
        let released = self.held.release();
        self.registration = None;
        released
    }

    /// Some of it changes without being asked for.
    fn note_in_force(&mut self) {
        if let Some(registration) = &mut self.registration
            && let Err(error) = registration.set_in_force(self.held.in_force())
        {
            tracing::warn!("while noting what is in force: {}", describe(&error));
        }
    }

    fn answer(&mut self) {
        let Some(registration) = &mut self.registration else {
            return;
        };
        while let Some(asked) = registration.next_request() {
            let reply = reply_to(self.held.as_mut(), registration, &asked);
            registration.answer(&asked, &reply);
        }
        // Nobody is to find what is not held any more.
        if !self.held.is_held() {
            self.registration = None;
        }
    }
}

fn reply_to<H: Held + ?Sized>(
    held: &mut H,
    registration: &mut Registration,
    asked: &Asked,
) -> Reply {
    let done = obey(held, &asked.request);
    // Before it is answered that everything is let go.
    if !held.is_held() {
        registration.withdraw();
    }
    let noted = registration.set_in_force(held.in_force());
    let reply = done.and_then(|reply| noted.map(|()| reply));
    reply.unwrap_or_else(|error| Reply::Refused {
        cause: describe(&error),
    })
}

impl<H: Held + ?Sized> Drop for Post<H> {
    fn drop(&mut self) {
        // First what limits, then what says so.
        if let Err(error) = self.held.release() {
            tracing::warn!("while letting go: {}", describe(&error));
        }
    }
}
