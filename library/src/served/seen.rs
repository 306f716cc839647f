// SPDX-License-Identifier: Apache-2.0 OR MIT
//! What the service tells of sockets that it governs: asked for when somebody wants to know, of many
//! at once, for a user may ask the service fifty times a second.

use std::collections::HashMap;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::sync::{Condvar, PoisonError};
use std::time::{Duration, Instant};

use ebb_sockets::cookie_of;

use super::{Served, Stand, lock};
use crate::service::{self, ToldFlow};
use crate::state::Flow;

/// What was told serves for so long.
const SERVES_FOR: Duration = Duration::from_millis(250);
/// Whoever wants to know waits no longer than that; it is not asked again for a while then.
const WITHIN: Duration = Duration::from_millis(200);
const REST: Duration = Duration::from_secs(2);
/// Who was not asked about for so long is not asked for any more.
const FORGOTTEN_AFTER: Duration = Duration::from_secs(10);
/// So many at once, which is an answer of 200 kB at the most.
const MOST_AT_ONCE: usize = 256;

static ANSWERED: Condvar = Condvar::new();

/// What arrives, and what is sent.
type Flows = [Option<Flow>; 2];

#[derive(Default)]
pub(super) struct Seen {
    /// By cookie.
    told: HashMap<u64, Told>,
    /// Somebody waits for an answer.
    is_asking: bool,
    rests_until: Option<Instant>,
}

struct Told {
    flows: Flows,
    at: Instant,
    wanted: Instant,
}

/// What the service tells of a socket, which is nothing if it is none of this user's, or if there is
/// no service.
pub(crate) fn seen(socket: BorrowedFd<'_>) -> Flows {
    match cookie_of(socket.as_raw_fd()) {
        Ok(cookie) if service::place().is_some() => look(cookie),
        _ => Flows::default(),
    }
}

fn look(cookie: u64) -> Flows {
    let is_asking = |it: &mut Option<Served>| it.as_ref().is_some_and(|it| it.seen.is_asking);
    let waited = ANSWERED.wait_timeout_while(lock(), WITHIN, is_asking);
    let (mut locked, waited) = waited.unwrap_or_else(PoisonError::into_inner);
    let served = locked.get_or_insert_default();
    let now = Instant::now();
    if let Some(flows) = served.seen.told(cookie, now) {
        return flows;
    }
    if waited.timed_out() || served.seen.rests_until.is_some_and(|until| now < until) {
        return Flows::default();
    }
    let cookies = served.worth_asking(cookie);
    served.seen.is_asking = true;
    drop(locked);
    let answered = service::flows_of(&cookies, WITHIN);
    let mut locked = lock();
    let seen = &mut locked.get_or_insert_default().seen;
    seen.is_asking = false;
    ANSWERED.notify_all();
    match answered {
        Ok(flows) => seen.note(&cookies, &flows),
        Err(error) => {
            tracing::debug!("the service does not tell of sockets: {error}");
            seen.rests_until = Some(Instant::now() + REST);
        }
    }
    seen.told(cookie, Instant::now()).unwrap_or_default()
}

impl Seen {
    fn told(&mut self, cookie: u64, now: Instant) -> Option<Flows> {
        let told = self.told.get_mut(&cookie)?;
        told.wanted = now;
        (now.duration_since(told.at) < SERVES_FOR).then(|| told.flows.clone())
    }

    fn note(&mut self, cookies: &[u64], flows: &[ToldFlow]) {
        let now = Instant::now();
        let is_wanted = |told: &Told| now.duration_since(told.wanted) < FORGOTTEN_AFTER;
        self.told.retain(|_, told| is_wanted(told));
        for cookie in cookies {
            let told = self.told.entry(*cookie).or_insert_with(|| Told {
                flows: Flows::default(),
                at: now,
                wanted: now,
            });
            (told.flows, told.at) = (Flows::default(), now);
        }
        for flow in flows {
            if let Some(told) = self.told.get_mut(&flow.cookie) {
                let way = usize::from(flow.direction == "up");
                told.flows[way] = Flow::of_service(flow);
            }
        }
    }
}

impl Served {
    /// This one, and those that are likely to be asked about next.
    fn worth_asking(&self, cookie: u64) -> Vec<u64> {
        let is_held = |stand: &Stand| matches!(stand, Stand::Held(_) | Stand::Together(_));
        let held = self.sockets.iter().filter(|(_, (_, stand))| is_held(stand));
        let held = held.map(|(cookie, _)| *cookie);
        let is_old = |it: &u64| {
            let told = self.seen.told.get(it);
            told.is_none_or(|told| told.at.elapsed() >= SERVES_FOR)
        };
        let others = self.seen.told.keys().copied().chain(held).filter(is_old);
        let mut cookies = vec![cookie];
        cookies.extend(others.filter(|it| *it != cookie).take(MOST_AT_ONCE - 1));
        cookies.sort_unstable();
        cookies.dedup();
        cookies
    }
}
