// SPDX-License-Identifier: Apache-2.0 OR MIT
//! One endpoint of a TCP connection, without clock and without network.
//!
//! Whoever owns a [`Connection`] gives it the time, the segments that arrive and what the
//! application does; it answers with segments to be sent now, and says when it wants to be
//! woken. `docs/simulated-tcp.md` says what is as in Linux and what is not.

mod ack;
mod acks;
mod bursts;
mod clock;
mod config;
mod handshake;
mod info;
mod law;
mod loss;
mod offload;
mod rack;
mod rate;
mod reassembly;
mod receiver;
mod receiver_law;
mod recovery;
mod rtt;
mod sack;
mod scoreboard;
mod sender;
mod timers;
mod transmit;
mod tuning;
mod undo;
mod watch;

use std::sync::Arc;

use ebb_link::Nanos;

use crate::segment::{Flags, Segment};
use ack::{AckTime, Resend, flag};
use clock::{NEVER, TimestampClock};
use receiver::Receiver;
use receiver_law::LocalTime;
use sender::Sender;
use timers::TimerKind;

pub use config::{Identity, Role, TcpConfig, TcpConfigError};
pub use info::{Counters, Info};
pub use watch::WatchedRound;

/// Where segments are put that are to be sent now, in this order.
pub type Out<'a> = &'a mut Vec<Segment>;

/// Where a connection stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// A client before it connects.
    Idle,
    /// A server before a SYN comes.
    Listening,
    /// Our SYN is out.
    Connecting,
    /// A SYN has come, and our answer is out.
    Accepting,
    /// Data may flow.
    Established,
    /// Both ends are closed and know it. It still answers a FIN that comes again; there is
    /// no TIME-WAIT, for nobody uses a pair of ports twice here.
    Finished,
    /// It has ended before that.
    Failed(Failure),
}

/// Why a connection has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure {
    /// [`Connection::abort`].
    Aborted,
    /// The peer has aborted.
    Reset,
    /// Too many retransmissions were in vain.
    TimedOut,
}

impl State {
    fn may_send(self) -> bool {
        self == Self::Established
    }

    fn is_synchronized(self) -> bool {
        matches!(self, Self::Established | Self::Finished)
    }
}

/// Bytes of a line of the cache. What is needed together stands in one, and what is needed
/// often in as few as can be: with many connections the processor mostly waits for them.
const LINE_BYTES: usize = 64;

/// An endpoint.
///
/// Times must not run back. Segments are counted, not filled: the payload is so many bytes.
#[derive(Debug)]
#[repr(C)]
pub struct Connection {
    timer_at: Nanos,
    /// When pacing lets the next segment go, if one waits for that.
    pace_at: Nanos,
    clock: TimestampClock,
    acks_sent: u64,
    state: State,
    timer: TimerKind,
    has_timestamps: bool,
    has_window_scale: bool,
    is_observing: bool,
    receiver: Receiver,
    sender: Sender,
}

const _: () = {
    use std::mem::offset_of;
    assert!(offset_of!(Connection, receiver) == LINE_BYTES);
    assert!(size_of::<Connection>() <= 15 * LINE_BYTES);
};

impl Connection {
    /// An endpoint that has sent nothing; a server listens.
    pub fn new(config: &Arc<TcpConfig>, role: Role, identity: Identity) -> Self {
        let state = match role {
            Role::Client => State::Idle,
            Role::Server => State::Listening,
        };
        Self {
            timer_at: NEVER,
            pace_at: NEVER,
            clock: TimestampClock::new(identity.timestamp_offset, identity.drift_ppm),
            acks_sent: 0,
            state,
            timer: TimerKind::None,
            has_timestamps: false,
            has_window_scale: false,
            is_observing: false,
            receiver: Receiver::new(Arc::clone(config)),
            sender: Sender::new(Arc::clone(config), identity.initial_seq, identity.seed),
        }
    }

    /// Opens the connection of a client; does nothing at any other time.
    pub fn connect(&mut self, now: Nanos, out: Out<'_>) {
        if self.state == State::Idle {
            self.state = State::Connecting;
            self.start_syn(now, out);
        }
    }

