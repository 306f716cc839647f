// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Runs the programs on packets that nobody sent: for tests, and to measure what a packet costs.

use libbpf_rs::libbpf_sys as raw;
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
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

/// A program that does nothing: what the kernel itself takes for one.
#[derive(Debug)]
pub struct Nothing(OwnedFd);

impl Nothing {
    /// *Errors:* those of the kernel.
    pub fn load() -> io::Result<Self> {
        // r0 = -1; exit
        let program = [
            raw::bpf_insn {
                code: 0xb7,
                imm: -1,
                ..Default::default()
            },
            raw::bpf_insn {
                code: 0x95,
                ..Default::default()
            },
        ];
        // SAFETY: both strings end with a zero, and as many instructions are there as are told.
        let loaded = unsafe {
            raw::bpf_prog_load(
                raw::BPF_PROG_TYPE_SCHED_CLS,
                c"ebb_nothing".as_ptr(),
                c"GPL".as_ptr(),
                program.as_ptr(),
                program.len() as _,
                std::ptr::null_mut(),
            )
        };
        if loaded < 0 {
            return Err(io::Error::from_raw_os_error(-loaded));
        }
        // SAFETY: just made, and nobody else's.
        Ok(Self(unsafe { OwnedFd::from_raw_fd(loaded) }))
    }

    /// Runs it so often on a packet.
    ///
    /// *Errors:* those of the kernel.
    pub fn try_packet(&self, packet: &[u8], times: u32) -> io::Result<Tried> {
        run(self.0.as_fd(), packet, times)
    }
}

/// The kernel's number for a program.
pub(crate) fn number(program: BorrowedFd<'_>) -> io::Result<u32> {
    let mut info = raw::bpf_prog_info::default();
    let mut length = size_of::<raw::bpf_prog_info>() as u32;
    // SAFETY: the descriptor is open; `info` is `length` bytes, and lives through the call.
    let asked = unsafe {
        raw::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut info, &raw mut length)
    };
    match asked {
        0 => Ok(info.id),
        error => Err(io::Error::from_raw_os_error(-error)),
    }
}
