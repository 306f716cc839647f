// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sockets that are claimed one by one.

use super::{Claim, Claims, bytes_of};
use crate::error::Result;
use crate::sys;
use crate::tables::table;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

impl Claims {
    /// Makes one socket the claim's, whoever made it and in whatever process it is; only a socket of
    /// the claim's user comes under it. Answers whether it is: the claim that came first keeps it.
    ///
    /// *Errors*: [`Error::Program`]: it is no socket, or there is no memory for it.
    pub fn add_socket(&self, claim: &Claim, socket: BorrowedFd<'_>) -> Result<bool> {
        let (map, key) = (
            self.maps.claimed_sockets.as_fd(),
            socket.as_raw_fd().to_ne_bytes(),
        );
        let before = self.lookup(map, &key);
        if before.is_some_and(|before| self.standing(&before).is_some()) {
            return Ok(false);
        }
        sys::update(map, &key, bytes_of(&self.noted(claim, 0)))
            .map_err(|source| table("ebb_claimed_sk", source))?;
        Ok(true)
    }

    /// Takes one socket off the claim, if it is the claim's. Its connection is for the caller to let
    /// go ([`Classifier::leave_others`]).
    ///
    /// *Errors*: [`Error::Program`]: it is no socket.
    pub fn remove_socket(&self, claim: &Claim, socket: BorrowedFd<'_>) -> Result<()> {
        let map = self.maps.claimed_sockets.as_fd();
        let key = socket.as_raw_fd().to_ne_bytes();
        match self.lookup(map, &key) {
            Some(noted) if noted.turn == claim.turn => {
                sys::delete(map, &key).map_err(|source| table("ebb_claimed_sk", source))
            }
            _ => Ok(()),
        }
    }
}
