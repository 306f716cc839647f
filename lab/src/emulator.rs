// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Emulated paths between namespaces, all run by one thread.
//!
//! A path is two network namespaces, *server* and *client*, with one device each (TUN, or a
//! virtual cable); packets from one to the other pass an [`ebb_link::Link`] per direction. The thread
//! runs at real-time priority where it may, keeps count of how late it delivered each
//! packet, and says so ([`EmulatorReport::is_disturbed`]): a disturbed run is repeated,
//! not believed.
mod checksum;
mod corruption;
mod detours;
mod lateness;
mod offload;
mod packet;
mod path;
mod report;
mod series;
mod worker;

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Instant;

use ebb_link::{Class, Link, Nanos};
use nix::sys::eventfd::{EfdFlags, EventFd};

pub use detours::PortDelay;
pub use lateness::Lateness;
pub use packet::{Classifier, PortClasses};
pub use path::{CLIENT_IPV4, CLIENT_IPV6, DEVICE, Path, PathSpec, SERVER_IPV4, SERVER_IPV6};
pub(crate) use path::{has_ipv6, set_usual_sysctls};
pub use report::{DirectionReport, EmulatorReport, PathReport};
pub use series::{QueueBin, QueueSeries};

use crate::LabError;
use crate::clock::monotonic_now;
use corruption::Corruption;
use detours::Detours;
use worker::{OneWay, Worker};

/// Paths that are up, and the thread that carries their packets.
///
/// Dropping it takes everything down; [`Testbed::stop`] also tells what happened.
pub struct Testbed {
    paths: Vec<Path>,
    epoch: Nanos,
    epoch_instant: Instant,
    stop: EventFd,
    thread: Option<JoinHandle<Result<EmulatorReport, LabError>>>,
}

impl Testbed {
    /// Sets up the paths and starts the emulator.
    ///
    /// *Errors:* [`LabError::Link`] for a wrong specification, [`LabError::System`]
    /// and [`LabError::Tool`] for what the system refuses.
    pub fn start(specs: Vec<PathSpec>) -> Result<Self, LabError> {
        let mut paths = Vec::with_capacity(specs.len());
        let mut directions = Vec::with_capacity(2 * specs.len());
        for (number, spec) in specs.iter().enumerate() {
            let (path, server_tun, client_tun) = Path::set_up(spec)?;
            let seed = spec.seed.wrapping_add(number as u64).wrapping_mul(2);
            let link = |link_spec, direction, seed| {
                let wrong = |source| LabError::Link {
                    path: number,
                    direction,
                    source,
                };
                Link::new(link_spec, seed).map_err(wrong)
            };
            let forward = link(&spec.forward, "forward", seed)?;
            let reverse = link(&spec.reverse, "reverse", seed.wrapping_add(1))?;
            let (server_tun, client_tun) = (Arc::new(server_tun), Arc::new(client_tun));
            let direction = |link, from: &Arc<_>, to: &Arc<_>| {
                let (from, to) = (Arc::clone(from), Arc::clone(to));
                OneWay::new(link, from, to, path.classifier(), spec.keeps_waits)
            };
            let delays = |of: fn(&PortDelay) -> Nanos| {
                let ports = spec.port_delays.iter();
                Detours::new(ports.map(move |delay| (delay.port, of(delay))))
            };
            let forward = direction(forward, &server_tun, &client_tun);
            let corruption = |seed| Corruption::new(spec.corrupt, seed);
            let forward = forward.with_corruption(corruption(seed));
            let forward = forward.with_receive_offload(spec.receive_offload);
            directions.push(forward.with_detours(delays(|delay| delay.forward)));
            let reverse = direction(reverse, &client_tun, &server_tun);
            let reverse = reverse.with_corruption(corruption(seed.wrapping_add(1)));
            let reverse = reverse.with_receive_offload(spec.receive_offload);
            directions.push(reverse.with_detours(delays(|delay| delay.reverse)));
            paths.push(path);
        }
        Self::start_thread(paths, directions)
    }

    /// The path of this number, in the order of [`Testbed::start`].
    ///
    /// *Panics* beyond the last one.
    pub fn path(&self, number: usize) -> &Path {
        &self.paths[number]
    }

    /// All paths.
    pub fn paths(&self) -> &[Path] {
        &self.paths
    }

    /// Says whose traffic a TCP or UDP port of a path carries; see [`Path::set_class`].
    ///
    /// *Panics* beyond the last path.
    pub fn set_class(&self, path: usize, port: u16, class: Class) {
        self.paths[path].set_class(port, class);
    }

    /// The time at which the series of the report begin, by CLOCK_MONOTONIC.
    pub fn epoch(&self) -> Nanos {
        self.epoch
    }

    /// The same moment as an [`Instant`].
    pub fn epoch_instant(&self) -> Instant {
        self.epoch_instant
    }

    /// Stops the emulator; packets on the way are lost, namespaces go when the last
    /// handle and process has left them.
    ///
    /// *Errors:* [`LabError::Emulator`] when it had stopped by itself.
    pub fn stop(mut self) -> Result<EmulatorReport, LabError> {
        self.join()
    }

    fn start_thread(paths: Vec<Path>, directions: Vec<OneWay>) -> Result<Self, LabError> {
        let stop = EventFd::from_flags(EfdFlags::EFD_CLOEXEC | EfdFlags::EFD_NONBLOCK)
            .map_err(|errno| LabError::system("make an eventfd", errno, "too many open files?"))?;
        let (epoch, epoch_instant) = (monotonic_now(), Instant::now());
        let worker = Worker::new(directions, &stop, epoch)?;
        let thread = std::thread::Builder::new()
            .name("ebb-emulator".into())
            .spawn(move || worker.run())
            .map_err(|error| LabError::system("start a thread", error, "too many threads?"))?;
        Ok(Self {
            paths,
            epoch,
            epoch_instant,
            stop,
            thread: Some(thread),
        })
    }

    fn join(&mut self) -> Result<EmulatorReport, LabError> {
        let Some(thread) = self.thread.take() else {
            return Err(LabError::Emulator("it was stopped before".into()));
        };
        self.stop
            .write(1)
            .map_err(|errno| LabError::system("stop the emulator", errno, "this is a defect"))?;
        thread
            .join()
            .unwrap_or_else(|_| Err(LabError::Emulator("it panicked".into())))
    }
}

impl Drop for Testbed {
    fn drop(&mut self) {
        if self.thread.is_some() {
            // Nobody is left to hear of an error.
            let _ = self.join();
        }
    }
}
