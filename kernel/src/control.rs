// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The live control of running programs, through memory shared with them.

use crate::error::{Error, Result};
use crate::layout::{Config, Constant, Control};
use crate::names::CONTROL_MAP;
use crate::rules::MAX_HELD;
use ebb_algorithms::Policy;
use ebb_host::SharedMemory;
use ebb_host::clock::monotonic_ns;
use std::mem::offset_of;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// Of a set of rules and claims.
const WORDS: usize = Constant::EBB_HELD_WORDS.0 as usize;

/// `struct ebb_control`, shared with the running programs.
pub(crate) struct ControlMapping {
    memory: SharedMemory<Control>,
}

impl ControlMapping {
    /// Maps the memory of a control map.
    pub(crate) fn of(map: BorrowedFd<'_>) -> Result<Self> {
        // SAFETY: an array map, of which the kernel maps no more than there is.
        let mapped = unsafe { SharedMemory::map(map) };
        let memory = mapped.map_err(|source| Error::Program {
            what: CONTROL_MAP.to_owned(),
            action: "map",
            source,
        })?;
        Ok(Self { memory })
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

    /// Has the programs act for a rule or a claim, too.
    pub(crate) fn hold_rule(&self, rule: u32, is_observing: bool) {
        self.set_rule_observing(rule, is_observing);
        let (word, bit) = place(rule);
        self.rules(word).fetch_or(bit, Ordering::Release);
    }

    /// Has them act for it no more.
    pub(crate) fn drop_rule(&self, rule: u32) {
        let (word, bit) = place(rule);
        self.rules(word).fetch_and(!bit, Ordering::Release);
    }

    /// Has them act for none.
    pub(crate) fn drop_all_rules(&self) {
        (0..WORDS).for_each(|word| self.rules(word).store(0, Ordering::Release));
    }

    /// Whether they act for any.
    pub(crate) fn holds_any_rule(&self) -> bool {
        (0..WORDS).any(|word| self.rules(word).load(Ordering::Acquire) != 0)
    }

    pub(crate) fn set_rule_observing(&self, rule: u32, is_observing: bool) {
        let (word, bit) = place(rule);
        let observing = self.observing_rules(word);
        match is_observing {
            true => observing.fetch_or(bit, Ordering::Relaxed),
            false => observing.fetch_and(!bit, Ordering::Relaxed),
        };
    }

    /// What the connections of a rule have together at the least; 0: nothing. Without rules it is
    /// that of rule 0.
    pub(crate) fn set_floor(&self, rule: u32, bytes_per_s: u64) {
        self.floor(rule).store(bytes_per_s, Ordering::Relaxed);
    }

    /// What they have together at the most; 0: whatever the law says.
    pub(crate) fn set_ceiling(&self, rule: u32, bytes_per_s: u64) {
        self.ceiling(rule).store(bytes_per_s, Ordering::Relaxed);
    }

    /// Has walks switch and release the connections of this rule alone, or of all.
    pub(crate) fn walk_only(&self, rule: Option<u32>) {
        let (only, bit) = rule.map_or((0, 0), place);
        for word in 0..WORDS {
            let passed = match rule {
                None => 0,
                Some(_) if word == only => !bit,
                Some(_) => u64::MAX,
            };
            self.passed_rules(word).store(passed, Ordering::Release);
        }
    }

    fn lease(&self) -> &AtomicU64 {
        self.memory.double_word(offset_of!(Control, lease_until_ns))
    }

    fn param(&self, set: usize, place: usize) -> &AtomicU32 {
        assert!(set < 2 && place < ebb_algorithms::MAX_PARAMS);
        let place = set * ebb_algorithms::MAX_PARAMS + place;
        self.memory
            .word(offset_of!(Control, params) + place * size_of::<u32>())
    }

    fn floor(&self, rule: u32) -> &AtomicU64 {
        self.of_rule(offset_of!(Control, floor_bytes_per_s), rule)
    }

    fn ceiling(&self, rule: u32) -> &AtomicU64 {
        self.of_rule(offset_of!(Control, ceiling_bytes_per_s), rule)
    }

    fn of_rule(&self, first: usize, rule: u32) -> &AtomicU64 {
        assert!(rule < MAX_HELD);
        self.memory
            .double_word(first + rule as usize * size_of::<u64>())
    }

    fn version(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, version))
    }

    fn owner_pid(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, owner_pid))
    }

    fn law_number(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, law_number))
    }

    fn released(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, is_released))
    }

    fn observing(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, is_observing))
    }

    fn generation(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, generation))
    }

    fn params_index(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, params_index))
    }

    fn marked_only(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, is_marked_only))
    }

    fn ruled(&self) -> &AtomicU32 {
        self.memory.word(offset_of!(Control, is_ruled))
    }

    fn rules(&self, word: usize) -> &AtomicU64 {
        self.word_of(offset_of!(Control, rules), word)
    }

    fn observing_rules(&self, word: usize) -> &AtomicU64 {
        self.word_of(offset_of!(Control, observing_rules), word)
    }

    fn passed_rules(&self, word: usize) -> &AtomicU64 {
        self.word_of(offset_of!(Control, passed_rules), word)
    }

    fn word_of(&self, set: usize, word: usize) -> &AtomicU64 {
        assert!(word < WORDS);
        self.memory.double_word(set + word * size_of::<u64>())
    }
}

/// Where in a set a rule or claim is: the word, and the bit there.
fn place(rule: u32) -> (usize, u64) {
    (rule as usize / 64, 1 << (rule % 64))
}
