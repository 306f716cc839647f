/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * All connections of one policy as one flow under the ebb law: one state judges, grows and yields
 * for all; each connection lends it its own clock, base and round-trip time for a segment, and is
 * handed its part of the window. Where the window has fewer segments than there are connections,
 * these take turns, if the host can close a window.
 *
 * Source: [EBB] docs/ebb-law.md, §bundle. Domain: as ebb, a million segments where turns are
 * taken.
 */
#ifndef EBB_EBB_BUNDLE_H
#define EBB_EBB_BUNDLE_H

#include "ebb/ebb.h"
#include "ebb/parts.h"

/* ---- helpers: what is lent ---- */

#define EBB_EBB_LEND(type, name) s->name = b->name;
#define EBB_EBB_GIVE_BACK(type, name) b->name = s->name;

/* What leads from the sender's clock to ours, without the queue. */
EBB_INLINE u64 ebb_ebb_apart_us(const struct ebb_ebb_state *s)
{
	u32 base_us = ebb_moves_base_us(&s->moves);

	if (!s->clock.has_offset || base_us == EBB_MOVES_NO_DELAY)
		return 0;
	return s->clock.offset_us + base_us - EBB_CLOCK_BIAS_US - EBB_CLOCK_DELAY_BIAS_US;
}

/* Our timestamp on this connection at a time that has passed. */
EBB_INLINE u32 ebb_ebb_local_ts_at(const struct ebb_segment *segment, u64 at_us)
{
	u64 ticks = ebb_div(segment->now_us, segment->local_tick_us, 0) -
		    ebb_div(at_us, segment->local_tick_us, 0);

	return segment->local_ts - (u32)ticks;
}

/* Was the segment sent after our first one behind the cut had come? Then it was allowed by it. */
EBB_INLINE u32 ebb_ebb_lent_edge_seq(const struct ebb_ebb_bundle *b,
				     const struct ebb_segment *segment)
{
	u8 is_after = ebb_before32(ebb_ebb_local_ts_at(segment, b->blind_since_us), segment->tsecr);

	return is_after ? segment->seq : segment->seq + segment->payload_bytes;
}

/* The connection's state becomes that of the bundle, in its own terms. */
EBB_INLINE void ebb_ebb_lend(const struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
			     const struct ebb_segment *segment)
{
	s->member.part_bytes = b->members > 1 ? s->rwnd_bytes : 0;
	s->rwnd_bytes = b->rwnd_bytes;
	s->member.waiting_bytes = b->members > 1 ? b->members * s->mss_bytes : 0;
	s->member.most_queue_us = b->members > 1 ? (u32)ebb_max(b->most_us, b->last_most_us) : 0;
	s->member.stalled_bytes =
		ebb_ebb_may_stall(b, segment->now_us) ? s->member.waiting_bytes : 0;
	ebb_end_step();
	s->virtual_queue_at_us = b->virtual_at_us - ebb_ebb_apart_us(s);
	ebb_end_step();
	/* Of the one whose segment was the last, too: its edge was that of its segment before. */
	if (b->members > 1)
		s->blind_edge_seq = ebb_ebb_lent_edge_seq(b, segment);
	ebb_end_step();
	if (b->last_number == s->member.number)
		return;
	EBB_EBB_COMMON(EBB_EBB_LEND)
	__builtin_memcpy(s->arrivals, b->arrivals, sizeof(s->arrivals));
	s->round_local_ts = ebb_ebb_local_ts_at(segment, b->round_since_us);
}

/*
 * What a round trip's growth has left at its end: spread over very many segments, each brings less
 * than a byte.
 */
EBB_INLINE void ebb_ebb_complete_growth(const struct ebb_ebb_bundle *b, struct ebb_ebb_state *s)
{
	u8 is_next = s->round_since_us != b->round_since_us;

	if (b->members > 1 && is_next && s->growth_bytes && s->rwnd_bytes >= b->rwnd_bytes)
		ebb_moves_set_window(&s->moves, (u64)s->rwnd_bytes + b->growth_left_bytes);
}

EBB_INLINE void ebb_ebb_give_back(struct ebb_ebb_bundle *b, const struct ebb_ebb_state *s,
				  u64 now_us)
{
	/* Without a queue it would have come earlier, whatever a newcomer's clock says. */
	u64 virtual_at_us = ebb_min(s->virtual_queue_at_us + ebb_ebb_apart_us(s), now_us);

	if (s->round_since_us != b->round_since_us) {
		b->round++;
		b->queue_us = b->round_queue_us;
		b->last_most_us = b->most_us;
		b->most_us = 0;
		b->last_least_number = b->least_number;
	}
	if (s->round_queue_us != b->round_queue_us)
		b->least_number = s->member.number;
	b->most_us = (u32)ebb_max(b->most_us, s->queue_us);
	ebb_end_step();
	if (s->is_blind && (!b->is_blind || s->blind_until_us != b->blind_until_us))
		b->blind_since_us = now_us;
	ebb_end_step();
	EBB_EBB_COMMON(EBB_EBB_GIVE_BACK)
	__builtin_memcpy(b->arrivals, s->arrivals, sizeof(b->arrivals));
	/* Segments of two connections may overtake one another: what drained has drained. */
	if (b->members <= 1 || (s64)(virtual_at_us - b->virtual_at_us) > 0)
		b->virtual_at_us = virtual_at_us;
	ebb_end_step();
	b->last_number = s->member.number;
	b->heard_us = now_us;
}

