// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The time that programs take, as the kernel counts it.

use crate::error::{Error, Result};
use crate::sys;
use std::os::fd::{BorrowedFd, OwnedFd};

/// How much time a program has taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RunTime {
    /// The program's name.
    pub program: &'static str,
    /// The kernel's number for it, as bpftool shows it.
    pub id: u32,
    /// Nanoseconds in all calls.
    pub total_ns: u64,
    /// Calls.
    pub calls: u64,
}

impl RunTime {
    /// What the kernel has counted of a program since it was loaded.
    pub(crate) fn of(name: &'static str, program: BorrowedFd<'_>) -> Result<Self> {
        let info = sys::program_info(program).map_err(|source| Error::Program {
            what: name.to_owned(),
            action: "ask about",
            source,
        })?;
        Ok(Self {
            program: name,
            id: info.id,
            total_ns: info.run_time_ns,
            calls: info.run_count,
        })
    }
}

/// Has the kernel keep run statistics of all eBPF programs until it is dropped, which
/// costs each of their calls some nanoseconds.
#[derive(Debug)]
pub struct RunStatistics(#[expect(dead_code, reason = "held open")] OwnedFd);

impl RunStatistics {
    /// Begins.
    ///
    /// *Errors*: [`Error::Program`] without CAP_SYS_ADMIN.
    pub fn enable() -> Result<Self> {
        sys::enable_run_statistics()
            .map(Self)
            .map_err(|source| Error::Program {
                what: "run statistics".to_owned(),
                action: "enable",
                source,
            })
    }
}
