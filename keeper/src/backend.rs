// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How policies reach connections.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// How policies reach connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Backend {
    /// eBPF programs.
    #[default]
    Kernel,
    /// From outside, by copies of sockets.
    User,
}

impl fmt::Display for Backend {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Kernel => "kernel",
            Self::User => "user",
        })
    }
}

impl FromStr for Backend {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> Result<Self, anyhow::Error> {
        match text {
            "kernel" => Ok(Self::Kernel),
            "user" => Ok(Self::User),
            _ => anyhow::bail!("no backend is called '{text}'; there are: kernel, user"),
        }
    }
}
