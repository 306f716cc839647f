// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One stream of a connection in the background, read no faster than a law of the receiving end has
//! it.
//!
//! quinn settles a stream's window before there is a connection, and grants more (`MAX_STREAM_DATA`)
//! as the stream is read. It does not tell what of a stream has arrived, and nobody else can grant.
//! So a window of the law's cannot be set. It can be kept: who reads a window in a round trip grants
//! a window in a round trip, and of a peer that is held back by credit that much is under way.

use std::time::{Duration, Instant};

use quinn_proto::VarInt;

use crate::credit::{Credit, Seen};
use crate::error::Error;

/// What nobody came to read in time may be read later, up to what is due in so long.
const CATCHES_UP: Duration = Duration::from_millis(20);
/// And so much at the least. *Units:* datagrams.
const LEAST_DUE: u32 = 2;

/// How much of one stream may be read, so that it yields to the connection's other streams and to
/// everybody else.
///
/// Every [`Self::LOOK_EVERY`] call [`Self::look`] with `Connection::stats`, and what it answers to
/// `Connection::set_receive_window`; then read [`Self::may_read`] bytes at the most, and tell
/// [`Self::on_read`] of them. The connection's window, which is given here and to
/// `TransportConfig::receive_window`, holds nobody back, so it is large; what it is asked for is a
/// byte more now and then, since only what is sent measures round trips.
///
/// ```
/// use std::time::Instant;
///
/// use ebb_quic::{Seen, StreamCredit};
/// use quinn_proto::{TransportConfig, VarInt};
///
/// let window = VarInt::from_u32(8 << 20);
/// let mut transport = TransportConfig::default();
/// transport.receive_window(window);
/// transport.stream_receive_window(VarInt::from_u32(160_000));
/// let policy = "sampled:target_us=12000,high_us=24000";
/// let mut credit = StreamCredit::new(policy, window, Instant::now())?;
/// # let seen = Seen::default();
/// // With a connection: `let seen = Seen::from(&connection.stats())`.
/// if let Some(window) = credit.look(Instant::now(), seen) {
///     // connection.set_receive_window(window);
/// }
/// let most = credit.may_read(Instant::now());
/// // if most > 0 { let chunk = stream.read_chunk(most, true); … }
/// # let read = most;
/// credit.on_read(read);
/// # Ok::<(), ebb_quic::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct StreamCredit {
    credit: Credit,
    connection_window: VarInt,
    /// Of the connection.
    last: Seen,
    /// Since the last look.
    read_bytes: u64,
    /// What may be read, as of [`Self::due_at`]. *Units:* bytes.
    due_bytes: f64,
    due_at: Instant,
}

impl StreamCredit {
    /// The time from one look to the next.
    pub const LOOK_EVERY: Duration = Credit::LOOK_EVERY;

    /// Reads a policy, `name:key=value,…`, for a stream of a connection that has such a window.
    ///
    /// *Errors:* those of [`Credit::new`].
    pub fn new(policy: &str, connection_window: VarInt, now: Instant) -> Result<Self, Error> {
        Ok(Self {
            credit: Credit::new(policy, now)?,
            connection_window,
            last: Seen::default(),
            read_bytes: 0,
            due_bytes: 0.0,
            due_at: now,
        })
    }

    /// Takes what was seen of the connection; answers the window of the connection that is to be
    /// set, if anything was read.
    pub fn look(&mut self, now: Instant, seen: Seen) -> Option<VarInt> {
        let last = std::mem::replace(&mut self.last, seen);
        self.credit.take_round_trip(now, &last, &seen);
        let bytes = std::mem::take(&mut self.read_bytes);
        if bytes == 0 {
            return None;
        }
        self.credit
            .take_bytes(now, bytes, seen.datagram_bytes(&last));
        let window = self.connection_window.into_inner() + u64::from(self.credit.next_nudge());
        VarInt::from_u64(window).ok()
    }

    /// So much may be read now: nothing before the first look.
    pub fn may_read(&mut self, now: Instant) -> usize {
        let bytes_per_s = self.bytes_per_s();
        let passed = now.saturating_duration_since(self.due_at);
        self.due_at = self.due_at.max(now);
        let least = f64::from(LEAST_DUE * self.credit.datagram_bytes());
        let most = (bytes_per_s * CATCHES_UP.as_secs_f64()).max(least);
        self.due_bytes = (self.due_bytes + bytes_per_s * passed.as_secs_f64()).min(most);
        self.due_bytes as usize
    }

    /// So much was read.
    pub fn on_read(&mut self, bytes: usize) {
        self.read_bytes += bytes as u64;
        self.due_bytes = (self.due_bytes - bytes as f64).max(0.0);
    }

    /// A window in a round trip.
    fn bytes_per_s(&self) -> f64 {
        match self.last.smoothed_rtt.as_secs_f64() {
            0.0 => 0.0,
            rtt_s => f64::from(self.credit.law_window_bytes()) / rtt_s,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(100);
    /// The first window of the law: ten datagrams of 1200 bytes.
    const FIRST_BYTES: usize = 12_000;
    const CONNECTION_WINDOW: VarInt = VarInt::from_u32(1 << 20);

    fn credit(now: Instant) -> StreamCredit {
        StreamCredit::new("sampled", CONNECTION_WINDOW, now).unwrap()
    }

    fn seen() -> Seen {
        Seen {
            smoothed_rtt: RTT,
            ..Seen::default()
        }
    }

    #[test]
    fn a_window_may_be_read_in_a_round_trip_and_not_all_at_once() {
        let began = Instant::now();
        let mut credit = credit(began);
        assert_eq!(credit.may_read(began + RTT), 0);
        assert_eq!(credit.look(began + RTT, seen()), None);
        let read: usize = (1..=100)
            .map(|ms| {
                let bytes = credit.may_read(began + RTT + Duration::from_millis(ms));
                credit.on_read(bytes);
                bytes
            })
            .sum();
        assert!(read.abs_diff(FIRST_BYTES) <= 1, "{read}");
        // Who comes late has lost what is older than 20 ms.
        let late = credit.may_read(began + 9 * RTT);
        assert!(late.abs_diff(FIRST_BYTES / 5) <= 1, "{late}");
    }

    #[test]
    fn the_connection_is_asked_for_a_byte_more_while_the_stream_is_read() {
        let began = Instant::now();
        let mut credit = credit(began);
        let by = |bytes: u64| VarInt::from_u64(u64::from(CONNECTION_WINDOW) + bytes).ok();
        assert_eq!(credit.look(began, seen()), None);
        credit.on_read(1_200);
        assert_eq!(credit.look(began + RTT, seen()), by(1));
        assert_eq!(credit.look(began + 2 * RTT, seen()), None);
        credit.on_read(1_200);
        assert_eq!(credit.look(began + 3 * RTT, seen()), by(2));
    }
}
