// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Governed connections, as the programs' table has them.

use crate::layout::{HalfHead, Layout, read};
use crate::rule::address;
use std::net::SocketAddr;

/// Which way data goes, as the client sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// To the client.
    Download,
    /// From the client.
    Upload,
}

/// One way of a governed connection.
#[derive(Debug, Clone, PartialEq)]
pub struct Flow {
    /// The moment at which it came under the law, which no other has: nanoseconds of the
    /// monotonic clock.
    pub began_ns: u64,
    /// When something of it passed last.
    pub heard_ns: u64,
    /// Which way.
    pub way: Way,
    /// The client.
    pub client: SocketAddr,
    /// The other end.
    pub remote: SocketAddr,
    /// The place of its rule.
    pub rule: usize,
    /// Payload since then.
    pub payload_bytes: u64,
    /// Acknowledgements that passed, and those that were rewritten.
    pub windows: u64,
    /// Of these, those whose window was made smaller.
    pub rewritten: u64,
    /// The window that passed last.
    pub window_bytes: u32,
    /// The receiver's own.
    pub own_bytes: u32,
    /// Round trip from here to the remote end and back, if it is known.
    pub rtt_us: Option<u32>,
    /// Whether an end has said that it sends nothing more.
    pub is_ending: bool,
    /// The law's state.
    pub state: Vec<u8>,
}

impl Flow {
    /// Of what stands in the table, with the place of the rule that has a bundle; none if that is no
    /// such thing, or under a rule that is none any more.
    pub(crate) fn read(value: &[u8], rule_of: impl Fn(u32) -> Option<usize>) -> Option<Self> {
        let head = read::<HalfHead>(value)?;
        let ends = &head.ends;
        Some(Self {
            began_ns: head.began_ns,
            heard_ns: head.heard_ns,
            way: match head.is_upload {
                0 => Way::Download,
                _ => Way::Upload,
            },
            client: SocketAddr::new(address(ends.client), (ends.ports >> 16) as u16),
            remote: SocketAddr::new(address(ends.remote), ends.ports as u16),
            rule: rule_of(head.bundle)?,
            payload_bytes: head.payload_bytes,
            windows: head.windows,
            rewritten: head.rewritten,
            window_bytes: head.window_bytes,
            own_bytes: head.own_bytes,
            rtt_us: (head.rtt_us != 0).then_some(head.rtt_us),
            is_ending: head.is_ending != 0,
            state: value.get(Layout::EBB_LAW_OFFSET.0 as usize..)?.to_vec(),
        })
    }
}
