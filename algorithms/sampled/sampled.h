/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * sampled: Ebb's law for a host that sees no packets, only now and then the numbers that
 * the kernel keeps of a connection (TCP_INFO): its estimate of the round-trip time at the
 * receiver, bytes, segments, holes, the right edge.
 *
 * Sources: [SAMPLED] docs/laws/counter-laws.md; the moves are those of [EBB] docs/ebb-law.md.
 *
 * Differences from ebb:
 * 1. The queue is the receiver's RTT estimate less the least of it, so that a queue on the
 *    way back counts, too. Linux lets the estimate fall at once and rise by 1/8 with every
 *    echo of a timestamp: the rise is undone as far as the segments that came allow.
 * 2. Own bursts cannot be told apart: what the window has grown by in one round trip stands
 *    for them.
 * 3. Capacity is the fastest of seven looks in a row, the slower part of them, not of a train
 *    of segments. Up to the fastest of four the window may grow.
 * 4. After YIELD the window doubles until a queue shows.
 * 5. Without timestamps Linux's estimate never rises: the time until a new right edge is
 *    used serves, as precise as looks are frequent.
 * 6. A queue while all that the link carries is ours is not others': the link stood still
 *    for a moment, and our segments come in a bunch until a round trip judges them.
 * 7. Called for each segment, by a host that sees them, it looks every look_us only.
 *
 * Domain: as ebb; looks at least four times in a round trip, or it yields later.
 */
#ifndef EBB_SAMPLED_H
#define EBB_SAMPLED_H

#include "sampled/window.h"

/* ---- helpers: one look's steps ---- */

EBB_INLINE void ebb_sampled_end_yielding_round(struct ebb_sampled_state *s,
					       const struct ebb_segment *segment,
					       const struct ebb_sampled_params *p)
{
	if (s->round_queue_us < ebb_sampled_target_us(s, p) &&
	    segment->now_us >= s->hold_until_us) {
		s->is_yielding = 0;
		s->is_reclaiming = 1;
		s->clear_rounds = 0;
		s->growth_bytes = s->rwnd_bytes;
		return;
	}
	ebb_moves_set_window(&s->moves, ebb_sampled_probe_bytes(s, p, segment->now_us));
}

EBB_INLINE void ebb_sampled_end_round(struct ebb_sampled_state *s,
				      const struct ebb_segment *segment,
				      const struct ebb_sampled_params *p)
{
	u64 used_bytes = ebb_moves_grant_bytes(s->round_bytes, s->mss_bytes);

	s->last_round_bytes = s->round_bytes;
	s->last_rwnd_bytes = s->round_rwnd_bytes;
	s->growth_bytes = 0;
	if (s->is_yielding) {
		ebb_sampled_end_yielding_round(s, segment, p);
	} else {
		ebb_moves_set_window(&s->moves, ebb_min(s->rwnd_bytes, used_bytes));
		if (ebb_sampled_drain(s, segment, p))
			return;
		if (s->round_queue_us < ebb_sampled_low_us(s, p)) {
			s->clear_rounds++;
			s->growth_bytes = (u32)ebb_sampled_growth_bytes(s, p);
		} else if (s->round_queue_us < ebb_sampled_target_us(s, p)) {
			s->is_starting = 0;
			s->is_reclaiming = 0;
			used_bytes = ebb_moves_near_bytes(s->round_bytes, s->mss_bytes);
			ebb_moves_set_window(&s->moves, ebb_min(s->rwnd_bytes, used_bytes));
			s->growth_bytes = s->is_mean ? 0 : s->mss_bytes;
		} else if (s->round_queue_us != EBB_MOVES_NO_DELAY) {
			ebb_sampled_shrink(s, segment, p);
			return;
		}
	}
	s->growth_left_bytes = s->growth_bytes;
	ebb_moves_begin_round(&s->moves, segment);
}

/* A hole means congestion if segments were queueing, or if delays tell nothing. */
EBB_INLINE u8 ebb_sampled_take_loss(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				    const struct ebb_sampled_params *p)
{
	u32 usual_us = ebb_moves_usual_us(ebb_sampled_target_us(s, p), s->longest_queue_us);
	u8 is_queue = !segment->has_timestamps || s->queue_us > usual_us;

	if (s->is_yielding || segment->now_us < s->loss_until_us ||
	    !(segment->is_ce || (s->has_hole && is_queue)))
		return 0;
	s->loss_until_us = segment->now_us + s->rtt_us;
	s->saturation_bytes = s->rwnd_bytes;
	ebb_moves_set_window(&s->moves, ebb_moves_loss_bytes(s->rwnd_bytes, s->mss_bytes));
	ebb_sampled_go_blind(s, segment);
	return 1;
}

