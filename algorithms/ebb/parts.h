/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Who is there of a bundle of the ebb law, and what each connection has of the common window. See
 * bundle.h.
 */
#ifndef EBB_EBB_PARTS_H
#define EBB_EBB_PARTS_H

#include "ebb/bundle_state.h"

/* ---- helpers: who is there ---- */

EBB_INLINE u8 ebb_ebb_takes_turns(const struct ebb_ebb_bundle *b, u32 mss_bytes)
{
	return b->members > 1 && b->rwnd_bytes < (u64)b->members * mss_bytes;
}

/* Windows were below a segment: senders may wait for their timers still. */
EBB_INLINE u8 ebb_ebb_may_stall(const struct ebb_ebb_bundle *b, u64 now_us)
{
	return now_us < b->stalled_until_us;
}

/* Long enough to hear of everybody. */
EBB_INLINE u64 ebb_ebb_count_us(const struct ebb_ebb_bundle *b, u32 mss_bytes, u64 now_us)
{
	u64 count_us = (u64)b->rtt_us * EBB_EBB_COUNT_RTTS, turns_us;

	if (ebb_ebb_takes_turns(b, mss_bytes)) {
		turns_us = ebb_div((u64)b->rtt_us * b->members * mss_bytes, b->rwnd_bytes, 0);
		count_us += turns_us * EBB_EBB_COUNT_TURNS_X4 / EBB_ONE_X4;
	}
	if (ebb_ebb_may_stall(b, now_us))
		count_us = ebb_max(count_us, EBB_EBB_STALL_US);
	return ebb_min(count_us, EBB_EBB_COUNT_MOST_US + (u64)b->rtt_us * EBB_EBB_COUNT_RTTS);
}

EBB_INLINE void ebb_ebb_end_count(struct ebb_ebb_bundle *b, u64 now_us)
{
	b->members = b->counted;
	b->eager = b->counted_eager;
	b->modest_bytes = b->counted_modest_bytes;
	b->rtt_us = b->count_rtt_us;
	b->counted = 0;
	b->counted_eager = 0;
	b->counted_modest_bytes = 0;
	b->count_rtt_us = 0;
	b->count_since_us = now_us;
	b->count++;
}

/*
 * A connection's first segment in a count. Modest is who brought less than it had to begin with, if
 * its window is smaller for that.
 */
EBB_INLINE void ebb_ebb_count_member(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s)
{
	struct ebb_ebb_member *m = &s->member;
	u8 was_there = m->count + 1 == b->count;

	m->is_modest =
		was_there && !ebb_ebb_takes_turns(b, s->mss_bytes) && m->bytes < m->given_bytes &&
		ebb_moves_grant_bytes(m->bytes / EBB_EBB_COUNT_RTTS, s->mss_bytes) < s->rwnd_bytes;
	if (!was_there) {
		b->members++;
		b->eager++;
	}
	b->counted++;
	if (m->is_modest)
		b->counted_modest_bytes += m->bytes / EBB_EBB_COUNT_RTTS;
	else
		b->counted_eager++;
	m->count = b->count;
	m->used_bytes = m->bytes / EBB_EBB_COUNT_RTTS;
	m->given_bytes = s->rwnd_bytes;
	m->bytes = 0;
}

EBB_INLINE void ebb_ebb_count(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
			      const struct ebb_segment *segment)
{
	u64 rtt_us = (u64)s->rtt_us + s->queue_us;

	/* Long enough by what holds now, and by what held when it began. */
	if (segment->now_us - b->count_since_us >=
	    ebb_max(b->count_us, ebb_ebb_count_us(b, s->mss_bytes, segment->now_us))) {
		ebb_ebb_end_count(b, segment->now_us);
		b->count_us = (u32)ebb_ebb_count_us(b, s->mss_bytes, segment->now_us);
	}
	ebb_end_step();
	if (s->member.count != b->count)
		ebb_ebb_count_member(b, s);
	ebb_end_step();
	s->member.bytes += segment->payload_bytes;
	b->count_rtt_us = (u32)ebb_max(b->count_rtt_us, ebb_min(rtt_us, EBB_MOVES_MAX_RTT_US));
	b->rtt_us = (u32)ebb_max(b->rtt_us, b->count_rtt_us);
}

/* ---- helpers: a connection's part ---- */

/*
 * Who waits for its timer uses nothing: until it has sent a segment again its part is the others'.
 * It is told of one, for Linux lets a window grow only once the next segment has come.
 */
EBB_INLINE u32 ebb_ebb_among(const struct ebb_ebb_bundle *b, const struct ebb_ebb_state *s)
{
	u32 among = b->eager ? b->eager : b->members;

	if (!ebb_ebb_may_stall(b, b->heard_us))
		return among;
	return (u32)ebb_clamp((u64)b->awake + (s->member.wake != b->wake), 1, among);
}

