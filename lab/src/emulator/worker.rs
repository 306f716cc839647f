// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::io;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::Arc;

use ebb_link::{Ecn, Link, Nanos, Packet, Probability};
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags};
use nix::sys::eventfd::EventFd;
use nix::sys::mman::{MlockAllFlags, mlockall};

use super::corruption::Corruption;
use super::detours::Detours;
use super::offload::ReceiveOffload;
use super::packet::{ClassifierState, flow_of, hosts_of, mark_congested, ports_of};
use super::{DirectionReport, EmulatorReport, Lateness, PathReport, QueueSeries};
use crate::LabError;
use crate::clock::{monotonic_now, thread_cpu_time};
use crate::device::Device;
use crate::tun::VirtioHeader;

/// Packets read from one device before others have their turn.
const BATCH: usize = 32;
/// Room for one packet: the MTU is 1500.
const FRAME_BYTES: usize = 2_048;
/// Real-time priority: above other programs, below the kernel's own threads (50).
const PRIORITY: libc::c_int = 40;
/// The event that tells to stop; the others are numbers of directions.
const STOP: u64 = u64::MAX;

/// One direction of a path: a device to read, a link, a device to write.
pub(super) struct OneWay {
    link: Link<Frame>,
    from: Arc<Device>,
    to: Arc<Device>,
    classifier: ClassifierState,
    detours: Detours<Frame>,
    corruption: Corruption,
    offload: Option<ReceiveOffload>,
    deadline: Option<Nanos>,
    lateness: Lateness,
    series: QueueSeries,
    refused_pkts: u64,
    ignored_pkts: u64,
}

/// The bytes of a packet on its way.
#[derive(Clone)]
pub(super) struct Frame {
    bytes: Box<[u8; FRAME_BYTES]>,
    length: usize,
}

/// The emulator's thread.
pub(super) struct Worker {
    directions: Vec<OneWay>,
    epoll: Epoll,
    epoch: Nanos,
    /// Frames that are free: none is allocated once there are enough.
    pool: Vec<Frame>,
}

impl OneWay {
    pub(super) fn new(
        link: Link<Frame>,
        from: Arc<Device>,
        to: Arc<Device>,
        classifier: ClassifierState,
        keeps_waits: bool,
    ) -> Self {
        let series = QueueSeries::new(Nanos::ZERO, keeps_waits);
        Self {
            link,
            from,
            to,
            classifier,
            detours: Detours::new(std::iter::empty()),
            corruption: Corruption::new(Probability::NEVER, 0),
            offload: None,
            deadline: None,
            lateness: Lateness::default(),
            series,
            refused_pkts: 0,
            ignored_pkts: 0,
        }
    }

    /// Some packets are to go further than the end of the link.
    pub(super) fn with_detours(self, detours: Detours<Frame>) -> Self {
        Self { detours, ..self }
    }

    /// Some packets are to arrive broken.
    pub(super) fn with_corruption(self, corruption: Corruption) -> Self {
        Self { corruption, ..self }
    }

    /// Packets that arrive within so long are handed over as one; zero: none are.
    pub(super) fn with_receive_offload(self, wait: Nanos) -> Self {
        let offload = (wait > Nanos::ZERO).then(|| ReceiveOffload::new(wait));
        Self { offload, ..self }
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let offload = self.offload.as_ref();
        let deadlines = [
            self.link.next_deadline(),
            self.detours.next_deadline(),
            offload.and_then(ReceiveOffload::next_deadline),
        ];
        deadlines.into_iter().flatten().min()
    }

    /// Gives the packet to the kernel, or to what waits for more.
    fn write(&mut self, now: Nanos, frame: &mut Frame) {
        let bytes = &mut frame.bytes[..frame.length];
        let is_corrupted = self.corruption.apply(bytes);
        let (to, refused_pkts) = (&self.to, &mut self.refused_pkts);
        let mut write = |header, bytes: &[u8]| {
            *refused_pkts += u64::from(to.write_with(header, bytes).is_err());
        };
        match &mut self.offload {
            // A device that looks at checksums leaves this one to the kernel.
            None => write(VirtioHeader::default(), bytes),
            Some(offload) if is_corrupted => {
                offload.flush(Nanos(u64::MAX), &mut write);
                write(VirtioHeader::default(), bytes);
            }
            Some(offload) => offload.take(now, bytes, write),
        }
    }

