// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection under a receiver law, run natively.

use crate::floor::{Floor, FloorMember};
use crate::law_state::LawState;
use crate::native::NativeReceiverLaw;
use crate::policy::Policy;
use crate::receiver_bundle::ReceiverBundle;
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
    bundle: Option<ReceiverBundle>,
    floor: Option<Box<FloorMember>>,
}

impl ReceiverFlow {
    /// Puts a connection under a policy.
    ///
    /// # Panics
    /// If the policy's law is not one of the receiving end ([`Policy::for_side`] tells).
    pub fn new(policy: Policy, start: &Start) -> Self {
        Self::new_in(None, policy, start)
    }

    /// Puts a connection under a policy, as one of a bundle if there is one.
    ///
    /// # Panics
    /// As [`Self::new`]; and if the bundle is another law's.
    pub fn new_in(bundle: Option<ReceiverBundle>, policy: Policy, start: &Start) -> Self {
        let Native::Receiver(native) = policy.law().native else {
            panic!("{policy}: not a law of the {} end", Side::Receiver);
        };
        if let Some(bundle) = &bundle {
            assert!(
                bundle.is_of(&policy),
                "{policy}: the bundle is another law's"
            );
        }
        let mut state = LawState::new(policy);
        let (memory, params) = state.hook_arguments();
        match &bundle {
            Some(bundle) => bundle.call(|native, common| {
                // SAFETY: all are of the law whose hook this is.
                unsafe { (native.init)(common, memory, start, params) }
            }),
            // SAFETY: both are of the law whose hook this is.
            None => unsafe { (native.init)(memory, start, params) },
        }
        Self {
            native,
            state,
            bundle,
            floor: None,
        }
    }

    /// Gives it a part of a floor, below which its window never is, and of its ceiling, above which
    /// the law's answer is not followed. What arrives has to be told
    /// with [`Segment::kernel_rtt_us`], or it has none.
    pub fn set_floor(&mut self, floor: &Floor) {
        self.floor = Some(Box::new(FloorMember::new(floor)));
    }

    /// Takes an arriving data segment.
    pub fn on_segment(&mut self, segment: &Segment) {
        let (memory, params) = self.state.hook_arguments();
        match &self.bundle {
            Some(bundle) => bundle.call(|native, common| {
                // SAFETY: as in `new_in`.
                unsafe { (native.on_segment)(common, memory, segment, params) }
            }),
            // SAFETY: as in `new_in`.
            None => unsafe { (self.native.on_segment)(memory, segment, params) },
        }
        if let Some(floor) = self.floor.as_mut().filter(|_| segment.is_observing == 0) {
            let (bytes, rtt_us) = (segment.payload_bytes, segment.kernel_rtt_us);
            floor.hear(segment.now_us, bytes, rtt_us, segment.mss_bytes);
        }
        self.reckon_floor();
    }

    /// Takes an outgoing segment, about to carry a window.
    pub fn on_ack(&mut self, ack: &Ack) {
        let (memory, params) = self.state.hook_arguments();
        match (&self.bundle, self.native.on_ack) {
            (Some(bundle), _) => bundle.call(|native, common| {
                // SAFETY: as in `new_in`.
                unsafe { (native.on_ack)(common, memory, ack, params) }
            }),
            // SAFETY: as in `new_in`; the hook is of this flow's law.
            (None, Some(on_ack)) => unsafe { on_ack(memory, ack, params) },
            (None, None) => {}
        }
        self.reckon_floor();
    }

    fn reckon_floor(&mut self) {
        let law_bytes = self.ask(self.native.rwnd_bytes);
        if let Some(floor) = &mut self.floor {
            floor.reckon(law_bytes);
        }
    }

    /// How long the window is closed before the law is to be asked again, by a host that says in
    /// [`Ack::can_park`] that it can do so; 0: it is open. *Units:* us.
    pub fn wait_us(&self) -> u32 {
        // SAFETY: the state is of the bundle's law.
        let wait_us = |bundle: &ReceiverBundle| unsafe { bundle.wait_us(self.state.as_ptr()) };
        if self.floor.as_ref().is_some_and(|it| it.has_segment()) {
            return 0;
        }
        self.bundle.as_ref().map_or(0, wait_us)
    }

    /// The largest window that may be advertised, in bytes.
    pub fn window_bytes(&self) -> u32 {
        let law_bytes = self.ask(self.native.rwnd_bytes);
        let floor = self.floor.as_ref();
        floor.map_or(law_bytes, |floor| floor.bound(law_bytes))
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
        // SAFETY: as in `new_in`; the hook is of this flow's law.
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
