// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What this kernel and this machine offer, with a remedy for each thing missing.

use crate::error::Result;

/// Refuses by the name of the first thing missing.
pub(crate) fn require() -> Result<()> {
    Ok(())
}