    /// Takes a segment that is handed over.
    fn take_segment(&mut self, now: Nanos, segment: &Segment, is_ce: bool, out: Out<'_>) {
        if segment.flags.has(Flags::RST) {
            return self.on_reset();
        }
        match self.state {
            State::Idle | State::Failed(_) => {}
            State::Listening => self.on_listening(now, segment, out),
            State::Connecting => self.on_connecting(now, segment, out),
            State::Accepting => self.on_accepting(now, segment, is_ce, out),
            State::Established | State::Finished => self.on_open(now, segment, is_ce, out),
        }
    }

    /// The time that [`Connection::next_timer`] gave has come (or one before it).
    pub fn on_timer(&mut self, now: Nanos, out: Out<'_>) {
        self.end_wait(now, out);
        let acks = &mut self.receiver.acks;
        if acks.at.min(acks.compressed_at) <= now {
            if acks.at <= now {
                acks.missed();
            }
            self.send_ack(now, out);
        }
        self.send_held_acks(now, out);
        let time = self.local_time(now);
        if self.receiver.opens_window(time) {
            self.send_ack(now, out);
        }
        if self.timer_at <= now {
            self.on_sender_timer(now, out);
        }
        if self.pace_at <= now {
            self.pace_at = NEVER;
            self.send_all(now, out);
        }
    }

    /// When to call [`Connection::on_timer`]; none: no timer runs.
    #[inline]
    pub fn next_timer(&self) -> Option<Nanos> {
        let at = self
            .timer_at
            .min(self.pace_at)
            .min(self.receiver.next_timer());
        (at < NEVER).then_some(at)
    }

    /// The application writes so many bytes more; the connection holds any number of them.
    /// Does nothing after [`Connection::close`].
    pub fn write(&mut self, now: Nanos, bytes: u64, out: Out<'_>) {
        if self.sender.is_closing {
            return;
        }
        self.sender.rate_check_app_limited();
        self.sender.written = self.sender.written.saturating_add(bytes).min(u64::MAX / 4);
        if self.state.may_send() {
            self.send_new(now, transmit::Push::Window, out);
        }
    }

    /// Whether the application has written everything.
    pub(crate) fn is_closing(&self) -> bool {
        self.sender.is_closing
    }

    /// The application has written everything: FIN follows the last byte.
    pub fn close(&mut self, now: Nanos, out: Out<'_>) {
        if self.sender.is_closing {
            return;
        }
        self.sender.is_closing = true;
        if self.state == State::Idle {
            self.state = State::Finished;
        } else if self.state.may_send() {
            self.send_new(now, transmit::Push::Window, out);
        }
    }

    /// Forgets what was written and is not sent, then closes.
    pub fn stop(&mut self, now: Nanos, out: Out<'_>) {
        if !self.sender.is_closing {
            self.sender.written = self.sender.nxt.max(1);
        }
        self.close(now, out);
    }

    /// Ends the connection at once with a reset.
    pub fn abort(&mut self, now: Nanos, out: Out<'_>) {
        if matches!(
            self.state,
            State::Connecting | State::Accepting | State::Established
        ) {
            let segment = Segment {
                seq: self.sender.wire(self.sender.nxt),
                flags: Flags::RST | Flags::ACK,
                ..Segment::default()
            };
            let segment = self.stamp(now, segment);
            out.push(segment);
        }
        self.fail(Failure::Aborted);
    }

    /// The application reads; only of use after [`Connection::read_on_demand`].
    pub fn consume(&mut self, now: Nanos, bytes: u64, out: Out<'_>) {
        if self.state.is_synchronized() && self.receiver.consume(now, bytes) {
            self.send_ack(now, out);
        }
    }

    /// From now on the application reads by [`Connection::consume`] only; before, it takes
    /// everything as it comes.
    pub fn read_on_demand(&mut self) {
        self.receiver.reads_at_once = false;
    }

    /// Whether the receiver law only watches and the window is as without it.
    pub fn set_observing(&mut self, is_observing: bool) {
        self.is_observing = is_observing;
        self.receiver.set_observing(is_observing);
    }

