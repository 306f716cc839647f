// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the connections of a policy have in common, for laws that take them for one flow.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, PoisonError};

use crate::native::NativeBundle;
use crate::policy::Policy;
use crate::registry::Native;

/// The connections of one policy as one: all flows that are made with a bundle, or with clones
/// of it, share what its law judges by.
#[derive(Debug, Clone)]
pub struct ReceiverBundle {
    native: &'static NativeBundle,
    law_number: u32,
    /// As 64-bit words, so that the C struct is aligned.
    words: Arc<Mutex<Box<[u64]>>>,
}

impl ReceiverBundle {
    /// A bundle without connections; none for laws that judge each alone.
    pub fn new(policy: &Policy) -> Option<Self> {
        let Native::Receiver(law) = policy.law().native else {
            return None;
        };
        let native = law.bundle?;
        let words = (native.state_bytes as usize).div_ceil(8);
        Some(Self {
            native,
            law_number: policy.law().number,
            words: Arc::new(Mutex::new(vec![0; words].into_boxed_slice())),
        })
    }

    pub(crate) fn is_of(&self, policy: &Policy) -> bool {
        self.law_number == policy.law().number
    }

    /// Calls a hook with the state, which nobody else has meanwhile.
    pub(crate) fn call(&self, hook: impl FnOnce(&'static NativeBundle, *mut c_void)) {
        // Whatever panicked, the law never leaves its state half-way.
        let mut words = self.words.lock().unwrap_or_else(PoisonError::into_inner);
        hook(self.native, words.as_mut_ptr().cast());
    }

    /// How long a connection waits before it asks again; 0 where its window is open.
    ///
    /// # Safety
    /// `state` is one of the law's.
    pub(crate) unsafe fn wait_us(&self, state: *const c_void) -> u32 {
        // SAFETY: the caller's.
        unsafe { (self.native.wait_us)(state) }
    }
}
