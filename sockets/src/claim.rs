// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One Ebb on each connection: who governs it says so to all others on this machine.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::socket::CopiedSocket;

/// What the policies of the kernel backend have as congestion controls: `ebb1_tcp_lp`.
const KERNEL_BACKEND: &str = "ebb";

/// A name that only one process of this network namespace can have, and that goes with it.
#[derive(Debug)]
pub(crate) struct Claim {
    _name: Option<UnixDatagram>,
}

impl Claim {
    /// Says that a connection is ours; none if it is another's.
    pub(crate) fn of(cookie: u64) -> Option<Self> {
        let name = format!("ebb-connection-{cookie}");
        let address = SocketAddr::from_abstract_name(name).ok()?;
        match UnixDatagram::bind_addr(&address) {
            Ok(name) => Some(Self { _name: Some(name) }),
            Err(error) if error.kind() == std::io::ErrorKind::AddrInUse => None,
            // Out of descriptors, perhaps: the connection is to yield all the same.
            Err(_) => Some(Self { _name: None }),
        }
    }
}

/// Whether the kernel backend governs what a connection sends.
pub(crate) fn is_of_kernel_backend(socket: &CopiedSocket) -> bool {
    socket
        .congestion_control()
        .is_ok_and(|name| is_policy(&name))
}

fn is_policy(name: &str) -> bool {
    let number = name.strip_prefix(KERNEL_BACKEND);
    number.is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_digit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_connection_has_one_claim_at_a_time() {
        let cookie = u64::MAX - u64::from(std::process::id());
        let first = Claim::of(cookie);
        assert!(first.is_some());
        assert!(Claim::of(cookie).is_none());
        drop(first);
        assert!(Claim::of(cookie).is_some());
    }

    #[test]
    fn laws_that_anybody_may_select_are_no_policies() {
        assert!(is_policy("ebb1_tcp_lp") && is_policy("ebb12_ledbatpp"));
        assert!(!is_policy("ebb_reno") && !is_policy("cubic") && !is_policy("ebb"));
    }
}
