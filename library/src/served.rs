// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of this process that the service holds, or is asked to. The governor goes on with each
//! until it sees that another Ebb acts, and takes it up again when that has gone. The thread alone
//! asks the service, for one after the other, and tells it what to let go.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::io::ErrorKind;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ebb_host::sockets_in;
use ebb_sockets::{CopiedSocket, cookie_of};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use crate::service::{self, Order, Wish};
use crate::worker;
use leaving::Leaving;
use seen::Seen;
use together::Together;

pub(crate) use seen::seen;
pub(crate) use together::{wants_more, wish_all, wish_more};

mod leaving;
mod seen;
mod together;

/// So often the service is asked whether it still holds what it held; the kernel backend acts for
/// no longer without it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// What it does not name so often it holds no more.
const MOST_MISSES: u32 = 2;
/// A service that refuses, or does not answer, is not asked for so long.
const REST: Duration = Duration::from_secs(10);
/// With so many those that were closed are forgotten, and with twice as many as were left then.
const MANY: usize = 32;

static SERVED: Mutex<Option<Served>> = Mutex::new(None);

#[derive(Default)]
pub(crate) struct Served {
    /// By cookie.
    sockets: HashMap<u64, (RawFd, Stand)>,
    /// So many were left when those that were closed were forgotten.
    left: usize,
    queue: Vec<Wish>,
    together: Together,
    leaving: Leaving,
    seen: Seen,
    /// It is not asked before.
    rests_until: Option<Instant>,
    look_due: Option<Instant>,
}

enum Stand {
    Queued,
    Asking {
        /// By itself, and how; none: with the others.
        single: Option<Order>,
    },
    /// The service is asked for it, but it is not wished any more, or otherwise.
    Unwished,
    Held(Held),
    /// With the others of those that are given together, by its congestion control before.
    Together(Option<OsString>),
}

struct Held {
    /// By this it is asked for.
    id: String,
    /// Its congestion control before.
    own: Option<OsString>,
    order: Order,
    misses: u32,
}

/// Nobody who has this may wait for the worker.
pub(crate) fn lock() -> MutexGuard<'static, Option<Served>> {
    SERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread is to ask for a socket, if there is a service.
pub(crate) fn wish(socket: BorrowedFd<'_>, order: Order) {
    if service::place().is_some() && queue(socket.as_raw_fd(), order) {
        worker::wake();
    }
}

fn queue(descriptor: RawFd, order: Order) -> bool {
    let mut served = lock();
    let served = served.get_or_insert_default();
    if served.sockets.len() >= MANY.max(served.left * 2) {
        served.forget_closed();
    }
    let Ok(cookie) = cookie_of(descriptor) else {
        return false;
    };
    match served.sockets.get(&cookie) {
        Some((_, Stand::Asking { single: Some(it) })) if *it == order => return false,
        Some((_, Stand::Held(held))) if held.order == order => return false,
        Some((_, Stand::Queued)) if served.has_wish(cookie, order) => return false,
        Some((_, Stand::Asking { single: None } | Stand::Queued | Stand::Together(_)))
            if served.rests() && served.together.is_wished_so(order) =>
        {
            return false;
        }
        None if served.rests() => return false,
        // One that is given by itself, or otherwise, is held so once what held it has let it go.
        _ => served.let_go(cookie),
    }
    if served.rests() {
        return true;
    }
    let stand = (descriptor, Stand::Queued);
    served.sockets.entry(cookie).or_insert(stand);
    served.queue.push(Wish {
        descriptor,
        cookie,
        order,
    });
    true
}

/// Whether the service is to be asked for something, or told of something.
pub(crate) fn has_wishes() -> bool {
    lock().as_ref().is_some_and(|served| {
        let is_due = served.leaving.due().is_some_and(|it| it <= Instant::now());
        is_due || served.next_wish().is_some() || served.has_wishes_together()
    })
}

/// When it is to be told again, where it has not answered.
pub(crate) fn due() -> Option<Instant> {
    lock().as_ref()?.leaving.due()
}

