// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Whom connections were with, as the programs noted it.

use crate::layout::{Constant, Peer};
use crate::sys;
use std::os::fd::BorrowedFd;

const MAX_PEERS: usize = Constant::EBB_MAX_PEERS.0 as usize;

type Key = [u8; size_of::<Peer>()];

/// Those of all rules together.
pub(crate) fn all(map: BorrowedFd<'_>) -> Vec<Peer> {
    keys(map).into_iter().map(peer_of).collect()
}

/// Those of a rule are gone.
pub(crate) fn forget(map: BorrowedFd<'_>, rule: u32) {
    for key in keys(map) {
        if peer_of(key).rule == rule {
            // Gone already is as good.
            let _ = sys::delete(map, &key);
        }
    }
}

fn keys(map: BorrowedFd<'_>) -> Vec<Key> {
    let mut keys: Vec<Key> = Vec::new();
    let mut next = [0; size_of::<Peer>()];
    // A connection that begins meanwhile may send the walk back to the start.
    while keys.len() < MAX_PEERS
        && sys::next_key(map, keys.last().map(<[u8; _]>::as_slice), &mut next).is_some()
    {
        keys.push(next);
    }
    keys
}

fn peer_of(key: Key) -> Peer {
    // SAFETY: the bytes are as many as the struct has; any are valid integers.
    unsafe { key.as_ptr().cast::<Peer>().read_unaligned() }
}
