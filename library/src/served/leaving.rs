// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets that the service is to let go. The thread tells it, of all that wait at once, and again
//! until it has answered; nobody else waits for that. What is given again meanwhile is asked for
//! after it.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::{Held, Served, Stand, lock, take_back};
use crate::service::{self, Told};

/// So many at once, by up to 32 bytes each: half of what a request may have.
const MOST_AT_ONCE: usize = 1_024;
/// A service that is too busy is told again so soon, then after twice as long, up to
const SOON: Duration = Duration::from_millis(25);
const SELDOM: Duration = Duration::from_secs(1);
/// For one that does not answer the thread has waited already, and looks at nothing meanwhile: it is
/// told again so late, then later. Whatever it was told it does when it goes on.
const UNANSWERED: Duration = Duration::from_secs(2);
/// Where there is none it is looked for so often; its programs let go after so long.
const NOBODY: Duration = Duration::from_millis(250);
const LEASE: Duration = Duration::from_secs(2);

#[derive(Default)]
pub(super) struct Leaving {
    /// By cookie.
    sockets: HashMap<u64, Left>,
    /// By what those are asked for that are held together, where all of them go.
    wholes: HashSet<String>,
    /// It is not told before.
    due: Option<Instant>,
    tries: u32,
    absent_since: Option<Instant>,
}

/// A socket that is to be let go.
struct Left {
    descriptor: RawFd,
    /// Its congestion control before, as far as that is known.
    own: Option<OsString>,
    origin: Origin,
}

/// From what it goes.
enum Origin {
    /// By this it is asked for.
    Itself(String),
    /// Those that are held together, which stay.
    Others,
    /// Those that are held together, which go with it.
    Whole(String),
}

/// What the service is told at once.
struct Batch {
    ids: Vec<String>,
    /// Of those that are held together.
    cookies: Vec<u64>,
    /// By this they are.
    together: Option<String>,
}

impl Leaving {
    pub(super) fn is_empty(&self) -> bool {
        self.sockets.is_empty() && self.wholes.is_empty()
    }

    pub(super) fn has(&self, cookie: u64) -> bool {
        self.sockets.contains_key(&cookie)
    }

    /// Whether all of some that are held together go: others are held together after that.
    pub(super) fn has_whole(&self) -> bool {
        !self.wholes.is_empty()
    }

    /// When the service is to be told, if there is anything.
    pub(super) fn due(&self) -> Option<Instant> {
        (!self.is_empty()).then(|| self.due.unwrap_or_else(Instant::now))
    }

    pub(super) fn add_single(&mut self, cookie: u64, descriptor: RawFd, held: Held) {
        self.add(cookie, (descriptor, held.own), Origin::Itself(held.id));
    }

    /// One of those that are held together, with its number and its congestion control before.
    pub(super) fn add_one_of_many(&mut self, cookie: u64, known: (RawFd, Option<OsString>)) {
        self.add(cookie, known, Origin::Others);
    }

    fn add(&mut self, cookie: u64, known: (RawFd, Option<OsString>), origin: Origin) {
        let (descriptor, own) = known;
        let left = Left {
            descriptor,
            own,
            origin,
        };
        self.sockets.insert(cookie, left);
    }

    /// One that may be among those that are held together; of so many it is one too much.
    pub(super) fn add_unknown(&mut self, cookie: u64, most: usize) {
        if self.sockets.len() < most {
            self.add_one_of_many(cookie, (-1, None));
        }
    }

    /// All that are held together by this.
    pub(super) fn add_whole(
        &mut self,
        id: &str,
        sockets: impl Iterator<Item = (u64, RawFd, Option<OsString>)>,
    ) {
        self.wholes.insert(id.to_owned());
        for (cookie, descriptor, own) in sockets {
            self.add(cookie, (descriptor, own), Origin::Whole(id.to_owned()));
        }
    }