/// Asks for what is wished, one after the other. Who is to be let go waits for no other.
pub(crate) fn ask() {
    leaving::tell();
    while let Some(wish) = next() {
        let own = congestion_control(&wish);
        let held = service::hold(&wish).map(|id| Held {
            id,
            own,
            order: wish.order,
            misses: 0,
        });
        if let Err(error) = &held {
            tracing::debug!("the service holds no socket: {error}");
        }
        note(&wish, held.ok());
        leaving::tell();
    }
    together::ask();
}

fn next() -> Option<Wish> {
    let mut served = lock();
    let served = served.as_mut()?;
    while let Some(next) = served.next_wish() {
        let wish = served.queue.swap_remove(next);
        // One that was closed meanwhile would be refused.
        if !is_there(wish.cookie, wish.descriptor) {
            served.sockets.remove(&wish.cookie);
            continue;
        }
        if let Some((_, stand)) = served.sockets.get_mut(&wish.cookie) {
            *stand = Stand::Asking {
                single: Some(wish.order),
            };
        }
        return Some(wish);
    }
    None
}

/// Whether a socket still has the number that it had.
fn is_there(cookie: u64, descriptor: RawFd) -> bool {
    cookie_of(descriptor).is_ok_and(|it| it == cookie)
}

fn note(wish: &Wish, held: Option<Held>) {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return;
    };
    let is_wished = served.has_answer(wish);
    match held {
        Some(held) if is_wished => {
            let stand = (wish.descriptor, Stand::Held(held));
            served.sockets.insert(wish.cookie, stand);
        }
        Some(held) => {
            let leaving = &mut served.leaving;
            leaving.add_single(wish.cookie, wish.descriptor, held);
        }
        None if is_there(wish.cookie, wish.descriptor) => served.rest(),
        // It was refused because it was closed, which says nothing of others.
        None => {}
    }
}

impl Served {
    /// The next that can be asked for: what is to be let go first is not.
    fn next_wish(&self) -> Option<usize> {
        let mut wishes = self.queue.iter();
        wishes.rposition(|wish| !self.leaving.has(wish.cookie))
    }

    fn has_wish(&self, cookie: u64, order: Order) -> bool {
        let mut wishes = self.queue.iter();
        wishes.any(|wish| wish.cookie == cookie && wish.order == order)
    }

    /// The service has answered; tells whether that is wished still. One that was given once more
    /// meanwhile is asked for again.
    fn has_answer(&mut self, wish: &Wish) -> bool {
        let stood = self.sockets.remove(&wish.cookie);
        let mut again = self.queue.iter().filter(|it| it.cookie == wish.cookie);
        if let Some(again) = again.next() {
            let stand = (again.descriptor, Stand::Queued);
            self.sockets.insert(wish.cookie, stand);
        }
        !matches!(stood, Some((_, Stand::Unwished)))
    }

    fn rests(&self) -> bool {
        self.rests_until.is_some_and(|it| Instant::now() < it)
    }

    /// It is not asked for single ones for a while, nor for those that wait.
    fn rest(&mut self) {
        self.rests_until = Some(Instant::now() + REST);
        for wish in mem::take(&mut self.queue) {
            self.sockets.remove(&wish.cookie);
        }
    }

    /// Forgets sockets that were closed. Those that are held together may have other numbers by now;
    /// the service lets go single ones that have.
    fn forget_closed(&mut self) {
        let mut missing = HashSet::new();
        self.sockets.retain(|cookie, (descriptor, stand)| {
            let is_asked = matches!(stand, Stand::Asking { .. } | Stand::Unwished);
            let is_kept = is_asked || is_there(*cookie, *descriptor);
            let is_together = matches!(stand, Stand::Together(_));
            if !is_kept && is_together {
                missing.insert(*cookie);
            }
            is_kept || is_together
        });
        self.left = self.sockets.len() - missing.len();
        if missing.is_empty() {
            return;
        }
        for (descriptor, _) in sockets_in(std::process::id()).unwrap_or_default() {
            if let Ok(cookie) = cookie_of(descriptor)
                && missing.remove(&cookie)
                && let Some((before, _)) = self.sockets.get_mut(&cookie)
            {
                *before = descriptor;
            }
        }
        self.sockets.retain(|cookie, _| !missing.contains(cookie));
        self.left = self.sockets.len();
    }
}

