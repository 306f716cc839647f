// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why a policy cannot be had here.

use ebb_algorithms::PolicyError;

/// What is wrong with a policy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// It cannot be read, or is for the other end.
    #[error(transparent)]
    Policy(#[from] PolicyError),
    /// The law sets its own pace, and quinn takes none.
    #[error(
        "'{0}' sets its own pace, and quinn paces by the window alone: take ledbat++, tcp-lp or \
         ebb-sender"
    )]
    SetsPace(&'static str),
    /// A law of the receiving end judges every packet.
    #[error("'{0}' judges the timestamps of every segment, and QUIC has none: take sampled")]
    JudgesSegments(&'static str),
}
