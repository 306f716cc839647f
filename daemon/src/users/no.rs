// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Why something is not done.

use ebb_keeper::describe;
use ebb_keeper::kernel::KernelError;

/// In words; that something acts already is told apart.
#[derive(Debug)]
pub(crate) enum No {
    Already(String),
    Refused(String),
}

impl From<String> for No {
    fn from(cause: String) -> Self {
        Self::Refused(cause)
    }
}

impl From<ebb_keeper::Error> for No {
    fn from(error: ebb_keeper::Error) -> Self {
        Self::Refused(describe(&error))
    }
}

impl From<crate::Error> for No {
    fn from(error: crate::Error) -> Self {
        Self::Refused(describe(&error))
    }
}

impl From<KernelError> for No {
    fn from(error: KernelError) -> Self {
        Self::Refused(error.to_string())
    }
}
