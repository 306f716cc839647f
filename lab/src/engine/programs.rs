// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Flows by real programs: nginx serves, curl fetches and writes to a pipe, where its bytes are
//! counted as they come.

use std::time::Instant;

use ebb_link::Nanos;
use tempfile::TempDir;

use super::{BIN_US, EngineError};
use crate::demo::{Download, Error, Nginx, Received};
use crate::emulator::{SERVER_IPV4, Testbed};
use crate::namespace::NamespaceHandle;
use crate::traffic::{FlowResult, PlacedFlow};

/// More than a run can carry, and without a block on the disk.
const FILE_BYTES: u64 = 8 << 30;
const FILE: &str = "file";

/// All flows by programs of a wave.
pub(super) struct Programs {
    flows: Vec<Fetch>,
    /// End, and their files go, when this is dropped.
    _servers: Vec<Nginx>,
    _folder: Option<TempDir>,
}

/// One flow.
struct Fetch {
    /// Place among all flows of the wave.
    place: usize,
    flow: PlacedFlow,
    client: NamespaceHandle,
    state: State,
}

enum State {
    Waiting,
    Running(Download),
    Ended(Vec<Received>),
}

impl Programs {
    /// Starts a server for each run that has such flows. *Shape:* of `flows`: place among all
    /// flows, run, flow.
    ///
    /// *Errors:* [`EngineError::Program`]: nginx is missing or does not come up.
    pub(super) fn prepare(
        testbed: &Testbed,
        flows: Vec<(usize, usize, PlacedFlow)>,
    ) -> Result<Self, EngineError> {
        if flows.is_empty() {
            return Ok(Self {
                flows: Vec::new(),
                _servers: Vec::new(),
                _folder: None,
            });
        }
        let folder = folder_to_serve()?;
        let mut servers = Vec::new();
        for (number, path) in testbed.paths().iter().enumerate() {
            let own = flows.iter().filter(|(_, run, _)| *run == number);
            let addresses = own.map(|(_, _, flow)| (SERVER_IPV4, flow.port).into());
            let addresses: Vec<_> = addresses.collect();
            if !addresses.is_empty() {
                let name = format!("server-{number}");
                servers.push(Nginx::start(
                    path.server(),
                    &addresses,
                    folder.path(),
                    &name,
                )?);
            }
        }
        let fetch = |(place, run, flow)| Fetch {
            place,
            flow,
            client: testbed.path(run).client().clone(),
            state: State::Waiting,
        };
        Ok(Self {
            flows: flows.into_iter().map(fetch).collect(),
            _servers: servers,
            _folder: Some(folder),
        })
    }

    /// When a program is to be started or ended next, from the start of the runs.
    pub(super) fn next_change(&self) -> Option<Nanos> {
        self.flows.iter().filter_map(Fetch::next_change).min()
    }

    /// Starts and ends what is due.
    ///
    /// *Errors:* [`EngineError::Program`]: curl is missing, or has ended by itself.
    pub(super) fn change(&mut self, now: Nanos, epoch: Instant) -> Result<(), EngineError> {
        for fetch in &mut self.flows {
            if fetch.next_change().is_some_and(|due| due <= now) {
                fetch.change(epoch)?;
            }
        }
        Ok(())
    }

    /// Ends all; what became of each, with its place among all flows of the wave.
    ///
    /// *Errors:* [`EngineError::Program`].
    pub(super) fn finish(self) -> Result<Vec<(usize, FlowResult)>, EngineError> {
        let results = self.flows.into_iter().map(|fetch| {
            let received = match fetch.state {
                State::Waiting => Vec::new(),
                State::Running(download) => download.end()?,
                State::Ended(received) => received,
            };
            let result = FlowResult::new(fetch.flow.spec, BIN_US);
            Ok((fetch.place, counted(result, &received)))
        });
        results.collect()
    }
}

impl Fetch {
    fn next_change(&self) -> Option<Nanos> {
        let at = match self.state {
            State::Waiting => Some(self.flow.spec.start_s),
            State::Running(_) => self.flow.spec.stop_s,
            State::Ended(_) => None,
        };
        at.filter(|at| *at < self.flow.end_s)
            .map(|at| Nanos((at * 1e9) as u64))
    }

    fn change(&mut self, epoch: Instant) -> Result<(), EngineError> {
        self.state = match std::mem::replace(&mut self.state, State::Waiting) {
            State::Waiting => {
                State::Running(Download::start(&self.client, &self.command(), epoch)?)
            }
            State::Running(download) => State::Ended(download.end()?),
            ended @ State::Ended(_) => ended,
        };
        Ok(())
    }

    /// The shell moves itself into the cgroup before it becomes curl: sockets belong to that of
    /// the process that makes them.
    fn command(&self) -> Vec<String> {
        let url = format!("http://{SERVER_IPV4}:{}/{FILE}", self.flow.port);
        let curl = ["curl", "--noproxy", "*", "-sS", "-o", "-", &url].map(str::to_owned);
        let Some(cgroup) = &self.flow.receiver_cgroup else {
            return curl.to_vec();
        };
        let enter = "echo $$ > \"$0/cgroup.procs\" && exec \"$@\"";
        let shell = ["sh", "-c", enter].map(str::to_owned).into_iter();
        let cgroup = cgroup.display().to_string();
        shell.chain([cgroup]).chain(curl).collect()
    }
}

/// With the file to fetch, as the servers expect it.
fn folder_to_serve() -> Result<TempDir, EngineError> {
    let folder = tempfile::tempdir().map_err(|source| io("a temporary folder", source))?;
    let www = folder.path().join("www");
    std::fs::create_dir_all(&www)
        .and_then(|()| std::fs::File::create(www.join(FILE)))
        .and_then(|file| file.set_len(FILE_BYTES))
        .map_err(|source| io("the file to fetch", source))?;
    Ok(folder)
}

/// Sums of bytes at times, as bytes in bins.
fn counted(mut result: FlowResult, received: &[Received]) -> FlowResult {
    let mut before = 0;
    for now in received {
        result.note_arrival(now.at_s, now.total_bytes - before);
        before = now.total_bytes;
    }
    result
}

fn io(what: &str, source: std::io::Error) -> Error {
    Error::Io {
        what: what.into(),
        source,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traffic::{FlowKind, FlowSpec};

    #[test]
    fn sums_become_bytes_in_bins() {
        let spec = FlowSpec::new("f", FlowKind::Greedy);
        let at = |bins: f64, total_bytes| Received {
            at_s: bins * BIN_US as f64 / 1e6,
            total_bytes,
        };
        let received = [at(0.5, 100), at(0.6, 150), at(2.5, 400)];
        let result = counted(FlowResult::new(spec, BIN_US), &received);
        assert_eq!(result.received_bytes, [150, 0, 250]);
        assert_eq!(result.total_bytes(), 400);
        assert_eq!(result.last_byte_s, Some(received[2].at_s));
    }
}
