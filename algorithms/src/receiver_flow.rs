// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection under a receiver law, run natively.

use crate::law_state::LawState;
use crate::native::NativeReceiverLaw;
use crate::policy::Policy;
use crate::receiver_contract::{Ack, Segment, Start};
use crate::registry::{Native, Side};
use std::ffi::c_void;

/// The state of a law for one connection.
///
/// Call [`Self::on_segment`] for each arriving data segment and [`Self::on_ack`] before
/// each outgoing one; the window advertised may then be [`Self::window_bytes`] at most.
#[derive(Debug, Clone)]
pub struct ReceiverFlow {
    native: &'static NativeReceiverLaw,
    state: LawState,
}

impl ReceiverFlow {
    /// Puts a connection under a policy.
    ///
    /// # Panics
    /// If the policy's law is not one of the receiving end ([`Policy::for_side`] tells).
    pub fn new(policy: Policy, start: &Start) -> Self {
        let Native::Receiver(native) = policy.law().native else {
            panic!("{policy}: not a law of the {} end", Side::Receiver);
        };
        let mut state = LawState::new(policy);
        let (memory, params) = state.hook_arguments();
        // SAFETY: both are of the law whose hook this is.
        unsafe { (native.init)(memory, start, params) };
        Self { native, state }
    }

    /// Takes an arriving data segment.
    pub fn on_segment(&mut self, segment: &Segment) {
        let (memory, params) = self.state.hook_arguments();
        // SAFETY: as in `new`.
        unsafe { (self.native.on_segment)(memory, segment, params) };
    }

    /// Takes an outgoing segment, about to carry a window.
    pub fn on_ack(&mut self, ack: &Ack) {
        let Some(on_ack) = self.native.on_ack else {
            return;
        };
        let (memory, params) = self.state.hook_arguments();
        // SAFETY: as in `new`; the hook is of this flow's law.
        unsafe { on_ack(memory, ack, params) };
    }

    /// The largest window that may be advertised, in bytes.
    pub fn window_bytes(&self) -> u32 {
        self.ask(self.native.rwnd_bytes)
    }

    /// How long each acknowledgement should be held back, in us, by a host that can do
    /// that and says so in [`Segment::can_delay_acks`]; 0 for most laws.
    pub fn ack_delay_us(&self) -> u32 {
        self.native.ack_delay_us.map_or(0, |hook| self.ask(hook))
    }

    /// What the law takes the sender's congestion window for, in bytes; none if it does not ask.
    pub fn estimate_bytes(&self) -> Option<u32> {
        self.native.estimate_bytes.map(|hook| self.ask(hook))
    }

    fn ask(&self, hook: unsafe extern "C" fn(*const c_void) -> u32) -> u32 {
        // SAFETY: as in `new`; the hook is of this flow's law.
        unsafe { hook(self.state.as_ptr()) }
    }

    /// The law's state, byte by byte, for comparison with other hosts.
    pub fn state_bytes(&self) -> &[u8] {
        self.state.bytes()
    }

    /// Changes the policy's parameters between two calls.
    ///
    /// # Panics
    /// If the law is another one: its state would mean nothing.
    pub fn set_policy(&mut self, policy: Policy) {
        self.state.set_policy(policy);
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        self.state.policy()
    }
}