/* The time until a new window is used, where timestamps do not tell. */
EBB_INLINE void ebb_sampled_take_feedback_time(struct ebb_sampled_state *s,
					       const struct ebb_segment *segment,
					       const struct ebb_sampled_params *p)
{
	u64 feedback_us = ebb_min(segment->now_us - s->round_since_us, EBB_MOVES_MAX_RTT_US);
	u64 precise_us = ebb_sub_floor(feedback_us, (u64)p->look_us * EBB_SAMPLED_BLUR_LOOKS);

	s->look_segments = EBB_SAMPLED_SETTLED_ECHOES;
	ebb_sampled_take_rtt(s, segment->now_us, (u32)ebb_max(precise_us, 1), p);
}

/* The first round trip, or the first one after a cut. */
EBB_INLINE void ebb_sampled_resume(struct ebb_sampled_state *s, const struct ebb_segment *segment)
{
	if (s->is_draining && s->is_mean) {
		/* Not growth: a queue that stands after it is others'. */
		ebb_moves_set_window(&s->moves, s->restore_bytes);
		s->last_rwnd_bytes = s->rwnd_bytes;
	}
	ebb_moves_begin_round(&s->moves, segment);
	if (s->is_draining)
		s->growth_bytes = (u32)ebb_sub_floor(s->restore_bytes, s->rwnd_bytes);
	s->growth_left_bytes = s->growth_bytes;
	s->is_draining = 0;
}

EBB_INLINE void ebb_sampled_look(struct ebb_sampled_state *s, const struct ebb_segment *segment,
				 const struct ebb_sampled_params *p)
{
	u32 end_seq = segment->seq + segment->payload_bytes, look_bytes = s->look_bytes;
	u8 is_over;

	ebb_sampled_take_rate(s, segment->now_us);
	if (segment->has_timestamps && segment->kernel_rtt_us)
		ebb_sampled_take_rtt(s, segment->now_us, segment->kernel_rtt_us, p);
	s->look_at_us = segment->now_us;
	s->look_bytes = 0;
	s->look_segments = 0;
	if (s->is_blind) {
		if (!ebb_before32(s->blind_edge_seq, end_seq) &&
		    segment->now_us < s->blind_until_us)
			return;
		s->is_blind = 0;
	}
	if (!s->is_round_open) {
		ebb_sampled_resume(s, segment);
		return;
	}
	is_over = ebb_sampled_is_round_over(s, segment, end_seq);
	if (segment->is_observing) {
		if (!is_over)
			return;
		ebb_moves_observe_round(&s->moves, p->start_segments);
		ebb_moves_begin_round(&s->moves, segment);
		return;
	}
	if (ebb_sampled_take_loss(s, segment, p) || ebb_sampled_judge(s, segment, p, is_over))
		return;
	ebb_moves_grow(&s->moves, look_bytes);
	if (!is_over)
		return;
	if (!segment->has_timestamps)
		ebb_sampled_take_feedback_time(s, segment, p);
	ebb_sampled_end_round(s, segment, p);
}

/* ---- the hooks ---- */

EBB_INLINE void ebb_sampled_init(struct ebb_sampled_state *s, const struct ebb_start *start,
				 const struct ebb_sampled_params *p)
{
	ebb_moves_begin(&s->moves, start, p->start_segments);
	s->look_at_us = start->now_us;
}

EBB_INLINE void ebb_sampled_on_segment(struct ebb_sampled_state *s,
				       const struct ebb_segment *segment,
				       const struct ebb_sampled_params *p)
{
	u32 payload_bytes = (u32)ebb_min(segment->payload_bytes, EBB_MOVES_MAX_WINDOW_BYTES);

	if (segment->mss_bytes)
		s->mss_bytes = ebb_bound_mss_bytes(segment->mss_bytes);
	s->look_bytes =
		(u32)ebb_min((u64)s->look_bytes + payload_bytes, EBB_MOVES_MAX_WINDOW_BYTES);
	s->look_segments =
		(u32)ebb_min((u64)s->look_segments + segment->segments, EBB_SAMPLED_MAX_SEGMENTS);
	s->received_bytes += payload_bytes;
	s->round_bytes =
		(u32)ebb_min((u64)s->round_bytes + payload_bytes, EBB_MOVES_MAX_WINDOW_BYTES);
	s->has_hole |= ebb_before32(segment->rcv_nxt, segment->seq);
	if (s->has_looked && segment->now_us - s->look_at_us < p->look_us)
		return;
	s->has_looked = 1;
	ebb_sampled_look(s, segment, p);
	s->has_hole = 0;
}

#endif /* EBB_SAMPLED_H */
