// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The one governor of this process and the thread that drives it; what becomes of them when the
//! process forks or ends.

use std::cell::Cell;
use std::sync::{Condvar, Mutex, MutexGuard, Once, PoisonError, TryLockError};
use std::thread;
use std::time::{Duration, Instant};

use ebb_sockets::{Governor, Options, Root};
use nix::sys::signal::{SigSet, SigmaskHow};

use crate::error::{Error, Result};
use crate::served::{self, Served};

/// What the thread needs is small; the rest of a usual stack would count as the program's.
const STACK_BYTES: usize = 256 << 10;
/// A process that ends waits so often for a look that goes on, and so long each time. What is not
/// taken back then stays as it is limited, where somebody else has the socket still.
const PATIENCE: (u32, Duration) = (1000, Duration::from_millis(1));

static WORKER: Mutex<Worker> = Mutex::new(Worker {
    governor: None,
    is_running: false,
});
/// A call tells the governor and the service: two of one socket are done one after the other.
static CALLS: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();
static HOOKS: Once = Once::new();

struct Worker {
    /// None: nothing was asked for yet.
    governor: Option<Governor>,
    is_running: bool,
}

/// Nobody else changes what is governed until this is let go; taken before all other locks.
pub(crate) fn calls() -> MutexGuard<'static, ()> {
    CALLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Changes what is governed; the thread acts on it at once.
///
/// *Errors:* there is no thread to be had.
pub(crate) fn change<R>(act: impl FnOnce(&mut Governor) -> R) -> Result<R> {
    HOOKS.call_once(hook);
    let mut worker = lock();
    if worker.governor.is_none() {
        worker.governor = Some(Governor::new(Root::Own, Options::default())?);
    }
    if !worker.is_running {
        start().map_err(Error::NoThread)?;
        worker.is_running = true;
    }
    let answer = worker.governor.as_mut().map(act);
    CHANGED.notify_one();
    Ok(answer.expect("there is one by now"))
}

/// Has the thread look whether there is something to do.
pub(crate) fn wake() {
    if let Err(error) = change(|_| ()) {
        tracing::debug!("{error}");
    }
}

/// Asks, or takes back, which leaves the thread nothing to do; none: nothing was ever governed.
pub(crate) fn ask<R>(act: impl FnOnce(&mut Governor) -> R) -> Option<R> {
    lock().governor.as_mut().map(act)
}

fn lock() -> MutexGuard<'static, Worker> {
    WORKER.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the thread, in which no signal handler of the program's runs.
fn start() -> std::io::Result<()> {
    let own = SigSet::all().thread_swap_mask(SigmaskHow::SIG_SETMASK)?;
    let named = thread::Builder::new().name("ebb".into());
    let started = named.stack_size(STACK_BYTES).spawn(keep);
    own.thread_set_mask()?;
    started.map(drop)
}

/// While the thread lives. Whatever ends it, the next that is asked for starts another.
struct Running;

impl Drop for Running {
    fn drop(&mut self) {
        lock().is_running = false;
    }
}

fn keep() {
    let _running = Running;
    let mut worker = lock();
    loop {
        let Some(governor) = &mut worker.governor else {
            worker = CHANGED.wait(worker).unwrap_or_else(PoisonError::into_inner);
            continue;
        };
        let next = governor.tick();
        let notices = governor.take_notices();
        if !notices.is_empty() {
            // Whoever hears of them may call the library.
            drop(worker);
            notices.iter().for_each(|it| tracing::warn!("{it}"));
            worker = lock();
            continue;
        }
        if served::wants_more() {
            served::wish_more(governor.governed_of_all());
        }
        if served::has_wishes() {
            drop(worker);
            served::ask();
            worker = lock();
            continue;
        }
        if served::has_looks() {
            drop(worker);
            served::look();
            worker = lock();
            continue;
        }
        let next = governor.has_given().then_some(next);
        let next = next.into_iter().chain(served::due()).min();
        let pause = next.map(|next| next.saturating_duration_since(Instant::now()));
        let waited = CHANGED.wait_timeout(worker, pause.unwrap_or(Duration::MAX));
        worker = waited.unwrap_or_else(PoisonError::into_inner).0;
    }
}

/// Nothing of this may go wrong: these fail for want of memory only.
fn hook() {
    // SAFETY: the functions live as long as the process: the library is never unloaded.
    unsafe {
        libc::pthread_atfork(Some(before_fork), Some(after_fork), Some(in_child));
        libc::atexit(at_exit);
    }
}

type Locked = (
    MutexGuard<'static, ()>,
    MutexGuard<'static, Worker>,
    MutexGuard<'static, Option<Served>>,
);

thread_local! {
    /// While this thread forks nobody else holds a copy of a socket, which the child would have
    /// as well.
    static FORKING: Cell<Option<Locked>> = const { Cell::new(None) };
}

extern "C" fn before_fork() {
    // A thread that is ending has none.
    let _ = FORKING.try_with(|held| held.set(Some((calls(), lock(), served::lock()))));
}

extern "C" fn after_fork() {
    let _ = FORKING.try_with(Cell::take);
}

/// The child has the sockets, but not the thread. What yields is the parent's affair.
extern "C" fn in_child() {
    if let Ok(Some((_calls, mut worker, mut served))) = FORKING.try_with(Cell::take) {
        // What the service holds is the parent's affair, too.
        *served = None;
        worker.is_running = false;
        if let Some(governor) = worker.governor.take() {
            governor.abandon();
        }
    }
}

/// Somebody else may have a socket still.
extern "C" fn at_exit() {
    for _ in 0..PATIENCE.0 {
        match WORKER.try_lock() {
            Ok(mut worker) => return drop(worker.governor.take()),
            Err(TryLockError::Poisoned(worker)) => {
                return drop(worker.into_inner().governor.take());
            }
            Err(TryLockError::WouldBlock) => thread::sleep(PATIENCE.1),
        }
    }
}
