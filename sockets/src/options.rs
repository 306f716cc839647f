// SPDX-License-Identifier: Apache-2.0 OR MIT
//! How a governor acts, and on which connections.

use std::net::IpAddr;

use ebb_algorithms::Policy;

use crate::hold::Note;

/// Own and peer's address and port, and the number of the network namespace.
pub type Ends = ((IpAddr, u16), (IpAddr, u16), u64);

/// Tells whether a connection is to be governed.
pub type Filter = Box<dyn Fn(&Ends) -> bool + Send>;

/// Hears what a governor holds, each time before it does it.
pub type Journal = Box<dyn FnMut(Note) + Send>;

/// How a governor acts.
#[derive(Default)]
pub struct Options {
    /// The law for what arrives; none: it is left alone.
    pub download: Option<Policy>,
    /// The law for what is sent; none: it is left alone.
    pub upload: Option<Policy>,
    /// Which connections; none: all.
    pub filter: Option<Filter>,
    /// What is sent under a law is not marked as Lower Effort (RFC 8622).
    pub keeps_code_point: bool,
    /// Who is told, so that limits can be lifted should the governor be killed.
    pub journal: Option<Journal>,
    /// Connections within this machine, too: for tests and benchmarks, since there is nobody
    /// to yield to.
    pub includes_loopback: bool,
}

impl std::fmt::Debug for Options {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            download, upload, ..
        } = self;
        write!(formatter, "Options({download:?}, {upload:?})")
    }
}
