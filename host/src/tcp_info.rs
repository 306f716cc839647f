// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the kernel tells of a TCP connection (`struct tcp_info` of linux/tcp.h).

use std::io;
use std::mem::offset_of;
use std::os::fd::{AsRawFd, BorrowedFd};

/// The connection is established: data goes both ways.
pub const ESTABLISHED: u8 = 1;
/// The peer has closed its direction; ours still sends.
pub const CLOSE_WAIT: u8 = 8;
/// Our direction is closed, the peer's not yet.
pub const FIN_WAIT_1: u8 = 4;
/// Our direction is closed and acknowledged, the peer's not yet.
pub const FIN_WAIT_2: u8 = 5;
/// Waits for connections.
pub const LISTEN: u8 = 10;

/// `TCP_INFO`, as far as the kernel in use has it; fields that it lacks are 0.
///
/// libc's struct ends before the fields of newer kernels that are read here. The fields have the
/// kernel's names; the linux manual, tcp(7), and <linux/tcp.h> say what they are.
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
    pub total_rto: u16,
    pub total_rto_recoveries: u16,
    pub total_rto_time_ms: u32,
}

// From <linux/tcp.h>, which only ever adds fields at the end.
const _: () = assert!(size_of::<TcpInfo>() == 248);
const _: () = assert!(offset_of!(TcpInfo, snd_mss) == 16);
const _: () = assert!(offset_of!(TcpInfo, rtt_us) == 68);
const _: () = assert!(offset_of!(TcpInfo, pacing_rate) == 104);
const _: () = assert!(offset_of!(TcpInfo, bytes_received) == 128);
const _: () = assert!(offset_of!(TcpInfo, data_segs_in) == 152);
const _: () = assert!(offset_of!(TcpInfo, delivered) == 192);
const _: () = assert!(offset_of!(TcpInfo, bytes_sent) == 200);
const _: () = assert!(offset_of!(TcpInfo, snd_wnd) == 228);
const _: () = assert!(offset_of!(TcpInfo, total_rto) == 240);

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

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};
    use std::os::fd::AsFd;

    #[test]
    fn a_connection_tells_its_state_and_what_it_sent() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let info = TcpInfo::read(listener.as_fd()).unwrap();
        assert_eq!(info.state, LISTEN);
        assert!(!info.receives() && !info.sends());

        let mut stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        std::io::Write::write_all(&mut stream, &[0; 1000]).unwrap();
        let info = TcpInfo::read(stream.as_fd()).unwrap();
        assert_eq!((info.state, info.bytes_sent), (ESTABLISHED, 1000));
        assert!(info.receives() && info.sends());
        assert!(info.snd_cwnd > 0 && info.snd_mss > 500 && info.data_segs_out == 1);

        let file = std::fs::File::open("/proc/self/stat").unwrap();
        assert!(TcpInfo::read(file.as_fd()).is_err());
    }
}
