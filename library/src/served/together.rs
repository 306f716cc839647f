// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Those that are given together, all sockets of this process: the service holds them together, too,
//! under one policy and with one budget.

use std::collections::HashSet;
use std::ffi::OsString;
use std::iter;
use std::mem;
use std::os::fd::RawFd;
use std::time::{Duration, Instant};

use super::{
    MOST_MISSES, REST, Served, Stand, change_leaving, congestion_control, leaving, lock, take_back,
};
use crate::service::{self, Order, Wish};
use crate::worker;

/// More are named no sooner: a user may ask the service fifty times a second.
const MORE_AFTER: Duration = Duration::from_millis(250);
/// So many at once, which is a short message.
const MOST_AT_ONCE: usize = 256;
/// The service holds no more of one process.
const MOST_HELD: usize = 4_096;

#[derive(Default)]
pub(super) struct Together {
    /// How they are to be held; none: they are not wished.
    order: Option<Order>,
    pub(super) queue: Vec<Wish>,
    /// By this they are asked for.
    pub(super) id: Option<String>,
    misses: u32,
    /// How often it was changed before whether they are wished.
    turn: u64,
    /// Not to be among them, should a program that this one was executed over have named them.
    unknown: HashSet<u64>,
    /// No more are named before.
    due: Option<Instant>,
}

impl Together {
    pub(super) fn is_held(&self) -> bool {
        self.id.is_some()
    }

    pub(super) fn is_wished(&self) -> bool {
        self.order.is_some()
    }

    pub(super) fn is_wished_so(&self, order: Order) -> bool {
        self.order == Some(order)
    }
}

/// How the service is to hold all sockets together from now on; none: it is to let them go.
pub(crate) fn wish_all(order: Option<Order>) {
    if service::place().is_none() {
        return;
    }
    lock().get_or_insert_default();
    change_leaving(|served| {
        if served.together.order == order {
            return;
        }
        for wish in mem::take(&mut served.together.queue) {
            served.sockets.remove(&wish.cookie);
        }
        if let Some(id) = served.together.id.take() {
            served.let_whole_go(&id);
        }
        served.together = Together {
            order,
            turn: served.together.turn + 1,
            ..Together::default()
        };
    });
    if order.is_some() {
        worker::wake();
    }
}

/// Whether more sockets may be named; it is not asked again for a while.
pub(crate) fn wants_more() -> bool {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return false;
    };
    let together = &mut served.together;
    let now = Instant::now();
    let is_due = together.order.is_some() && together.due.is_none_or(|due| now >= due);
    if is_due {
        together.due = Some(now + MORE_AFTER);
    }
    is_due
}

/// These are wished, those of them that are not yet: descriptor and number.
pub(crate) fn wish_more(sockets: Vec<(RawFd, u64)>) {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return;
    };
    let Some(order) = served.together.order else {
        return;
    };
    let is_known =
        |cookie: &u64| served.sockets.contains_key(cookie) || served.leaving.has(*cookie);
    let is_new = |(_, cookie): &(RawFd, u64)| !is_known(cookie);
    let new: Vec<(RawFd, u64)> = sockets.into_iter().filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    served.forget_closed();
    for (descriptor, cookie) in new {
        served.together.unknown.remove(&cookie);
        served.sockets.insert(cookie, (descriptor, Stand::Queued));
        served.together.queue.push(Wish {
            descriptor,
            cookie,
            order,
        });
    }
}

/// Asks for what is wished, some at a time.
pub(super) fn ask() {
    while let Some(asking) = next() {
        let wishes = &asking.wishes;
        let own: Vec<_> = wishes.iter().map(congestion_control).collect();
        let added = asking.id.filter(|id| service::add(id, wishes).is_ok());
        // What was held may be held no more, as by a service that has been started anew.
        let asked = match added {
            Some(id) => Ok(id),
            None => begin(wishes),
        };
        if let Err(error) = &asked {
            tracing::debug!("the service holds no sockets together: {error}");
        }
        if let Some(served) = lock().as_mut() {
            match asked {
                Ok(id) => served.note_those_together(&id, asking.turn, wishes.iter().zip(own)),
                Err(_) => served.let_those_together_rest(wishes, asking.turn),
            }
        }
        leaving::tell();
    }
}

struct Asking {
    wishes: Vec<Wish>,
    id: Option<String>,
    turn: u64,
}

