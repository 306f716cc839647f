// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The live control of running programs, through memory shared with them.

use crate::error::{Error, Result};
use crate::layout::{Config, Constant, Control};
use crate::names::CONTROL_MAP;
use ebb_algorithms::Policy;
use ebb_host::clock::monotonic_ns;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// `struct ebb_control`, shared with the running programs.
pub(crate) struct ControlMapping {
    control: NonNull<Control>,
    _map: OwnedFd,
}

// SAFETY: the mapping lives as long as this; all access is through atomics.
unsafe impl Send for ControlMapping {}
// SAFETY: as above.
unsafe impl Sync for ControlMapping {}

impl ControlMapping {
    /// Maps the memory of a control map.
    pub(crate) fn of(map: OwnedFd) -> Result<Self> {
        let failed = |source| Error::Program {
            what: CONTROL_MAP.to_owned(),
            action: "map",
            source,
        };
        // SAFETY: a fresh mapping of one page or less of an array map.
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
        if address == libc::MAP_FAILED {
            return Err(failed(io::Error::last_os_error()));
        }
        let control = NonNull::new(address.cast())
            .ok_or_else(|| failed(io::Error::from(io::ErrorKind::InvalidData)))?;
        Ok(Self { control, _map: map })
    }

    /// Fills in everything but the lease; no program runs yet.
    pub(crate) fn initialise(&self, policy: &Policy, is_observing: bool, config: &Config) {
        self.version()
            .store(Constant::EBB_CONTROL_VERSION.0, Ordering::Relaxed);
        self.owner_pid()
            .store(std::process::id(), Ordering::Relaxed);
        self.law_number()
            .store(policy.law().number, Ordering::Relaxed);
        self.marked_only()
            .store(config.is_marked_only, Ordering::Relaxed);
        self.ruled().store(config.is_ruled, Ordering::Relaxed);
        self.rule().store(config.rule, Ordering::Relaxed);
        self.observing()
            .store(is_observing.into(), Ordering::Relaxed);
        self.set_params(policy.values());
    }

    /// Says whose it is, and that its owner lives, before anybody can see it.
    pub(crate) fn claim(&self, lease_until_ns: u64) {
        self.owner_pid()
            .store(std::process::id(), Ordering::Relaxed);
        self.set_lease_until_ns(lease_until_ns);
    }

    /// Changes the parameters for all calls from now on, all at once.
    pub(crate) fn set_params(&self, values: &[u32]) {
        let index = self.params_index().load(Ordering::Relaxed) ^ 1;
        for (place, value) in values.iter().enumerate() {
            self.param(index as usize & 1, place)
                .store(*value, Ordering::Relaxed);
        }
        self.params_index().store(index, Ordering::Release);
        self.generation().fetch_add(1, Ordering::Relaxed);
    }

    pub(crate) fn set_lease_until_ns(&self, until_ns: u64) {
        self.lease().store(until_ns, Ordering::Relaxed);
    }

    pub(crate) fn is_lease_valid(&self) -> bool {
        self.lease().load(Ordering::Relaxed) > monotonic_ns()
    }

    pub(crate) fn set_released(&self) {
        self.released().store(1, Ordering::Release);
    }

    pub(crate) fn is_released(&self) -> bool {
        self.released().load(Ordering::Acquire) != 0
    }

    pub(crate) fn set_observing(&self, is_observing: bool) {
        self.observing()
            .store(is_observing.into(), Ordering::Relaxed);
    }

    fn lease(&self) -> &AtomicU64 {
        // SAFETY: the field is aligned and lives as long as the mapping.
        unsafe { AtomicU64::from_ptr(&raw mut (*self.control.as_ptr()).lease_until_ns) }
    }

    fn param(&self, set: usize, place: usize) -> &AtomicU32 {
        assert!(set < 2 && place < ebb_algorithms::MAX_PARAMS);
        // SAFETY: as in `lease`; both indices are within the field.
        unsafe { AtomicU32::from_ptr(&raw mut (*self.control.as_ptr()).params[set].values[place]) }
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
    version => version,
    owner_pid => owner_pid,
    law_number => law_number,
    released => is_released,
    observing => is_observing,
    generation => generation,
    params_index => params_index,
    marked_only => is_marked_only,
    ruled => is_ruled,
    rule => rule,
}

impl Drop for ControlMapping {
    fn drop(&mut self) {
        // SAFETY: mapped by `of`, with this size.
        unsafe { libc::munmap(self.control.as_ptr().cast(), size_of::<Control>()) };
    }
}
