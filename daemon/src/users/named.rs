// SPDX-License-Identifier: Apache-2.0 OR MIT
//! The sockets of a process that it names, one after the other, and what they have together.

use std::collections::{HashMap, HashSet};
use std::os::fd::{AsFd, RawFd};
use std::time::{Duration, Instant};

use ebb_host::{ProcessHandle, sockets_in};
use ebb_keeper::kernel::claims::Claims;
use ebb_keeper::kernel::rules::Networks;
use ebb_keeper::protocol::{Reply, ServiceReply, Socket};
use ebb_keeper::{CopiedSocket, describe};

use super::hold::{Hold, On};
use super::no::No;
use super::own::{OwnProcess, check_socket, copy_of};
use super::requests::{Asking, has_its_sockets, may_look, nothing};
use super::{Keeping, LOOK_EVERY, Surroundings};

/// One process has no more of them held; all others are its own affair.
const MOST_SOCKETS: usize = 4_096;
/// A look that took long is not repeated before so many times that long.
const LOOK_SHARE: u32 = 100;
/// One that names no socket for so long is let go: what named some may have been executed over.
const IDLE_FOR: Duration = Duration::from_secs(60);

/// Those that are held, with the process that names them.
#[derive(Debug)]
pub(crate) struct NamedSockets {
    process: OwnProcess,
    /// By number (SO_COOKIE).
    sockets: HashMap<u64, RawFd>,
    /// The last that had any, or now.
    used: Instant,
    look_due: Instant,
}

impl NamedSockets {
    /// None yet.
    pub(super) fn of(process: OwnProcess) -> Self {
        let now = Instant::now();
        Self {
            process,
            sockets: HashMap::new(),
            used: now,
            look_due: now,
        }
    }

    /// The process that names them.
    pub(crate) fn owner(&self) -> &OwnProcess {
        &self.process
    }

    /// The same, to wait for its end.
    pub(crate) fn process(&self) -> &ProcessHandle {
        &self.process.handle
    }

    /// Whether nobody will miss them.
    pub(crate) fn are_idle(&self) -> bool {
        self.sockets.is_empty() && self.used.elapsed() >= IDLE_FOR
    }

    /// A copy of one of them.
    fn copy(&self, cookie: u64) -> Option<CopiedSocket> {
        let descriptor = *self.sockets.get(&cookie)?;
        copy_of(self.process(), Socket { descriptor, cookie })
    }

    /// Those that the process has not by the numbers that are known.
    fn missing(&self) -> HashSet<u64> {
        let cookies = self.sockets.keys().copied();
        cookies.filter(|it| self.copy(*it).is_none()).collect()
    }

    /// Looks for some of them by other numbers; leaves those that are nowhere in the process.
    fn find(&mut self, missing: &mut HashSet<u64>) {
        for (descriptor, _) in sockets_in(self.process.pid).unwrap_or_default() {
            if missing.is_empty() {
                return;
            }
            let copy = CopiedSocket::from_process(self.process.handle.as_fd(), descriptor);
            if let Ok(cookie) = copy.and_then(|copy| copy.cookie())
                && missing.remove(&cookie)
            {
                self.sockets.insert(cookie, descriptor);
            }
        }
    }
}

impl Keeping {
    /// What is held for the sockets that who asks names, if there is anything.
    pub(super) fn named_by(&self, asking: &Asking<'_>) -> Option<&Hold> {
        let mut holds = self.holds.values().filter(|hold| hold.is_in_force());
        holds.find(|hold| matches!(hold.on, On::Sockets(_)) && has_its_sockets(hold, *asking))
    }