fn next() -> Option<Asking> {
    let mut served = lock();
    let served = served.as_mut()?;
    if !served.has_wishes_together() {
        return None;
    }
    let queue = &mut served.together.queue;
    let wishes = queue.split_off(queue.len().saturating_sub(MOST_AT_ONCE));
    for wish in &wishes {
        if let Some((_, stand)) = served.sockets.get_mut(&wish.cookie) {
            *stand = Stand::Asking { single: None };
        }
    }
    let (id, turn) = (served.together.id.clone(), served.together.turn);
    Some(Asking { wishes, id, turn })
}

fn begin(wishes: &[Wish]) -> std::io::Result<String> {
    let id = service::hold_together(wishes[0].order)?;
    let added = service::add(&id, wishes);
    // What is held so has nothing yet that is known here, or may have it by now.
    added
        .inspect_err(|_| {
            if let Some(served) = lock().as_mut() {
                served.leaving.add_whole(&id, iter::empty());
            }
        })
        .map(|()| id)
}

impl Served {
    /// Whether more can be named: where all go, others are held together after that.
    pub(super) fn has_wishes_together(&self) -> bool {
        !self.together.queue.is_empty() && !self.leaving.has_whole()
    }

    /// It is not known of here, and may be among those that are held together.
    pub(super) fn let_unknown_go(&mut self, cookie: u64) {
        let unknown = &mut self.together.unknown;
        if self.together.id.is_some() {
            self.leaving.add_unknown(cookie, MOST_HELD);
        } else if self.together.order.is_some() {
            // Those that were noted long ago are closed by now.
            if unknown.len() >= MOST_HELD {
                unknown.clear();
            }
            unknown.insert(cookie);
        }
    }

    /// Those that are held by this are not wished together any more.
    fn let_whole_go(&mut self, id: &str) {
        let is_one = |_: &u64, (_, stand): &mut (RawFd, Stand)| matches!(stand, Stand::Together(_));
        let with_it = self.sockets.extract_if(is_one);
        let with_it = with_it.map(|(cookie, (descriptor, stand))| match stand {
            Stand::Together(own) => (cookie, descriptor, own),
            _ => (cookie, descriptor, None),
        });
        self.leaving.add_whole(id, with_it);
    }

    /// They are held by this; some, or all, may not be wished any more.
    fn note_those_together<'a>(
        &mut self,
        id: &str,
        turn: u64,
        held: impl Iterator<Item = (&'a Wish, Option<OsString>)>,
    ) {
        let is_wished = turn == self.together.turn;
        let mut unwished = Vec::new();
        for (wish, own) in held {
            let is_one_wished = self.has_answer(wish);
            match (is_wished, is_one_wished) {
                (true, true) => {
                    let stand = (wish.descriptor, Stand::Together(own));
                    self.sockets.insert(wish.cookie, stand);
                }
                (true, false) => {
                    let known = (wish.descriptor, own);
                    self.leaving.add_one_of_many(wish.cookie, known);
                }
                (false, _) => unwished.push((wish.cookie, wish.descriptor, own)),
            }
        }
        if !is_wished {
            return self.leaving.add_whole(id, unwished.into_iter());
        }
        self.together.id = Some(id.to_owned());
        for cookie in mem::take(&mut self.together.unknown) {
            // One that is held by itself meanwhile is not among them.
            let is_single = matches!(self.sockets.get(&cookie), Some((_, Stand::Held(_))));
            if !is_single && !self.leaving.has(cookie) {
                self.leaving.add_one_of_many(cookie, (-1, None));
            }
        }
    }

    fn let_those_together_rest(&mut self, asked: &[Wish], turn: u64) {
        let is_held = turn == self.together.turn && self.together.is_held();
        for wish in asked {
            // It may be added yet, by a service that has not answered.
            if !self.has_answer(wish) && is_held {
                let known = (wish.descriptor, None);
                self.leaving.add_one_of_many(wish.cookie, known);
            }
        }
        if turn != self.together.turn {
            return;
        }
        for wish in mem::take(&mut self.together.queue) {
            self.sockets.remove(&wish.cookie);
        }
        self.together.due = Some(Instant::now() + REST);
    }

    /// Takes them back if what held them is no more among what is held.
    pub(super) fn look_at_those_together(&mut self, held: &[String]) {
        let together = &mut self.together;
        let Some(id) = &together.id else {
            return;
        };
        together.misses = match held.contains(id) {
            true => 0,
            false => together.misses + 1,
        };
        if together.misses < MOST_MISSES {
            return;
        }
        (together.id, together.misses) = (None, 0);
        self.forget_closed();
        self.sockets.retain(|cookie, (descriptor, stand)| {
            let Stand::Together(own) = stand else {
                return true;
            };
            take_back(*cookie, *descriptor, own.as_ref());
            false
        });
    }
}