/* ---- helpers: who comes ---- */

/*
 * What is least so far was seen over a queue that the others know, but for what has been added to it
 * since then, which it sees itself.
 */
EBB_INLINE void ebb_ebb_lower_base(struct ebb_ebb_state *s, const struct ebb_ebb_bundle *b,
				   u64 now_us)
{
	u32 known_us = (u32)ebb_min(b->queue_us, b->round_queue_us);
	u32 queue_us = (u32)ebb_sub_floor(known_us, s->queue_us);

	if (now_us - b->heard_us > EBB_EBB_QUEUE_KNOWN_US || known_us == EBB_MOVES_NO_DELAY ||
	    s->base_us[0] == EBB_MOVES_NO_DELAY)
		return;
	s->member.lowered_us += queue_us;
	s->member.above_us = EBB_MOVES_NO_DELAY;
	s->member.above_rounds = 0;
	s->base_us[0] = (u32)ebb_max(ebb_sub_floor(s->base_us[0], queue_us), 1);
	s->lowest_us = s->base_us[0];
	s->second_us = s->base_us[0];
	if (s->least_rtt_us[0] == EBB_MOVES_NO_DELAY)
		return;
	s->least_rtt_us[0] = (u32)ebb_max(ebb_sub_floor(s->least_rtt_us[0], queue_us), 1);
	s->lowest_rtt_us = s->least_rtt_us[0];
	s->second_rtt_us = s->least_rtt_us[0];
	s->rtt_us = (u32)ebb_min(s->least_rtt_us[0], EBB_MOVES_MAX_RTT_US);
}

/* What others knew was gone before it came: its delays are longer than theirs ever since. */
EBB_INLINE void ebb_ebb_raise_base(struct ebb_ebb_state *s)
{
	u32 wrong_us = (u32)ebb_min(s->member.above_us, s->member.lowered_us);

	s->member.lowered_us -= wrong_us;
	s->base_us[0] += wrong_us;
	s->lowest_us += wrong_us;
	s->second_us += wrong_us;
	if (s->least_rtt_us[0] == EBB_MOVES_NO_DELAY)
		return;
	s->least_rtt_us[0] += wrong_us;
	s->lowest_rtt_us += wrong_us;
	s->second_rtt_us += wrong_us;
	s->rtt_us = (u32)ebb_min(s->least_rtt_us[0], EBB_MOVES_MAX_RTT_US);
}

/* The round trip in which it was heard last is over: what of that did others see, too? */
EBB_INLINE void ebb_ebb_compare_queues(struct ebb_ebb_state *s, const struct ebb_ebb_bundle *b)
{
	struct ebb_ebb_member *m = &s->member;

	if (b->round == m->round + 1) {
		m->above_us = (u32)ebb_min(m->above_us, ebb_sub_floor(m->least_us, b->queue_us));
		m->above_rounds++;
	}
	ebb_end_step();
	m->round = b->round;
	m->least_us = EBB_MOVES_NO_DELAY;
	if (!m->above_rounds || m->above_rounds % EBB_EBB_ABOVE_ROUNDS)
		return;
	if (m->above_us >= s->target_us)
		ebb_ebb_raise_base(s);
	ebb_end_step();
	m->above_us = EBB_MOVES_NO_DELAY;
	if (m->above_rounds >= EBB_EBB_ABOVE_ROUNDS * EBB_EBB_ABOVE_LOOKS)
		m->lowered_us = 0;
}

/* Whether its base was lowered by too much: it is looked at for a while. */
EBB_INLINE void ebb_ebb_check_base(struct ebb_ebb_state *s, const struct ebb_ebb_bundle *b)
{
	if (!s->member.lowered_us)
		return;
	if (s->member.round != b->round)
		ebb_ebb_compare_queues(s, b);
	ebb_end_step();
	s->member.least_us = (u32)ebb_min(s->member.least_us, s->queue_us);
}

EBB_INLINE u8 ebb_ebb_is_bundle_alive(const struct ebb_ebb_bundle *b, u64 now_us)
{
	return b->joined && now_us - b->heard_us < EBB_EBB_BUNDLE_SILENT_US;
}