/*
 * Whole segments, so that all of the window is handed out, and one more only to some. Who is modest
 * gets no more than it may come to use: it cannot be taken back.
 */
EBB_INLINE u64 ebb_ebb_part_bytes(const struct ebb_ebb_bundle *b, const struct ebb_ebb_state *s)
{
	u64 left_bytes = ebb_sub_floor(b->rwnd_bytes, b->eager ? b->modest_bytes : 0);
	u32 among = ebb_ebb_among(b, s);
	u64 segments = ebb_div(left_bytes, s->mss_bytes, 1), part_bytes;

	segments += ebb_mod(s->member.number + b->count / EBB_EBB_RANK_COUNTS, among);
	part_bytes = ebb_max(ebb_div(segments, among, 1), 1) * s->mss_bytes;
	if (s->member.is_modest)
		return ebb_min(part_bytes,
			       ebb_moves_grant_bytes(s->member.used_bytes, s->mss_bytes));
	return part_bytes;
}

/* Turns are given as the window has segments for them, and so that nobody waits for too long. */
EBB_INLINE void ebb_ebb_give_turns(struct ebb_ebb_bundle *b, u32 mss_bytes, u64 now_us)
{
	u64 elapsed_us = ebb_min(now_us - b->turn_at_us, EBB_US_PER_S);
	u64 waiting_x1024 = ebb_min(b->last_turn_x1024 - b->turn_x1024,
				    (u64)EBB_EBB_TURN_MOST_SEGMENTS * EBB_ONE_X1024);
	u64 window_x1024 = ebb_div((u64)b->rwnd_bytes * EBB_ONE_X1024, mss_bytes, 0);
	u64 turns_x1024 = ebb_div(elapsed_us * window_x1024 * EBB_EBB_TURNS_PACE_X4 / EBB_ONE_X4,
				  b->rtt_us, 0);
	u64 least_x1024 = b->turn_x1024 + elapsed_us * waiting_x1024 / EBB_EBB_TURN_MOST_US;
	u64 next_x1024 = ebb_min(b->turn_x1024 + turns_x1024, b->used_x1024 + window_x1024);

	b->turn_x1024 = ebb_min(ebb_max(next_x1024, least_x1024), b->last_turn_x1024);
	b->turn_at_us = now_us;
}

/* What was promised so long ago and is not used by now will not be. */
EBB_INLINE void ebb_ebb_expire_turns(struct ebb_ebb_bundle *b, u64 now_us)
{
	if (now_us - b->expire_at_us < (u64)b->rtt_us * EBB_EBB_COUNT_RTTS + EBB_EBB_EXPIRE_US)
		return;
	b->used_x1024 = ebb_max(b->used_x1024, b->expire_x1024);
	b->expire_x1024 = b->turn_x1024;
	b->expire_at_us = now_us;
}

/* How long it may be until a turn comes; asks again before that, for the window may grow. */
EBB_INLINE u32 ebb_ebb_wait_us(const struct ebb_ebb_bundle *b, const struct ebb_ebb_state *s)
{
	u64 ahead_x1024 = ebb_min(ebb_sub_floor(s->member.turn_x1024, b->turn_x1024),
				  (u64)EBB_EBB_TURN_MOST_SEGMENTS * EBB_ONE_X1024);
	u64 wait_us = ebb_div(ahead_x1024 * b->rtt_us,
			      ebb_div((u64)b->rwnd_bytes * EBB_ONE_X1024, s->mss_bytes, 1), 0);

	return (u32)ebb_clamp(wait_us, EBB_EBB_WAIT_LEAST_US, EBB_EBB_WAIT_MOST_US);
}

EBB_INLINE void ebb_ebb_take_turn(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s, u64 now_us)
{
	struct ebb_ebb_member *m = &s->member;

	ebb_ebb_expire_turns(b, now_us);
	ebb_end_step();
	ebb_ebb_give_turns(b, s->mss_bytes, now_us);
	ebb_end_step();
	if (!m->has_turn && !m->is_waiting) {
		m->turn_x1024 = b->last_turn_x1024;
		m->is_waiting = 1;
		b->last_turn_x1024 += EBB_ONE_X1024;
	}
	ebb_end_step();
	if (m->is_waiting && b->turn_x1024 >= m->turn_x1024) {
		m->is_waiting = 0;
		m->has_turn = 1;
		m->is_promised = 1;
	}
	ebb_end_step();
	s->rwnd_bytes = m->has_turn ? s->mss_bytes : 0;
	m->wait_us = m->has_turn ? 0 : ebb_ebb_wait_us(b, s);
}

/* What the timers of so many senders send in a round trip. */
EBB_INLINE u64 ebb_ebb_timers_bytes(const struct ebb_ebb_bundle *b, u64 waiting)
{
	return waiting * EBB_EBB_LEAST_BYTES * b->rtt_us / EBB_EBB_TIMER_US;
}