/// Looks now and then whether the service holds what it held. What it lets go by itself has the
/// congestion control of before; what it left when it was killed has it once something is sent,
/// which may be never: until then the governor would take another Ebb to be there.
pub(crate) fn look() {
    let ids = match service::held() {
        Ok(ids) => ids,
        Err(error) if is_without_service(error.kind()) => Vec::new(),
        // One that is too busy, or a want of descriptors here, says nothing of what it holds.
        Err(_) => return,
    };
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return;
    };
    served.sockets.retain(|cookie, (descriptor, stand)| {
        let Stand::Held(held) = stand else {
            return true;
        };
        held.misses = if ids.contains(&held.id) {
            0
        } else {
            held.misses + 1
        };
        let is_lost = held.misses >= MOST_MISSES;
        if is_lost {
            take_back(*cookie, *descriptor, held.own.as_ref());
        }
        !is_lost
    });
    served.look_at_those_together(&ids);
}

/// Whether there is no service, or another one than can have held anything.
fn is_without_service(error: ErrorKind) -> bool {
    use ErrorKind::{ConnectionRefused, NotFound, Unsupported};
    matches!(error, ConnectionRefused | NotFound | Unsupported)
}

/// Whether that is due; it is not again for a while.
pub(crate) fn has_looks() -> bool {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return false;
    };
    let mut stands = served.sockets.values();
    let has_any = served.together.is_held() || stands.any(|(_, it)| matches!(it, Stand::Held(_)));
    let is_due = has_any && served.look_due.is_none_or(|due| Instant::now() >= due);
    if is_due {
        served.look_due = Some(Instant::now() + LOOK_EVERY);
    }
    is_due
}

/// While nobody forks: a copy is made.
fn take_back(cookie: u64, descriptor: RawFd, own: Option<&OsString>) {
    let copy = CopiedSocket::from_own(descriptor);
    let copy = copy
        .ok()
        .filter(|it| it.cookie().is_ok_and(|it| it == cookie));
    if let (Some(socket), Some(own)) = (copy, own)
        && socket.is_of_kernel_backend()
        && let Err(error) = setsockopt(&socket, sockopt::TcpCongestion, own)
    {
        tracing::debug!("{own:?}: {error}");
    }
}

fn congestion_control(wish: &Wish) -> Option<OsString> {
    let _nobody_forks = lock();
    let socket = CopiedSocket::from_own(wish.descriptor).ok()?;
    getsockopt(&socket, sockopt::TcpCongestion).ok()
}

/// The thread is to have the service let a socket go.
pub(crate) fn let_go(socket: BorrowedFd<'_>) {
    change_leaving(|served| {
        if served.holds_any()
            && let Ok(cookie) = cookie_of(socket.as_raw_fd())
        {
            served.let_go(cookie);
        }
    });
}

/// The same for all of them.
pub(crate) fn let_all_go() {
    wish_all(None);
    change_leaving(|served| {
        let cookies: Vec<u64> = served.sockets.keys().copied().collect();
        cookies.into_iter().for_each(|cookie| served.let_go(cookie));
    });
}

/// Whether the service is to let a socket go, and has not yet.
pub(crate) fn is_leaving(socket: BorrowedFd<'_>) -> bool {
    let served = lock();
    let served = served.as_ref().filter(|it| it.holds_any());
    served.is_some_and(|it| cookie_of(socket.as_raw_fd()).is_ok_and(|cookie| it.is_leaving(cookie)))
}

/// The thread is woken for the first: it tells of all at once.
fn change_leaving(change: impl FnOnce(&mut Served)) {
    let mut locked = lock();
    let Some(served) = locked.as_mut() else {
        return;
    };
    let was_empty = served.leaving.is_empty();
    change(served);
    let is_first = was_empty && !served.leaving.is_empty();
    drop(locked);
    if is_first {
        worker::wake();
    }
}

impl Served {
    /// Whether the service may hold anything.
    fn holds_any(&self) -> bool {
        !self.sockets.is_empty() || !self.leaving.is_empty() || self.together.is_wished()
    }
}
