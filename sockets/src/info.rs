// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the kernel tells of a TCP connection (`struct tcp_info` of linux/tcp.h).

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The connection is established: data goes both ways.
pub(crate) const ESTABLISHED: u8 = 1;
/// The peer has closed its direction; ours still sends.
pub(crate) const CLOSE_WAIT: u8 = 8;
/// Our direction is closed, the peer's not yet.
pub(crate) const FIN_WAIT_1: u8 = 4;
pub(crate) const FIN_WAIT_2: u8 = 5;
/// Waits for connections.
pub(crate) const LISTEN: u8 = 10;

/// `TCP_INFO`, as far as the kernel in use has it; fields that it lacks are 0.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(missing_docs)]
pub struct TcpInfo {
    pub state: u8,
    pub ca_state: u8,
    pub retransmits: u8,
    pub probes: u8,
    pub backoff: u8,
    pub options: u8,
    pub window_scales: u8,
    pub flags: u8,
    pub rto_us: u32,
    pub ato_us: u32,
    pub snd_mss: u32,
    pub rcv_mss: u32,
    pub unacked: u32,
    pub sacked: u32,
    pub lost: u32,
    pub retrans: u32,
    pub fackets: u32,
    pub last_data_sent_ms: u32,
    pub last_ack_sent_ms: u32,
    pub last_data_recv_ms: u32,
    pub last_ack_recv_ms: u32,
    pub pmtu: u32,
    pub rcv_ssthresh: u32,
    pub rtt_us: u32,
    pub rttvar_us: u32,
    pub snd_ssthresh: u32,
    pub snd_cwnd: u32,
    pub advmss: u32,
    pub reordering: u32,
    pub rcv_rtt_us: u32,
    pub rcv_space: u32,
    pub total_retrans: u32,
    pub pacing_rate: u64,
    pub max_pacing_rate: u64,
    pub bytes_acked: u64,
    pub bytes_received: u64,
    pub segs_out: u32,
    pub segs_in: u32,
    pub notsent_bytes: u32,
    pub min_rtt_us: u32,
    pub data_segs_in: u32,
    pub data_segs_out: u32,
    pub delivery_rate: u64,
    pub busy_time_us: u64,
    pub rwnd_limited_us: u64,
    pub sndbuf_limited_us: u64,
    pub delivered: u32,
    pub delivered_ce: u32,
    pub bytes_sent: u64,
    pub bytes_retrans: u64,
    pub dsack_dups: u32,
    pub reord_seen: u32,
    pub rcv_ooopack: u32,
    pub snd_wnd: u32,
    pub rcv_wnd: u32,
    pub rehash: u32,
}

const _: () = assert!(size_of::<TcpInfo>() == 240);

impl TcpInfo {
    /// Asks the kernel.
    ///
    /// *Errors:* it is no TCP socket.
    pub fn read(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut info = Self::default();
        let mut length = size_of::<Self>() as libc::socklen_t;
        // SAFETY: the kernel writes at most `length` bytes into the plain integers of `info`.
        let result = unsafe {
            libc::getsockopt(
                socket.as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                (&raw mut info).cast(),
                &raw mut length,
            )
        };
        if result == 0 {
            Ok(info)
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// RFC 7323 timestamps are in use.
    pub fn has_timestamps(&self) -> bool {
        self.options & 1 != 0
    }

    /// Data may arrive.
    pub fn receives(&self) -> bool {
        matches!(self.state, ESTABLISHED | FIN_WAIT_1 | FIN_WAIT_2)
    }

    /// Data may be sent.
    pub fn sends(&self) -> bool {
        matches!(self.state, ESTABLISHED | CLOSE_WAIT)
    }
}
