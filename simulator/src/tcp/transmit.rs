// SPDX-License-Identifier: Apache-2.0 OR MIT
//! Sends: lost segments again, new ones, bare acknowledgements.

use ebb_link::{Ecn, Nanos};

use super::clock::NEVER;
use super::scoreboard::{Sent, mark};
use super::{Connection, Out, State, TimerKind};
use crate::segment::{Flags, SackBlocks, Segment, TimestampOption};

/// How far new data is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Push {
    /// As far as the window goes.
    Window,
    /// One segment, whatever the congestion window says.
    Probe,
    /// One segment, as much as the peer's window takes.
    Fit,
}

impl Connection {
    /// Sends what may be sent, lost segments first.
    pub(super) fn send_all(&mut self, now: Nanos, out: Out<'_>) {
        if self.sender.board.lost_pkts > self.sender.board.resent_pkts {
            self.resend_lost(now, out);
        }
        self.send_new(now, Push::Window, out);
    }

    /// Sends lost segments again, as far as the window goes.
    #[inline(never)]
    pub(super) fn resend_lost(&mut self, now: Nanos, out: Out<'_>) {
        let mut has_resent_first = false;
        while let Some(number) = self.sender.board.next_lost() {
            let sender = &self.sender;
            if sender.inflight_pkts() >= sender.cwnd_pkts && !sender.is_due(number) {
                break;
            }
            if let Some(at) = sender.paced_until(now) {
                self.pace_at = at;
                break;
            }
            has_resent_first |= number == sender.board.first();
            self.resend(now, number, out);
            if self.sender.is_reducing() {
                self.sender.reduction.sent_pkts += 1;
            }
        }
        let is_running = self.timer == TimerKind::Look || self.sender.is_impatient();
        if has_resent_first && !is_running {
            self.set_timer(TimerKind::Retransmit, now, now + self.sender.rto());
        }
    }

    /// Sends a segment again.
    pub(super) fn resend(&mut self, now: Nanos, number: u64, out: Out<'_>) {
        let local_ts = self.local_time(now).ts;
        let undo = &mut self.sender.undo;
        undo.first_resent.get_or_insert((now, local_ts));
        *undo.resent_pkts.get_or_insert(0) += 1;
        let stamp = self.sender.stamp(now);
        self.sender.board.resend(number, stamp);
        self.emit_again(now, number, out);
    }

    /// Sends the last segment again as a probe, which is not counted as being on its way
    /// twice.
    pub(super) fn resend_as_probe(&mut self, now: Nanos, out: Out<'_>) {
        let last = self.sender.board.next() - 1;
        let stamp = self.sender.stamp(now);
        let sent = self.sender.board.at_mut(last);
        sent.marks |= mark::EVER_RESENT;
        sent.sent_at = stamp;
        self.emit_again(now, last, out);
    }

    fn emit_again(&mut self, now: Nanos, number: u64, out: Out<'_>) {
        let sender = &mut self.sender;
        let mut sent = *sender.board.at(number);
        sender.rate_on_sent(&mut sent, false);
        *sender.board.at_mut(number) = sent;
        sender.counters.resent_pkts += 1;
        sender.counters.resent_bytes += u64::from(sent.length);
        self.emit(now, &sent, false, false, out);
    }

    /// Sends new data. *Returns:* how many segments.
    pub(super) fn send_new(&mut self, now: Nanos, push: Push, out: Out<'_>) -> u32 {
        if !self.state.may_send() || !self.sender.has_unsent() {
            return 0;
        }
        self.prepare(now);
        let mut sent_pkts = 0;
        let mut is_limited = false;
        while self.sender.has_unsent() {
            if let Some(at) = self.sender.paced_until(now) {
                self.pace_at = at;
                break;
            }
            self.sender.renew_chunk();
            let burst = self.next_burst(now, push, &mut is_limited);
            if burst == 0 {
                break;
            }
            for _ in 0..burst {
                self.send_next(now, push, out);
            }
            self.sender.charge_pace(now, burst);
            sent_pkts += burst;
            if push != Push::Window {
                break;
            }
        }
        self.after_sending(now, push, sent_pkts, is_limited);
        sent_pkts
    }