    fn batch(&self, together: Option<&String>) -> Batch {
        let mut batch = Batch {
            ids: self.wholes.iter().cloned().collect(),
            cookies: Vec::new(),
            together: together.cloned(),
        };
        let some = self.sockets.iter().filter(|(_, left)| !left.is_of_whole());
        for (cookie, left) in some.take(MOST_AT_ONCE) {
            match &left.origin {
                Origin::Itself(id) => batch.ids.push(id.clone()),
                Origin::Others | Origin::Whole(_) => batch.cookies.push(*cookie),
            }
        }
        batch
    }

    fn note(&mut self, batch: Batch, told: &Told) {
        let now = Instant::now();
        let pause = match told {
            Told::Done => return self.settle(batch),
            Told::Refused => SELDOM.min(SOON * 2u32.pow(self.tries.min(8))),
            Told::Unanswered => UNANSWERED * 2u32.pow(self.tries.min(2)),
            Told::Nobody => {
                let since = *self.absent_since.get_or_insert(now);
                if now.duration_since(since) >= LEASE {
                    return self.settle_without_service();
                }
                NOBODY
            }
        };
        if !matches!(told, Told::Nobody) {
            self.absent_since = None;
        }
        self.tries += 1;
        self.due = Some(now + pause);
    }

    /// These have been let go.
    fn settle(&mut self, batch: Batch) {
        let ids: HashSet<String> = batch.ids.into_iter().collect();
        let cookies: HashSet<u64> = batch.cookies.into_iter().collect();
        self.wholes.retain(|id| !ids.contains(id));
        let is_settled = |cookie: &u64, left: &mut Left| match &left.origin {
            Origin::Itself(id) | Origin::Whole(id) => ids.contains(id),
            Origin::Others => cookies.contains(cookie),
        };
        for (cookie, left) in self.sockets.extract_if(is_settled) {
            // Another service may have answered than the one that held it.
            take_back(cookie, left.descriptor, left.own.as_ref());
        }
        (self.due, self.tries, self.absent_since) = (None, 0, None);
    }

    /// All have been let go by the service's programs. They leave the kernel's congestion control
    /// to whatever is sent next.
    fn settle_without_service(&mut self) {
        for (cookie, left) in &self.sockets {
            take_back(*cookie, left.descriptor, left.own.as_ref());
        }
        *self = Self::default();
    }
}

impl Left {
    fn is_of_whole(&self) -> bool {
        matches!(self.origin, Origin::Whole(_))
    }
}

impl Served {
    /// A socket is to be held no more. One that nothing is known of may be among those that are
    /// held together: a program that this one was executed over may have named it.
    pub(super) fn let_go(&mut self, cookie: u64) {
        self.queue.retain(|wish| wish.cookie != cookie);
        self.together.queue.retain(|wish| wish.cookie != cookie);
        let Some((descriptor, stand)) = self.sockets.remove(&cookie) else {
            if !self.leaving.has(cookie) {
                self.let_unknown_go(cookie);
            }
            return;
        };
        match stand {
            Stand::Queued => {}
            Stand::Asking { .. } | Stand::Unwished => {
                // It goes as soon as it is answered.
                self.sockets.insert(cookie, (descriptor, Stand::Unwished));
            }
            Stand::Held(held) => self.leaving.add_single(cookie, descriptor, held),
            Stand::Together(own) => self.leaving.add_one_of_many(cookie, (descriptor, own)),
        }
    }

    /// Whether a socket is to be let go, and is not yet.
    pub(super) fn is_leaving(&self, cookie: u64) -> bool {
        let is_unwished = |(_, stand): &(RawFd, Stand)| matches!(stand, Stand::Unwished);
        self.leaving.has(cookie) || self.sockets.get(&cookie).is_some_and(is_unwished)
    }
}

/// Tells the service of what it is to let go, if that is due.
pub(super) fn tell() {
    while let Some(batch) = next() {
        let together = batch.together.as_deref();
        let told = service::let_these_go(&batch.ids, &batch.cookies, together);
        if let Some(served) = lock().as_mut() {
            served.leaving.note(batch, &told);
        }
    }
}

fn next() -> Option<Batch> {
    let served = lock();
    let served = served.as_ref()?;
    let is_due = served
        .leaving
        .due()
        .is_some_and(|due| due <= Instant::now());
    is_due.then(|| served.leaving.batch(served.together.id.as_ref()))
}
