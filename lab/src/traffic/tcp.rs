// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use ebb_host::TcpInfo;

use super::sender::Sender;
use super::socket::{self, SocketMaker};
use super::{Direction, FlowResult, PlacedFlow, TcpSample, TrafficError};
use crate::clock::{after, seconds_since};

/// Both ends of one TCP connection.
pub(super) struct TcpFlow {
    placed: PlacedFlow,
    listener: OwnedFd,
    client: OwnedFd,
    server: Option<OwnedFd>,
    sender: Sender,
    /// All is written, and the receiver is told so.
    has_ended: bool,
    pub(super) result: FlowResult,
}

impl TcpFlow {
    /// Makes the sockets, each in its namespace and its cgroup.
    pub(super) fn prepare(
        placed: &PlacedFlow,
        bin_us: u64,
        maker: &SocketMaker,
    ) -> Result<Self, TrafficError> {
        let name = &placed.spec.name;
        let (sender, receiver) = (&placed.sender_cgroup, &placed.receiver_cgroup);
        let (server_cgroup, client_cgroup) = match placed.spec.direction {
            Direction::Download => (sender.as_deref(), receiver.as_deref()),
            Direction::Upload => (receiver.as_deref(), sender.as_deref()),
        };
        let listening = format!("listening on {}:{}", placed.server_address, placed.port);
        let listener = maker
            .make_in(&placed.server_namespace, server_cgroup, || {
                socket::forget_path_metrics()?;
                let listener = socket::listen(placed.server_address, placed.port)?;
                socket::name_congestion_control(listener.as_fd(), &placed.spec.congestion_control)?;
                Ok(listener)
            })
            .map_err(TrafficError::flow(name, listening))?;
        let client = maker
            .make_in(&placed.client_namespace, client_cgroup, || {
                socket::forget_path_metrics()?;
                let client =
                    socket::open(placed.server_address, nix::sys::socket::SockType::Stream)?;
                socket::name_congestion_control(client.as_fd(), &placed.spec.congestion_control)?;
                Ok(client)
            })
            .map_err(TrafficError::flow(name, "making the client's socket"))?;
        Ok(Self {
            listener,
            client,
            server: None,
            sender: Sender::new(&placed.spec, placed.end_s),
            has_ended: false,
            result: FlowResult::new(placed.spec.clone(), bin_us),
            placed: placed.clone(),
        })
    }

    pub(super) fn listener(&self) -> BorrowedFd<'_> {
        self.listener.as_fd()
    }

    pub(super) fn client(&self) -> BorrowedFd<'_> {
        self.client.as_fd()
    }

    pub(super) fn server(&self) -> Option<BorrowedFd<'_>> {
        self.server.as_ref().map(AsFd::as_fd)
    }

    /// The client is the data's sender.
    pub(super) fn is_upload(&self) -> bool {
        self.placed.spec.direction == Direction::Upload
    }

    pub(super) fn connect(&mut self) -> Result<(), TrafficError> {
        if self.is_upload() {
            // What is due while it connects is sent as soon as it can be.
            self.sender.begin(self.placed.spec.start_s);
            let unsent_bytes = Sender::unsent_limit_bytes(&self.placed.spec);
            socket::tune_sender(self.client(), unsent_bytes)
        } else {
            socket::reset_on_close(self.client())
        }
        .and_then(|()| socket::connect(self.client(), self.placed.server_address, self.placed.port))
        .map_err(TrafficError::flow(&self.placed.spec.name, "connecting"))
    }

    /// Takes the connection that the client made; whether there was one.
    pub(super) fn accept(&mut self, now_s: f64) -> Result<bool, TrafficError> {
        let name = &self.placed.spec.name;
        let accepted =
            socket::accept(self.listener.as_fd()).map_err(TrafficError::flow(name, "accepting"))?;
        let Some(server) = accepted else {
            return Ok(false);
        };
        if self.is_upload() {
            socket::reset_on_close(server.as_fd())
        } else {
            self.sender.begin(now_s);
            let unsent_bytes = Sender::unsent_limit_bytes(&self.placed.spec);
            socket::tune_sender(server.as_fd(), unsent_bytes)
        }
        .map_err(TrafficError::flow(name, "setting socket options"))?;
        self.server = Some(server);
        Ok(true)
    }

    /// Writes what is due; answers when to be called again.
    pub(super) fn pump(&mut self, epoch_ns: u64, now_ns: u64) -> Option<u64> {
        let now_s = seconds_since(epoch_ns, now_ns);
        let fd = self.sending_end()?.as_raw_fd();
        if self.result.failure.is_some() {
            return None;
        }
        if let Err(error) = self.sender.pump(fd, now_s) {
            self.result.failure = Some(format!("sending: {error}"));
            return None;
        }
        if self.sender.is_complete() && !self.has_ended {
            // The receiver sees the end. Once: each call makes the socket ready again.
            self.has_ended = true;
            let _ = nix::sys::socket::shutdown(fd, nix::sys::socket::Shutdown::Write);
        }
        self.sender.next_pump_ns(epoch_ns, now_s)
    }

    /// Reads what has arrived; whether more may come.
    pub(super) fn read(&mut self, now_s: f64) -> bool {
        let Some(fd) = self.receiving_end().map(|fd| fd.as_raw_fd()) else {
            return true;
        };
        match socket::discard(fd) {
            Ok(None) => true,
            Ok(Some(0)) => {
                self.result.completed_s = self.result.last_byte_s;
                false
            }
            Ok(Some(count)) => {
                self.result.note_arrival(now_s, count);
                true
            }
            Err(error) => {
                self.result.failure = Some(format!("receiving: {error}"));
                false
            }
        }
    }

    /// Notes the sender's state; answers when to do so again.
    pub(super) fn sample(&mut self, epoch_ns: u64, now_ns: u64) -> Option<u64> {
        let every_ms = self.placed.spec.sample_every_ms?;
        let now_s = seconds_since(epoch_ns, now_ns);
        if let Some(info) = self.sending_end().and_then(|fd| TcpInfo::read(fd).ok()) {
            self.result.samples.push(TcpSample {
                time_s: now_s,
                cwnd_segments: info.snd_cwnd,
                mss_bytes: info.snd_mss,
                peer_window_bytes: info.snd_wnd,
                rtt_us: info.rtt_us,
                retransmitted_segments: info.total_retrans,
                retransmitted_bytes: info.bytes_retrans,
                sent_segments: info.data_segs_out,
                sent_bytes: info.bytes_sent,
                timeouts: info.total_rto,
            });
        }
        Some(after(epoch_ns, now_s + f64::from(every_ms) / 1e3))
    }

    pub(super) fn finish(mut self) -> FlowResult {
        let receiver = self.receiving_end();
        self.result.receiver_cookie = receiver.and_then(|fd| socket::cookie(fd).ok());
        self.result
    }

    fn sending_end(&self) -> Option<BorrowedFd<'_>> {
        if self.is_upload() {
            Some(self.client())
        } else {
            self.server()
        }
    }

    fn receiving_end(&self) -> Option<BorrowedFd<'_>> {
        if self.is_upload() {
            self.server()
        } else {
            Some(self.client())
        }
    }
}