    /// Before the first segment after silence.
    fn prepare(&mut self, now: Nanos) {
        if self.sender.law.is_none() {
            let tick_us = self.config().tick_us();
            self.sender.start_law(now, tick_us, self.has_timestamps);
        } else if self.sender.is_idle() && self.sender.last_sent_at().is_some_and(|at| at < now) {
            self.sender.end_idle(now);
        }
    }

    fn after_sending(&mut self, now: Nanos, push: Push, sent_pkts: u32, is_limited: bool) {
        let sender = &mut self.sender;
        let is_limited = is_limited || sender.board.inflight_pkts() >= sender.cwnd_pkts;
        if sent_pkts > 0 || is_limited {
            sender.note_usage(now, is_limited);
        }
        if sent_pkts > 0 {
            if sender.is_reducing() {
                sender.reduction.sent_pkts += sent_pkts;
            }
            if push != Push::Probe && !self.schedule_probe(now, false) {
                self.keep_retransmit_timer(now);
            }
        } else if sender.is_idle() && sender.has_unsent() && self.timer == TimerKind::None {
            let wait = sender.rto().max(sender.config.options.min_rto);
            self.set_timer(TimerKind::Persist, now, now + wait);
        }
        self.sender.rate_check_app_limited();
    }

    /// How many segments may leave together now.
    fn next_burst(&mut self, now: Nanos, push: Push, is_limited: &mut bool) -> u32 {
        let sender = &self.sender;
        let inflight = sender.inflight_pkts();
        let room_pkts = match push {
            Push::Probe | Push::Fit => 1,
            Push::Window => sender.cwnd_pkts.saturating_sub(inflight),
        };
        if room_pkts == 0 {
            return 0;
        }
        let next = sender.next_length(push);
        if next == 0 || sender.nxt + u64::from(next) > sender.window_end() {
            return if self.may_send_bare_fin() { 1 } else { 0 };
        }
        let most = sender.config.options.tso_pkts;
        if most == 1 || push != Push::Window || next < sender.segment_bytes {
            return 1;
        }
        let goal = sender.burst_goal(most);
        let room_bytes = sender.window_end().min(sender.sendable_end()) - sender.nxt;
        let chunk_bytes = sender.chunk.end.saturating_sub(sender.nxt);
        let ready = (room_bytes / u64::from(sender.segment_bytes))
            .min(chunk_bytes.div_ceil(u64::from(sender.segment_bytes)))
            .clamp(1, u64::from(goal)) as u32;
        // Half of the window at once at the most.
        let quota = room_pkts.min((sender.cwnd_pkts / 2).max(1));
        let burst = ready.min(quota);
        let is_chunk_new = sender.nxt == sender.chunk.start;
        if burst < ready && !is_chunk_new && sender.should_defer(now, room_pkts, goal) {
            *is_limited = true;
            return 0;
        }
        burst.max(1)
    }

    /// FIN needs no window of its own once all data is sent.
    fn may_send_bare_fin(&self) -> bool {
        let sender = &self.sender;
        sender.is_closing && !sender.is_fin_sent && sender.nxt == sender.written
    }

    /// Sends the next new segment.
    fn send_next(&mut self, now: Nanos, push: Push, out: Out<'_>) {
        let sender = &mut self.sender;
        let bytes = sender.next_length(push);
        let is_last = sender.nxt + u64::from(bytes) == sender.written;
        let has_fin = is_last && sender.is_closing && !sender.is_fin_sent;
        let is_first_out = sender.board.is_empty();
        let mut sent = Sent {
            start: sender.nxt,
            sent_at: sender.stamp(now),
            delivered_at: NEVER,
            length: (bytes + u32::from(has_fin)) as u16,
            marks: if has_fin { mark::FIN } else { 0 },
            ..Sent::default()
        };
        sender.rate_on_sent(&mut sent, is_first_out);
        sender.is_fin_sent |= has_fin;
        let ends_chunk = sent.end() >= sender.chunk.end;
        sender.nxt += u64::from(sent.length);
        sender.board.push(sent);
        sender.counters.sent_pkts += 1;
        sender.counters.sent_bytes += u64::from(bytes);
        sender.note_sent(now);
        if is_first_out && self.timer != TimerKind::Retransmit {
            self.set_timer(TimerKind::Retransmit, now, now + self.sender.rto());
        }
        self.receiver.acks.on_data_sent(now);
        self.emit(now, &sent, true, ends_chunk, out);
    }