/* The first connection brings its state; later ones believe what it knows. */
EBB_INLINE void ebb_ebb_join(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s, u64 now_us)
{
	if (ebb_ebb_is_bundle_alive(b, now_us)) {
		ebb_ebb_lower_base(s, b, now_us);
	} else {
		/* Nothing is lent to whose segment was the last. */
		b->last_number = b->joined + 1;
		b->rwnd_bytes = s->rwnd_bytes;
		b->virtual_at_us = s->virtual_queue_at_us + ebb_ebb_apart_us(s);
		b->queue_us = EBB_MOVES_NO_DELAY;
		b->round_queue_us = EBB_MOVES_NO_DELAY;
		b->is_blind = s->is_blind;
		b->blind_until_us = s->blind_until_us;
		b->count_since_us = now_us;
		b->members = 0;
		b->counted = 0;
		b->count++;
		b->turn_at_us = now_us;
	}
	s->member.number = ++b->joined;
	s->member.count = b->count - EBB_EBB_COUNT_RTTS;
}

/* Who is judged alone waits for nobody, and has a segment at the least. */
EBB_INLINE void ebb_ebb_open(struct ebb_ebb_state *s)
{
	s->member.wait_us = 0;
	if (s->rwnd_bytes <= 1)
		ebb_moves_set_window(&s->moves, s->rwnd_bytes);
}

/* ---- hooks ---- */

/* A connection that begins while others are there gets what will be its part. */
EBB_INLINE void ebb_ebb_bundle_init(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
				    const struct ebb_start *start, const struct ebb_ebb_params *p)
{
	ebb_ebb_init(s, start, p);
	if (!ebb_ebb_is_bundle_alive(b, start->now_us))
		return;
	ebb_moves_set_window(&s->moves,
			     ebb_min(s->rwnd_bytes, b->rwnd_bytes / ((u64)b->members + 1)));
	s->last_rwnd_bytes = s->rwnd_bytes;
}

/*
 * Judged with the others, or alone: without timestamps, and until an older window is used up. It is
 * kept, as the verifier would follow the law once for each answer otherwise.
 */
EBB_INLINE void ebb_ebb_set_with_others(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
					const struct ebb_segment *segment)
{
	struct ebb_ebb_member *m = &s->member;

	m->is_with =
		segment->has_timestamps && !segment->is_observing && !s->is_awaiting && s->is_begun;
	ebb_end_step();
	/* The only one is as it is without a bundle, whatever comes. */
	m->is_with |= m->number && b->members <= 1 && b->last_number == m->number;
	ebb_end_step();
	m->is_fresh = s->base_us[0] == EBB_MOVES_NO_DELAY && s->base_us[1] == EBB_MOVES_NO_DELAY;
	ebb_end_step();
	if (m->is_with && !m->number)
		ebb_ebb_join(b, s, segment->now_us);
	ebb_end_step();
}

EBB_INLINE void ebb_ebb_bundle_on_segment(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
					  const struct ebb_segment *segment,
					  const struct ebb_ebb_params *p)
{
	ebb_ebb_set_with_others(b, s, segment);
	if (s->member.is_with) {
		ebb_ebb_count(b, s, segment);
		ebb_end_step();
		ebb_ebb_lend(b, s, segment);
	}
	ebb_end_step();
	ebb_ebb_on_segment(s, segment, p);
	ebb_end_step();
	if (!s->member.is_with) {
		ebb_ebb_open(s);
		return;
	}
	if (s->member.is_fresh && b->members > 1)
		ebb_ebb_lower_base(s, b, segment->now_us);
	ebb_end_step();
	ebb_ebb_complete_growth(b, s);
	ebb_end_step();
	ebb_ebb_give_back(b, s, segment->now_us);
	ebb_end_step();
	ebb_ebb_check_base(s, b);
	ebb_end_step();
	ebb_ebb_use_turn(b, s, segment);
	ebb_end_step();
	ebb_ebb_wake(b, s, segment);
	ebb_end_step();
	ebb_ebb_hand_out(b, s, segment->now_us);
}

EBB_INLINE void ebb_ebb_bundle_on_ack(struct ebb_ebb_bundle *b, struct ebb_ebb_state *s,
				      const struct ebb_ack *ack, const struct ebb_ebb_params *p)
{
	u8 is_with = s->member.number && !ack->is_observing;

	s->member.can_park = ack->can_park;
	if (is_with) {
		s->rwnd_bytes = b->rwnd_bytes;
		s->is_yielding = b->is_yielding;
		s->is_testing = b->is_testing;
		s->yield_since_us = b->yield_since_us;
	}
	ebb_ebb_on_ack(s, ack, p);
	if (!is_with) {
		ebb_ebb_open(s);
		return;
	}
	b->rwnd_bytes = s->rwnd_bytes;
	ebb_end_step();
	ebb_ebb_hand_out(b, s, ack->now_us);
}

#endif /* EBB_EBB_BUNDLE_H */
