// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How policies reach connections.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};

/// How policies reach connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// eBPF programs.
    #[default]
    Kernel,
    /// From outside, by copies of sockets.
    User,
    /// Packets that pass through this machine.
    Gateway,
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Kernel => "kernel",
            Self::User => "user",
            Self::Gateway => "gateway",
        })
    }
}

impl FromStr for Backend {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "kernel" => Ok(Self::Kernel),
            "user" => Ok(Self::User),
            _ => Err(Error::NoBackend {
                name: text.to_owned(),
            }),
        }
    }
}
