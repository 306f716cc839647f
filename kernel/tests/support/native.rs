// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the kernel did, done again natively.

use ebb_algorithms::{Policy, ReceiverFlow, SenderFlow};
use ebb_kernel::trace::Input;

/// The law compiled natively.
pub enum Native {
    Receiver(ReceiverFlow),
    Sender(SenderFlow),
}

impl Native {
    /// A connection at its start; none if this is none.
    pub fn begun(policy: &Policy, input: &Input) -> Option<Self> {
        let policy = policy.clone();
        match input {
            Input::Start(start) => Some(Self::Receiver(ReceiverFlow::new(policy, start))),
            Input::SenderStart(start) => Some(Self::Sender(SenderFlow::new(policy, start))),
            _ => None,
        }
    }

    pub fn call(&mut self, input: &Input) {
        match (self, input) {
            (Self::Receiver(flow), Input::Segment(segment)) => flow.on_segment(segment),
            (Self::Receiver(flow), Input::Ack(ack)) => flow.on_ack(ack),
            (Self::Sender(flow), Input::SenderAck(ack)) => flow.on_ack(ack),
            (Self::Sender(flow), Input::Loss(event)) => flow.on_loss(event),
            (Self::Sender(flow), Input::Timeout(event)) => flow.on_timeout(event),
            (Self::Sender(flow), Input::Undo(event)) => flow.on_undo(event),
            (Self::Sender(flow), Input::Idle(event)) => flow.on_idle(event),
            (_, input) => panic!("{input:?} is for the other end, or a second start"),
        }
    }
}
