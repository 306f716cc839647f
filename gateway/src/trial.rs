// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the programs on packets that nobody sent: for tests, and to measure what a packet costs.

use libbpf_rs::libbpf_sys as raw;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::time::Duration;

/// What came of a packet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// The packet as the program left it.
    pub packet: Vec<u8>,
    /// What the program answered: -1 leaves the packet to others.
    pub answer: i32,
    /// What a run took on average.
    pub took: Duration,
}

/// Runs a program so often on a packet, link header included.
pub(crate) fn run(program: BorrowedFd<'_>, packet: &[u8], times: u32) -> io::Result<Tried> {
    let mut output = vec![0u8; packet.len() + 64];
    let mut options = raw::bpf_test_run_opts {
        sz: size_of::<raw::bpf_test_run_opts>() as _,
        data_in: packet.as_ptr().cast(),
        data_size_in: packet.len() as u32,
        data_out: output.as_mut_ptr().cast(),
        data_size_out: output.len() as u32,
        repeat: times as i32,
        ..Default::default()
    };
    // SAFETY: the descriptor is open; both buffers are of the sizes that are told, and live
    // through the call.
    let done = unsafe { raw::bpf_prog_test_run_opts(program.as_raw_fd(), &raw mut options) };
    if done < 0 {
        return Err(io::Error::from_raw_os_error(-done));
    }
    output.truncate(options.data_size_out as usize);
    Ok(Tried {
        packet: output,
        answer: options.retval as i32,
        took: Duration::from_nanos(options.duration.into()),
    })
}
