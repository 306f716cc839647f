// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The state of any law for one connection, and the parameters that it is called with.

use crate::policy::Policy;
use std::ffi::c_void;

/// Zeroed memory of the size that the policy's law wants.
#[derive(Debug, Clone)]
pub(crate) struct LawState {
    policy: Policy,
    /// As 64-bit words, so that the C struct is aligned.
    words: Box<[u64]>,
}

impl LawState {
    pub(crate) fn new(policy: Policy) -> Self {
        let words = policy.law().state_bytes.div_ceil(8);
        Self {
            words: vec![0; words].into_boxed_slice(),
            policy,
        }
    }

    /// What a hook of the policy's law is called with: the state, aligned to 8 and as large as
    /// the law's struct, and as many values as it has parameters.
    pub(crate) fn hook_arguments(&mut self) -> (*mut c_void, *const c_void) {
        let params = self.policy.values().as_ptr().cast();
        (self.words.as_mut_ptr().cast(), params)
    }

    /// The state, for those who only look.
    pub(crate) fn as_ptr(&self) -> *const c_void {
        self.words.as_ptr().cast()
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        // SAFETY: the words are initialised and at least as long as the law's state.
        unsafe { std::slice::from_raw_parts(self.as_ptr().cast(), self.policy.law().state_bytes) }
    }

    /// # Panics
    /// If the law is another one: its state would mean nothing.
    pub(crate) fn set_policy(&mut self, policy: Policy) {
        assert_eq!(policy.law().number, self.policy.law().number, "another law");
        self.policy = policy;
    }

    pub(crate) fn policy(&self) -> &Policy {
        &self.policy
    }
}
