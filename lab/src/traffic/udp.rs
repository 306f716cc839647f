// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::path::Path;

use nix::sys::socket::SockType;

use super::clock::{after, monotonic_ns, seconds_since};
use super::receiver::Receiver;
use super::socket::{self, SocketMaker};
use super::{Direction, FlowKind, FlowResult, PlannedFlow, TrafficError, UdpResult};

/// A packet begins with its number and the time when it was sent, 8 bytes each.
const HEADER_BYTES: usize = 16;

/// Both ends of one stream of datagrams.
pub(super) struct UdpFlow {
    plan: PlannedFlow,
    source: OwnedFd,
    sink: OwnedFd,
    payload: Vec<u8>,
    rate_pkts_per_s: u32,
    receiver: Receiver,
    sent_pkts: u64,
    delays_us: Vec<u32>,
    pub(super) result: FlowResult,
}

impl UdpFlow {
    pub(super) fn prepare(
        plan: &PlannedFlow,
        bin_us: u64,
        maker: &SocketMaker,
    ) -> Result<Self, TrafficError> {
        let name = &plan.spec.name;
        let (rate_pkts_per_s, payload_bytes) = checked(plan)?;
        let (client, server) = (&plan.client_namespace, &plan.server_namespace);
        let (from, to, address) = match plan.spec.direction {
            Direction::Download => (server, client, plan.client_address),
            Direction::Upload => (client, server, plan.server_address),
        };
        let make = |namespace: &Path, cgroup| {
            maker.make_in(namespace, cgroup, || {
                socket::open(address, SockType::Datagram)
            })
        };
        let sink = make(to, plan.receiver_cgroup.as_deref())
            .and_then(|fd| socket::bind(fd.as_fd(), address, plan.port).map(|()| fd))
            .map_err(TrafficError::flow(name, "making the receiver's socket"))?;
        let source = make(from, None)
            .and_then(|fd| socket::connect(fd.as_fd(), address, plan.port).map(|()| fd))
            .map_err(TrafficError::flow(name, "making the sender's socket"))?;
        Ok(Self {
            source,
            sink,
            payload: vec![0; payload_bytes],
            rate_pkts_per_s,
            receiver: Receiver::new(bin_us),
            sent_pkts: 0,
            delays_us: Vec::new(),
            result: FlowResult::new(plan.spec.clone(), bin_us),
            plan: plan.clone(),
        })
    }

    pub(super) fn sink(&self) -> BorrowedFd<'_> {
        self.sink.as_fd()
    }

    /// Sends what is due; answers when to be called again.
    pub(super) fn pump(&mut self, epoch_ns: u64, now_ns: u64) -> Option<u64> {
        let now_s = seconds_since(epoch_ns, now_ns);
        let stop_s = self.plan.spec.stop_s.unwrap_or(self.plan.end_s);
        if now_s >= stop_s {
            return None;
        }
        let elapsed_s = (now_s - self.plan.spec.start_s).max(0.0);
        let due_pkts = (elapsed_s * f64::from(self.rate_pkts_per_s)) as u64 + 1;
        while self.sent_pkts < due_pkts {
            self.payload[..8].copy_from_slice(&self.sent_pkts.to_le_bytes());
            self.payload[8..HEADER_BYTES].copy_from_slice(&monotonic_ns().to_le_bytes());
            if let Err(error) = socket::send(self.source.as_raw_fd(), &self.payload) {
                self.result.failure = Some(format!("sending: {error}"));
                return None;
            }
            self.sent_pkts += 1;
        }
        let next_s = self.sent_pkts as f64 / f64::from(self.rate_pkts_per_s);
        Some(after(epoch_ns, self.plan.spec.start_s + next_s))
    }

    pub(super) fn read(&mut self, epoch_ns: u64) {
        let mut buffer = [0; 2048];
        while let Ok(Some(count)) = socket::receive(self.sink.as_raw_fd(), &mut buffer) {
            let now_ns = monotonic_ns();
            let mut sent = [0; 8];
            sent.copy_from_slice(&buffer[8..HEADER_BYTES]);
            let delay_us = now_ns.saturating_sub(u64::from_le_bytes(sent)) / 1_000;
            self.delays_us
                .push(u32::try_from(delay_us).unwrap_or(u32::MAX));
            let now_s = seconds_since(epoch_ns, now_ns);
            self.receiver.note(&mut self.result, now_s, count, &[]);
        }
    }

    pub(super) fn finish(mut self) -> FlowResult {
        self.result.udp = Some(UdpResult {
            sent_pkts: self.sent_pkts,
            delays_us: self.delays_us,
        });
        self.result
    }
}

fn checked(plan: &PlannedFlow) -> Result<(u32, usize), TrafficError> {
    let problem = |problem: &str| TrafficError::Plan {
        flow: plan.spec.name.clone(),
        problem: problem.into(),
    };
    let FlowKind::Udp {
        rate_pkts_per_s,
        payload_bytes,
    } = plan.spec.kind
    else {
        return Err(problem("is not UDP"));
    };
    if rate_pkts_per_s == 0 {
        return Err(problem("rate_pkts_per_s is 0; at least 1 is needed"));
    }
    if !(HEADER_BYTES as u32..=1472).contains(&payload_bytes) {
        return Err(problem("payload_bytes must be from 16 to 1472"));
    }
    Ok((rate_pkts_per_s, payload_bytes as usize))
}