    fn on_reset(&mut self) {
        if !matches!(
            self.state,
            State::Idle | State::Listening | State::Failed(_) | State::Finished
        ) {
            self.fail(Failure::Reset);
        }
    }

    /// A segment on an open connection.
    fn on_open(&mut self, now: Nanos, segment: &Segment, is_ce: bool, out: Out<'_>) {
        if segment.flags.has(Flags::SYN) {
            // The last acknowledgement of the handshake was lost.
            return self.send_ack(now, out);
        }
        self.receiver.note_timestamp(segment);
        let resend = self.take_ack(now, segment);
        let wants_ack = self.take_data(now, segment, is_ce);
        match resend {
            Some(Resend::NewFirst) => self.send_new_first(now, out),
            Some(_) => self.send_all(now, out),
            None => {}
        }
        if wants_ack && self.receiver.acks.is_scheduled {
            self.send_ack(now, out);
        }
        self.finish();
    }

    /// Takes the acknowledgement of a segment. *Returns:* what to send then.
    fn take_ack(&mut self, now: Nanos, segment: &Segment) -> Option<Resend> {
        if !segment.flags.has(Flags::ACK) {
            return None;
        }
        let local = self.local_time(now);
        let time = AckTime {
            now,
            local_ts: local.ts,
            tick_us: local.tick_us,
            has_timestamps: local.has_timestamps,
            echo: segment.timestamps.map(|timestamps| timestamps.echo),
        };
        let peer_seq = self.receiver.offset(segment.seq);
        let progress = self.sender.on_ack(time, segment, peer_seq)?;
        if let Some(at) = progress.look_again_at {
            self.look_again(now, at);
        } else if progress.flags.has(flag::SET_TIMER)
            // With nothing outstanding it is off, also for the impatient [RFC6298 §5.2]: it
            // would keep the one for a closed window away.
            && (self.sender.restarts_timer() || self.sender.is_idle())
        {
            self.restart_timer(now);
        }
        if self.timer == TimerKind::Persist && progress.flags.has(flag::WINDOW) {
            self.sender.backoff = 0;
            self.clear_timer();
        }
        Some(progress.resend)
    }

    /// Takes the data of a segment. *Returns:* whether to acknowledge at once.
    fn take_data(&mut self, now: Nanos, segment: &Segment, is_ce: bool) -> bool {
        let has_data = segment.payload_bytes > 0 || segment.flags.has(Flags::FIN);
        if !has_data {
            // From before the window: a probe for a closed one.
            let is_probe = self.receiver.offset(segment.seq) < self.receiver.advertised_at;
            self.receiver.acks.is_scheduled |= is_probe;
            return is_probe;
        }
        let time = self.local_time(now);
        if let Some(timestamps) = segment.timestamps
            && segment.payload_bytes >= self.receiver.acks.mss_bytes
        {
            let tuning = &mut self.receiver.tuning;
            tuning.measure_echo(timestamps.echo, time.ts, time.tick_us);
        }
        if segment.payload_bytes > 0 {
            self.receiver.tell_law(time, segment, is_ce);
        }
        self.receiver.on_data(now, segment, is_ce)
    }

    /// F-RTO: new data shows whether the time-out was spurious; without any, lost
    /// segments are sent after all.
    fn send_new_first(&mut self, now: Nanos, out: Out<'_>) {
        self.send_new(now, transmit::Push::Window, out);
        if self.sender.nxt <= self.sender.high_seq {
            self.sender.is_frto = false;
            self.resend_lost(now, out);
        }
    }

    fn finish(&mut self) {
        let sender = &self.sender;
        let is_sent = sender.is_fin_sent && sender.board.is_empty();
        if is_sent && self.receiver.is_finished() && self.state == State::Established {
            self.state = State::Finished;
            self.clear_timer();
            self.pace_at = NEVER;
        }
    }

    fn config(&self) -> &TcpConfig {
        &self.sender.config
    }

    /// The timestamp clock.
    fn local_time(&mut self, now: Nanos) -> LocalTime {
        let config = &self.sender.config;
        LocalTime {
            now,
            ts: self.clock.at(now, config.tick),
            tick_us: config.tick_us(),
            has_timestamps: self.has_timestamps,
        }
    }
}
