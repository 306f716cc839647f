// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Those that are given together, all sockets of this process: the service holds them together, too,
//! under one policy and with one budget.

use std::mem;
use std::os::fd::RawFd;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use super::{ANSWERED, MOST_MISSES, REST, Served, Stand, congestion_control, lock, take_back};
use crate::service::{self, Wish};
use crate::worker;

/// More are named no sooner: a user may ask the service fifty times a second.
const MORE_AFTER: Duration = Duration::from_millis(250);
/// So many at once, which is a short message.
const MOST_AT_ONCE: usize = 256;

#[derive(Default)]
pub(super) struct Together {
    /// Whether they keep their code points; none: they are not wished.
    keeps_code_point: Option<bool>,
    pub(super) queue: Vec<Wish>,
    /// By this they are asked for.
    pub(super) id: Option<String>,
    misses: u32,
    /// The service has not answered yet.
    is_asking: bool,
    /// Somebody changes whether they are wished.
    is_changing: bool,
    /// No more are named before.
    due: Option<Instant>,
}

impl Together {
    pub(super) fn is_held(&self) -> bool {
        self.id.is_some()
    }
}

/// Whether the service is to hold all sockets together from now on, and whether these keep their
/// code points; none: when this returns it does not.
pub(crate) fn wish_all(keeps_code_point: Option<bool>) {
    if service::place().is_none() {
        return;
    }
    let is_changing =
        |it: &mut Option<Served>| it.as_ref().is_some_and(|it| it.together.is_changing);
    let waited = ANSWERED.wait_while(lock(), is_changing);
    let mut locked = waited.unwrap_or_else(PoisonError::into_inner);
    let served = locked.get_or_insert_default();
    if served.together.keeps_code_point == keeps_code_point {
        return;
    }
    served.together.is_changing = true;
    served.together.keeps_code_point = None;
    for wish in mem::take(&mut served.together.queue) {
        served.sockets.remove(&wish.cookie);
    }
    // It is answered within a second or two, whatever happens.
    let is_asking = |it: &mut Option<Served>| it.as_ref().is_some_and(|it| it.together.is_asking);
    let waited = ANSWERED.wait_while(locked, is_asking);
    locked = waited.unwrap_or_else(PoisonError::into_inner);
    let served = locked.get_or_insert_default();
    let sockets = &mut served.sockets;
    sockets.retain(|_, (_, stand)| !matches!(stand, Stand::Together(_)));
    let id = served.together.id.take();
    drop(locked);
    id.iter().for_each(|id| service::let_go(id));
    begin_anew(keeps_code_point);
    if keeps_code_point.is_some() {
        worker::wake();
    }
}

fn begin_anew(keeps_code_point: Option<bool>) {
    lock().get_or_insert_default().together = Together {
        keeps_code_point,
        ..Together::default()
    };
    ANSWERED.notify_all();
}

/// Whether more sockets may be named; it is not asked again for a while.
pub(crate) fn wants_more() -> bool {
    let mut served = lock();
    let Some(served) = served.as_mut() else {
        return false;
    };
    let together = &mut served.together;
    let now = Instant::now();
    let is_due = together.keeps_code_point.is_some() && together.due.is_none_or(|due| now >= due);
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
    let Some(keeps_code_point) = served.together.keeps_code_point else {
        return;
    };
    let is_new = |(_, cookie): &(RawFd, u64)| !served.sockets.contains_key(cookie);
    let new: Vec<(RawFd, u64)> = sockets.into_iter().filter(is_new).collect();
    if new.is_empty() {
        return;
    }
    served.forget_closed();
    for (descriptor, cookie) in new {
        served.sockets.insert(cookie, (descriptor, Stand::Queued));
        served.together.queue.push(Wish {
            descriptor,
            cookie,
            keeps_code_point,
        });
    }
}

/// Asks for what is wished, some at a time.
pub(super) fn ask() {
    while let Some((wishes, id)) = next() {
        let own: Vec<_> = wishes.iter().map(congestion_control).collect();
        let added = id.filter(|id| service::add(id, &wishes).is_ok());
        // What was held may be held no more, as by a service that has been started anew.
        let asked = match added {
            Some(id) => Ok(id),
            None => begin(&wishes),
        };
        if let Err(error) = &asked {
            tracing::debug!("the service holds no sockets together: {error}");
        }
        let mut served = lock();
        if let Some(served) = served.as_mut() {
            for (wish, own) in wishes.iter().zip(own) {
                match &asked {
                    Ok(_) => {
                        let stand = (wish.descriptor, Stand::Together(own));
                        served.sockets.insert(wish.cookie, stand);
                    }
                    Err(_) => drop(served.sockets.remove(&wish.cookie)),
                }
            }
            served.together.is_asking = false;
            match asked {
                Ok(id) => served.together.id = Some(id),
                Err(_) => served.let_those_together_rest(),
            }
        }
        ANSWERED.notify_all();
    }
}

fn next() -> Option<(Vec<Wish>, Option<String>)> {
    let mut served = lock();
    let served = served.as_mut()?;
    let queue = &mut served.together.queue;
    let wishes = queue.split_off(queue.len().saturating_sub(MOST_AT_ONCE));
    for wish in &wishes {
        if let Some((_, stand)) = served.sockets.get_mut(&wish.cookie) {
            *stand = Stand::Asking;
        }
    }
    served.together.is_asking = !wishes.is_empty();
    (!wishes.is_empty()).then(|| (wishes, served.together.id.clone()))
}

fn begin(wishes: &[Wish]) -> std::io::Result<String> {
    let id = service::hold_together(wishes[0].keeps_code_point)?;
    let added = service::add(&id, wishes);
    added.inspect_err(|_| service::let_go(&id)).map(|()| id)
}

impl Served {
    fn let_those_together_rest(&mut self) {
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
