// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The worker process: reads which flows there are, makes the sockets, says "ready", waits for "go",
//! runs the flows, writes what became of them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io::{self, BufRead, Write};
use std::os::fd::BorrowedFd;

use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};

use super::socket::SocketMaker;
use super::tcp::TcpFlow;
use super::udp::UdpFlow;
use super::{FlowKind, GO_PREFIX, PlacedFlows, READY, TrafficError, WorkerResult};
use crate::clock::{after, monotonic_ns, seconds_since};

/// Does the work of the process that [`crate::endpoint`] starts.
pub(crate) fn work() -> Result<(), TrafficError> {
    let mut input = io::stdin().lock();
    let placed: PlacedFlows = serde_json::from_str(&line(&mut input)?)
        .map_err(|error| TrafficError::Worker(format!("reading the flows: {error}")))?;
    let mut worker = Worker::prepare(&placed)?;
    println!("{READY}");
    let go = line(&mut input)?;
    let epoch_ns = go
        .trim()
        .strip_prefix(GO_PREFIX)
        .and_then(|epoch| epoch.parse().ok())
        .ok_or_else(|| TrafficError::Worker(format!("`{go}` is not a start time")))?;
    become_urgent();
    worker.run(epoch_ns)?;
    let result = serde_json::to_string(&worker.finish())
        .map_err(|error| TrafficError::Worker(format!("writing results: {error}")))?;
    writeln!(io::stdout(), "{result}")
        .map_err(|error| TrafficError::Worker(format!("writing results: {error}")))
}

fn line(input: &mut impl BufRead) -> Result<String, TrafficError> {
    let mut line = String::new();
    match input.read_line(&mut line) {
        Ok(0) => Err(TrafficError::Worker("the lab has gone away".into())),
        Ok(_) => Ok(line),
        Err(error) => Err(TrafficError::Worker(format!("reading: {error}"))),
    }
}

/// Before other programs, behind the emulator. Without the right to do so the worker
/// goes on and reports how late it was.
fn become_urgent() {
    let parameters = libc::sched_param { sched_priority: 1 };
    // SAFETY: the pointer describes `parameters`, which outlives the call.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
}

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Job {
    Start,
    Pump,
    Sample,
}

/// Whose event it is: flow number and socket, packed into epoll's 64 bits.
const LISTENER: u64 = 0;
const CLIENT: u64 = 1;
const SERVER: u64 = 2;
const SOCKETS: u64 = 4;

enum Flow {
    Tcp(Box<TcpFlow>),
    Udp(Box<UdpFlow>),
}

struct Worker {
    epoll: Epoll,
    flows: Vec<Flow>,
    starts_s: Vec<f64>,
    end_s: f64,
    epoch_ns: u64,
    timers: BinaryHeap<Reverse<(u64, Job, usize)>>,
    latest_timers_ns: Vec<u64>,
}