/*
 * Through a short YIELD and out of it one connection is heard in each round trip: one whose q was
 * the least when that began, since what it sees counts. If it is silent another one has its place.
 */
EBB_INLINE void ebb_ebb_lead(struct ebb_ebb_bundle *b, const struct ebb_ebb_state *s, u64 now_us)
{
	u64 silent_us = (u64)b->rtt_us * EBB_EBB_COUNT_RTTS + EBB_EBB_EXPIRE_US;

	if (b->led_since_us != b->yield_since_us) {
		b->leader = b->last_least_number;
		b->led_us = now_us;
	}
	ebb_end_step();
	b->led_since_us = b->yield_since_us;
	if (now_us - b->led_us > silent_us && b->least_number == s->member.number)
		b->leader = s->member.number;
	ebb_end_step();
	if (b->leader == s->member.number)
		b->led_us = now_us;
}

EBB_INLINE u8 ebb_ebb_is_led(const struct ebb_ebb_bundle *b, u64 now_us)
{
	if (b->is_yielding)
		return now_us - b->yield_since_us < EBB_EBB_PROBE_ONE_AFTER_US;
	return b->is_reclaiming && b->clear_rounds < EBB_EBB_LED_ROUNDS;
}

/*
 * A host that cannot close windows: as many as there is room for have a segment, by turns. The
 * others send the least that a host can say whenever their timers fire; in YIELD that counts. Who
 * leads has all that there is.
 */
EBB_INLINE u32 ebb_ebb_least_bytes(struct ebb_ebb_bundle *b, const struct ebb_ebb_state *s,
				   u64 now_us)
{
	u64 place = ebb_mod(s->member.number + (u64)b->count, b->members);
	u64 timers_bytes, segments;

	if (ebb_ebb_is_led(b, now_us)) {
		ebb_ebb_lead(b, s, now_us);
		ebb_end_step();
		if (b->leader != s->member.number)
			return 1;
		timers_bytes = ebb_ebb_timers_bytes(b, b->members - 1);
		segments = ebb_div(ebb_sub_floor(b->rwnd_bytes, timers_bytes), s->mss_bytes, 1);
		return (u32)ebb_max(segments, 1) * s->mss_bytes;
	}
	timers_bytes =
		b->is_yielding ? ebb_ebb_timers_bytes(b, ebb_sub_floor(b->members, place)) : 0;
	return place * s->mss_bytes + timers_bytes < b->rwnd_bytes ? s->mss_bytes : 1;
}

EBB_INLINE void ebb_ebb_hand_out(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s, u64 now_us)
{
	struct ebb_ebb_member *m = &s->member;

	m->wait_us = 0;
	if (b->is_testing && b->members > 1) {
		s->rwnd_bytes = b->tester == m->number ? b->rwnd_bytes : !m->can_park;
		m->wait_us = s->rwnd_bytes ? 0 : EBB_EBB_WAIT_MOST_US;
		return;
	}
	ebb_end_step();
	if (ebb_ebb_takes_turns(b, s->mss_bytes)) {
		if (!b->has_turns) {
			b->turn_x1024 = b->last_turn_x1024;
			b->used_x1024 = b->last_turn_x1024;
			b->has_turns = 1;
		}
		if (m->can_park)
			ebb_ebb_take_turn(b, s, now_us);
		else
			s->rwnd_bytes = ebb_ebb_least_bytes(b, s, now_us);
		if (!m->can_park)
			b->stalled_until_us = now_us + EBB_EBB_STALLED_US;
		return;
	}
	if (b->has_turns) {
		b->wake++;
		b->awake = 0;
	}
	b->has_turns = 0;
	m->is_waiting = 0;
	m->has_turn = 0;
	s->rwnd_bytes = b->members > 1 ? (u32)ebb_ebb_part_bytes(b, s) : b->rwnd_bytes;
}

/* More than a timer sends: it has heard of a window. */
EBB_INLINE void ebb_ebb_wake(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
			     const struct ebb_segment *segment)
{
	if (s->member.wake == b->wake || segment->payload_bytes <= EBB_EBB_LEAST_BYTES)
		return;
	s->member.wake = b->wake;
	b->awake++;
}

/* What was granted before can be used still: that is its turn. */
EBB_INLINE void ebb_ebb_use_turn(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
				 const struct ebb_segment *segment)
{
	struct ebb_ebb_member *m = &s->member;
	u32 next_seq = segment->rcv_nxt;
	u8 is_open;

	if (segment->seq == next_seq)
		next_seq += segment->payload_bytes;
	is_open = !ebb_before32(segment->right_edge_seq, next_seq + s->mss_bytes);
	if (m->has_turn && m->is_promised)
		b->used_x1024 = ebb_min(b->used_x1024 + EBB_ONE_X1024, b->turn_x1024);
	m->has_turn = is_open;
	m->is_promised = 0;
}

#endif /* EBB_EBB_PARTS_H */
