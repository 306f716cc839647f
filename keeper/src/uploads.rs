// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is to become of what a command sends.

use std::fmt;
use std::str::FromStr;

use ebb_algorithms::{Policy, PolicyError, Side};

/// The word for [`UploadPolicy::Untouched`].
const UNTOUCHED: &str = "none";

/// The choice of `--upload-policy`.
#[derive(Debug, Clone, PartialEq)]
pub enum UploadPolicy {
    /// What is sent is left alone.
    Untouched,
    /// What is sent yields by a sender law.
    Law(Policy),
}

impl UploadPolicy {
    /// The policy, if there is to be one.
    pub fn policy(&self) -> Option<&Policy> {
        match self {
            Self::Untouched => None,
            Self::Law(policy) => Some(policy),
        }
    }
}

impl Default for UploadPolicy {
    fn default() -> Self {
        Self::Law(Policy::default_of(Side::Sender))
    }
}

impl FromStr for UploadPolicy {
    type Err = PolicyError;

    fn from_str(text: &str) -> Result<Self, PolicyError> {
        match text {
            UNTOUCHED => Ok(Self::Untouched),
            text => Policy::sender(text).map(Self::Law),
        }
    }
}

impl fmt::Display for UploadPolicy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Untouched => formatter.write_str(UNTOUCHED),
            Self::Law(policy) => policy.fmt(formatter),
        }
    }
}
