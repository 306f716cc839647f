// SPDX-License-Identifier: Apache-2.0 OR MIT
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

use ebb_link::Nanos;

/// How much further away a port is than the end of the link: flows of several round trips
/// over one bottleneck.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortDelay {
    /// TCP or UDP port, on either end.
    pub port: u16,
    /// From the server to the client, after the link.
    pub forward: Nanos,
    /// From the client to the server, after the link.
    pub reverse: Nanos,
}

/// What has left the link and is still on its way to ports that are further away.
pub(super) struct Detours<T> {
    delays: Vec<(u16, Nanos)>,
    held: BinaryHeap<Reverse<Held<T>>>,
    /// Packets of one port stay in order.
    count: u64,
}

struct Held<T> {
    due: Nanos,
    number: u64,
    what: T,
}

impl<T> Detours<T> {
    /// Delays of one direction; those of nothing are left out.
    pub(super) fn new(delays: impl Iterator<Item = (u16, Nanos)>) -> Self {
        Self {
            delays: delays.filter(|(_, delay)| *delay > Nanos::ZERO).collect(),
            held: BinaryHeap::new(),
            count: 0,
        }
    }

    /// How much longer a packet with these ports takes, if it does.
    pub(super) fn delay(&self, ports: impl FnOnce() -> Option<[u16; 2]>) -> Option<Nanos> {
        if self.delays.is_empty() {
            return None;
        }
        let ports = ports()?;
        let found = self.delays.iter().find(|(port, _)| ports.contains(port));
        found.map(|(_, delay)| *delay)
    }

    pub(super) fn hold(&mut self, due: Nanos, what: T) {
        let number = self.count;
        self.count += 1;
        self.held.push(Reverse(Held { due, number, what }));
    }

    pub(super) fn next_deadline(&self) -> Option<Nanos> {
        self.held.peek().map(|next| next.0.due)
    }

    /// What has arrived by now, and when it was due.
    pub(super) fn poll(&mut self, now: Nanos) -> Option<(Nanos, T)> {
        if self.next_deadline()? > now {
            return None;
        }
        self.held.pop().map(|next| (next.0.due, next.0.what))
    }
}

impl<T> PartialEq for Held<T> {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl<T> Eq for Held<T> {}

impl<T> PartialOrd for Held<T> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl<T> Ord for Held<T> {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.due, self.number).cmp(&(other.due, other.number))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_packets_back_when_they_are_due_and_in_order() {
        let ms = Nanos::from_millis;
        let mut detours = Detours::new([(7, ms(5)), (8, Nanos::ZERO)].into_iter());
        assert_eq!(detours.delay(|| Some([7, 40_000])), Some(ms(5)));
        assert_eq!(detours.delay(|| Some([40_000, 7])), Some(ms(5)));
        assert_eq!(detours.delay(|| Some([8, 9])), None);
        assert_eq!(detours.delay(|| None), None);

        detours.hold(ms(9), 'b');
        detours.hold(ms(9), 'c');
        detours.hold(ms(6), 'a');
        assert_eq!(detours.next_deadline(), Some(ms(6)));
        assert_eq!(detours.poll(ms(5)), None);
        let arrived: Vec<_> = std::iter::from_fn(|| detours.poll(ms(9))).collect();
        assert_eq!(arrived, [(ms(6), 'a'), (ms(9), 'b'), (ms(9), 'c')]);
        assert_eq!(detours.next_deadline(), None);
    }
}
