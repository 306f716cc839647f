// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What is done when a governor has died and nobody knows what it held.

use std::collections::HashSet;

use ebb_host::descendants_of;

use crate::hold::Holds;
use crate::process::sockets_of;
use crate::socket::{CopiedSocket, Kind, NO_CLAMP_BYTES, NO_PACE};

/// Lifts the limits of every TCP connection that descendants of this process have, but of those
/// that are `known`, whose own settings are [given back](Holds::lift) and not lifted; answers how
/// many there were. Needs nothing that a governor knew: whatever it left is lifted.
pub fn lift_limits_of_descendants(known: &Holds) -> usize {
    let mut seen = HashSet::new();
    for pid in descendants_of(std::process::id()) {
        for socket in sockets_of(pid).into_iter().flatten() {
            if let Ok(cookie) = socket.cookie()
                && !known.knows(cookie)
                && !seen.contains(&cookie)
                && lift(&socket)
            {
                seen.insert(cookie);
            }
        }
    }
    seen.len()
}

fn lift(socket: &CopiedSocket) -> bool {
    if socket.kind() != Kind::Tcp || socket.is_loopback() {
        return false;
    }
    // Before it is established a clamp would be taken for the program's own wish.
    let is_open = socket
        .info()
        .is_ok_and(|info| info.receives() || info.sends());
    // A socket that is closed meanwhile needs nothing lifted.
    if is_open {
        let _ = socket.set_window_clamp(NO_CLAMP_BYTES);
        // A governor bounds both, this one first: without it the pace is the program's own.
        if socket.unsent_limit().is_ok_and(|bytes| bytes > 0) {
            let _ = socket.set_max_pace(NO_PACE);
            let _ = socket.set_unsent_limit(0);
        }
        let _ = socket.unmark_lower_effort(0);
    }
    is_open
}