    /// Puts a segment of the stream on the wire.
    fn emit(&mut self, now: Nanos, sent: &Sent, is_new: bool, is_pushed: bool, out: Out<'_>) {
        let has_fin = sent.is(mark::FIN);
        let mut flags = Flags::ACK;
        if has_fin {
            flags |= Flags::FIN;
        }
        let sender = &mut self.sender;
        if is_pushed || sent.end() == sender.written + u64::from(has_fin) {
            flags |= Flags::PSH;
        }
        let payload_bytes = u32::from(sent.length) - u32::from(has_fin);
        if is_new && payload_bytes > 0 && sender.announces_reduction {
            sender.announces_reduction = false;
            flags |= Flags::CWR;
        }
        let is_capable = sender.has_ecn && is_new && payload_bytes > 0;
        let segment = Segment {
            seq: sender.wire(sent.start),
            payload_bytes,
            flags,
            ecn: if is_capable {
                Ecn::Capable
            } else {
                Ecn::NotCapable
            },
            ..Segment::default()
        };
        let segment = self.stamp(now, segment);
        out.push(segment);
    }

    /// Sends an acknowledgement without data, or holds it back if the receiver law wants
    /// that.
    pub(super) fn send_ack(&mut self, now: Nanos, out: Out<'_>) {
        let sack = self.sack_blocks();
        if !self.receiver.hold_ack(now, sack) {
            self.emit_ack(now, self.receiver.nxt, sack, out);
        }
    }

    /// Sends what was held back for long enough.
    pub(super) fn send_held_acks(&mut self, now: Nanos, out: Out<'_>) {
        while let Some(held) = self.receiver.release_ack(now) {
            self.emit_ack(now, held.ack, held.sack, out);
        }
    }

    fn emit_ack(&mut self, now: Nanos, ack: u64, sack: SackBlocks, out: Out<'_>) {
        let segment = Segment {
            seq: self.sender.wire(self.sender.nxt),
            sack,
            flags: Flags::ACK,
            ..Segment::default()
        };
        let segment = self.stamp_ack(now, segment, ack);
        self.acks_sent += 1;
        out.push(segment);
    }

    /// A duplicate first (RFC 2883), then the latest ranges.
    fn sack_blocks(&self) -> SackBlocks {
        let mut blocks = SackBlocks::default();
        let receiver = &self.receiver;
        if !receiver.has_sack {
            return blocks;
        }
        if let Some((start, end)) = receiver.duplicate() {
            blocks.push(receiver.wire(start), receiver.wire(end));
        }
        if let Some(reassembly) = &receiver.reassembly {
            for (start, end) in reassembly.recent() {
                blocks.push(receiver.wire(start), receiver.wire(end));
            }
        }
        blocks
    }

    /// Fills in what all segments carry: acknowledgement, window, timestamps, size.
    pub(super) fn stamp(&mut self, now: Nanos, segment: Segment) -> Segment {
        self.stamp_ack(now, segment, self.receiver.ackable())
    }

    fn stamp_ack(&mut self, now: Nanos, mut segment: Segment, ack: u64) -> Segment {
        let time = self.local_time(now);
        if segment.flags.has(Flags::ACK) {
            self.receiver.ask_law(time, ack);
            segment.window = self.receiver.advertise(ack);
            self.receiver.leave_room();
            segment.ack = self.receiver.wire(ack);
            if self.receiver.echoes_mark && !segment.flags.has(Flags::SYN) {
                segment.flags |= Flags::ECE;
            }
            if ack == self.receiver.nxt {
                self.receiver.sent_ack();
            }
        }
        let is_first =
            self.state == State::Connecting && self.config().options.timestamps.is_some();
        if self.has_timestamps || is_first {
            segment.timestamps = Some(TimestampOption {
                value: time.ts,
                echo: self.receiver.recent_ts,
            });
        }
        segment.size_bytes =
            self.config().options.header_bytes + segment.option_bytes() + segment.payload_bytes;
        segment
    }
}
