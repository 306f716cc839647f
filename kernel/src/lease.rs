// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The lease: the programs act for two seconds more, each time the owner says so.

use crate::attachment::Ending;
use crate::shared::{Shared, State};
use ebb_host::clock::monotonic_ns;
use std::os::fd::AsFd;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

const LENGTH: Duration = Duration::from_secs(2);
const RENEW_EVERY: Duration = Duration::from_millis(500);

/// The end of a lease given now.
pub(crate) fn next_end_ns() -> u64 {
    monotonic_ns() + LENGTH.as_nanos() as u64
}

/// Renews the lease until the attachment ends, and ends it if it is not whole any more.
pub(crate) fn start(shared: Arc<Shared>) -> JoinHandle<()> {
    std::thread::spawn(move || {
        let mut state = shared.lock();
        loop {
            let (waited, has_ended) = shared.wait(state, RENEW_EVERY);
            state = waited;
            if has_ended {
                return;
            }
            beat(&shared, &mut state);
        }
    })
}

fn beat(shared: &Shared, state: &mut State) {
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
    let was_valid = state.programs.control.is_lease_valid();
    state.programs.control.set_lease_until_ns(next_end_ns());
    // We were stopped for longer than the lease: connections were let go meanwhile.
    if !was_valid && let Err(error) = shared.adopt(state) {
        tracing::warn!("while taking connections over again: {error}");
    }
}
