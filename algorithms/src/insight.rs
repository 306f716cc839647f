// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What a law's state says to a person.

use std::ffi::c_void;
use std::fmt;

use crate::{MAX_PARAMS, Policy};

/// What a law is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Doing {
    /// It does not say.
    Unknown,
    /// Doubling: from the beginning, or since others have gone.
    Start,
    /// Growing by and by: there is room.
    Grow,
    /// Keeping the queue as long as it may be.
    Hold,
    /// Stepping aside: others want the link.
    Yield,
    /// Sending little for a moment, to see the path without its queue.
    Look,
    /// Waiting until what was granted before the law came is used up.
    Wait,
}

impl Doing {
    /// All of them, by number.
    pub const ALL: [Self; 7] = [
        Self::Unknown,
        Self::Start,
        Self::Grow,
        Self::Hold,
        Self::Yield,
        Self::Look,
        Self::Wait,
    ];

    /// Why a flow is held back, in a few words; nothing if it is not.
    pub fn reason(self) -> &'static str {
        match self {
            Self::Unknown | Self::Start | Self::Grow => "",
            Self::Hold => "queue at target",
            Self::Yield => "others want it",
            Self::Look => "seeing the path",
            Self::Wait => "old window left",
        }
    }
}

impl fmt::Display for Doing {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.pad(match self {
            Self::Unknown => "-",
            Self::Start => "start",
            Self::Grow => "grow",
            Self::Hold => "hold",
            Self::Yield => "yield",
            Self::Look => "look",
            Self::Wait => "wait",
        })
    }
}

/// What a law sees and does on one connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Insight {
    /// Queueing delay in microseconds, if the law sees it.
    pub queue_us: Option<u32>,
    /// What the law is about.
    pub doing: Doing,
}

#[repr(C)]
#[derive(Default)]
pub(crate) struct NativeInsight {
    pub queue_us: u32,
    pub doing: u32,
}

unsafe extern "C" {
    fn ebb_native_insight(
        number: u32,
        state: *const c_void,
        params: *const c_void,
        insight: *mut NativeInsight,
    );
}

impl Policy {
    /// What the state of a connection under this policy says, as the kernel or a flow has it.
    ///
    /// Nothing if the state is too short to be of this law.
    pub fn insight(&self, state: &[u8]) -> Option<Insight> {
        let law = self.law();
        if state.len() < law.state_bytes {
            return None;
        }
        let mut words = vec![0u64; law.state_bytes.div_ceil(8)];
        let mut params = [0u32; MAX_PARAMS];
        params[..self.values().len()].copy_from_slice(self.values());
        let mut native = NativeInsight::default();
        // SAFETY: the words are aligned to 8 and hold a state of the law, of any bytes; the
        // parameters are as many as a law can have.
        unsafe {
            std::ptr::copy_nonoverlapping(
                state.as_ptr(),
                words.as_mut_ptr().cast(),
                law.state_bytes,
            );
            ebb_native_insight(
                law.number,
                words.as_ptr().cast(),
                params.as_ptr().cast(),
                &mut native,
            );
        }
        let doing = Doing::ALL.get(native.doing as usize);
        Some(Insight {
            queue_us: (native.queue_us != u32::MAX).then_some(native.queue_us),
            doing: doing.copied().unwrap_or(Doing::Unknown),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReceiverFlow, Start, laws};

    #[test]
    fn every_law_says_something_of_any_state() {
        for law in laws() {
            let policy = Policy::with_defaults(law);
            for byte in [0, 1, 0x7f, 0xff] {
                let state = vec![byte; law.state_bytes];
                assert!(policy.insight(&state).is_some(), "{}", law.name);
            }
            assert_eq!(policy.insight(&[]), None);
        }
    }

    #[test]
    fn ebb_doubles_at_first() {
        let policy = Policy::default();
        let flow = ReceiverFlow::new(policy.clone(), &Start::default());
        let insight = policy.insight(flow.state_bytes()).unwrap();
        assert_eq!(insight.doing, Doing::Start);
    }

    #[test]
    fn the_laws_that_see_counters_tell_their_queue() {
        let policy = Policy::receiver("sampled").unwrap();
        let flow = ReceiverFlow::new(policy.clone(), &Start::default());
        let insight = policy.insight(flow.state_bytes()).unwrap();
        assert_eq!((insight.doing, insight.queue_us), (Doing::Start, Some(0)));
        let policy = Policy::sender("paced").unwrap();
        let flow = crate::SenderFlow::new(policy.clone(), &crate::SenderStart::default());
        let insight = policy.insight(flow.state_bytes()).unwrap();
        assert_eq!((insight.doing, insight.queue_us), (Doing::Start, Some(0)));
    }
}
