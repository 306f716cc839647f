// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets of this process that the service holds, or is asked to. The governor goes on with each
//! until it sees that another Ebb acts, and takes it up again when that has gone.

use std::collections::HashMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::mem;
use std::os::fd::{AsRawFd, BorrowedFd, RawFd};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use ebb_sockets::{CopiedSocket, cookie_of};
use nix::sys::socket::{getsockopt, setsockopt, sockopt};

use crate::service::{self, Wish};
use crate::worker;

/// So often the service is asked whether it still holds what it held; the kernel backend acts for
/// no longer without it.
const LOOK_EVERY: Duration = Duration::from_secs(2);
/// What it does not name so often it holds no more.
const MOST_MISSES: u32 = 2;
/// A service that refuses, or does not answer, is not asked for so long.
const REST: Duration = Duration::from_secs(10);
/// With so many those that were closed are forgotten.
const MANY: usize = 32;

static SERVED: Mutex<Option<Served>> = Mutex::new(None);
static ANSWERED: Condvar = Condvar::new();

#[derive(Default)]
pub(crate) struct Served {
    /// By cookie.
    sockets: HashMap<u64, (RawFd, Stand)>,
    queue: Vec<Wish>,
    /// It is not asked before.
    rests_until: Option<Instant>,
    look_due: Option<Instant>,
}

enum Stand {
    Queued,
    Asking,
    Held(Held),
}

struct Held {
    /// By this it is asked for.
    id: String,
    /// Its congestion control before.
    own: Option<OsString>,
    misses: u32,
}

/// Nobody who has this may wait for the worker.
pub(crate) fn lock() -> MutexGuard<'static, Option<Served>> {
    SERVED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The thread is to ask for a socket, if there is a service.
pub(crate) fn wish(socket: BorrowedFd<'_>, keeps_code_point: bool) {
    if service::place().is_some() && queue(socket.as_raw_fd(), keeps_code_point) {
        worker::wake();
    }
}

fn queue(descriptor: RawFd, keeps_code_point: bool) -> bool {
    let mut served = lock();
    let served = served.get_or_insert_default();
    if served.rests_until.is_some_and(|it| Instant::now() < it) {
        return false;
    }
    let is_there = |cookie: &u64, descriptor| cookie_of(descriptor).is_ok_and(|it| it == *cookie);
    if served.sockets.len() >= MANY {
        let sockets = &mut served.sockets;
        sockets.retain(|cookie, (descriptor, _)| is_there(cookie, *descriptor));
    }
    let Ok(cookie) = cookie_of(descriptor) else {
        return false;
    };
    if served.sockets.contains_key(&cookie) {
        return false;
    }
    served.sockets.insert(cookie, (descriptor, Stand::Queued));
    served.queue.push(Wish {
        descriptor,
        cookie,
        keeps_code_point,
    });
    true
}

/// Whether something is to be asked for.
pub(crate) fn has_wishes() -> bool {
    lock()
        .as_ref()
        .is_some_and(|served| !served.queue.is_empty())
}

/// Asks for what is wished, one after the other.
pub(crate) fn ask() {
    while let Some(wish) = next() {
        let own = congestion_control(&wish);
        let held = service::hold(&wish).map(|id| Held { id, own, misses: 0 });
        if let Err(error) = &held {
            tracing::debug!("the service holds no socket: {error}");
        }
        note(&wish, held.ok());
        ANSWERED.notify_all();
    }
}

fn next() -> Option<Wish> {
    let mut served = lock();
    let served = served.as_mut()?;
    let wish = served.queue.pop()?;
    if let Some((_, stand)) = served.sockets.get_mut(&wish.cookie) {
        *stand = Stand::Asking;
    }
    Some(wish)
}

fn note(wish: &Wish, held: Option<Held>) {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return;
    };
    match held {
        Some(held) => {
            let stand = (wish.descriptor, Stand::Held(held));
            served.sockets.insert(wish.cookie, stand);
        }
        None => {
            served.rests_until = Some(Instant::now() + REST);
            served.sockets.remove(&wish.cookie);
            for wish in mem::take(&mut served.queue) {
                served.sockets.remove(&wish.cookie);
            }
        }
    }
}

/// Looks now and then whether the service holds what it held. What it lets go by itself has the
/// congestion control of before; what it left when it was killed has it once something is sent,
/// which may be never: until then the governor would take another Ebb to be there.
pub(crate) fn look() {
    let ids = match service::held() {
        Ok(ids) => ids,
        Err(error) if matches!(error.kind(), ErrorKind::TimedOut | ErrorKind::WouldBlock) => return,
        Err(_) => Vec::new(),
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
}

/// Whether that is due; it is not again for a while.
pub(crate) fn has_looks() -> bool {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return false;
    };
    let mut stands = served.sockets.values();
    let is_due = served.look_due.is_none_or(|due| Instant::now() >= due)
        && stands.any(|(_, stand)| matches!(stand, Stand::Held(_)));
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

/// When this returns the service does not hold the socket.
pub(crate) fn let_go(socket: BorrowedFd<'_>) {
    if lock().as_ref().is_none_or(|it| it.sockets.is_empty()) {
        return;
    }
    if let Ok(cookie) = cookie_of(socket.as_raw_fd()) {
        let_one_go(cookie);
    }
}

/// The same for all of them.
pub(crate) fn let_all_go() {
    let cookies: Vec<u64> = match lock().as_ref() {
        Some(served) => served.sockets.keys().copied().collect(),
        None => return,
    };
    cookies.into_iter().for_each(let_one_go);
}

fn let_one_go(cookie: u64) {
    let mut locked = lock();
    loop {
        let Some(served) = locked.as_mut() else {
            return;
        };
        match served.sockets.get(&cookie) {
            // It is answered within a second, whatever happens.
            Some((_, Stand::Asking)) => {
                locked = ANSWERED
                    .wait(locked)
                    .unwrap_or_else(PoisonError::into_inner);
            }
            Some((_, Stand::Queued)) => {
                served.queue.retain(|wish| wish.cookie != cookie);
                served.sockets.remove(&cookie);
                return;
            }
            Some((_, Stand::Held(held))) => {
                let id = held.id.clone();
                served.sockets.remove(&cookie);
                drop(locked);
                return service::let_go(&id);
            }
            None => return,
        }
    }
}
