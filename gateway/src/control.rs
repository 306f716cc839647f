// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The live control of running programs, through memory shared with them.

use crate::error::{Error, Result};
use crate::layout::{Control, RawRule};
use ebb_host::clock::monotonic_ns;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The programs act for so long after they heard of their owner.
const LEASE: Duration = Duration::from_secs(2);

/// `struct ebb_gateway_control`, shared with the running programs.
pub(crate) struct ControlMapping {
    control: NonNull<Control>,
}

// SAFETY: the mapping lives as long as this; whoever writes has it alone or uses atomics.
unsafe impl Send for ControlMapping {}

impl ControlMapping {
    /// Maps the memory of a control map.
    pub(crate) fn of(map: BorrowedFd<'_>) -> Result<Self> {
        // SAFETY: a fresh mapping of an array map whose value is at least as long.
        let address = unsafe {
            libc::mmap(
                std::ptr::null_mut(),
                size_of::<Control>(),
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_SHARED,
                map.as_raw_fd(),
                0,
            )
        };
        let failed = |source| Error::Program {
            what: "the control map".to_owned(),
            action: "map",
            source,
        };
        if address == libc::MAP_FAILED {
            return Err(failed(io::Error::last_os_error()));
        }
        let control = NonNull::new(address.cast())
            .ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidData)))?;
        Ok(Self { control })
    }

    /// Lets the programs act for another while; answers whether the lease was over already.
    pub(crate) fn renew(&self) -> bool {
        let now_ns = monotonic_ns();
        let until_ns = now_ns + LEASE.as_nanos() as u64;
        self.lease().swap(until_ns, Ordering::Relaxed) <= now_ns
    }

    /// They let everything go, for good.
    pub(crate) fn release(&self) {
        self.released().store(1, Ordering::Release);
        self.lease().store(0, Ordering::Release);
    }

    pub(crate) fn set_observing(&self, is_observing: bool) {
        self.observing()
            .store(is_observing.into(), Ordering::Relaxed);
    }

    /// Changes the law's parameters for all calls from now on, all at once.
    pub(crate) fn set_params(&mut self, values: &[u32]) {
        let index = self.params_index().load(Ordering::Relaxed) ^ 1;
        // SAFETY: the field lives as long as the mapping; the programs read the other set.
        let params = unsafe { &mut (*self.control.as_ptr()).params[index as usize & 1] };
        for (place, value) in params.iter_mut().zip(values) {
            *place = *value;
        }
        self.params_index().store(index, Ordering::Release);
    }

    /// Other rules. Meanwhile there are none; then every connection is judged again.
    pub(crate) fn set_rules(&mut self, rules: &[RawRule]) {
        self.rule_count().store(0, Ordering::Release);
        // SAFETY: the field lives as long as the mapping; of no rules the programs read none.
        let places = unsafe { &mut (*self.control.as_ptr()).rules };
        assert!(rules.len() <= places.len(), "as many as rules may be");
        places[..rules.len()].copy_from_slice(rules);
        self.rule_count()
            .store(rules.len() as u32, Ordering::Release);
        // 0 is that of a connection that nobody has judged yet.
        let epoch = self.epoch().load(Ordering::Relaxed);
        self.epoch()
            .store(epoch.wrapping_add(1).max(1), Ordering::Release);
    }

    fn lease(&self) -> &AtomicU64 {
        // SAFETY: the field is aligned and lives as long as the mapping.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.control.as_ptr()).lease_until_ns) }
    }
}

macro_rules! control_fields {
    ($($accessor:ident => $field:ident),* $(,)?) => {
        impl ControlMapping {$(
            fn $accessor(&self) -> &AtomicU32 {
                // SAFETY: the field is aligned and lives as long as the mapping.
                unsafe { AtomicU32::from_ptr(&raw mut (*self.control.as_ptr()).$field) }
            }
        )*}
    };
}
control_fields! {
    released => is_released,
    observing => is_observing,
    params_index => params_index,
    epoch => epoch,
    rule_count => rule_count,
}

impl Drop for ControlMapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `of`, with this size.
        unsafe { libc::munmap(self.control.as_ptr().cast(), size_of::<Control>()) };
    }
}
