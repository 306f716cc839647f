// SPDX-License-Identifier: Apache-2.0 OR MIT

/// What a caller can do wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SharingError {
    /// There must be one measured rate for each flow.
    #[error("{given} rates for {flows} flows: give one for each, in the order of the flows")]
    Rates {
        /// Flows that share.
        flows: usize,
        /// Rates that were given.
        given: usize,
    },
    /// There must be one count, or one wish, for each member.
    #[error("{given} given for {members} members: give one for each, in their order")]
    Members {
        /// Members of the controller.
        members: usize,
        /// What was given.
        given: usize,
    },
    /// Targets are set through the law `rate` alone.
    #[error("{policy}: flows that share are held by the law 'rate'; write rate, or rate:key=value")]
    NotRate {
        /// The policy.
        policy: String,
    },
}