impl Worker {
    fn prepare(placed: &PlacedFlows) -> Result<Self, TrafficError> {
        let broken = |what| move |error| TrafficError::Worker(format!("{what}: {error}"));
        let maker = SocketMaker::new().map_err(broken("finding the own namespace"))?;
        let flows = placed
            .flows
            .iter()
            .map(|flow| match flow.spec.kind {
                FlowKind::Udp { .. } | FlowKind::UdpSquareWave { .. } => {
                    UdpFlow::prepare(flow, placed.bin_us, &maker)
                        .map(|flow| Flow::Udp(Box::new(flow)))
                }
                _ => TcpFlow::prepare(flow, placed.bin_us, &maker)
                    .map(|flow| Flow::Tcp(Box::new(flow))),
            })
            .collect::<Result<_, _>>()?;
        Ok(Self {
            epoll: Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)
                .map_err(|errno| TrafficError::Worker(format!("epoll: {errno}")))?,
            flows,
            starts_s: placed.flows.iter().map(|flow| flow.spec.start_s).collect(),
            end_s: placed
                .flows
                .iter()
                .map(|flow| flow.end_s)
                .fold(0.0, f64::max),
            epoch_ns: 0,
            timers: BinaryHeap::new(),
            latest_timers_ns: vec![0; placed.flows.len()],
        })
    }

    fn run(&mut self, epoch_ns: u64) -> Result<(), TrafficError> {
        self.epoch_ns = epoch_ns;
        for (number, start_s) in self.starts_s.iter().enumerate() {
            let at_ns = after(epoch_ns, *start_s);
            self.timers.push(Reverse((at_ns, Job::Start, number)));
        }
        let end_ns = after(epoch_ns, self.end_s);
        let mut events = [EpollEvent::empty(); 64];
        loop {
            let now_ns = monotonic_ns();
            if now_ns >= end_ns {
                return Ok(());
            }
            self.run_timers(now_ns)?;
            let wake_ns = self
                .timers
                .peek()
                .map_or(end_ns, |next| next.0.0.min(end_ns));
            let count = wait(&self.epoll, &mut events, wake_ns)?;
            for event in &events[..count] {
                self.handle(event.data())?;
            }
        }
    }

    fn run_timers(&mut self, now_ns: u64) -> Result<(), TrafficError> {
        while let Some(Reverse((due_ns, job, number))) = self.timers.peek().copied() {
            if due_ns > now_ns {
                return Ok(());
            }
            self.timers.pop();
            let latest_ns = &mut self.latest_timers_ns[number];
            *latest_ns = (*latest_ns).max(now_ns - due_ns);
            match job {
                Job::Start => self.start(number)?,
                Job::Pump => self.pump(number),
                Job::Sample => self.sample(number),
            }
        }
        Ok(())
    }

    fn start(&mut self, number: usize) -> Result<(), TrafficError> {
        let epoll = &self.epoll;
        match &mut self.flows[number] {
            Flow::Udp(flow) => {
                watch(epoll, flow.sink(), number, CLIENT, EpollFlags::EPOLLIN)?;
                self.pump(number);
            }
            Flow::Tcp(flow) => {
                let readable = EpollFlags::EPOLLIN;
                watch(epoll, flow.listener(), number, LISTENER, readable)?;
                flow.connect()?;
                let interest = if flow.is_upload() {
                    writable()
                } else {
                    readable
                };
                watch(epoll, flow.client(), number, CLIENT, interest)?;
            }
        }
        Ok(())
    }

    fn handle(&mut self, data: u64) -> Result<(), TrafficError> {
        let number = usize::try_from(data / SOCKETS).expect("flow numbers are small");
        let now_s = seconds_since(self.epoch_ns, monotonic_ns());
        match (&mut self.flows[number], data % SOCKETS) {
            (Flow::Udp(flow), _) => flow.read(self.epoch_ns),
            (Flow::Tcp(_), LISTENER) => self.accept(number, now_s)?,
            (Flow::Tcp(flow), socket) if (socket == CLIENT) == flow.is_upload() => {
                self.pump(number);
            }
            (Flow::Tcp(flow), socket) => {
                if !flow.read(now_s) {
                    let end = if socket == CLIENT {
                        Some(flow.client())
                    } else {
                        flow.server()
                    };
                    // A socket that is at its end would wake the worker for ever.
                    let _ = end.map(|fd| self.epoll.delete(fd));
                }
            }
        }
        Ok(())
    }

    fn accept(&mut self, number: usize, now_s: f64) -> Result<(), TrafficError> {
        let Flow::Tcp(flow) = &mut self.flows[number] else {
            return Ok(());
        };
        if !flow.accept(now_s)? {
            return Ok(());
        }
        // One connection is all; the listener stays silent from here.
        let _ = self.epoll.delete(flow.listener());
        let interest = if flow.is_upload() {
            EpollFlags::EPOLLIN
        } else {
            writable()
        };
        if let Some(server) = flow.server() {
            watch(&self.epoll, server, number, SERVER, interest)?;
        }
        self.pump(number);
        self.sample(number);
        Ok(())
    }

    fn pump(&mut self, number: usize) {
        let now_ns = monotonic_ns();
        let next = match &mut self.flows[number] {
            Flow::Tcp(flow) => flow.pump(self.epoch_ns, now_ns),
            Flow::Udp(flow) => flow.pump(self.epoch_ns, now_ns),
        };
        if let Some(at_ns) = next {
            self.arm(at_ns, number);
        }
    }

    /// One pump timer per flow: a writable socket may pump between two timers.
    fn arm(&mut self, at_ns: u64, number: usize) {
        let is_armed = self
            .timers
            .iter()
            .any(|timer| timer.0.1 == Job::Pump && timer.0.2 == number);
        if !is_armed {
            self.timers.push(Reverse((at_ns, Job::Pump, number)));
        }
    }

    fn sample(&mut self, number: usize) {
        if let Flow::Tcp(flow) = &mut self.flows[number]
            && let Some(at_ns) = flow.sample(self.epoch_ns, monotonic_ns())
        {
            self.timers.push(Reverse((at_ns, Job::Sample, number)));
        }
    }

    fn finish(self) -> WorkerResult {
        let latest_ns = self.latest_timers_ns.iter();
        let flows = self.flows.into_iter().map(|flow| match flow {
            Flow::Tcp(flow) => flow.finish(),
            Flow::Udp(flow) => flow.finish(),
        });
        WorkerResult {
            flows: flows.collect(),
            latest_timers_us: latest_ns.map(|late_ns| late_ns / 1_000).collect(),
            cpu_s: ebb_host::clock::processor_time().as_secs_f64(),
        }
    }
}

/// Told once each time room appears: the sender writes until there is none.
fn writable() -> EpollFlags {
    EpollFlags::EPOLLOUT | EpollFlags::EPOLLET
}

fn watch(
    epoll: &Epoll,
    fd: BorrowedFd,
    number: usize,
    socket: u64,
    interest: EpollFlags,
) -> Result<(), TrafficError> {
    let event = EpollEvent::new(interest, number as u64 * SOCKETS + socket);
    epoll
        .add(fd, event)
        .map_err(|errno| TrafficError::Worker(format!("epoll: {errno}")))
}

/// Waits for sockets until `wake_ns`, rounded up to the millisecond that epoll has.
fn wait(epoll: &Epoll, events: &mut [EpollEvent], wake_ns: u64) -> Result<usize, TrafficError> {
    let left_ms = wake_ns.saturating_sub(monotonic_ns()).div_ceil(1_000_000);
    let timeout = EpollTimeout::try_from(left_ms.min(10_000)).unwrap_or(EpollTimeout::ZERO);
    match epoll.wait(events, timeout) {
        Ok(count) => Ok(count),
        Err(nix::Error::EINTR) => Ok(0),
        Err(errno) => Err(TrafficError::Worker(format!("epoll: {errno}"))),
    }
}