    /// Gives the kernel what has waited for more long enough.
    fn flush(&mut self, now: Nanos) {
        if let Some(offload) = &mut self.offload {
            let (to, refused_pkts) = (&self.to, &mut self.refused_pkts);
            offload.flush(now, |header, bytes| {
                *refused_pkts += u64::from(to.write_with(header, bytes).is_err());
            });
        }
    }

    fn into_report(self) -> DirectionReport {
        DirectionReport {
            statistics: *self.link.statistics(),
            lateness: self.lateness,
            series: self.series,
            corrupted_pkts: self.corruption.corrupted_pkts,
            refused_pkts: self.refused_pkts,
            ignored_pkts: self.ignored_pkts,
        }
    }
}

impl Worker {
    pub(super) fn new(
        mut directions: Vec<OneWay>,
        stop: &EventFd,
        epoch: Nanos,
    ) -> Result<Self, LabError> {
        let failed = |errno| LabError::system("watch the devices", errno, "too many open files?");
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC).map_err(failed)?;
        let readable = |data| EpollEvent::new(EpollFlags::EPOLLIN, data);
        epoll.add(stop, readable(STOP)).map_err(failed)?;
        for (number, direction) in directions.iter_mut().enumerate() {
            direction.series.epoch = epoch;
            epoll
                .add(direction.from.as_fd(), readable(number as u64))
                .map_err(failed)?;
        }
        let pool = (0..64 * directions.len()).map(|_| Frame::new()).collect();
        Ok(Self {
            directions,
            epoll,
            epoch,
            pool,
        })
    }

    /// Carries packets until told to stop.
    pub(super) fn run(mut self) -> Result<EmulatorReport, LabError> {
        let is_realtime = become_realtime();
        let mut events = [EpollEvent::empty(); 64];
        loop {
            let deadline = self
                .directions
                .iter()
                .filter_map(|direction| direction.deadline)
                .min();
            let ready = wait(&self.epoll, &mut events, deadline)
                .map_err(|error| LabError::Emulator(format!("epoll: {error}")))?;
            for event in &events[..ready] {
                if event.data() == STOP {
                    return Ok(self.into_report(is_realtime));
                }
                self.receive(event.data() as usize)?;
            }
            self.deliver();
        }
    }

    /// Moves what the kernel sent onto the link.
    fn receive(&mut self, number: usize) -> Result<(), LabError> {
        let direction = &mut self.directions[number];
        for _ in 0..BATCH {
            let mut frame = self.pool.pop().unwrap_or_else(Frame::new);
            let length = match direction.from.read(&mut frame.bytes[..]) {
                Ok(Some(length)) => length,
                Ok(None) => {
                    self.pool.push(frame);
                    break;
                }
                Err(error) => return Err(LabError::Emulator(format!("read a device: {error}"))),
            };
            frame.length = length;
            let Some((class, ecn)) = direction.classifier.classify(&frame.bytes[..length]) else {
                direction.ignored_pkts += 1;
                self.pool.push(frame);
                continue;
            };
            let packet = Packet {
                size_bytes: length as u32,
                class,
                ecn,
                flow: flow_of(&frame.bytes[..length]),
                hosts: hosts_of(&frame.bytes[..length]),
                payload: frame,
            };
            let now = monotonic_now();
            if let Err(rejected) = direction.link.enqueue(now, packet) {
                direction.series.add_dropped(class, now);
                self.pool.push(rejected.0.payload);
            }
        }
        direction.deadline = direction.next_deadline();
        Ok(())
    }

    /// Gives the kernel what is due.
    fn deliver(&mut self) {
        let mut now = monotonic_now();
        for direction in &mut self.directions {
            if direction.deadline.is_none_or(|deadline| deadline > now) {
                continue;
            }
            while let Some(mut delivery) = direction.link.poll(now) {
                let frame = &mut delivery.packet.payload;
                if delivery.packet.ecn == Ecn::Congested {
                    mark_congested(&mut frame.bytes[..frame.length]);
                }
                let ports = || ports_of(&frame.bytes[..frame.length]);
                let detour = direction.detours.delay(ports);
                direction.series.add_sent(&delivery);
                let mut frame = delivery.packet.payload;
                if let Some(delay) = detour {
                    direction.detours.hold(delivery.due + delay, frame);
                    continue;
                }
                now = monotonic_now();
                direction.lateness.add(now.since(delivery.due));
                direction.write(now, &mut frame);
                self.pool.push(frame);
            }
            while let Some((due, mut frame)) = direction.detours.poll(now) {
                now = monotonic_now();
                direction.lateness.add(now.since(due));
                direction.write(now, &mut frame);
                self.pool.push(frame);
            }
            direction.flush(now);
            direction.deadline = direction.next_deadline();
        }
    }

    fn into_report(self, is_realtime: bool) -> EmulatorReport {
        let mut reports = self.directions.into_iter().map(OneWay::into_report);
        let mut paths = Vec::new();
        while let (Some(forward), Some(reverse)) = (reports.next(), reports.next()) {
            paths.push(PathReport { forward, reverse });
        }
        EmulatorReport {
            epoch: self.epoch,
            stopped: monotonic_now(),
            cpu_time: thread_cpu_time(),
            is_realtime,
            paths,
        }
    }
}