    /// More sockets of a process are held. Those that it has not any more are passed over, and those
    /// that cannot be: of another user's, not TCP, under another policy, or too many.
    pub(super) fn add_sockets(
        &mut self,
        id: &str,
        named: &[Socket],
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> Result<ServiceReply, No> {
        let (claims, hold) = self.named(id, asking)?;
        let (Some(claim), On::Sockets(sockets)) = (&hold.claim, &mut hold.on) else {
            return Err(nothing(id));
        };
        let (mut added, mut networks) = (Vec::new(), Networks::default());
        for socket in named {
            let has_room = sockets.sockets.len() < MOST_SOCKETS;
            if !has_room || sockets.sockets.contains_key(&socket.cookie) {
                continue;
            }
            let copy = copy_of(sockets.process(), *socket);
            let Some(copy) = copy.filter(|copy| check_socket(copy, hold.user).is_ok()) else {
                continue;
            };
            match claims.add_socket(claim, copy.as_fd()) {
                Ok(true) => {
                    sockets.sockets.insert(socket.cookie, socket.descriptor);
                    added.push(socket.cookie);
                    networks.add(Some(copy.as_fd()));
                }
                Ok(false) => {}
                // All or none: who asks knows what is held.
                Err(error) => {
                    take_off(claims, hold, &added, &mut networks);
                    return Err(error.into());
                }
            }
        }
        sockets.used = Instant::now();
        self.take_over(&networks, around);
        self.look.forget();
        Ok(ServiceReply::Answer(Reply::Done))
    }

    /// Sockets of a process are held no more: when this is answered nothing limits them.
    pub(super) fn drop_sockets(
        &mut self,
        id: &str,
        cookies: &[u64],
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> Result<ServiceReply, No> {
        let mut networks = Networks::default();
        let (claims, hold) = self.named(id, asking)?;
        take_off(claims, hold, cookies, &mut networks);
        self.leave_others(networks, around)
    }

    /// Nothing limits what has been taken off when this is answered. If it fails who asks again finds
    /// nothing there that could say where to walk.
    fn leave_others(
        &mut self,
        mut networks: Networks,
        around: &Surroundings<'_>,
    ) -> Result<ServiceReply, No> {
        if self.is_walk_due {
            networks = Networks::any();
        }
        self.is_walk_due = true;
        around.classifier.leave_others_in(&networks)?;
        self.is_walk_due = false;
        self.look.forget();
        Ok(ServiceReply::Answer(Reply::Done))
    }

    /// What is held for sockets goes: by its IDs, and some of those that who asks names. It is one
    /// walk over the connections, however many go. What is not there, or not the asker's, is passed
    /// over: who asks may not have heard that it has gone.
    pub(super) fn let_go(
        &mut self,
        ids: &[String],
        cookies: &[u64],
        asking: Asking<'_>,
        around: &Surroundings<'_>,
    ) -> Result<ServiceReply, No> {
        let mut networks = Networks::default();
        for id in ids {
            let hold = self.holds.get(id).filter(|it| may_look(it, asking));
            match hold.map(|hold| &hold.on) {
                Some(On::Socket(socket)) => {
                    networks.add(socket.copy().as_ref().map(AsFd::as_fd));
                }
                Some(On::Sockets(_)) => networks = Networks::any(),
                _ => continue,
            }
            // Not by a walk for each of them.
            self.remove(id, true);
        }
        let named = self.named_by(&asking).map(|hold| hold.id.clone());
        if let Some(hold) = named.and_then(|id| self.holds.get_mut(&id)) {
            take_off(&self.claims, hold, cookies, &mut networks);
        }
        self.leave_others(networks, around)
    }

    /// What is held for the sockets that who asks names.
    fn named(&mut self, id: &str, asking: Asking<'_>) -> Result<(&Claims, &mut Hold), No> {
        let hold = self.holds.get_mut(id).filter(|hold| hold.is_in_force());
        let is_named = |hold: &&mut Hold| matches!(hold.on, On::Sockets(_));
        let hold = hold.filter(|hold| is_named(hold) && has_its_sockets(hold, asking));
        let hold = hold.ok_or_else(|| nothing(id))?;
        Ok((&self.claims, hold))
    }

    /// Whoever else has a socket that its process has closed is to have it unlimited.
    pub(super) fn free_what_is_closed(&mut self, around: &Surroundings<'_>) {
        for hold in self.holds.values_mut() {
            let On::Sockets(sockets) = &mut hold.on else {
                continue;
            };
            let began = Instant::now();
            if began < sockets.look_due {
                continue;
            }
            if !sockets.sockets.is_empty() {
                sockets.used = began;
            }
            let mut gone = sockets.missing();
            // Most are closed for good: nobody has to look for those.
            let number = hold.claim.as_ref().map(|claim| claim.number());
            let flows = match (gone.is_empty(), number) {
                (false, Some(number)) => self.look.at(around.classifier, number),
                _ => Vec::new(),
            };
            let mut left: HashSet<u64> = flows.iter().map(|flow| flow.cookie).collect();
            left.retain(|cookie| gone.contains(cookie));
            if !left.is_empty() {
                let before = left.clone();
                sockets.find(&mut left);
                gone.retain(|cookie| !before.contains(cookie) || left.contains(cookie));
            }
            sockets.sockets.retain(|cookie, _| !gone.contains(cookie));
            sockets.look_due = Instant::now() + (began.elapsed() * LOOK_SHARE).max(LOOK_EVERY);
            free(hold, left);
        }
    }
}

/// Their connections are limited no more, whoever has them.
fn free(hold: &mut Hold, cookies: HashSet<u64>) {
    if cookies.is_empty() {
        return;
    }
    let cookies: Vec<u64> = cookies.into_iter().collect();
    if let Err(error) = hold.held.set_free(&cookies) {
        tracing::debug!("{}: {}", hold.id, describe(&error));
    }
}

/// They belong to it no more; their connections, in these networks, are let go next.
fn take_off(claims: &Claims, hold: &mut Hold, cookies: &[u64], networks: &mut Networks) {
    let (Some(claim), On::Sockets(sockets)) = (&hold.claim, &mut hold.on) else {
        return;
    };
    let is_missing = |it: &u64| sockets.copy(*it).is_none();
    let mut missing: HashSet<u64> = cookies.iter().copied().filter(is_missing).collect();
    missing.retain(|cookie| sockets.sockets.contains_key(cookie));
    if !missing.is_empty() {
        sockets.find(&mut missing);
    }
    for cookie in cookies {
        if let Some(copy) = sockets.copy(*cookie) {
            networks.add(Some(copy.as_fd()));
            if let Err(error) = claims.remove_socket(claim, copy.as_fd()) {
                tracing::warn!("{}: {error}", hold.id);
                missing.insert(*cookie);
            }
        }
        sockets.sockets.remove(cookie);
    }
    free(hold, missing);
}
