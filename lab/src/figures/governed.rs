// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows under the user backend: a governor for each path, as `ebb run` has one.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_algorithms::{Policy, Side};
use ebb_sockets::{Ends, Governor, Options, Root, own_namespace};

use super::PolicyChoice;
use super::run::{Run, RunError};
use crate::emulator::Path;
use crate::traffic::Role;

use super::batch::FIRST_PORT;

/// A governor in a thread of its own; it lifts its limits and ends when dropped.
pub(super) struct Governed {
    is_over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The law of the user backend that a run has, if it has one and somebody to act on.
fn law_of(run: &Run) -> Option<&Policy> {
    let has_yielding = || {
        let mut flows = run.scenario.flows.iter();
        flows.any(|flow| flow.role == Role::LessThanBestEffort)
    };
    match &run.policy {
        PolicyChoice::Law(policy) if policy.law().is_for_counters() && has_yielding() => {
            Some(policy)
        }
        _ => None,
    }
}

impl Governed {
    /// Governs the yielding flows of a run, whose sockets the worker process has; none if the
    /// run has no law of the user backend.
    ///
    /// *Errors:* the namespaces cannot be told apart, or the worker has gone.
    pub(super) fn start(run: &Run, path: &Path, worker: u32) -> Result<Option<Self>, RunError> {
        let Some(policy) = law_of(run) else {
            return Ok(None);
        };
        let failed = |error: String| RunError::Unknown(format!("policy `{policy}`: {error}"));
        let ports: Vec<u16> = (FIRST_PORT..)
            .zip(&run.scenario.flows)
            .filter(|(_, flow)| flow.role == Role::LessThanBestEffort)
            .map(|(port, _)| port)
            .collect();
        // Flows of figures go from the server to the client.
        let is_receiver = policy.law().side() == Side::Receiver;
        let home = if is_receiver {
            path.client()
        } else {
            path.server()
        };
        let home = home.run_in(own_namespace)?;
        let home = home.map_err(|error| failed(error.to_string()))?;
        let filter = move |(own, peer, namespace): &Ends| {
            let port = if is_receiver { peer.1 } else { own.1 };
            *namespace == home && ports.contains(&port)
        };
        let options = Options {
            download: is_receiver.then(|| policy.clone()),
            upload: (!is_receiver).then(|| policy.clone()),
            filter: Some(Box::new(filter)),
            ..Options::default()
        };
        let governor = Governor::new(Root::Process(worker), options);
        let mut governor = governor.map_err(|error| failed(error.to_string()))?;
        let is_over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&is_over);
        let thread = std::thread::spawn(move || {
            while !told.load(Ordering::Relaxed) {
                let next = governor.tick();
                let pause = next.duration_since(Instant::now());
                std::thread::sleep(pause.clamp(Duration::from_micros(500), PATIENCE));
            }
        });
        Ok(Some(Self {
            is_over,
            thread: Some(thread),
        }))
    }
}

/// It notices its end within this.
const PATIENCE: Duration = Duration::from_millis(100);

impl Drop for Governed {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // A panic of its own has been reported by the thread.
            let _ = thread.join();
        }
    }
}
