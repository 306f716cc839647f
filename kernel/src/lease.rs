// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lease: the programs act for two seconds more, each time the owner says so.

use crate::control::ControlMapping;
use crate::ending::Ending;
use crate::error::{Error, Result};
use crate::shared::{Shared, State};
use ebb_host::clock::monotonic_ns;
use std::os::fd::AsFd;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

const LENGTH: Duration = Duration::from_secs(2);
const RENEW_EVERY: Duration = Duration::from_millis(500);

/// Whose lease is renewed. It has a lock of its own, which nobody holds for long: the state's is
/// held while the verifier runs and while connections are walked over.
pub(crate) struct Lease {
    leased: Mutex<Leased>,
    is_over: Condvar,
}

struct Leased {
    /// Two while one law takes the place of another.
    controls: Vec<Arc<ControlMapping>>,
    is_over: bool,
}

impl Lease {
    /// Of nobody yet.
    pub(crate) fn new() -> Self {
        Self {
            leased: Mutex::new(Leased {
                controls: Vec::new(),
                is_over: false,
            }),
            is_over: Condvar::new(),
        }
    }

    /// Gives programs a lease, which is renewed from now on.
    pub(crate) fn begin(&self, control: &Arc<ControlMapping>) {
        let mut leased = self.lock();
        control.set_lease_until_ns(next_end_ns());
        leased.controls.push(Arc::clone(control));
    }

    /// Renews no lease but that of these programs any more.
    pub(crate) fn keep_only(&self, control: &Arc<ControlMapping>) {
        let mut leased = self.lock();
        leased.controls.retain(|other| Arc::ptr_eq(other, control));
    }

    /// Renews all leases but that of these programs, which do not act after all.
    pub(crate) fn withdraw(&self, control: &Arc<ControlMapping>) {
        let mut leased = self.lock();
        leased.controls.retain(|other| !Arc::ptr_eq(other, control));
    }

    /// Renews none any more.
    pub(crate) fn end(&self) {
        self.lock().is_over = true;
        self.is_over.notify_all();
    }

    /// Renews all of them; answers whether one had expired, since we were stopped for so long.
    fn renew(&self) -> bool {
        let leased = self.lock();
        let mut had_expired = false;
        for control in &leased.controls {
            had_expired |= !control.is_lease_valid();
            control.set_lease_until_ns(next_end_ns());
        }
        had_expired
    }

    /// Waits for the end, at the most until it is time to renew; true if it has come.
    fn wait(&self) -> bool {
        let waited = self
            .is_over
            .wait_timeout_while(self.lock(), RENEW_EVERY, |leased| !leased.is_over);
        waited.unwrap_or_else(PoisonError::into_inner).0.is_over
    }

    fn lock(&self) -> MutexGuard<'_, Leased> {
        self.leased.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a lease given now.
pub(crate) fn next_end_ns() -> u64 {
    monotonic_ns() + LENGTH.as_nanos() as u64
}

/// Renews the lease until the attachment ends, and ends it if it is not whole any more.
///
/// *Errors*: [`Error::Program`] if no thread can be started.
pub(crate) fn start(shared: Arc<Shared>) -> Result<JoinHandle<()>> {
    let renewing = move || {
        let mut was_let_go = false;
        while !shared.lease.wait() {
            was_let_go |= shared.lease.renew();
            // Whoever has the state is at work on it: then it is looked at the next time.
            let mut state = match shared.state.try_lock() {
                Ok(state) => state,
                Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
                Err(TryLockError::WouldBlock) => continue,
            };
            beat(&shared, &mut state, std::mem::take(&mut was_let_go));
        }
    };
    let thread = std::thread::Builder::new().spawn(renewing);
    thread.map_err(|source| Error::Program {
        what: "the lease".to_owned(),
        action: "renew",
        source,
    })
}

/// Ends what is not whole any more; takes connections over again that `were_let_go`.
fn beat(shared: &Shared, state: &mut State, were_let_go: bool) {
    if state.ending.is_some() {
        return;
    }
    let failure = if state.programs.control.is_released() {
        Some(Ending::ReleasedByOther)
    } else if !shared.cgroup.exists() {
        Some(Ending::CgroupRemoved)
    } else if !state.programs.are_attached(shared.cgroup.as_fd()) {
        // A cgroup that was removed between the two looks has lost its programs, too.
        Some(match shared.cgroup.exists() {
            true => Ending::Unloaded,
            false => Ending::CgroupRemoved,
        })
    } else {
        None
    };
    if let Some(ending) = failure {
        tracing::info!("cgroup {}: {ending}", shared.cgroup.path().display());
        if let Err(error) = shared.end(state, ending) {
            tracing::warn!("while letting connections go: {error}");
        }
        return;
    }
    if were_let_go && let Err(error) = shared.adopt(state) {
        tracing::warn!("while taking connections over again: {error}");
    }
}