impl Frame {
    fn new() -> Self {
        Self {
            bytes: Box::new([0; FRAME_BYTES]),
            length: 0,
        }
    }
}

/// Waits until a device is readable, or until the deadline, to the nanosecond.
fn wait(epoll: &Epoll, events: &mut [EpollEvent], deadline: Option<Nanos>) -> io::Result<usize> {
    let timeout = deadline.map(|deadline| {
        let left = deadline.since(monotonic_now()).0;
        libc::timespec {
            tv_sec: (left / 1_000_000_000) as libc::time_t,
            tv_nsec: (left % 1_000_000_000) as libc::c_long,
        }
    });
    let timeout = timeout
        .as_ref()
        .map_or(std::ptr::null(), |timeout| &raw const *timeout);
    // SAFETY: the events are exclusively ours for the call, and EpollEvent has the
    // layout of epoll_event; the timeout outlives the call; no signal mask is given.
    let result = unsafe {
        libc::syscall(
            libc::SYS_epoll_pwait2,
            epoll.0.as_raw_fd(),
            events.as_mut_ptr(),
            events.len() as libc::c_int,
            timeout,
            std::ptr::null::<libc::sigset_t>(),
            0_usize,
        )
    };
    match usize::try_from(result) {
        Ok(ready) => Ok(ready),
        Err(_) => match io::Error::last_os_error() {
            error if error.kind() == io::ErrorKind::Interrupted => Ok(0),
            error => Err(error),
        },
    }
}

/// Asks for real-time priority and resident memory; answers whether the thread has the
/// former. Without either the emulator works, only less exactly, and counts that.
fn become_realtime() -> bool {
    // Only what is touched, so that large maps and stacks of the process stay as cheap
    // as they were.
    let flags = MlockAllFlags::MCL_CURRENT | MlockAllFlags::MCL_FUTURE;
    let on_fault = MlockAllFlags::from_bits_retain(flags.bits() | libc::MCL_ONFAULT);
    if let Err(errno) = mlockall(on_fault) {
        tracing::debug!("emulator: memory not locked: {errno}");
    }
    let parameters = libc::sched_param {
        sched_priority: PRIORITY,
    };
    // SAFETY: 0 is the calling thread, and the parameters outlive the call.
    let result = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) };
    if result < 0 {
        tracing::debug!(
            "emulator: no real-time priority: {}",
            io::Error::last_os_error()
        );
    }
    result == 0
}
