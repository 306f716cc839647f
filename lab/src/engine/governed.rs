// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows under the user backend: a governor, as `ebb run` has one, in a thread of its own.
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use ebb_algorithms::{Policy, Side};
use ebb_sockets::{Ends, Governor, Options, Root, own_namespace};

use super::EngineError;
use crate::namespace::NamespaceHandle;

/// A governor; it lifts its limits and ends when dropped.
pub(super) struct Governed {
    /// Tells whether the flows are to yield; the governor ends when this is gone.
    switch: Option<Sender<bool>>,
    thread: Option<JoinHandle<()>>,
}

impl Governed {
    /// Governs the sockets that the worker process has at the law's end of these flows, which is
    /// in the namespace `home`. *Shape:* `ports` has one of each flow, at either end of it.
    ///
    /// *Errors:* [`EngineError::Lab`], [`EngineError::UserBackend`]: the worker has gone.
    pub(super) fn start(
        (policy, floor_bytes_per_s): (&Policy, u64),
        home: &NamespaceHandle,
        ports: Vec<u16>,
        worker: u32,
    ) -> Result<Self, EngineError> {
        let failed = |source| EngineError::UserBackend {
            policy: policy.to_string(),
            source,
        };
        let home = home.run_in(own_namespace)?.map_err(|source| {
            let path = "/proc/thread-self/ns/net".into();
            EngineError::File { path, source }
        })?;
        let filter = move |(own, peer, namespace): &Ends| {
            *namespace == home && (ports.contains(&own.1) || ports.contains(&peer.1))
        };
        let law_for = |side| (policy.law().side() == side).then(|| policy.clone());
        let laws = [law_for(Side::Receiver), law_for(Side::Sender)];
        let [download, upload] = laws.clone();
        let options = Options {
            download,
            upload,
            filter: Some(Box::new(filter)),
            ..Options::default()
        };
        let mut governor = Governor::new(Root::Process(worker), options).map_err(failed)?;
        governor.set_floor(floor_bytes_per_s);
        let (switch, switched) = mpsc::channel();
        let thread = std::thread::spawn(move || govern(governor, &laws, &switched));
        Ok(Self {
            switch: Some(switch),
            thread: Some(thread),
        })
    }

    /// Has the flows yield, or leaves them alone.
    pub(super) fn set_yielding(&self, is_yielding: bool) {
        // A thread that has panicked has told of it.
        let _ = self.switch.as_ref().map(|it| it.send(is_yielding));
    }
}

/// A governor is not asked more often than this.
const SHORTEST_PAUSE: Duration = Duration::from_micros(500);

fn govern(mut governor: Governor, laws: &[Option<Policy>; 2], switched: &mpsc::Receiver<bool>) {
    loop {
        let next = governor.tick();
        let pause = next.duration_since(Instant::now()).max(SHORTEST_PAUSE);
        match switched.recv_timeout(pause) {
            Ok(is_yielding) => {
                let [download, upload] = laws.clone().map(|law| law.filter(|_| is_yielding));
                governor.set_policies(download, upload);
            }
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

impl Drop for Governed {
    fn drop(&mut self) {
        self.switch = None;
        if let Some(thread) = self.thread.take() {
            // A panic of its own has been reported by the thread.
            let _ = thread.join();
        }
    }
}
