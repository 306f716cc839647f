// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The live control of running programs, through memory shared with them.

use crate::error::{Error, Result};
use crate::layout::{Control, RawRule, bytes_of};
use ebb_host::SharedMemory;
use ebb_host::clock::monotonic_ns;
use std::mem::offset_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

/// The programs act for so long after they heard of their owner.
const LEASE: Duration = Duration::from_secs(2);

/// `struct ebb_gateway_control`, shared with the running programs.
pub(crate) struct ControlMapping {
    memory: SharedMemory<Control>,
}

impl ControlMapping {
    /// Maps the memory of a control map.
    pub(crate) fn of(map: BorrowedFd<'_>) -> Result<Self> {
        // SAFETY: an array map, of which the kernel maps no more than there is.
        let mapped = unsafe { SharedMemory::map(map) };
        let memory = mapped.map_err(|source| Error::Program {
            what: "the control map".to_owned(),
            action: "map",
            source,
        })?;
        Ok(Self { memory })
    }

    /// Lets the programs act for another while.
    pub(crate) fn renew(&self) {
        let until_ns = monotonic_ns() + LEASE.as_nanos() as u64;
        self.lease().store(until_ns, Ordering::Relaxed);
    }

    /// Whether the lease is over.
    pub(crate) fn has_lapsed(&self) -> bool {
        self.lease().load(Ordering::Relaxed) <= monotonic_ns()
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
        let params = unsafe { &mut (*self.memory.as_ptr()).params[index as usize & 1] };
        for (place, value) in params.iter_mut().zip(values) {
            *place = *value;
        }
        self.params_index().store(index, Ordering::Release);
    }

    /// Other rules, each with the number of its bundle. Meanwhile there are none; then every
    /// connection is judged again.
    pub(crate) fn set_rules(&mut self, rules: &[RawRule], bundles: &[u8]) {
        self.rule_count().store(0, Ordering::Release);
        let control = self.memory.as_ptr();
        // SAFETY: the field lives as long as the mapping; of no rules the programs read none.
        let places = unsafe { &mut (*control).rules };
        // SAFETY: the same of another field.
        let numbers = unsafe { &mut (*control).bundles };
        assert!(rules.len() <= places.len(), "as many as rules may be");
        places[..rules.len()].copy_from_slice(rules);
        numbers[..bundles.len()].copy_from_slice(bundles);
        self.rule_count()
            .store(rules.len() as u32, Ordering::Release);
        // 0 is that of a connection that nobody has judged yet.
        let epoch = self.epoch().load(Ordering::Relaxed);
        self.epoch()
            .store(epoch.wrapping_add(1).max(1), Ordering::Release);
    }

    /// Whether these are in force.
    pub(crate) fn has_rules(&self, rules: &[RawRule]) -> bool {
        // SAFETY: the field lives as long as the mapping, and nobody but us writes to it.
        let places = unsafe { &(*self.memory.as_ptr()).rules };
        let is_same = |(one, other): (&RawRule, &RawRule)| bytes_of(one) == bytes_of(other);
        self.rule_count().load(Ordering::Relaxed) as usize == rules.len()
            && rules.iter().zip(places).all(is_same)
    }

    fn lease(&self) -> &AtomicU64 {
        self.memory.double_word(offset_of!(Control, lease_until_ns))
    }

    fn released(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, is_released))
    }

    fn observing(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, is_observing))
    }

    fn params_index(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, params_index))
    }

    fn epoch(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, epoch))
    }

    fn rule_count(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, rule_count))
    }
}
