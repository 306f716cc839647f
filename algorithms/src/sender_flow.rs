// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One connection under a sender law, run natively.

use crate::floor::{Floor, FloorEvent, SenderFloor};
use crate::law_state::LawState;
use crate::native::{NativeEventHook, NativeSenderLaw};
use crate::policy::Policy;
use crate::registry::{Native, Side};
use crate::sender_contract::{SenderAck, SenderEvent, SenderStart, SenderWindow};

/// The state of a sender law for one connection; `sender_contract.h` says when to call what.
#[derive(Debug, Clone)]
pub struct SenderFlow {
    state: LawState,
    floor: Option<Box<SenderFloor>>,
}

impl SenderFlow {
    /// Puts a connection under a policy.
    ///
    /// # Panics
    /// If the policy's law is not one of the sending end ([`Policy::for_side`] tells).
    pub fn new(policy: Policy, start: &SenderStart) -> Self {
        let Native::Sender(native) = policy.law().native else {
            panic!("{policy}: not a law of the {} end", Side::Sender);
        };
        let mut state = LawState::new(policy);
        let (memory, params) = state.hook_arguments();
        // SAFETY: both are of the law whose hook this is.
        unsafe { (native.init)(memory, start, params) };
        Self { state, floor: None }
    }

    /// Gives it a part of a floor, below which its window is only as far as plain TCP's is, and of
    /// its ceiling, above which the law's answer is not followed.
    pub fn set_floor(&mut self, floor: &Floor) {
        self.floor = Some(Box::new(SenderFloor::new(floor, &self.law_window())));
    }

    /// Takes an acknowledgement.
    pub fn on_ack(&mut self, ack: &SenderAck) {
        let (memory, params) = self.state.hook_arguments();
        // SAFETY: as in `new`.
        unsafe { (self.native().on_ack)(memory, ack, params) };
        let law = self.law_window();
        if let Some(floor) = &mut self.floor {
            floor.on_ack(ack, &law);
        }
    }

    /// The host begins to repair a loss or to answer a congestion mark.
    pub fn on_loss(&mut self, event: &SenderEvent) {
        self.call(self.native().on_loss, FloorEvent::Loss, event);
    }

    /// The retransmission timer has expired.
    pub fn on_timeout(&mut self, event: &SenderEvent) {
        self.call(self.native().on_timeout, FloorEvent::Timeout, event);
    }

    /// The last loss or time-out turned out to have been spurious.
    pub fn on_undo(&mut self, event: &SenderEvent) {
        self.call(self.native().on_undo, FloorEvent::Undo, event);
    }

    /// The host is about to send after an idle time.
    pub fn on_idle(&mut self, event: &SenderEvent) {
        self.call(self.native().on_idle, FloorEvent::Idle, event);
    }

    fn call(&mut self, hook: NativeEventHook, kind: FloorEvent, event: &SenderEvent) {
        let (memory, params) = self.state.hook_arguments();
        // SAFETY: as in `new`; the hook is of this flow's law.
        unsafe { hook(memory, event, params) };
        let law = self.law_window();
        if let Some(floor) = &mut self.floor {
            floor.on_event(kind, event, &law);
        }
    }

    /// What the law wants now, or what the floor has for it.
    pub fn window(&self) -> SenderWindow {
        let floor = self.floor.as_ref();
        floor.map_or_else(|| self.law_window(), |floor| floor.window())
    }

    fn native(&self) -> &'static NativeSenderLaw {
        match self.policy().law().native {
            Native::Sender(native) => native,
            Native::Receiver(_) => unreachable!("new refuses it"),
        }
    }

    fn law_window(&self) -> SenderWindow {
        // SAFETY: each state begins with the window (native.c asserts it).
        unsafe { self.state.as_ptr().cast::<SenderWindow>().read() }
    }

    /// The policy.
    pub fn policy(&self) -> &Policy {
        self.state.policy()
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
}
